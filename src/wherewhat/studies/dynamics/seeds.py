"""From single runs to what holds over all of them: means with their intervals."""

from collections.abc import Iterable

import polars as pl

from wherewhat.studies.dynamics.job import Row
from wherewhat.studies.intervals import of_mean
from wherewhat.tables.schema import RESULT, frame

UNBOUNDED = ("loss", "mean_frequency")  # what may lie above 1, beside counts
ANY = ""  # the item of rows that differ from run to run in theirs, as the head that leads does


def with_means(rows: Iterable[Row]) -> pl.DataFrame:
    """The result: all rows, and after them one for each number that several seeds, or a single one, measured."""
    groups: dict[tuple[str, str, str, float | None, str], list[Row]] = {}
    kept = list(rows)
    for row in kept:
        part, task, item, at, _, measure, value, _, _ = row
        if value is not None:
            groups.setdefault((part, task, ANY if part == "gap" else item, at, measure), []).append(row)
    means = [(*key[:4], None, key[4], *_mean(its)) for key, its in groups.items()]
    return frame([*kept, *means], RESULT)


def _mean(rows: list[Row]) -> tuple[float | None, float | None, float | None]:
    """Of one run its own interval, of several that over seeds, kept within what is possible."""
    if len(rows) == 1:
        return rows[0][6:]
    part, measure = rows[0][0], rows[0][5]
    mean, low, high = of_mean([row[6] for row in rows if row[6] is not None])
    top = high if part == "purity" or measure in UNBOUNDED else min(high, 1.0)
    return mean, max(low, 0.0), top
