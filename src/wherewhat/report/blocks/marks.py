"""The layers that charts are composed of: dots, lines, bands, whiskers, labels. Each takes rows and where they stand.

`ROWS` are the rows of the chart itself; `named` are those of another table of the same chart. Two parameters may be set
in every chart from outside at any time: `selected` (a head's name) and `dark`.
"""

import json
from collections.abc import Mapping
from typing import Any

import altair as alt

from wherewhat.report.blocks.axes import INK, MUTED, PAPER, end, side_colour

RING = "var(--chance-5)"  # around a head on which views disagree
TIP = alt.TooltipContent(content="data")  # never titles: those would become part of an expression
DASHES = [5, 4]
Place = Mapping[str, Any]  # the channels x and y, and whatever else a layer encodes


def named(name: str) -> alt.Chart:
    """The rows of a table of the chart, by its name."""
    return alt.Chart(alt.NamedData(name=name))


ROWS = named("rows")


def where(rows: alt.Chart, **values: Any) -> alt.Chart:
    """The rows in which columns have these values; None: those that have no value, ...: those that have one.

    Values are written into an expression, so they must be our own words, never a user's.
    """
    for name, value in values.items():
        field = f"datum['{name}']"
        known = {None: f"!isValid({field})", ...: f"isValid({field})"}
        rows = rows.transform_filter(known[value] if value in (None, ...) else f"{field} == {json.dumps(value)}")
    return rows


def dots(rows: alt.Chart, place: Place, *, size: float = 64, **look: Any) -> Any:
    """Filled dots with a tooltip; `hollow` draws rings with the paper inside."""
    hollow = look.pop("hollow", False)
    plain: dict[str, Any] = {"filled": not hollow, "size": size, "opacity": 1, "tooltip": TIP}
    plain |= {"fill": PAPER, "strokeWidth": 1.8} if hollow else {"stroke": PAPER, "strokeWidth": 1}
    return rows.mark_point(**{**plain, **look}).encode(**place)


def line(rows: alt.Chart, place: Place, *, width: float = 2.4, **look: Any) -> Any:
    """A line through rows."""
    return rows.mark_line(strokeWidth=width, **look).encode(**place)


def band(rows: alt.Chart, place: Place, *, along: str = "y", opacity: float = 0.14) -> Any:
    """The intervals around a line, as an area."""
    return rows.mark_area(opacity=opacity, clip=True).encode(**end(place, along))


def whiskers(rows: alt.Chart, place: Place, *, along: str = "x", width: float = 2.2, **look: Any) -> Any:
    """The intervals of dots; rows without one are left out."""
    known = rows.transform_filter("isValid(datum.low)")
    return known.mark_rule(strokeWidth=width, **look).encode(**end(place, along))


def rule(rows: alt.Chart, place: Place, *, dash: Any = (2, 3), colour: Any = MUTED, **look: Any) -> Any:
    """A straight dashed line across the chart at each row."""
    return rows.mark_rule(stroke=colour, **{"strokeDash": list(dash), "strokeWidth": 1.2, **look}).encode(**place)


def zero_rule(rows: alt.Chart, axis: Any, *, along: str = "x") -> Any:
    """A line at 0, once, whatever the rows."""
    field = axis.to_dict()["field"]
    once = rows.transform_aggregate(rows="count()").transform_calculate(**{field: "0"})
    return once.mark_rule(stroke=INK, strokeWidth=1, opacity=0.6).encode(**{along: axis})


def text_labels(rows: alt.Chart, words: str, place: Place, **look: Any) -> list[Any]:
    """Labels beside points, readable over other marks; `words` names their column, or is the text after `=`."""
    constant = words.startswith("=")
    text = {} if constant else {"text": alt.Text(words, type="nominal")}
    plain: dict[str, Any] = {"fontSize": 12, "color": INK, **({"text": words[1:]} if constant else {}), **look}
    halo = {**plain, "color": PAPER, "stroke": PAPER, "strokeWidth": 4, "opacity": 0.85}
    return [rows.mark_text(**look_).encode(**place, **text) for look_ in (halo, plain)]


def layered(*layers: Any, **parameters: Any) -> dict[str, Any]:
    """Lay charts over each other.

    They are not checked against the schema of Vega-Lite, which takes as long as building them; tests do that.
    """
    return completed(alt.layer(*layers).to_dict(validate=False), **parameters)


def completed(spec: Mapping[str, Any], **parameters: Any) -> dict[str, Any]:
    """A spec as wide as its place, with the parameters of every chart and without a reader's own Altair theme."""
    own = {each["name"]: each for each in spec.get("params", ())}
    known = {"selected": "", "dark": False} | parameters
    params = {**{name: {"name": name, "value": value} for name, value in known.items()}, **own}
    kept = {name: value for name, value in spec.items() if name not in ("config", "$schema")}
    return {**kept, "params": list(params.values()), "width": "container"}


def estimates(rows: alt.Chart, place: Place, *, along: str = "x", size: float = 72, colour: Any = None) -> list[Any]:
    """Dots with their intervals, by default coloured by whether they are clearly above or below 0."""
    coloured = {**place, "color": colour or side_colour()}
    return [whiskers(rows, coloured, along=along), dots(rows, coloured, size=size, strokeWidth=0)]


def chosen_head(heads: alt.Chart, place: Place) -> list[Any]:
    """A ring around the selected head, with its name above it, readable over other marks."""
    chosen = heads.transform_filter("datum.name == selected")
    ring = chosen.mark_point(filled=False, size=250, stroke=INK, strokeWidth=1.8).encode(**place)
    return [ring, *text_labels(chosen, "name", place, dy=-17, fontSize=13, fontWeight=600)]


def head_marks(heads: int) -> dict[str, Any]:
    """How a head looks as a point: many heads, smaller marks."""
    size = max(36, min(84, 12_000 / heads))
    return {"filled": True, "size": size, "opacity": 0.92, "stroke": PAPER, "strokeWidth": 0.8} | {
        "cursor": "pointer",
        "tooltip": TIP,
    }
