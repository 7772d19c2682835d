"""The table of a swap probe, as its page reads it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import polars as pl

from wherewhat.formatting import count, short, signed
from wherewhat.report.probe_sections import per_cent, points, reaching
from wherewhat.report.tags import Html, join
from wherewhat.tables.manifest.probe import ProbeManifest

EVERY_SIZE = "every size"
CHANGES = "label changes"  # examples whose right answer changes with the swap
VOICES = ("active voice", "passive voice")
DIFFERENCES = ("change", "control change", "beyond control", "against whole", "beyond voice")
SHARES = ("accuracy", "kept", "flip", "old label", "lenient", "moved")
MEASURES = {
    "accuracy": "accuracy",
    "nats": "surprisal",
    "distance": "distance of hidden states",
    "kept": "answers kept",
}
ALONE = "a guess from the words in any order"  # a baseline that does not read
Row = Mapping[str, Any]


@dataclass(frozen=True)
class SwapTables:
    """One run of a swap probe."""

    table: pl.DataFrame
    manifest: ProbeManifest

    @cached_property
    def rows(self) -> dict[tuple[str, ...], Row]:
        """Every row by what it is about."""
        names = ("data", "item", "side", "kind", "measure")
        return {tuple(row[name] or "" for name in names): row for row in self.table.iter_rows(named=True)}

    def of(self, data: str, item: str, kind: str, measure: str, side: str = "") -> Row:
        """One row; an empty one where there is none."""
        return self.rows.get((data, item, side, kind, measure), {})

    @cached_property
    def datasets(self) -> list[str]:
        """What was read, in the order of the run."""
        return list(dict.fromkeys(self.table["data"].drop_nulls().to_list()))

    @cached_property
    def items(self) -> list[str]:
        """What was swapped, in the order of the run."""
        return [item for item in dict.fromkeys(self.table["item"].to_list()) if item]

    @cached_property
    def way(self) -> str:
        """How the model was read."""
        return self.manifest.way

    @property
    def labelled(self) -> bool:
        """Whether answers were compared with labels, as in the paper."""
        return self.way == "labels" and "accuracy" in self.measures

    @cached_property
    def measures(self) -> list[str]:
        """The measures of swaps, the one that tells most first."""
        there = set(self.table["measure"])
        return [name for name in MEASURES if name in there]

    @cached_property
    def labels(self) -> list[str]:
        """The labels that have rows of their own."""
        sides = dict.fromkeys(self.table["side"].drop_nulls().to_list())
        return [side for side in sides if side not in (EVERY_SIZE, CHANGES, *VOICES)]

    def sides(self, *names: str) -> list[str]:
        """Those of some sides that have rows."""
        there = set(self.table["side"].drop_nulls())
        return [name for name in names if name in there]

    def alone(self, data: str, item: str, side: str = "") -> Row:
        """The accuracy of the words alone; an empty row where it is not known."""
        return self.of(data, item, "words alone", "accuracy", side)

    @property
    def has_alone(self) -> bool:
        """Whether it is known for some data."""
        return any(row["kind"] == "words alone" for row in self.rows.values())

    def unit(self, measure: str) -> str:
        """The unit on the axis of a measure."""
        units = {
            "accuracy": "points",
            "nats": "nats per token",
            "kept": "share of answers",
            "distance": "× two sentences",
        }
        return units.get(measure, "")


def scaled(row: Row, measure: str, kind: str) -> dict[str, float | None]:
    """A row's numbers as they are drawn: differences of shares in percentage points."""
    by = 100.0 if measure in SHARES and kind in DIFFERENCES else 1.0
    return {name: None if row.get(name) is None else by * row[name] for name in ("value", "low", "high")}


def written(value: float | None, measure: str, kind: str) -> str:
    """A number as text, by what it is: points, per cent, nats or a plain number."""
    if value is None:
        return per_cent(None)
    if measure in SHARES:
        return points(value) if kind in DIFFERENCES else per_cent(value)
    return signed(value, 2) if kind in DIFFERENCES else short(value)


def with_interval(row: Row, measure: str, kind: str) -> Html:
    """A number and, small behind it, its interval."""
    low, high = (written(row.get(end), measure, kind) for end in ("low", "high"))
    return join(written(row.get("value"), measure, kind), reaching(low, high))


def in_words(row: Row, measure: str, kind: str) -> str:
    """The same as plain text, for a tooltip."""
    unit = " %" if measure in SHARES and kind not in DIFFERENCES else ""
    unit = " points" if measure in SHARES and kind in DIFFERENCES else unit
    unit = " nats per token" if measure == "nats" else unit
    low, high = (written(row.get(end), measure, kind) for end in ("low", "high"))
    between = f" ({low} to {high})" if row.get("low") is not None else ""
    behind = f", {count(row['count'], 'sentence')}" if row.get("count") else ""
    return f"{written(row.get('value'), measure, kind)}{unit}{between}{behind}"


def clear(row: Row) -> bool:
    """Whether an interval leaves out 0."""
    low, high = row.get("low"), row.get("high")
    return low is not None and high is not None and (low > 0 or high < 0)


def first_known(rows: Sequence[Row]) -> bool:
    """Whether some row has a value."""
    return any(row.get("value") is not None for row in rows)


def ends_of(rows: Iterable[Row], *, whole: float | None = None) -> dict[str, str]:
    """The ends of an axis that holds 0 and all rows as they are drawn, as a chart's words; `whole` fixes the upper end.

    >>> ends_of([{"value": -4.0, "low": -6.0, "high": -2.0}])
    {'floor': '-6.3', 'ceiling': '0.3'}
    """
    numbers = [0.0, *(row[name] for row in rows for name in ("value", "low", "high") if row.get(name) is not None)]
    low, high = min(numbers), max([*numbers, *([whole] if whole else [])])
    room = 0.05 * (high - low) or 1.0
    return {"floor": f"{low - room if low < 0 else low:.4g}", "ceiling": f"{high if whole else high + room:.4g}"}
