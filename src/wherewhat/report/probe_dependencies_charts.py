"""Charts of dependency relations: accuracy by distance, relation by relation, and what each head is best for.

Each is drawn once for every treebank and side; `{panel}` names them.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any

import altair as alt

from wherewhat.report.marks import INK, LINE, MUTED, PAPER, WHAT, WHERE, WHOLE, either, layered, named
from wherewhat.report.page import Spec
from wherewhat.report.palette import DARK, LIGHT
from wherewhat.report.probe_dependencies_tables import PARTS

COLOURS = {"positional": WHERE, "contextual": WHAT, "full": INK}
SHAPES = {"positional": "square", "contextual": "triangle-up", "full": "circle"}
DASHES = {"positional": [7, 3], "contextual": [2, 2], "full": [1, 0]}
HERE = "datum.panel == '{panel}'"
ROW = 34  # pixels of height per relation
WIDE = 54  # pixels of width from which a cell can hold a relation's name
BESIDE = {"positional": -8, "contextual": 0, "full": 8}  # pixels from the middle of a line


@cache
def charts_of(heads: int) -> Mapping[str, Spec]:
    """Every chart of the page by name; a layer has so many heads."""
    return {"distances": by_distance(), "relations": by_relation(), "grid": grid(heads)}


def by_distance() -> Spec:
    """The accuracy of each part of attention, from neighbours to far words; grey lines are baselines."""
    rows = named("distances").transform_filter(HERE)
    axis = alt.Axis(labelAngle=0, ticks=False, grid=False)
    x = alt.X("distance", type="ordinal", sort=None, title="words from the partner", axis=axis)
    y = alt.Y("value", type="quantitative", title="found", scale=_share(), axis=alt.Axis(format="%", tickCount=5))
    marks = []
    for level, dash in (("uniform", [1, 3]), ("offset", [5, 4])):
        its = rows.transform_filter(f"datum.kind == '{level}'")
        marks += [
            its.mark_line(stroke=MUTED, strokeWidth=1.6, strokeDash=dash).encode(x=x, y=y),
            its.mark_point(shape="diamond", size=46, stroke=MUTED, fill=PAPER, opacity=1, tooltip=WHOLE).encode(
                x=x, y=y
            ),
        ]
    for part in PARTS:
        its, aside = rows.transform_filter(f"datum.kind == '{part}'"), {"xOffset": BESIDE[part]}
        line: dict[str, Any] = {"stroke": COLOURS[part], "strokeWidth": 2.2, "strokeDash": DASHES[part], **aside}
        marks += [its.mark_line(**line).encode(x=x, y=y), *_with_interval(its, part, aside, x=x, y=y)]
    return layered(*marks)


def by_relation() -> Spec:
    """One line per relation, those between neighbours above; the vertical mark is the best fixed offset."""
    rows = named("relations").transform_filter(HERE)
    axis = alt.Axis(
        ticks=False, domain=False, grid=True, tickBand="extent", labelPadding=8, labelLimit=110, labelOverlap=False
    )
    order = alt.EncodingSortField("order", op="min", order="ascending")
    y = alt.Y("relation", type="nominal", sort=order, title=None, axis=axis)
    x = alt.X("value", type="quantitative", title="found", scale=_share(), axis=alt.Axis(format="%", tickCount=5))
    uniform, offset = (rows.transform_filter(f"datum.kind == '{level}'") for level in ("uniform", "offset"))
    marks = [
        uniform.mark_tick(color=MUTED, thickness=1, size=ROW - 10, opacity=0.6, tooltip=WHOLE).encode(x=x, y=y),
        offset.mark_bar(size=ROW - 8, opacity=0.18, color=MUTED).encode(
            x=alt.X("low", type="quantitative"), x2="high", y=y
        ),
        offset.mark_tick(color=MUTED, thickness=3, size=ROW - 8, tooltip=WHOLE).encode(x=x, y=y),
    ]
    for part in PARTS:
        its = rows.transform_filter(f"datum.kind == '{part}'")
        marks += _with_interval(its, part, {"yOffset": BESIDE[part]}, x=x, y=y)
    return layered(*marks)


def grid(heads: int) -> Spec:
    """Layer by head: a measure of the head as its colour, and the relation that it was chosen for."""
    cells = named("grid").transform_filter(f"{HERE} && datum.measure == '{{measure}}'")
    axis = alt.Axis(domain=False, ticks=False, labelAngle=0, labelOverlap=True)
    band = alt.Scale(paddingInner=0, paddingOuter=0)
    place = {
        "x": alt.X("head", type="ordinal", title="head", axis=axis, scale=band),
        "y": alt.Y("layer", type="ordinal", title="layer", axis=axis, scale=band),
    }
    full, empty = (alt.ExprRef(either(getattr(DARK, name), getattr(LIGHT, name))) for name in ("where", "card"))
    legend = alt.Legend(
        orient="top",
        title="{measure}",
        titleOrient="left",
        titlePadding=12,
        titleLimit=200,
        gradientLength=160,
        gradientThickness=10,
        values=[0, 0.5, 1],
    )
    colour = alt.Color(
        "value",
        type="quantitative",
        legend=legend,
        scale=alt.Scale(domain=[0, 1], range=[empty, full], clamp=True, interpolate="lab"),
    )
    label = cells.transform_calculate(words=f"width / {heads} >= {WIDE} ? datum.best : datum.best ? '●' : ''")
    look: dict[str, Any] = {"fontSize": 12, "limit": alt.ExprRef(f"width / {heads} - 6"), "tooltip": WHOLE}
    pale, deep = (label.transform_filter(f"datum.value {sign} (dark ? 0.65 : 0.5)") for sign in ("<=", ">"))
    text = alt.Text("words", type="nominal")
    return layered(
        cells.mark_rect(stroke=LINE, strokeWidth=1, tooltip=WHOLE).encode(**place, color=colour),
        pale.mark_text(color=INK, **look).encode(**place, text=text),
        deep.mark_text(color=PAPER, **look).encode(**place, text=text),
    )


def _with_interval(rows: alt.Chart, part: str, aside: dict[str, Any], *, x: Any, y: Any) -> list[Any]:
    """A dot of a part's colour and shape, and its interval along the axis of values."""
    along = "x" if "yOffset" in aside else "y"
    low = (alt.X if along == "x" else alt.Y)("low", type="quantitative")
    ends = {"x": x, "y": y} | {along: low, f"{along}2": "high"}
    dot: dict[str, Any] = {"filled": True, "size": 62, "opacity": 1, "stroke": PAPER, "strokeWidth": 1}
    return [
        rows.transform_filter("isValid(datum.low)")
        .mark_rule(stroke=COLOURS[part], strokeWidth=2, **aside)
        .encode(**ends),
        rows.mark_point(shape=SHAPES[part], fill=COLOURS[part], tooltip=WHOLE, **dot, **aside).encode(x=x, y=y),
    ]


def _share() -> Any:
    return alt.Scale(domain=[0, 1], nice=False)
