"""Queries and keys in the mean over texts: what belongs to a slot whatever the text, and what it explains."""

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor

from wherewhat.capture.capture import capture
from wherewhat.capture.hooks.reader import AttentionSite, Seen, numbered
from wherewhat.capture.hooks.watch_inputs import watch_inputs
from wherewhat.capture.tokens.batch import ALL, batches
from wherewhat.profiling.accumulate import LayerScores
from wherewhat.profiling.hidden_states.run import Run, enter
from wherewhat.scores import mean_parts
from wherewhat.scores.mean_parts import PARTS, HiddenSums, Sides, sides_of

LONGEST = 256  # slots that means over texts are taken of
EARLY = 8  # queries that see fewer keys than this say little about where they look
MANY = 200  # texts that means over texts should have
BUDGET = 256 << 20  # bytes of queries and keys that are kept, so that the model need not run twice


def common_length(lengths: Sequence[int]) -> int:
    """The largest length that at least half of the texts reach, and two, but no more than is looked at.

    >>> common_length([5, 9, 7, 12])
    9
    """
    reached = min(max(2, (len(lengths) + 1) // 2), len(lengths))
    return min(LONGEST, sorted(lengths, reverse=True)[reached - 1])


@dataclass
class Gathered:
    """Listens to rows until all queries of a text at a place have come, then hands them on with their keys."""

    run: Run
    on_sides: Callable[[AttentionSite, int, Sides, Tensor], None]
    _open: dict[tuple[AttentionSite, int], list[tuple[Sides, Tensor]]] = field(
        default_factory=lambda: defaultdict(list)
    )

    def see(self, seen: Seen) -> None:
        sides = sides_of(seen.logits)
        if sides is None or seen.site.part == "cross":
            return
        pieces, slots = self._open[seen.site, seen.text], seen.allowed_QK.shape[-1]
        pieces.append((sides, seen.allowed_QK))
        if sum(len(allowed_QK) for _, allowed_QK in pieces) < slots:
            return
        del self._open[seen.site, seen.text]
        query_HTC = torch.cat([piece.query_HTC for piece, _ in pieces], 1)
        whole = replace(sides, query_HTC=query_HTC, key_GTC=sides.key_GTC.clone())  # not a view of the whole batch
        allowed_TK = self._counting(torch.cat([allowed_QK for _, allowed_QK in pieces]))
        self.on_sides(seen.site, seen.text, whole.since(self.run.first), allowed_TK)

    def _counting(self, allowed_TK: Tensor) -> Tensor:
        """Which keys count for a query: those it may see but itself, nothing for the earliest queries."""
        allowed_TK = allowed_TK.clone().fill_diagonal_(False)
        allowed_TK[: min(EARLY, len(allowed_TK) // 4)] = False
        return allowed_TK[self.run.first :, self.run.first :]


@dataclass
class Means:
    """Queries and keys in the mean over texts, and what they explain of every text's logits."""

    length: int = 0
    texts: list[int] = field(default_factory=list)
    inputs: dict[tuple[str, int], HiddenSums] = field(default_factory=lambda: defaultdict(HiddenSums))
    accounts: dict[AttentionSite, LayerScores] = field(default_factory=lambda: defaultdict(LayerScores))
    _sums: dict[AttentionSite, tuple[Tensor, Tensor]] = field(default_factory=dict)
    _kept: list[tuple[AttentionSite, int, Sides, Tensor]] | None = field(default_factory=list)
    _bytes: int = 0
    _calls: Counter[str] = field(default_factory=Counter)

    def add(self, site: AttentionSite, text: int, sides: Sides, allowed_TK: Tensor) -> None:
        """First time: sum up, and keep what there is room for."""
        one = [x.cpu().double() for x in (sides.query_HTC, sides.key_GTC)]
        before = self._sums.get(site)
        self._sums[site] = (one[0], one[1]) if before is None else (before[0] + one[0], before[1] + one[1])
        self._bytes += sides.query_HTC.nbytes + sides.key_GTC.nbytes + allowed_TK.nbytes
        if self._bytes > BUDGET:
            self._kept = None
        if self._kept is not None:
            self._kept.append((site, text, sides, allowed_TK))

    def part(self, site: AttentionSite, text: int, sides: Sides, allowed_TK: Tensor) -> None:
        """Second time: take every text apart."""
        query_HTC, key_GTC = ((x / len(self.texts)).to(sides.query_HTC) for x in self._sums[site])
        mean = replace(sides, query_HTC=query_HTC, key_GTC=key_GTC)
        product_6H, total_H = mean_parts.mean_parts(sides, mean, allowed_TK)
        unknown = float("nan")
        position_H = product_6H[::2].sum(0)  # every other one meets what the key's slot brings
        chances = (*[unknown] * len(PARTS), 1 / len(self.texts))
        for name, part_H, chance in zip(mean_parts.ABOUT, (*product_6H, position_H), chances, strict=True):
            enter(self.accounts[site], name, self.texts[text], (part_H / total_H, total_H, chance), rows=self.length)

    def part_kept(self) -> bool:
        """Take apart what was kept; whether that was everything."""
        for kept in self._kept or ():
            self.part(*kept)
        return self._kept is not None

    def begin(self) -> None:
        """A forward pass starts."""
        self._calls.clear()

    def see_input(self, name: str, x_BTD: Tensor, first: int) -> None:
        """What an attention reads. A module that serves several layers is told apart by how often it ran."""
        if x_BTD.shape[1] == self.length:
            self.inputs[name, self._calls[name]].add(x_BTD[:, first:].cpu())
        self._calls[name] += 1

    def layers(self, sites: Sequence[AttentionSite]) -> list[dict[str, Any]]:
        """What slot, text and neither explain of what each attention reads."""
        told, calls, layers = [], Counter[str](), numbered(sites)
        for site in sites:
            sums = self.inputs.get((site.module, calls[site.module]))
            calls[site.module] += 1
            if sums is not None and sums.sum_TD is not None:
                size = {"texts": sums.texts, "tokens": len(sums.sum_TD)}
                told.append({"layer": layers[site], **sums.shares(), **size})
        return sorted(told, key=lambda one: one["layer"])

    def notes(self, run: Run, sites: Sequence[AttentionSite]) -> list[str]:
        """What has to be known to read them."""
        if not self.texts:
            return [
                "Means over texts were not taken: they need at least 2 texts of which half reach "
                f"{run.first + 3} tokens."
            ]
        told = self._how(len(run.ids)) if self.accounts else []
        asked = [site for site in sites if site.part != "cross"]
        if silent := len(asked) - len(self.accounts):
            told.append(
                f"In {silent} of {len(asked)} layers logits are more than products of queries and keys that stay as "
                "they are or turn pair by pair, or could not be read; they have no scores called mean."
            )
        if hidden := len(asked) - len(self.inputs):
            told.append(f"In {hidden} of {len(asked)} layers the vectors that attention reads could not be shown.")
        return told

    def _how(self, of: int) -> list[str]:
        """How means were taken, for layers that have them."""
        count = len(self.texts)
        told = [
            f"Means over texts are over the first {self.length} tokens of {count} of {of} texts, cut there; "
            "intervals resample the texts around these same means."
        ]
        if count < MANY:
            told.append(
                f"{count} texts are few for means over texts ({MANY} or more are better): keys that know nothing of "
                f"their slots would still get a share of 1/{count}."
            )
        return told


def take_means(run: Run, sites: Sequence[AttentionSite]) -> Means:
    """Run the model over the texts' common slots: once, or twice if queries and keys are too many to keep."""
    length = common_length([len(text) for text in run.ids])
    texts = [number for number, text in enumerate(run.ids) if len(text) >= length]
    if length < run.first + 3 or len(texts) < 2:
        return Means()
    means = Means(length, texts)
    names = dict.fromkeys(site.module for site in sites if site.part != "cross")
    with watch_inputs(run.model.module, names, lambda name, x_BTD: means.see_input(name, x_BTD, run.first)):
        _read_common(run, means, means.add)
    if not means.part_kept():
        _read_common(run, means, means.part)
    return means


def _read_common(run: Run, means: Means, on_sides: Callable[[AttentionSite, int, Sides, Tensor], None]) -> None:
    cut = [run.ids[number][: means.length] for number in means.texts]
    # Fewer texts than slots at once, so that a family that puts slots before texts is not misread.
    tokens = min(run.batch_tokens, means.length * (means.length - 1))
    with capture(run.model.module, Gathered(run, on_sides).see) as captured:
        for batch in batches(cut, queries=ALL, seed=run.seed, tokens=tokens):
            means.begin()
            captured.read(batch)
