"""Read the attention of a model on texts: the scores of every layer, and how far its logits could be decomposed."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from wherewhat.capture.capture import watched_by
from wherewhat.capture.hooks.reader import AttentionRows, AttentionSite, JointReader, numbered
from wherewhat.capture.loading.load import LoadedModel
from wherewhat.capture.tokens.batch import ALL, LAST, batches
from wherewhat.capture.tokens.blocks import blocks_by
from wherewhat.capture.tokens.encode import EncodedTexts
from wherewhat.errors import UserError
from wherewhat.names import HEAD_NAME, head_name, layer_labels
from wherewhat.profiling.accumulate import TABLES, LayerScores, ScoreAccumulator, Summary, SwapSettings, summarise_all
from wherewhat.profiling.settings import ProfileSettings
from wherewhat.progress import OnText
from wherewhat.stats.bootstrap import Resampling

EXACT, POSITION_FREE, UNDECOMPOSED = "exact", "position-free", "undecomposed"  # states of a layer's logits
SLOW = 2 * 10**8  # table entries; building so many or more takes long
Say = Callable[[str], None]  # is called with every warning while a model is read
ChosenLayer = tuple[
    AttentionSite, int, LayerScores, list[int]
]  # also its number in the tables, its scores, and the heads asked for


@dataclass(frozen=True)
class AttentionReading:
    """What reading the attention of a model on some texts has shown, and under which settings."""

    model: LoadedModel
    texts: EncodedTexts
    settings: ProfileSettings
    accumulator: ScoreAccumulator
    sites: tuple[AttentionSite, ...]
    undecomposed: Mapping[AttentionSite, str]  # where logits could not be decomposed, and why

    @cached_property
    def layers(self) -> dict[AttentionSite, int]:
        """The number of every site in the tables."""
        return numbered(self.sites)

    @cached_property
    def labels(self) -> dict[int, str]:
        """What layers are called, by their numbers."""
        return layer_labels((number, site.part) for site, number in self.layers.items())

    @property
    def resampling(self) -> Resampling:
        """How intervals resample the texts."""
        return Resampling(tuple(self.texts.origins), self.settings.seed)

    @property
    def slots_matter(self) -> bool:
        """Whether the logits of any layer depend on slots."""
        return not all(self.accumulator.position_free.values())

    @property
    def needs_logits(self) -> bool:
        """Whether any score is about logits."""
        return any(score.logits for score in self.accumulator.scores.values())

    def logits_state(self, site: AttentionSite) -> str | None:
        """How far the logits of a layer could be decomposed; None where nothing asked for them."""
        if site in self.undecomposed:
            return UNDECOMPOSED
        position_free = self.accumulator.position_free.get(site)
        return None if position_free is None else POSITION_FREE if position_free else EXACT

    @property
    def position_is_hidden(self) -> bool:
        """Whether no layer's logits show what slots do: they do not depend on slots, or could not be decomposed.

        Undecomposed logits count only in nets built by this package: other models may be large, and looking for
        position in hidden states runs them many times, so there it is done only on request.
        """
        states = {self.logits_state(site) for site in self.sites if site.part != "cross"} - {None}
        if self.model.net is None:
            states -= {UNDECOMPOSED}
        return bool(states) and EXACT not in states

    def chosen(self) -> list[ChosenLayer]:
        """The layers and heads that were asked for; refuses those that the model does not have."""
        settings, layers = self.settings, self.layers
        named = {self._numbers_of(name) for name in settings.heads}
        if missing := set(settings.layers) - set(layers.values()):
            raise UserError(f"there is no layer {min(missing)}; the model has layers {self._all_layers()}")
        kept = []
        for site, layer in layers.items():
            scores = self.accumulator.layers[site]
            if missing := {head for number, head in named if number == layer and head >= scores.heads}:
                where = f"layer {layer}" if self.labels[layer] == f"L{layer}" else self.labels[layer]
                name = head_name(layer, min(missing), self.labels)
                raise UserError(f"there is no head {name}; {where} has heads 0 to {scores.heads - 1}")
            heads = [head for head in range(scores.heads) if not named or (layer, head) in named]
            if heads and (not settings.layers or layer in settings.layers):
                kept.append((site, layer, scores, heads))
        if not kept:
            raise UserError("no head is left: none of the --heads is in the --layers; loosen one of them")
        model = self.model
        if (
            model.layers is not None and len(self.sites) > model.layers
        ):  # then a layer has several attentions, and which is meant is unknown
            raise UserError(
                f"{model.id} ({model.family}) has {len(self.sites)} attentions in {model.layers} layers; "
                "which of them are its heads is ambiguous, so it cannot be profiled"
            )
        return kept

    def summaries(self) -> dict[AttentionSite, dict[str, Summary]]:
        """Every score that was computed while reading, of the layers asked for."""
        return {site: summarise_all(scores, self.resampling) for site, _, scores, _ in self.chosen()}

    def _numbers_of(self, name: str) -> tuple[int, int]:
        """The number of a head's layer in the tables, and its own."""
        match = HEAD_NAME.fullmatch(name)
        assert match is not None, "settings have been checked"
        part, layer, head = match[1], int(match[2]), int(match[3])
        parts = list(dict.fromkeys(site.part for site in self.layers))
        if part is None and len(parts) > 1:
            names = " or ".join(f"'{each} {name}'" for each in parts)
            raise UserError(f"the model has several parts, so '{name}' may be several heads; ask for {names}")
        for site, number in self.layers.items():
            if site.part == (part or parts[0]) and site.ordinal == layer:
                return number, head
        raise UserError(f"there is no head {name}; the model has layers {self._all_layers()}")

    def _all_layers(self) -> str:
        """The layers there are, in words; those of several parts by the numbers that count through."""
        several = len({site.part for site in self.layers}) > 1
        return f"0 to {len(self.layers) - 1}" + (f" ({self.part_spans()})" if several else "")

    def part_spans(self) -> str:
        """The numbers of the layers of each part, in words."""
        parts: dict[str, list[int]] = {}
        for site, number in self.layers.items():
            parts.setdefault(site.part, []).append(number)
        return ", ".join(f"{part} {min(numbers)} to {max(numbers)}" for part, numbers in parts.items())


