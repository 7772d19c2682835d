"""From two states to the rows of compare.parquet: every head, all heads of a layer, all heads of a part."""

from collections.abc import Mapping
from typing import Any

import polars as pl

from wherewhat.comparing.change import Value, of_head, over_heads
from wherewhat.comparing.state import OWN, State

Row = tuple[object, ...]
SIDES = ("value", "low", "high", "texts")  # what is known of a head before and after


def rows_of(before: State, after: State, *, same_heads: bool) -> list[Row]:
    """All rows about what changed from one state to the other, score by score.

    The mean over a whole model is taken in each of its parts alone: an encoder's heads see both sides, a decoder's one.
    """
    both = _joined(before, after)
    names = (after.name, before.name)
    rows: list[Row] = []
    for (score,), of_score in both.group_by("score", maintain_order=True):
        rows += [(*names, *_of_one(row)) for row in of_score.iter_rows(named=True)]
        for (layer, part), heads in of_score.group_by("layer", "part", maintain_order=True):
            rows.append((*names, layer, None, score, *_over(heads, same_heads), part))
        for (part,), heads in of_score.group_by("part", maintain_order=True):
            rows.append((*names, None, None, score, *_over(heads, same_heads), part))
    return rows


def half_known(before: State, after: State) -> dict[str, int]:
    """Of scores that both states have: how many heads have a value in one of them only."""
    pairs = before.heads.join(after.heads, on=OWN, suffix="_after").filter(
        pl.col("value").is_null() != pl.col("value_after").is_null()
    )
    shared = [name for name in after.scores if name in before.scores]
    counts = dict(pairs.group_by("score", maintain_order=True).len().iter_rows())
    return {name: counts[name] for name in shared if name in counts}


def _joined(before: State, after: State) -> pl.DataFrame:
    """The heads that have a score in both, in the order of the later table."""
    known = [
        state.heads.filter(pl.col("value").is_not_null()).select(*OWN, *SIDES, "part") for state in (before, after)
    ]
    return known[1].join(known[0].drop("part"), on=OWN, suffix="_before", maintain_order="left")


def _of_one(row: Mapping[str, Any]) -> Row:
    change = of_head(_value(row, "_before"), _value(row, ""))
    return (row["layer"], row["head"], row["score"], *change, row["part"])


def _value(row: Mapping[str, Any], side: str) -> Value:
    """One side of a row; what was read off weights, from no text at all, is exact."""
    low, high = (float("nan") if row[name + side] is None else row[name + side] for name in ("low", "high"))
    return Value(row["value" + side], low, high, exact=row["texts" + side] == 0)


def _over(heads: pl.DataFrame, same_heads: bool) -> tuple[float, ...]:
    return tuple(over_heads(heads["value_before"].to_list(), heads["value"].to_list(), same_heads=same_heads))
