"""The manifest of a comparison: its sides, how its intervals came about, and how to read its scores."""

from collections.abc import Sequence
from math import isfinite

import polars as pl

from wherewhat.comparing.change_rows import change_over_heads
from wherewhat.comparing.claims import HeadIntervals, claims_of
from wherewhat.comparing.compatibility import differences, same_shape
from wherewhat.comparing.model_state import ModelState, same_training, same_weights
from wherewhat.tables.manifest.provenance import peak_memory, provenance
from wherewhat.tables.manifest.scores import ComparedModel, CompareManifest, SimilarModels
from wherewhat.tables.manifest.sections import ClaimSection, ModelSection, TextsSection

SINGLE_HEAD = (
    "The interval of a head's change combines its intervals before and after by the MOVER method (Zou & Donner 2008), "
    "which assumes independent measurements; where both rise and fall with the same texts it is too wide rather than "
    "too narrow."
)
EXACT = "Scores that are read off weights alone have no interval: their change is exact."
MEAN = (
    "The interval of a mean is about the mean of these very heads: where it would be with other words or texts{drawn}."
)
OVER_HEADS = (
    "It says nothing of heads in general; for that the interval over heads is given beside it, which shows how much "
)
SAME_RUN = OVER_HEADS + (
    "they differ: Student's, each head compared with itself, for these are states of one training run, where a head "
    "stays the same head."
)
ONE_MODEL = OVER_HEADS + (
    "they differ. These are the same weights, so a head is the same head; only texts and settings differ."
)
TWO_MODELS = OVER_HEADS + (
    "they differ: Welch's, one group of heads compared with the other, for heads of two models that do not come from "
    "each other have nothing in common but their layer."
)
SEVERAL_DRAWS = (
    "Before, every head is the mean of {count} draws of untrained weights, and its interval is where one more draw "
    "would be: training started from a draw that is not among them."
)
ONE_DRAW = "Untrained weights were drawn once, so nothing is known of how draws differ; ask for more with --draws."
UNPAIRED = (
    "{names}: another shape than the first, so no head has a counterpart. Distributions of scores over heads are "
    "compared; the interval of a difference of means is Welch's, over heads."
)
COMMON = ("settings", "model", "texts", "seed", "dtype", "device", "layers", "positional", "random")  # as in the last
OF_MODEL = ("id", "family", "path", "weights_hash", "layers", "heads")  # what is said of each model


def comparison_manifest(
    table: pl.DataFrame,
    states: Sequence[ModelState],
    draws: Sequence[ModelState],
    *,
    notes: Sequence[str],
    similar: Sequence[SimilarModels],
    seconds: float,
) -> CompareManifest:
    """What there is to say of a comparison besides its table; what is said once is as in the last of the list."""
    same_heads = same_training(states)
    over_heads = intervals_over_heads(table, states, same_heads=same_heads)
    last = states[-1].manifest
    return CompareManifest(
        **provenance(),
        compared=[_compared(state) for state in states],
        draws=[draw.name for draw in draws],
        same_heads=same_heads,
        intervals=_interval_notes(states, same_heads=same_heads),
        over_heads=over_heads,
        **{name: getattr(last, name) for name in COMMON},
        scores={
            name: state.manifest.scores[name]
            for state in reversed(states)
            for name in state.scores
            if name in state.manifest.scores
        },
        chance=_chances(states[-1]),
        claims=[ClaimSection(**claim.entry) for claim in claims_of(table, states, over_heads)],
        notes=[*notes, *differences(states)],
        similar=similar,
        seconds=round(seconds, 3),
        peak_memory_bytes=peak_memory(),
    )


def _compared(state: ModelState) -> ComparedModel:
    texts = state.manifest.texts
    return ComparedModel(
        name=state.name,
        draws=state.draws,
        step=state.step,
        model=ModelSection(**{name: getattr(state.model, name) for name in OF_MODEL}),
        texts=TextsSection(source=texts.source, hash=texts.hash, count=texts.count),
        command=state.manifest.command,
    )


def _interval_notes(states: Sequence[ModelState], *, same_heads: bool) -> list[str]:
    """How the intervals came about, in sentences."""
    first, *others = states
    unpaired = [other.name for other in others if not same_shape(first, other)]
    notes = [UNPAIRED.format(names=", ".join(unpaired))] if unpaired else []
    if len(unpaired) == len(others):
        return notes
    one_model = all(same_weights(first, other) for other in others)
    notes.append(MEAN.format(drawn=", and with another draw of untrained weights" if first.drawn else ""))
    notes += [ONE_MODEL if one_model else SAME_RUN if same_heads else TWO_MODELS, SINGLE_HEAD]
    exact = (pl.col("texts") == 0) & pl.col("value").is_not_null()
    if any(not state.heads.filter(exact).is_empty() for state in states):
        notes.append(EXACT)
    if first.draws:
        notes.append(ONE_DRAW if first.draws == 1 else SEVERAL_DRAWS.format(count=first.draws))
    return notes


def _chances(state: ModelState) -> dict[str, dict[str, float]]:
    """By part of the model and by score, the chance level, the mean over heads."""
    known = state.heads.filter(pl.col("value").is_not_null() & pl.col("chance").is_not_null())
    chances: dict[str, dict[str, float]] = {}
    for part, score, chance in known.group_by("part", "score", maintain_order=True).agg(pl.col("chance").mean()).rows():
        chances.setdefault(part, {})[score] = chance
    return chances


def intervals_over_heads(table: pl.DataFrame, states: Sequence[ModelState], *, same_heads: bool) -> HeadIntervals:
    """From the first to the last, by part and by score: the interval of the mean change over heads."""
    ours = (pl.col("model") == states[-1].name) & (pl.col("against") == states[0].name)
    heads = table.filter(ours & pl.col("head").is_not_null())
    intervals: HeadIntervals = {}
    for (part, score), rows in heads.group_by("part", "score", maintain_order=True):
        sides = (rows[side].drop_nulls().to_list() for side in ("before", "after"))
        change = change_over_heads(*sides, same_heads=same_heads)
        if isfinite(change.low):
            intervals.setdefault(str(part), {})[str(score)] = (change.low, change.high)
    return intervals
