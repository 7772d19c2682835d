"""Queries and keys averaged over texts: what belongs to a slot in every text, and what it explains of the logits."""

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor

from wherewhat.capture.capture import capture
from wherewhat.capture.hooks.module_inputs import watch_inputs
from wherewhat.capture.hooks.reader import AttentionRows, AttentionSite, numbered
from wherewhat.capture.tokens.batch import ALL, batches
from wherewhat.profiling.accumulate import LayerScores, WindowScore
from wherewhat.profiling.measurements.base import ProfileContext
from wherewhat.scores.mean_parts import MEAN_SCORES, PARTS, HiddenSums, Sides, mean_parts, sides_of
from wherewhat.tables.manifest.scores import HiddenLayer

LONGEST = 256  # slots that means over texts cover
EARLY = 8  # queries that see fewer keys than this say little about where they look
MANY = 200  # texts that means over texts should have
BUDGET = 256 << 20  # bytes of queries and keys that are kept, so that the model need not run twice

OnSides = Callable[[AttentionSite, int, Sides, Tensor], None]  # takes site, text, queries and keys, allowed_TK


def common_length(lengths: Sequence[int]) -> int:
    """The largest length that at least half of the texts reach, and two, but no more than LONGEST.

    >>> common_length([5, 9, 7, 12])
    9
    """
    reached = min(max(2, (len(lengths) + 1) // 2), len(lengths))
    return min(LONGEST, sorted(lengths, reverse=True)[reached - 1])


@dataclass
class SidesCollector:
    """Collects rows until all queries of a text at a site have come, then hands them on with their keys."""

    first: int  # slots before this one are left out
    on_sides: OnSides
    _open: dict[tuple[AttentionSite, int], list[tuple[Sides, Tensor]]] = field(
        default_factory=lambda: defaultdict(list)
    )

    def add(self, rows: AttentionRows) -> None:
        sides = sides_of(rows.logits)
        if sides is None or rows.site.part == "cross":
            return
        pieces, slots = self._open[rows.site, rows.text], rows.allowed_QK.shape[-1]
        pieces.append((sides, rows.allowed_QK))
        if sum(len(allowed_QK) for _, allowed_QK in pieces) < slots:
            return
        del self._open[rows.site, rows.text]
        query_HTC = torch.cat([piece.query_HTC for piece, _ in pieces], 1)
        whole = replace(sides, query_HTC=query_HTC, key_GTC=sides.key_GTC.clone())  # not a view of the whole batch
        # For a query count the keys it may see but itself, and none for the earliest queries.
        allowed_TK = torch.cat([allowed_QK for _, allowed_QK in pieces]).fill_diagonal_(False)
        allowed_TK[: min(EARLY, slots // 4)] = False
        self.on_sides(rows.site, rows.text, whole.since(self.first), allowed_TK[self.first :, self.first :])


@dataclass
class SlotMeans:
    """Queries and keys averaged over texts, and how much they explain of every text's logits."""

    length: int = 0
    texts: list[int] = field(default_factory=list)
    inputs: dict[tuple[str, int], HiddenSums] = field(default_factory=lambda: defaultdict(HiddenSums))
    layers: dict[AttentionSite, LayerScores] = field(default_factory=lambda: defaultdict(LayerScores))
    _sums: dict[AttentionSite, tuple[Tensor, Tensor]] = field(default_factory=dict)
    _kept: list[tuple[AttentionSite, int, Sides, Tensor]] | None = field(default_factory=list)
    _bytes: int = 0
    _calls: Counter[str] = field(default_factory=Counter)

    def add(self, site: AttentionSite, text: int, sides: Sides, allowed_TK: Tensor) -> None:
        """First pass: sum up, and keep what there is room for."""
        query_HTC, key_GTC = (x.cpu().double() for x in (sides.query_HTC, sides.key_GTC))
        before = self._sums.get(site)
        self._sums[site] = (query_HTC, key_GTC) if before is None else (before[0] + query_HTC, before[1] + key_GTC)
        self._bytes += sides.query_HTC.nbytes + sides.key_GTC.nbytes + allowed_TK.nbytes
        if self._bytes > BUDGET:
            self._kept = None
        if self._kept is not None:
            self._kept.append((site, text, sides, allowed_TK))

    def decompose(self, site: AttentionSite, text: int, sides: Sides, allowed_TK: Tensor) -> None:
        """Second pass: decompose every text."""
        query_HTC, key_GTC = ((x / len(self.texts)).to(sides.query_HTC) for x in self._sums[site])
        mean = replace(sides, query_HTC=query_HTC, key_GTC=key_GTC)
        product_6H, total_H = mean_parts(sides, mean, allowed_TK)
        position_H = product_6H[::2].sum(0)  # every other part has the key's slot on its side
        chances = (*[float("nan")] * len(PARTS), 1 / len(self.texts))
        for score, part_H, chance in zip(MEAN_SCORES, (*product_6H, position_H), chances, strict=True):
            window = WindowScore(part_H / total_H, total_H, chance, rows=self.length)
            self.layers[site].add(score.name, self.texts[text], window)

    def decompose_kept(self) -> bool:
        """Decompose what was kept; returns whether that was everything."""
        for kept in self._kept or ():
            self.decompose(*kept)
        return self._kept is not None

    def read(self, context: ProfileContext, on_sides: OnSides) -> None:
        """Run the model over the slots that the texts have in common."""
        cut = [context.ids[number][: self.length] for number in self.texts]
        # Fewer texts than slots at once, so that a family that puts slots before texts is not misread.
        tokens = min(context.settings.batch_tokens, self.length * (self.length - 1))
        with capture(context.model.module, SidesCollector(context.settings.first, on_sides).add) as session:
            for batch in batches(cut, queries=ALL, seed=context.settings.seed, tokens=tokens):
                self._calls.clear()
                session.read(batch)

    def add_input(self, name: str, x_BTD: Tensor, first: int) -> None:
        """What an attention module reads. A module that serves several layers is told apart by how often it ran."""
        if x_BTD.shape[1] == self.length:
            self.inputs[name, self._calls[name]].add(x_BTD[:, first:].cpu())
        self._calls[name] += 1

    def hidden_layers(self, sites: Sequence[AttentionSite]) -> list[HiddenLayer]:
        """How much of what each attention reads is explained by slot, text and neither."""
        entries, calls, layers = [], Counter[str](), numbered(sites)
        for site in sites:
            sums = self.inputs.get((site.module, calls[site.module]))
            calls[site.module] += 1
            if sums is not None and sums.sum_TD is not None:
                shares: dict[str, Any] = sums.shares()
                size = {"texts": sums.texts, "tokens": len(sums.sum_TD)}
                entries.append(HiddenLayer(layer=layers[site], **shares, **size))
        return sorted(entries, key=lambda entry: entry.layer)

    def notes(self, context: ProfileContext, sites: Sequence[AttentionSite]) -> list[str]:
        """Sentences that keep a reader from misreading the scores."""
        if not self.texts:
            least = context.settings.first + 3
            return [
                f"Means over texts were not computed: they need at least 2 texts of which half have {least} tokens."
            ]
        count, notes = len(self.texts), []
        if self.layers:
            notes.append(
                f"Means over texts use the first {self.length} tokens of {count} of {len(context.ids)} texts; "
                "intervals resample the texts around these same means."
            )
        if self.layers and count < MANY:
            notes.append(
                f"{count} texts are few for means over texts ({MANY} or more are better): keys that do not depend on "
                f"their slots would still get a share of 1/{count}."
            )
        measured = [site for site in sites if site.part != "cross"]
        if missing := len(measured) - len(self.layers):
            notes.append(
                f"In {missing} of {len(measured)} layers logits are more than plain or rotary products of queries and "
                "keys, or could not be read; they have no scores called mean."
            )
        if hidden := len(measured) - len(self.inputs):
            notes.append(f"In {hidden} of {len(measured)} layers the vectors that attention reads are not available.")
        return notes


def slot_means(context: ProfileContext, sites: Sequence[AttentionSite]) -> SlotMeans:
    """Run the model over the texts' common slots: once, or twice if queries and keys are too many to keep."""
    first = context.settings.first
    length = common_length([len(text) for text in context.ids])
    texts = [number for number, text in enumerate(context.ids) if len(text) >= length]
    if length < first + 3 or len(texts) < 2:
        return SlotMeans()
    means = SlotMeans(length, texts)
    names = dict.fromkeys(site.module for site in sites if site.part != "cross")
    with watch_inputs(context.model.module, names, lambda name, x_BTD: means.add_input(name, x_BTD, first)):
        means.read(context, means.add)
    if not means.decompose_kept():
        means.read(context, means.decompose)
    return means
