"""By how much scores changed: the rows of compare.parquet, of every head, all heads of a layer, all heads of a part."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from wherewhat.comparing.model_state import OWN, ModelState
from wherewhat.stats.estimate import Estimate
from wherewhat.stats.intervals import dependent_mean, mover, prediction, student_over_heads, welch

Row = tuple[object, ...]
ALL_PARTS = "all"  # of models that have no part in common


class ScoreChange(NamedTuple):
    """Before, after, and after minus before with its interval."""

    before: float
    after: float
    change: float
    low: float
    high: float


def change_between(before: Estimate, after: Estimate) -> ScoreChange:
    """The change of a score of one head, or of the mean of some, from two separate measurements (MOVER's interval)."""
    return ScoreChange(before.value, after.value, after.value - before.value, *mover(before, after))


def change_over_heads(before_H: Sequence[float], after_H: Sequence[float], *, same_heads: bool) -> ScoreChange:
    """The change of the mean over heads, with an interval over heads.

    If they are the same heads at two times, each is compared with itself (Student's interval). If not, their numbers
    mean nothing, and two groups of heads are compared (Welch's interval).

    >>> [round(number, 3) for number in change_over_heads([0.1, 0.2, 0.3], [0.4, 0.6, 0.8], same_heads=True)]
    [0.2, 0.6, 0.4, 0.152, 0.648]
    >>> [round(number, 3) for number in change_over_heads([0.1, 0.2, 0.3], [0.4, 0.6, 0.8], same_heads=False)]
    [0.2, 0.6, 0.4, -0.016, 0.816]
    """
    before, after = np.asarray(before_H, dtype=float), np.asarray(after_H, dtype=float)
    first, second = float(before.mean()), float(after.mean())
    means = (first, second, second - first)
    if min(len(before), len(after)) < 2:
        return ScoreChange(*means, np.nan, np.nan)
    if not same_heads:
        return ScoreChange(*means, *welch(before, after))
    change = student_over_heads(after - before)
    return ScoreChange(*means, change.low, change.high)


def paired_rows(before: ModelState, after: ModelState) -> list[Row]:
    """Rows about models of one shape, score by score: each head is compared with its counterpart.

    The mean over a whole model is taken in each of its parts alone: an encoder's heads see both sides, a decoder's one.
    """
    columns, draws, names = (*OWN, "value", "low", "high", "texts"), len(before.drawn), (after.name, before.name)
    known = [state.heads.filter(pl.col("value").is_not_null()) for state in (before, after)]
    both = known[1].select(*columns, "part")  # heads that have a score in both, in the order of the later table
    both = both.join(known[0].select(columns), on=OWN, suffix="_before", maintain_order="left")
    for number, draw in enumerate(before.drawn):
        alone = draw.heads.select(*OWN, pl.col("value").alias(f"draw {number}"))
        both = both.join(alone, on=OWN, how="left", maintain_order="left")
    rows: list[Row] = []
    for (score,), of_score in both.group_by("score", maintain_order=True):
        for row in of_score.iter_rows(named=True):
            change = change_between(estimate_in(row, "_before"), estimate_in(row))
            rows.append((*names, row["layer"], row["head"], row["score"], *change, row["part"]))
        for (layer, part), heads in of_score.group_by("layer", "part", maintain_order=True):
            rows.append((*names, layer, None, score, *_mean_change(heads, draws), part))
        for (part,), heads in of_score.group_by("part", maintain_order=True):
            rows.append((*names, None, None, score, *_mean_change(heads, draws), part))
    return rows


def half_known(before: ModelState, after: ModelState) -> dict[str, int]:
    """By score that both states have, the number of heads that have a value in one of them only."""
    pairs = before.heads.join(after.heads, on=OWN, suffix="_after").filter(
        pl.col("value").is_null() != pl.col("value_after").is_null()
    )
    shared = [name for name in after.scores if name in before.scores]
    counts = dict(pairs.group_by("score", maintain_order=True).len().iter_rows())
    return {name: counts[name] for name in shared if name in counts}


def estimate_in(row: Mapping[str, Any], side: str = "") -> Estimate:
    """The value of one side of a row; what was read off weights, from no text at all, is exact."""
    low, high = (float("nan") if row[name + side] is None else row[name + side] for name in ("low", "high"))
    return Estimate(row["value" + side], low, high, exact=row["texts" + side] == 0)


def _mean_change(heads: pl.DataFrame, draws: int) -> tuple[float, ...]:
    """The change of the mean of these heads; from several draws follows where the mean of one more would be."""
    rows = heads.rows(named=True)
    before, after = (dependent_mean([estimate_in(row, side) for row in rows]) for side in ("_before", ""))
    if draws:
        before = prediction(heads.select(f"draw {number}" for number in range(draws)).mean().to_numpy()[0])
    return change_between(before, after)


def unpaired_rows(before: ModelState, after: ModelState) -> Iterator[Row]:
    """Rows about models of different shapes: every head and layer on its own side, and the difference of the means.

    Its interval is Welch's, over heads: two groups of heads without counterparts.
    """
    names = (after.name, before.name)
    for score, part, first, other in _groups(before, after):
        for side, heads in enumerate((first, other)):
            left, right = (None,) * side, (None,) * (4 - side)  # the columns from before to high that it does not have
            for row in heads.iter_rows(named=True):
                yield (*names, row["layer"], row["head"], score, *left, row["value"], *right, part)
            for layer, mean in heads.group_by("layer", maintain_order=True).agg(pl.col("value").mean()).iter_rows():
                yield (*names, layer, None, score, *left, mean, *right, part)
        change = change_over_heads(first["value"].to_list(), other["value"].to_list(), same_heads=False)
        yield (*names, None, None, score, *change, part)


def _groups(before: ModelState, after: ModelState) -> Iterator[tuple[str, str, pl.DataFrame, pl.DataFrame]]:
    """By score and part, the heads of both; models without a common part are compared as a whole."""
    known = [state.heads.filter(pl.col("value").is_not_null()) for state in (before, after)]
    parts = [part for part in known[1]["part"].unique(maintain_order=True) if part in set(known[0]["part"])]
    sided = set() if parts else sided_scores(before) | sided_scores(after)
    for score in after.scores:
        if score not in before.scores or score in sided:
            continue
        for part in parts or [ALL_PARTS]:
            here = (pl.col("score") == score) & (pl.lit(not parts) | (pl.col("part") == part))
            first, other = (heads.filter(here) for heads in known)
            if first.height and other.height:
                yield score, part, first, other


def sided_scores(state: ModelState) -> set[str]:
    """Scores that compare left with right, which mean something else under a causal mask."""
    return {name for name, section in state.manifest.scores.items() if section.sides}
