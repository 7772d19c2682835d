"""The result table of a study, and the one way to ask it for a number, a mean over seeds, a difference or a trend.

Torch-free, so that a page can read a table too.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from statistics import fmean
from typing import Any, NamedTuple

import polars as pl

from wherewhat.stats.estimate import Estimate
from wherewhat.tables.schema import RESULT, frame

# part, subject, item, at, seed, measure, value, low, high: the columns of a result
Row = tuple[str, str, str, float | None, int | None, str, float | None, float | None, float | None]
ResultRow = Mapping[str, Any]  # the same by name


class Cell(NamedTuple):
    """Which number of a condition: the part of the experiment, the measure, an item inside it, and a place."""

    part: str
    measure: str
    item: str = ""
    at: float | None = None


@dataclass(frozen=True)
class ResultTable:
    """All rows of a study; what has a seed is of one run, what has none is over all of them."""

    rows: pl.DataFrame
    conditions: Sequence[Any] = ()
    scale: Any = None
    notes: Mapping[str, Any] = field(default_factory=dict)  # what a study adds to read its rows, such as chance levels

    @cached_property
    def seeds(self) -> list[int]:
        """The seeds of the runs."""
        return sorted(self.rows["seed"].drop_nulls().unique().to_list())

    def where(self, **columns: Any) -> pl.DataFrame:
        """The rows in which columns have these values; None: no value."""
        tests = [pl.col(name).is_null() if value is None else pl.col(name) == value for name, value in columns.items()]
        return self.rows.filter(*tests) if tests else self.rows

    def row(self, subject: str, cell: Cell, seed: int | None = None) -> ResultRow | None:
        """One row with its interval: of a seed, or over all of them; None where there is no number."""
        return self._by_key.get((cell.part, subject, cell.item, cell.at, seed, cell.measure))

    def value(self, subject: str, cell: Cell, seed: int | None = None) -> float:
        """One number; NaN where there is none."""
        row = self.row(subject, cell, seed)
        return math.nan if row is None else float(row["value"])

    def estimate(self, subject: str, cell: Cell) -> Estimate:
        """One number over all seeds as its row has it; NaN where there is no number or no interval."""
        row = self.row(subject, cell) or {}
        return Estimate(*(math.nan if row.get(end) is None else row[end] for end in ("value", "low", "high")))

    def by_seed(self, subjects: Iterable[str], cell: Cell) -> list[float]:
        """By seed, the mean over some conditions; NaN if one of them has no such number, or there is none."""
        names = list(subjects)
        return [fmean(self.value(name, cell, seed) for name in names) if names else math.nan for seed in self.seeds]

    def mean(self, subjects: Iterable[str], cell: Cell, **options: Any) -> Estimate:
        """The mean over seeds, with Student's interval."""
        return over_seeds(self.by_seed(subjects, cell), **options)

    def difference(
        self, first: Iterable[str], second: Iterable[str], cell: Cell, other: Cell | None = None
    ) -> Estimate:
        """By how much the first conditions exceed the second, seed by seed, as seeds share their data."""
        return paired(self.by_seed(first, cell), self.by_seed(second, other or cell))

    def means(self, by: str = "subject", **columns: Any) -> dict[str, float]:
        """By condition or another column, the mean of the rows in which columns have these values."""
        rows = self.where(**columns).group_by(by, maintain_order=True).agg(pl.col("value").mean())
        return {name: value for name, value in rows.iter_rows() if value is not None}

    def trend(self, x: Mapping[str, float], cell: Cell) -> Estimate:
        """How steeply a number grows over conditions with something that each has, seed by seed."""
        from wherewhat.stats.correlation import slope  # brings SciPy, which no page needs

        return slope(list(x.values()), list(zip(*(self.by_seed([name], cell) for name in x), strict=True)))

    def extended(self, rows: Iterable[Row]) -> "ResultTable":
        """The same table with further rows."""
        return replace(self, rows=pl.concat([self.rows, frame(list(rows), RESULT)]))

    @cached_property
    def _by_key(self) -> Mapping[tuple[Any, ...], ResultRow]:
        key = ("part", "subject", "item", "at", "seed", "measure")
        known = self.rows.filter(pl.col("value").is_not_null())
        return {tuple(row[name] for name in key): row for row in known.iter_rows(named=True)}


def over_seeds(values: Sequence[float], **options: Any) -> Estimate:
    """The mean over seeds, with Student's interval; `within` cuts it off."""
    from wherewhat.stats import intervals  # brings SciPy, which no page needs

    return intervals.over_seeds(values, **options)


def paired(above: Sequence[float], below: Sequence[float]) -> Estimate:
    """The mean of differences, seed by seed."""
    return over_seeds([a - b for a, b in zip(above, below, strict=True)])


def table_of(rows: Iterable[Sequence[Any]], conditions: Sequence[Any] = (), scale: Any = None) -> ResultTable:
    """A table from rows, also those that come back from JSON."""
    return ResultTable(frame([tuple(row) for row in rows], RESULT), conditions, scale)
