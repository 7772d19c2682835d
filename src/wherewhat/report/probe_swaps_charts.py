"""Charts of swaps: their effects with intervals, beside the control and published numbers.

`{panel}` is the data, `{measure}` and `{set}` what is shown of it, `{unit}` the unit of the axis, `{floor}` and
`{ceiling}` its ends.
"""

from functools import cache
from typing import Any

import altair as alt

from wherewhat.report.marks import INK, MUTED, PAPER, WHOLE, either, layered, named, shade
from wherewhat.report.page import Spec
from wherewhat.report.palette import DARK, LIGHT

ACCENT = alt.ExprRef(either(DARK.accent, LIGHT.accent))
HERE = "datum.panel == '{panel}' && datum.measure == '{measure}'"
ROW = 52  # pixels of height per line
PUBLISHED = shade("chance", 5)
COLOURS: dict[str, Any] = {"swap": ACCENT, "control": MUTED, "voice": INK}
SHAPES = {"swap": "circle", "control": "diamond", "voice": "square"}


@cache
def changes() -> Spec:
    """One line per size: the swap above, its control below it, published models as crosses, and a line at no change.

    A vertical bar marks the accuracy of the words alone.
    """
    rows = named("changes").transform_filter(f"{HERE} && datum.set == '{{set}}'")
    published = named("published").transform_filter("datum.measure == '{measure}'")
    y, x = _lines(), _values()
    nought = rows.transform_aggregate(rows="count()").transform_calculate(value="0")
    alone = named("alone").transform_filter(f"{HERE} && datum.set == '{{set}}'")
    swap, control = (rows.transform_filter(f"datum.kind == '{kind}'") for kind in ("swap", "control"))
    cross: dict[str, Any] = {"shape": "cross", "angle": 45, "size": 60, "filled": True, "opacity": 0.85, "yOffset": 15}
    return layered(
        nought.mark_rule(stroke=INK, strokeWidth=1, opacity=0.6).encode(x=x),
        published.mark_point(fill=PUBLISHED, tooltip=WHOLE, **cross).encode(x=x, y=y),
        alone.mark_tick(orient="vertical", thickness=2, size=ROW - 12, opacity=1, fill=INK, tooltip=WHOLE).encode(
            x=x, y=y
        ),
        *_dots(control, "control", x, y, 3),
        *_dots(swap, "swap", x, y, -9),
    )


@cache
def levels() -> Spec:
    """One line per kind of answer: its share with the interval; published models as crosses, words alone as a line."""
    rows = named("levels").transform_filter(HERE)
    published = named("published").transform_filter(HERE)
    y, x = _lines(), _values()
    nought = rows.transform_aggregate(rows="count()").transform_calculate(value="0")
    cross: dict[str, Any] = {"shape": "cross", "angle": 45, "size": 60, "filled": True, "opacity": 0.85, "yOffset": 13}
    alone = named("alone").transform_filter(HERE)
    marks = [
        nought.mark_rule(stroke=INK, strokeWidth=1, opacity=0.6).encode(x=x),
        alone.mark_rule(stroke=INK, strokeWidth=2, opacity=1, tooltip=WHOLE).encode(x=x),
        published.mark_point(fill=PUBLISHED, tooltip=WHOLE, **cross).encode(x=x, y=y),
    ]
    for kind in SHAPES:
        marks += _dots(rows.transform_filter(f"datum.kind == '{kind}'"), kind, x, y, 0)
    return layered(*marks)


def _dots(rows: alt.Chart, kind: str, x: Any, y: Any, below: int) -> list[Any]:
    filled = kind != "control"
    dot: dict[str, Any] = {"size": 92, "opacity": 1, "strokeWidth": 1 if filled else 1.8, "yOffset": below}
    fill, stroke = (COLOURS[kind], PAPER) if filled else (PAPER, COLOURS[kind])
    whisker = rows.transform_filter("isValid(datum.low)").mark_rule(
        stroke=COLOURS[kind], strokeWidth=2.4, yOffset=below
    )
    return [
        whisker.encode(x=alt.X("low", type="quantitative"), x2="high", y=y),
        rows.mark_point(shape=SHAPES[kind], fill=fill, stroke=stroke, tooltip=WHOLE, **dot).encode(x=x, y=y),
    ]


def _lines() -> Any:
    axis = alt.Axis(
        ticks=False, domain=False, grid=True, tickBand="extent", labelPadding=8, labelLimit=150, labelOverlap=False
    )
    order = alt.EncodingSortField("order", op="min", order="ascending")
    return alt.Y("line", type="nominal", sort=order, title=None, axis=axis)


def _values() -> Any:
    """The axis of values, from `{floor}` to `{ceiling}`: set from outside, as some marks may have no rows."""
    scale = alt.Scale(domain=[alt.ExprRef("{floor}"), alt.ExprRef("{ceiling}")], nice=True, zero=False)
    return alt.X("value", type="quantitative", title="{unit}", scale=scale, axis=alt.Axis(tickCount=5))
