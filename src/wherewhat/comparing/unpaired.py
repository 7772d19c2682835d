"""Models of different shapes: no head has a counterpart, so distributions of scores are compared, and nearest heads."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from wherewhat.comparing.change import over_heads
from wherewhat.comparing.matching import SUMMARIES, partners
from wherewhat.comparing.state import State
from wherewhat.tables.schema import SIMILARITY, frame

Row = tuple[object, ...]
ALL_PARTS = "all"  # of models that have no part in common
NAMED = 20  # pairs of heads that the manifest names
BY_SCORES = "scores"


def unpaired_rows(before: State, after: State) -> Iterator[Row]:
    """Rows of compare.parquet: every head and layer on its own side, and the difference of the two means.

    Its interval is Welch's, over heads: two groups of heads, of which none belongs to another.
    """
    names = (after.name, before.name)
    for score, part, first, other in _groups(before, after):
        for side, heads in enumerate((first, other)):
            for row in heads.iter_rows(named=True):
                yield (*names, row["layer"], row["head"], score, *_on_side(side, row["value"]), part)
            for layer, mean in heads.group_by("layer", maintain_order=True).agg(pl.col("value").mean()).iter_rows():
                yield (*names, layer, None, score, *_on_side(side, mean), part)
        change = over_heads(first["value"].to_list(), other["value"].to_list(), same_heads=False)
        yield (*names, None, None, score, *change, part)


def _on_side(side: int, value: float) -> tuple[float | None, ...]:
    """The columns from before to high of what stands on one side alone."""
    return (value, None, None, None, None) if side == 0 else (None, value, None, None, None)


def _groups(before: State, after: State) -> Iterator[tuple[str, str, pl.DataFrame, pl.DataFrame]]:
    """By score and part, the heads of both; models without a common part are taken whole."""
    known = [state.heads.filter(pl.col("value").is_not_null()) for state in (before, after)]
    parts = [part for part in known[1]["part"].unique(maintain_order=True) if part in set(known[0]["part"])]
    sided = () if parts else _sided(before) | _sided(after)
    for score in after.scores:
        if score not in before.scores or score in sided:
            continue
        for part in parts or [ALL_PARTS]:
            here = (pl.col("score") == score) & (pl.lit(not parts) | (pl.col("part") == part))
            first, other = (heads.filter(here) for heads in known)
            if first.height and other.height:
                yield score, part, first, other


def _sided(state: State) -> set[str]:
    """Scores that compare left with right, which mean something else under a causal mask."""
    return {name for name, about in (state.manifest.get("scores") or {}).items() if (about or {}).get("sides")}


@dataclass(frozen=True)
class Nearest:
    """Every head of one model against every head of another by their scores."""

    table: pl.DataFrame  # rows of similarity.parquet
    about: dict[str, Any]  # for the manifest


def nearest_by_scores(before: State, after: State) -> Nearest | None:
    """The mean absolute difference of the scores that two heads share, each as a share of its range.

    Only scores with two ends count, and only those that every head has; nothing where there is none.
    """
    ranges = _ranges(before, after)
    first, other = (_profiles(state, ranges) for state in (before, after))
    shared = [score for score in ranges if score in first.columns and score in other.columns]
    if not shared:
        return None
    one_HX, two_HX = (side.select(shared).to_numpy() for side in (other, first))
    apart_HH = np.mean([np.abs(one_HX[:, x, None] - two_HX[None, :, x]) for x in range(len(shared))], axis=0)
    heads = [list(side.select("layer", "head").iter_rows()) for side in (other, first)]
    rows = [
        (after.name, before.name, *here, *there, BY_SCORES, float(apart_HH[row, column]))
        for row, here in enumerate(heads[0])
        for column, there in enumerate(heads[1])
    ]
    about = {
        "model": after.name,
        "against": before.name,
        "by": BY_SCORES,
        "scores": shared,
        **{name: {"value": reduce(apart_HH), "low": None, "high": None} for name, reduce in SUMMARIES.items()},
        "any": float(apart_HH.mean()),
        "partners": [
            {
                "head": _name(heads[0][row]),
                "against": _name(heads[1][column]),
                "divergence": float(apart_HH[row, column]),
            }
            for row, column in partners(apart_HH)[:NAMED]
        ],
    }
    return Nearest(frame(rows, SIMILARITY), about)


def _name(head: tuple[int, int]) -> str:
    return f"L{head[0]}H{head[1]}"


def _ranges(before: State, after: State) -> dict[str, tuple[float, float]]:
    """The scores of both that have two ends and mean the same in both, with their ends."""
    told: Mapping[str, Any] = after.manifest.get("scores") or {}
    apart = set() if set(before.heads["part"]) == set(after.heads["part"]) else _sided(before) | _sided(after)
    found = {}
    for score in after.scores:
        ends = [end for end in (told.get(score) or {}).get("range") or () if end is not None]
        if score in before.scores and score not in apart and len(ends) == 2 and ends[0] < ends[1]:
            found[score] = (float(ends[0]), float(ends[1]))
    return found


def _profiles(state: State, ranges: Mapping[str, tuple[float, float]]) -> pl.DataFrame:
    """A row per head and a column per score, each as a share of its range; only scores that every head has."""
    known = state.heads.filter(pl.col("score").is_in(list(ranges)) & pl.col("value").is_not_null())
    wide = known.pivot("score", index=["layer", "head"], values="value").sort("layer", "head")
    whole = [name for name in wide.columns if name in ranges and not wide[name].null_count()]
    spans = [((pl.col(name) - ranges[name][0]) / (ranges[name][1] - ranges[name][0])).alias(name) for name in whole]
    return wide.select("layer", "head", *spans)
