"""What the manifest of a comparison says of its sides and of its intervals."""

from collections.abc import Sequence
from typing import Any

import polars as pl

from wherewhat.comparing.state import State

OF_HEADS = (
    "The interval of a head's change joins its intervals before and after by the MOVER method (Zou & Donner 2008), "
    "which holds for measurements that do not depend on each other; where both rise and fall with the same texts it is "
    "too wide rather than too narrow."
)
EXACT = "What is read off weights alone has no interval: its change is exact."
SAME = (
    "The interval of a mean is Student's over heads, each held against itself: these are states of one training run, "
    "where a head stays the same head. It says how much heads differ, not texts."
)
OTHERS = (
    "The interval of a mean is Welch's over heads, one group held against the other: heads of two models that do not "
    "come from each other have nothing in common but their layer. It says how much heads differ, not texts."
)
DRAWN = "Before, every head is the mean of {count} draws of fresh weights, and its interval is Student's over draws."
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
    told = [SAME if same_heads else OTHERS, OF_HEADS]
    exact = (pl.col("texts") == 0) & pl.col("value").is_not_null()
    if any(not state.heads.filter(exact).is_empty() for state in states):
        told.append(EXACT)
    if drawn := states[0].draws:
        told.append(ONE_DRAW if drawn == 1 else DRAWN.format(count=drawn))
    return told


def chances(state: State) -> dict[str, dict[str, float]]:
    """By part of the model and by score, what a head that knows nothing gets, the mean over heads."""
    known = state.heads.filter(pl.col("value").is_not_null() & pl.col("chance").is_not_null())
    found: dict[str, dict[str, float]] = {}
    for part, score, chance in known.group_by("part", "score", maintain_order=True).agg(pl.col("chance").mean()).rows():
        found.setdefault(part, {})[score] = chance
    return found
