"""Charts of relations between words: the share that each part of attention finds, by distance and by relation.

Rows have a `kind` (one of `KINDS`), `value`, `low` and `high`, a `distance` or a `relation` with its `order`, and a
`count` where rows were counted.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from wherewhat.formatting import count
from wherewhat.report.blocks.axes import INK, MUTED, WHAT, WHERE, end, names, share, x, y
from wherewhat.report.blocks.chart import ViewRows, Views, chart
from wherewhat.report.blocks.layout import key
from wherewhat.report.blocks.marks import ROWS, TIP, dots, line, where, whiskers
from wherewhat.report.blocks.numbers import per_cent
from wherewhat.report.blocks.rows import Row, list_of
from wherewhat.report.core.html import Html
from wherewhat.report.core.page import Chart

SIDES = ("to head", "to dependent")
PARTS = ("positional", "contextual", "full")
LEVELS = ("offset", "uniform")
KINDS = (*PARTS, *LEVELS)
TITLES = {
    "positional": "position alone",
    "contextual": "content alone",
    "full": "full attention",
    "offset": "best fixed offset",
    "uniform": "uniform attention",
    "shuffled": "shuffled sentence",
    "with positional": "with position alone",
    "with contextual": "with content alone",
}
COLOURS = {"positional": WHERE, "contextual": WHAT, "full": INK}
SHAPES = {"positional": "square", "contextual": "triangle-up", "full": "circle"}
DASHES = {"positional": [7, 3], "contextual": [2, 2], "full": [1, 0], "uniform": [1, 3], "offset": [5, 4]}
BESIDE = {"positional": -8, "contextual": 0, "full": 8}  # pixels from the middle of a line
LINE = 34  # pixels of height per relation


def chart_rows(column: str, names: Mapping[str, Any], row_of: Callable[[str, Any], Row | None]) -> list[Row]:
    """The rows of a chart: one per kind and name (a distance or a relation), cut off at 0 and 1.

    `names` maps names to what `row_of` knows them by; it gives the number of a kind, if there is one.
    """
    rows = [
        (row_of(kind, key), {"kind": kind, column: name, "order": order})
        for kind in KINDS
        for order, (name, key) in enumerate(names.items())
    ]
    return [{**row, **clipped(row), **place} for row, place in rows if row and row["value"] is not None]


def clipped(row: Row) -> dict[str, float | None]:
    return {end: None if row[end] is None else min(max(row[end], 0.0), 1.0) for end in ("value", "low", "high")}


def by_distance(rows: Views, place: str, **look: Any) -> Chart:
    """The share that each part of attention finds, from neighbours to far words; grey lines are baselines.

    `place` names what the rows are about, for those who cannot see the chart.
    """
    across = x("distance", "words from the partner", type="ordinal", sort=None, labelAngle=0, ticks=False, grid=False)
    spot, marks, first = {"x": across, "y": share(y, title="found")}, [], _first(rows)
    for level in reversed(LEVELS):
        its = where(ROWS, kind=level)
        marks.append(line(its, spot, width=1.6, stroke=MUTED, strokeDash=DASHES[level]))
        marks.append(dots(its, spot, size=46, shape="diamond", stroke=MUTED, hollow=True))
    for part in PARTS:
        its = where(ROWS, kind=part)
        marks.append(line(its, spot, width=2.2, stroke=COLOURS[part], strokeDash=DASHES[part], xOffset=BESIDE[part]))
        marks += _with_interval(its, part, spot, along="y", xOffset=BESIDE[part])
    lines = [_in_words(first, kind) for kind in KINDS]
    label = f"Share found by distance, {place}. {' '.join(filter(None, lines))}"
    return chart(
        "distances",
        rows,
        marks,
        label=label,
        tip=lambda row: f"{TITLES[row['kind']]}, distance {row['distance']}: {share_in_words(row)}",
        subtitle=_legend(first),
        **look,
    )


def by_relation(rows: Views, place: str, **look: Any) -> Chart:
    """One line per relation, those between neighbours above; the vertical mark is the best fixed offset."""
    down = names("relation", order="order", grid=True, tickBand="extent", labelLimit=110)
    spot, first = {"x": share(x, title="found"), "y": down}, _first(rows)
    uniform, offset = (where(ROWS, kind=level) for level in reversed(LEVELS))
    marks = [
        uniform.mark_tick(color=MUTED, thickness=1, size=LINE - 10, opacity=0.6, tooltip=TIP).encode(**spot),
        offset.mark_bar(size=LINE - 8, opacity=0.18, color=MUTED).encode(**end(spot, "x")),
        offset.mark_tick(color=MUTED, thickness=3, size=LINE - 8, tooltip=TIP).encode(**spot),
    ]
    for part in PARTS:
        marks += _with_interval(where(ROWS, kind=part), part, spot, along="x", yOffset=BESIDE[part])
    return chart(
        "relations",
        rows,
        marks,
        label=f"Relation by relation, {place}",
        tip=lambda row: f"{row['relation']}, {TITLES[row['kind']]}: {share_in_words(row)}",
        subtitle=_legend(first),
        height=LINE * len({row["relation"] for row in first}) + 8,
        **look,
    )


def _with_interval(rows: Any, part: str, spot: Mapping[str, Any], *, along: str, **aside: Any) -> list[Any]:
    """A dot of a part's colour and shape, and its interval along the axis of values."""
    return [
        whiskers(rows, spot, along=along, width=2, stroke=COLOURS[part], **aside),
        dots(rows, spot, size=62, shape=SHAPES[part], fill=COLOURS[part], **aside),
    ]


def share_in_words(row: Row) -> str:
    """A share with its interval and its number of rows.

    >>> share_in_words({"value": 0.512, "low": 0.5, "high": 0.53, "count": 80}), share_in_words({"value": 0.5})
    ('51.2 % (50.0 to 53.0), 80 rows', '50.0 %')
    """
    ends = f" ({per_cent(row['low'])} to {per_cent(row['high'])})" if row.get("low") is not None else ""
    rows = f", {count(row['count'], 'row')}" if row.get("count") else ""
    return f"{per_cent(row['value'])} %{ends}{rows}"


def part_key(parts: Sequence[str], mark: str, level: str) -> Html:
    """Which mark is what; `mark` and `level` are classes of the style sheet."""
    marks = [(f"{mark} {part}", TITLES[part]) for part in reversed(PARTS) if part in parts]
    return key(*marks, *((f"level {name} {level}", TITLES[name]) for name in LEVELS))


def _first(rows: Views) -> list[Row]:
    """The rows of the first view."""
    view = next(iter(rows.values())) if isinstance(rows, Mapping) else rows
    return list_of(view.rows if isinstance(view, ViewRows) else view)


def _in_words(rows: Sequence[Row], kind: str) -> str:
    """The line of a kind as a sentence; nothing where it has no rows."""
    shares = [f"{row['distance']}: {share_in_words(row)}" for row in rows if row["kind"] == kind]
    return f"{TITLES[kind]} at distance {'; '.join(shares)}." if shares else ""


def _legend(rows: Sequence[Row]) -> str:
    """The shapes of the parts that are drawn, below the title of a figure."""
    there = {row["kind"] for row in rows}
    shapes = [f"{SHAPES[part].partition('-')[0]} {TITLES[part]}" for part in PARTS if part in there]
    return ", ".join([*shapes, "grey the best fixed offset"])
