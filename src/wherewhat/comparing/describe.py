"""What the manifest of a comparison says of its sides and of its intervals."""

from collections.abc import Sequence
from math import isfinite
from typing import Any

import polars as pl

from wherewhat.comparing.alike import alike
from wherewhat.comparing.change import over_heads
from wherewhat.comparing.state import State, same_weights

OF_HEADS = (
    "The interval of a head's change joins its intervals before and after by the MOVER method (Zou & Donner 2008), "
    "which holds for measurements that do not depend on each other; where both rise and fall with the same texts it is "
    "too wide rather than too narrow."
)
EXACT = "What is read off weights alone has no interval: its change is exact."
Spread = dict[str, dict[str, tuple[float, float]]]
THESE = (
    "The interval of a mean is about the mean of these very heads: between which ends it would stay with other words "
    "or texts{drawn}."
)
APART = "It says nothing of heads in general; for that the interval over heads stands beside it, which says how much "
SAME = APART + (
    "they differ: Student's, each held against itself, for these are states of one training run, where a head stays "
    "the same head."
)
ONE = APART + "they differ. These are the same weights, so a head is the same head; only texts and settings differ."
OTHERS = APART + (
    "they differ: Welch's, one group held against the other, for heads of two models that do not come from each other "
    "have nothing in common but their layer."
)
DRAWN = (
    "Before, every head is the mean of {count} draws of fresh weights, and its interval says where one more draw would "
    "lie: training started from a draw that is not among them."
)
UNPAIRED = (
    "{names}: another shape than the first, so no head has a counterpart. Distributions of scores over heads are "
    "compared; the interval of a difference of means is Welch's, over heads."
)
ONE_DRAW = "Fresh weights were drawn once, so nothing is known of how draws differ; ask for more with --draws."


def about_states(states: Sequence[State]) -> list[dict[str, Any]]:
    """Every side in its order: what it is called, which model it is, and on which texts it was profiled."""
    return [
        {
            "name": state.name,
            "draws": state.draws,
            "step": state.step,
            "model": {key: state.model.get(key) for key in ("id", "family", "path", "weights_hash", "layers", "heads")},
            "texts": {key: (state.manifest.get("texts") or {}).get(key) for key in ("source", "hash", "count")},
            "command": state.manifest.get("command"),
        }
        for state in states
    ]


def about_intervals(states: Sequence[State], *, same_heads: bool) -> list[str]:
    """How sure the numbers are, in sentences."""
    drawn = ", and with another draw of fresh weights" if states[0].drawn else ""
    one = all(same_weights(states[0], other) for other in states[1:])
    apart = [other.name for other in states[1:] if not alike(states[0], other)]
    told = [UNPAIRED.format(names=", ".join(apart))] if apart else []
    if len(apart) == len(states) - 1:
        return told
    told += [THESE.format(drawn=drawn), ONE if one else SAME if same_heads else OTHERS, OF_HEADS]
    exact = (pl.col("texts") == 0) & pl.col("value").is_not_null()
    if any(not state.heads.filter(exact).is_empty() for state in states):
        told.append(EXACT)
    if count := states[0].draws:
        told.append(ONE_DRAW if count == 1 else DRAWN.format(count=count))
    return told


def chances(state: State) -> dict[str, dict[str, float]]:
    """By part of the model and by score, what a head that knows nothing gets, the mean over heads."""
    known = state.heads.filter(pl.col("value").is_not_null() & pl.col("chance").is_not_null())
    found: dict[str, dict[str, float]] = {}
    for part, score, chance in known.group_by("part", "score", maintain_order=True).agg(pl.col("chance").mean()).rows():
        found.setdefault(part, {})[score] = chance
    return found


def spread_over_heads(table: pl.DataFrame, states: Sequence[State], *, same_heads: bool) -> Spread:
    """From the first to the last, by part and by score: the interval of the mean change over heads."""
    ours = (pl.col("model") == states[-1].name) & (pl.col("against") == states[0].name)
    heads = table.filter(ours & pl.col("head").is_not_null())
    found: Spread = {}
    for (part, score), rows in heads.group_by("part", "score", maintain_order=True):
        sides = (rows[side].drop_nulls().to_list() for side in ("before", "after"))
        change = over_heads(*sides, same_heads=same_heads)
        if isfinite(change.low):
            found.setdefault(str(part), {})[str(score)] = (change.low, change.high)
    return found
