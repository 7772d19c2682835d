"""From the rows that a chart draws to the table that a page keeps: the columns it needs, and a tooltip per row."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from string import Formatter
from typing import Any

import polars as pl

from wherewhat.formatting import MISSING, interval, percent, short
from wherewhat.report.blocks import numbers
from wherewhat.report.core.page import Columns, Spec, filled

Row = Mapping[str, Any]
Rows = pl.DataFrame | Sequence[Row]
Tip = str | Callable[[Row], str]


def table_of(rows: Rows, tip: Tip = "", *, spec: Spec | None = None, words: Mapping[str, str] | None = None) -> Columns:
    """Rows as columns, with the tooltip of each as its column `tip`; only columns that the chart names are kept.

    >>> table_of([{"a": 1, "b": 0.5, "c": 0}, {"a": 3}], "{a}: {b:short}", spec={"field": "a"})
    {'a': [1, 3], 'tip': ['1: 0.50', '3: –']}
    """
    listed = list_of(rows)
    tipped = [{**row, "tip": write_tip(tip, row)} for row in listed] if tip else listed
    names = list(dict.fromkeys(name for row in tipped for name in row))
    if spec is not None:
        written = json.dumps(filled(spec, words or {}), ensure_ascii=False)
        names = [name for name in names if name == "tip" or re.search(rf"(?<!\w){re.escape(name)}(?!\w)", written)]
    return {name: [row.get(name) for row in tipped] for name in names} or {"tip": []}


def list_of(rows: Rows) -> list[Row]:
    """Rows as mappings, also those of a data frame."""
    return list(rows.iter_rows(named=True) if isinstance(rows, pl.DataFrame) else rows)


def write_tip(tip: Tip, row: Row) -> str:
    """The tooltip of a row: its columns filled in, numbers written as `WRITTEN` names them, with their interval.

    >>> write_tip("{name}: {value:share}", {"name": "rope", "value": 0.9, "low": 0.85, "high": 0.95})
    'rope: 90.0\\xa0% (85.0 to 95.0)'
    """
    if not isinstance(tip, str):
        return tip(row)
    parts = []
    for words, name, how, _ in Formatter().parse(tip):
        parts += [words, "" if name is None else _written(row, name, how or "")]
    return "".join(parts)


def _written(row: Row, name: str, how: str) -> str:
    value = row.get(name)
    if how in WRITTEN and value is None:
        return MISSING
    if how in WRITTEN:
        ends = ("low", "high") if name == "value" else ("", "")
        return WRITTEN[how]({"value": value, "low": row.get(ends[0]), "high": row.get(ends[1])})
    return format(value, how) if value is not None else ""


def _short(row: Row) -> str:
    ends = interval(row["low"], row["high"])
    return f"{short(row['value'])} ({ends})" if ends else short(row["value"])


WRITTEN: dict[str, Callable[[Row], str]] = {
    "short": _short,
    "share": numbers.share,
    "percent": lambda row: percent(row["value"]),
    "points": numbers.points,
    "plain": numbers.plain,
    "nats": numbers.nats,
}


def drawable(row: Row, times: float = 1.0, *, within: Sequence[float] = ()) -> dict[str, Any]:
    """A row whose interval can be drawn: multiplied, cut off at the ends of `within`, and its value where it has none.

    >>> drawable({"value": 0.9, "low": 0.7, "high": 1.1}, 100, within=(0, 100))
    {'value': 90.0, 'low': 70.0, 'high': 100}
    """
    known = {end: times * (row["value"] if row.get(end) is None else row[end]) for end in ("value", "low", "high")}
    return {**row, **{end: min(max(value, within[0]), within[1]) if within else value for end, value in known.items()}}
