"""Charts as objects: what they draw, how it looks, and how a page calls them. One function per kind.

Rows are data frames or lists of mappings. A mapping of titles to rows gives views, from which the reader chooses.
Tooltips come from columns: `tip="{name}: {value:share}"` (see `rows.write_tip`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import altair as alt

from wherewhat.report.blocks.axes import INK, MUTED, PAPER, diverging, names, x
from wherewhat.report.blocks.marks import (
    ROWS,
    TIP,
    band,
    completed,
    dots,
    estimates,
    layered,
    line,
    text_labels,
    where,
    whiskers,
    zero_rule,
)
from wherewhat.report.blocks.rows import Rows, Tip, table_of
from wherewhat.report.core.page import Chart, Spec, View

LINE = 26  # pixels per line of a chart with one name per line


@dataclass(frozen=True)
class ViewRows:
    """The rows of one view, with the words that its chart fills in."""

    rows: Rows
    words: Mapping[str, str] = field(default_factory=dict)
    tables: Mapping[str, Rows] = field(default_factory=dict)  # other tables that differ between views


Views = Rows | ViewRows | Mapping[str, Rows | ViewRows]


def chart(
    name: str,
    rows: Views,
    layers: Sequence[Any] | Spec,
    *,
    label: str,
    tip: Tip = "",
    tables: Mapping[str, Rows] | None = None,
    words: Mapping[str, str] | None = None,
    **look: Any,
) -> Chart:
    """A chart of any layers, or of a finished Vega-Lite spec; the rows are its table `rows`, `tables` are others.

    `look` are the other fields of `Chart`: height, figure, width, title, subtitle.
    """
    spec = completed(layers) if isinstance(layers, Mapping) else layered(*layers)
    titled = rows if isinstance(rows, Mapping) else {"": rows}
    views = [_view(spec, title, its, tip, tables or {}, words or {}) for title, its in titled.items()]
    return Chart(name, spec, views, label, **look)


def _view(spec: Spec, title: str, rows: Any, tip: Tip, tables: Mapping[str, Rows], words: Mapping[str, str]) -> View:
    its = rows if isinstance(rows, ViewRows) else ViewRows(rows)
    words = {**words, **its.words}
    others = {name: table_of(other, spec=spec, words=words) for name, other in {**tables, **its.tables}.items()}
    return View({"rows": table_of(its.rows, tip, spec=spec, words=words), **others}, words, title)


def forest(
    name: str, rows: Views, *, line: str, axis: str, order: str = "", below: Sequence[Any] = (), **look: Any
) -> Chart:
    """One line per name with its interval, around a line at 0; `side` is above, below or unclear.

    `line` names the column of the names, `order` the one that sorts them, `axis` is the title of the values, and
    `below` are layers below the marks.
    """
    sign = "datum.value > 0 ? '+' + datum.label : datum.label"
    across = x("value", axis, zero=True, padding=6, tickCount=5, labelExpr=sign)
    place = {"x": across, "y": names(line, order=order)}
    look = {"height": LINE * _most(rows, line) + 34, **look}
    return chart(name, rows, [zero_rule(ROWS, across), *below, *estimates(ROWS, place)], **look)


def _most(rows: Views, line: str) -> int:
    """How many lines the longest view has."""
    views = rows.values() if isinstance(rows, Mapping) else [rows]
    tables = [table_of(view.rows if isinstance(view, ViewRows) else view) for view in views]
    return max((len(set(table.get(line, ()))) for table in tables), default=0)


def lines(
    name: str,
    rows: Views,
    *,
    x: Any,
    y: Any,
    colour: Any,
    seeds: bool = False,
    intervals: str = "band",
    dash: Any = None,
    below: Sequence[Any] = (),
    above: Sequence[Any] = (),
    size: float = 50,
    **look: Any,
) -> Chart:
    """Lines with dots and their intervals as bands, whiskers or not at all (`none`); thin lines are single seeds.

    With `seeds`, rows that have a seed are single runs and the others their means. `dash` is a stroke per line.
    """
    means = where(ROWS, seed=None) if seeds else ROWS
    place = {"x": x, "y": y, "color": colour}
    around = {"band": [band(means, place)], "whiskers": [whiskers(means, place, along="y", width=1.6)], "none": []}
    single = [
        line(where(ROWS, seed=...), {**place, "detail": alt.Detail("seed", type="nominal")}, width=1, opacity=0.45)
    ]
    layers = [
        *below,
        *around[intervals],
        *(single if seeds else []),
        line(means, place if dash is None else {**place, "strokeDash": dash}),
        dots(means, place, size=size),
        *above,
    ]
    return chart(name, rows, layers, **look)


def scatter(
    name: str,
    rows: Views,
    *,
    x: Any,
    y: Any,
    colour: Any,
    shape: Any = None,
    labels: str = "",
    intervals: str = "",
    size: float = 74,
    **look: Any,
) -> Chart:
    """Dots in a plane, with their labels from a column and their intervals along `x` or `y`, if they have any."""
    place = {"x": x, "y": y, "color": colour}
    ends = [whiskers(ROWS, place, along=intervals, width=1.4, opacity=0.6)] if intervals else []
    text = text_labels(ROWS, labels, {"x": x, "y": y}, align="left", dx=9) if labels else []
    marks = dots(ROWS, place if shape is None else {**place, "shape": shape}, size=size)
    return chart(name, rows, [*ends, marks, *text], **look)


def heat_map(
    name: str,
    rows: Views,
    *,
    x: Any,
    y: Any,
    value: str = "value",
    scale: Any = None,
    legend: Any = None,
    unclear: str = "",
    edge: float = 1,
    above: Sequence[Any] = (),
    **look: Any,
) -> Chart:
    """Cells coloured by a value, from blue over neutral to orange unless another scale is given.

    `unclear` is a condition on a cell, in the language of charts; such cells have a dot.
    """
    colours = alt.Color(value, type="quantitative", scale=scale or diverging(), legend=legend)
    cells = ROWS.mark_rect(stroke=PAPER, strokeWidth=edge, tooltip=TIP).encode(x=x, y=y, color=colours)
    spots = ROWS.transform_filter(unclear) if unclear else None
    marks = [dots(spots, {"x": x, "y": y}, size=14, fill=INK, strokeWidth=0, opacity=0.45)] if spots else []
    return chart(name, rows, [cells, *marks, *above], **look)


def dumbbell(
    name: str,
    rows: Views,
    *,
    line: str,
    x: Any,
    order: str = "",
    state: str = "state",
    states: Mapping[str, Any],
    below: Sequence[Any] = (),
    **look: Any,
) -> Chart:
    """One line per name with a dot per state, joined: the first state is hollow, the last has its interval.

    `states` gives the colour of each state, in order.
    """
    down = names(line, order=order, grid=True)
    field = x.to_dict()["field"]
    group: list[Any] = [line, order] if order else [line]
    way = ROWS.transform_aggregate(low=f"min({field})", high=f"max({field})", groupby=group)
    place = {"x": x, "y": down}
    joined = way.mark_rule(stroke=INK, strokeWidth=1, opacity=0.45).encode(
        x=alt.X("low", type="quantitative"), x2="high", y=down
    )
    marks = []
    for number, (kind, tone) in enumerate(states.items()):
        its, last = where(ROWS, **{state: kind}), number == len(states) - 1
        marks += [whiskers(its, place, stroke=tone, width=2.4, clip=True)] if last else []
        marks.append(
            dots(its, place, size=84, fill=tone) if last else dots(its, place, size=84, hollow=True, stroke=tone)
        )
    look = {"height": (LINE + 1) * _most(rows, line) + 8, **look}
    return chart(name, rows, [*below, joined, *marks], **look)


def bars(name: str, rows: Views, *, x: Any, y: Any, colour: Any = None, order: str = "", **look: Any) -> Chart:
    """Bars, stacked where several rows share a place; `order` is the column that stacks them."""
    place = {"x": x, "y": y} | ({"color": colour} if colour is not None else {"color": alt.value(MUTED)})
    stacked = {"order": alt.Order(order, type="quantitative")} if order else {}
    return chart(name, rows, [ROWS.mark_bar(tooltip=TIP).encode(**place, **stacked)], **look)