def read_attention(
    model: LoadedModel,
    texts: EncodedTexts,
    settings: ProfileSettings,
    *,
    on_text: OnText | None = None,
    on_first: Callable[[AttentionReading], None] | None = None,
    say: Say | None = None,
) -> AttentionReading:
    """Run the model over all texts and score its attention; `on_first` is called with what the first batch shows."""
    ids = texts.ids
    blocks = _blocks(model, ids, settings)
    swaps = SwapSettings(settings.tau, settings.first, settings.logit_rows, settings.max_swaps, blocks)
    accumulator = ScoreAccumulator(settings.row_scores, swaps=swaps, longest=max(map(len, ids)), seed=settings.seed)
    done, unwarned = 0, [] if say is None else [say]  # emptied by the first warning

    def add(captured: Sequence[AttentionRows]) -> None:
        if unwarned and (warning := _slow(model, ids, settings, captured[0])):
            unwarned.pop()(warning)
        accumulator.add(captured)

    reader = JointReader(add, next(model.module.parameters()).dtype)
    with watched_by(reader, model.module) as session:
        for batch in batches(ids, queries=settings.queries, seed=settings.seed, tokens=settings.batch_tokens):
            session.read(batch)
            accumulator.close()
            if not done:
                first = AttentionReading(model, texts, settings, accumulator, session.sites, session.undecomposed)
                first.chosen()  # refuses heads that do not exist before the other batches are read
                if on_first is not None:
                    on_first(first)
            done += len(batch.texts)
            if on_text is not None:
                on_text(done, len(ids))
        return AttentionReading(model, texts, settings, accumulator, session.sites, session.undecomposed)


def _slow(model: LoadedModel, ids: Sequence[Tensor], settings: ProfileSettings, captured: AttentionRows) -> str | None:
    """A warning before many whole tables are built; None if there are none, or few."""
    if captured.logits is None or not captured.logits.by_table:
        return None
    read = [1 if settings.queries == LAST else min(settings.queries or len(text), len(text)) for text in ids]
    most = max(1, settings.logit_rows // TABLES)
    rows = read if settings.logit_rows == ALL else [min(count, most) for count in read]
    entries = sum(count * len(text) ** 2 for count, text in zip(rows, ids, strict=True))
    if entries * len(captured.attention_HQK) * (model.layers or 1) < SLOW:
        return None
    longest = max(map(len, ids))
    return (
        f"the logits of {model.id} are read off whole tables, {sum(rows):,} rows of up to {longest:,} × {longest:,} "
        "in every layer, which takes long; --logit-rows 1 reads one row of each text"
    )


def _blocks(model: LoadedModel, ids: Sequence[Tensor], settings: ProfileSettings) -> tuple[Tensor, ...] | None:
    """Of every text, the stretches of slots that move as one."""
    if settings.blocks is None:
        return None
    if isinstance(settings.blocks, str):
        return tuple(blocks_by(model, text, settings.blocks, settings.first) for text in ids)
    if len(settings.blocks) != len(ids):
        raise UserError(
            f"there are blocks for {len(settings.blocks)} texts, but {len(ids)} texts; give one line for each text"
        )
    blocks = tuple(torch.as_tensor(slots, dtype=torch.long).view(-1, 2) for slots in settings.blocks)
    for number, (text, slots_X2) in enumerate(zip(ids, blocks, strict=True)):
        if len(slots_X2) and int(slots_X2.max()) > len(text):
            raise UserError(
                f"a block of text {number} ends before slot {int(slots_X2.max())}, but the text has {len(text)} "
                "tokens; slots are counted in tokens, from 0"
            )
    return blocks
