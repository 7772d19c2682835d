"""Means over seeds of everything that was measured. Torch-free."""

from collections.abc import Iterator

from wherewhat.studies.engine.results import ResultTable, Row, over_seeds

SHARES = ("accuracy", "distance", "entropy")  # parts whose numbers lie between 0 and 1


def mean_rows(table: ResultTable) -> Iterator[Row]:
    """Means over seeds with Student's interval, cut off at the possible range; a single run keeps its own interval."""
    groups: dict[tuple[str, str, str, float | None, str], list[Row]] = {}
    for row in table.rows.iter_rows():
        part, task, arm, at, _, measure, value, _, _ = row
        if value is not None:
            groups.setdefault((part, task, arm, at, measure), []).append(row)
    for (part, task, arm, at, measure), rows in groups.items():
        least = float("-inf") if part in ("place", "predicted") else 0.0
        most = 1.0 if part in SHARES or part == "place" else float("inf")
        mean = over_seeds([row[6] for row in rows if row[6] is not None], within=(least, most)).numbers
        yield part, task, arm, at, None, measure, *(mean if len(rows) > 1 else rows[0][6:])
