"""Means over seeds, with their intervals."""

from collections.abc import Iterable

import polars as pl

from wherewhat.stats.intervals import student
from wherewhat.studies.dynamics.job import Row
from wherewhat.tables.schema import RESULT, frame

UNBOUNDED = ("loss", "mean_frequency")  # measures that may exceed 1, in addition to counts
ANY = ""  # the item of means over rows whose items differ, as the head of the margin does


def with_means(rows: Iterable[Row]) -> pl.DataFrame:
    """The result table: all rows, followed by their means over seeds."""
    groups: dict[tuple[str, str, str, float | None, str], list[Row]] = {}
    rows = list(rows)
    for row in rows:
        part, task, item, at, _, measure, value, _, _ = row
        if value is not None:
            groups.setdefault((part, task, ANY if part == "gap" else item, at, measure), []).append(row)
    means = [(*key[:4], None, key[4], *_mean(group)) for key, group in groups.items()]
    return frame([*rows, *means], RESULT)


def _mean(rows: list[Row]) -> tuple[float | None, float | None, float | None]:
    """A single run keeps its own interval; several have one over seeds, clipped to the possible range."""
    if len(rows) == 1:
        return rows[0][6:]
    part, measure = rows[0][0], rows[0][5]
    mean, low, high = student([row[6] for row in rows if row[6] is not None])
    top = high if part == "purity" or measure in UNBOUNDED else min(high, 1.0)
    return mean, max(low, 0.0), top
