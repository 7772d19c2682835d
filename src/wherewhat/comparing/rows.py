"""From two states to the rows of compare.parquet: every head, all heads of a layer, all heads of a part."""

from collections.abc import Mapping
from typing import Any

import polars as pl

from wherewhat.comparing.change import Value, mean_value, of_head, one_more
from wherewhat.comparing.state import OWN, State

Row = tuple[object, ...]
SIDES = ("value", "low", "high", "texts")  # what is known of a head before and after


def rows_of(before: State, after: State) -> list[Row]:
    """All rows about what changed from one state to the other, score by score.

    The mean over a whole model is taken in each of its parts alone: an encoder's heads see both sides, a decoder's one.
    """
    both = _joined(before, after)
    names = (after.name, before.name)
    rows: list[Row] = []
    for (score,), of_score in both.group_by("score", maintain_order=True):
        rows += [(*names, *_of_one(row)) for row in of_score.iter_rows(named=True)]
        for (layer, part), heads in of_score.group_by("layer", "part", maintain_order=True):
            rows.append((*names, layer, None, score, *_over(heads, len(before.drawn)), part))
        for (part,), heads in of_score.group_by("part", maintain_order=True):
            rows.append((*names, None, None, score, *_over(heads, len(before.drawn)), part))
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
    both = known[1].join(known[0].drop("part"), on=OWN, suffix="_before", maintain_order="left")
    for number, draw in enumerate(before.drawn):
        alone = draw.heads.select(*OWN, pl.col("value").alias(f"draw {number}"))
        both = both.join(alone, on=OWN, how="left", maintain_order="left")
    return both


def _of_one(row: Mapping[str, Any]) -> Row:
    change = of_head(value_of(row, "_before"), value_of(row))
    return (row["layer"], row["head"], row["score"], *change, row["part"])


def value_of(row: Mapping[str, Any], side: str = "") -> Value:
    """One side of a row; what was read off weights, from no text at all, is exact."""
    low, high = (float("nan") if row[name + side] is None else row[name + side] for name in ("low", "high"))
    return Value(row["value" + side], low, high, exact=row["texts" + side] == 0)


def _over(heads: pl.DataFrame, draws: int) -> tuple[float, ...]:
    """The change of the mean of these heads; of several draws it is known where the mean of one more would lie."""
    rows = heads.rows(named=True)
    before, after = (mean_value([value_of(row, side) for row in rows]) for side in ("_before", ""))
    if draws:
        before = Value(*one_more(heads.select(f"draw {number}" for number in range(draws)).mean().to_numpy()[0]))
    return tuple(of_head(before, after))
