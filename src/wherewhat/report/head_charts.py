"""The charts of heads as Vega-Lite specs without data: the tables are passed in by name when a chart is drawn.

A column is named by its content and its score's key (`value_3`), so a spec made for the key `{x}` fits every score.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt

from wherewhat.report.marks import (
    INK,
    LINE,
    MUTED,
    PAPER,
    WHOLE,
    chosen_head,
    either,
    layer_colour,
    layered,
    marks_of,
    named,
    part_shape,
    shade,
)
from wherewhat.report.page import Spec
from wherewhat.report.palette import DARK, LIGHT

MASSES = (0, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1)
ROOMY = "(datum.value == 0 || datum.value > domain('y')[1] / 45)"  # ticks nearer to 0 would overlap
EMPTY = alt.ExprRef(f"dark ? '{DARK.line}' : '{LIGHT.line}'")
SLASH = "M-1,1L1,-1"  # drawn through a cell that has no value


@dataclass(frozen=True)
class ScoreAxis:
    """One chosen score: the key of its columns, and the title of its axis."""

    key: str
    title: str
    span: tuple[float, float] = (0.0, 1.0)


def plane(x: ScoreAxis, y: ScoreAxis, *, parts: Sequence[str], layers: int, heads: int) -> Spec:
    """Every head as a point by two scores, coloured by layer, with the intervals of the selected head."""
    points = named("heads").transform_filter(f"isValid(datum.value_{x.key}) && isValid(datum.value_{y.key})")
    place = {"x": _across(alt.X, "x", x), "y": _across(alt.Y, "y", y)}
    span = points.transform_filter("datum.name == selected").mark_rule(color=INK, strokeWidth=1.3)
    return layered(
        *_chance(x, alt.X, "x", {"y": 0, "align": "left", "dx": 5, "dy": 9}),
        *_chance(y, alt.Y, "y", {"x": alt.ExprRef("width"), "align": "right", "dy": -5}),
        points.mark_point(**marks_of(heads)).encode(**place, color=layer_colour(layers), shape=part_shape(parts)),
        span.encode(x=alt.X(f"low_{x.key}", type="quantitative"), x2=alt.X2(f"high_{x.key}"), y=place["y"]),
        span.encode(y=alt.Y(f"low_{y.key}", type="quantitative"), y2=alt.Y2(f"high_{y.key}"), x=place["x"]),
        *chosen_head(points, place),
        x_span=list(x.span),
        y_span=list(y.span),
    )


def head_map(key: str, *, legend: bool = False) -> Spec:
    """Layer by head: the distance of each head from its chance level. `reach` is the end of the colour scale.

    A score without a chance level is coloured from `base`, the lower end of its range.
    A head without a value is an empty cell, struck through.
    """
    cells, filled, empty = _cells(key)
    axis = alt.Axis(domain=False, ticks=False, labelAngle=0, labelOverlap=True)
    place = {"x": _band(alt.X, "head", axis), "y": _band(alt.Y, "layer", axis)}
    edge = {"stroke": PAPER, "strokeWidth": 1, "cursor": "pointer", "tooltip": WHOLE}
    chosen = cells.transform_filter("datum.name == selected")
    return layered(
        filled.mark_rect(**edge).encode(**place, color=_chance_colour(legend)),
        empty.mark_rect(fill=EMPTY, fillOpacity=0.35, **edge).encode(**place),
        empty.mark_point(shape=SLASH, size=60, stroke=MUTED, strokeWidth=1, opacity=0.7).encode(**place),
        chosen.mark_rect(fillOpacity=0, stroke=INK, strokeWidth=2.5).encode(**place),
        reach=1,
        base=0,
    )


def thumb(key: str) -> Spec:
    """The same map, small enough for a button: only its cells."""
    _, filled, empty = _cells(key)
    place = {"x": _band(alt.X, "head", None), "y": _band(alt.Y, "layer", None)}
    return layered(
        filled.mark_rect().encode(**place, color=_chance_colour(False)),
        empty.mark_rect(fill=EMPTY, fillOpacity=0.35).encode(**place),
        reach=1,
        base=0,
    )


def profile(places: Mapping[int, str]) -> Spec:
    """One head's mean attention by relative offset: exact near the query, in growing bins farther away.

    `places` gives the labels along the axis.
    """
    offsets = named("profile")
    x = alt.X(
        "place",
        type="quantitative",
        title="key's offset from the query",
        scale=alt.Scale(nice=False, zero=False, padding=8),
        axis=alt.Axis(values=list(places), labelExpr=_labels(places), grid=False, labelOverlap="greedy", ticks=True),
    )
    y = alt.Y(
        "mass",
        type="quantitative",
        title="mean attention per offset (√ scale)",
        scale=alt.Scale(type="sqrt", domainMin=0, nice=True),
        axis=alt.Axis(
            values=list(MASSES),
            labelExpr=f"{ROOMY} ? format(datum.value, '~g') : ''",
            gridOpacity={"condition": {"test": ROOMY, "value": 1}, "value": 0},
            tickCount=len(MASSES),
            labelOverlap=False,
            ticks=False,
        ),
    )
    return layered(
        offsets.mark_rule(color=LINE, strokeWidth=1).transform_filter("datum.from == 0").encode(x=x),
        offsets.mark_bar(width=alt.ExprRef("max(2, width / bins * 0.72)"), tooltip=WHOLE, cornerRadiusEnd=1.5).encode(
            x=x, y=y, color=alt.value(alt.ExprRef(either(DARK.accent, LIGHT.accent)))
        ),
        offsets.mark_tick(
            orient="horizontal", color=INK, thickness=1.6, size=alt.ExprRef("max(4, width / bins * 0.95)")
        ).encode(x=x, y=alt.Y("all", type="quantitative")),
        bins=33,
    )


def dots() -> Spec:
    """One head's scores, each on its own range, with interval, chance level and the value of untrained weights."""
    rows = named("dots")
    y = alt.Y("score", type="nominal", sort=None, title=None, axis=alt.Axis(labelFontSize=12, labelPadding=8))
    x = alt.X(
        "at",
        type="quantitative",
        title="value within the score's range",
        scale=alt.Scale(domain=[0, 1], nice=False),
        axis=alt.Axis(values=[0, 0.5, 1], labelExpr="{0: 'low', 0.5: '', 1: 'high'}[datum.value]", grid=True),
    )
    side = alt.Color(
        "side",
        type="nominal",
        legend=None,
        scale=alt.Scale(
            domain=["above", "below", "unclear", "bare"],
            range=[shade("chance", 5), shade("chance", 1), MUTED, INK],
        ),
    )
    return layered(
        rows.mark_rule(strokeWidth=2).encode(x=alt.X("low", type="quantitative"), x2="high", y=y, color=side),
        rows.mark_tick(thickness=1.6, size=15, color=INK).encode(x=alt.X("chance", type="quantitative"), y=y),
        rows.mark_point(shape="triangle-down", size=34, filled=True, color=MUTED, yOffset=-9, opacity=1).encode(
            x=alt.X("untrained", type="quantitative"), y=y
        ),
        rows.mark_circle(size=90, opacity=1, tooltip=WHOLE).encode(x=x, y=y, color=side),
    )


def _across(channel: Any, name: str, axis: ScoreAxis) -> Any:
    """A channel whose ends are set from outside, so that selecting a head never changes the axis."""
    scale = alt.Scale(
        domain=[alt.ExprRef(f"{name}_span[0]"), alt.ExprRef(f"{name}_span[1]")], zero=False, nice=False, padding=18
    )
    return channel(f"value_{axis.key}", type="quantitative", title=axis.title, scale=scale, axis=alt.Axis(tickCount=6))


def _chance(axis: ScoreAxis, channel: Any, name: str, words: Mapping[str, Any]) -> list[Any]:
    """A dashed line at every distinct chance level of a score, labelled once."""
    levels = (
        named("heads")
        .transform_filter(f"isValid(datum.chance_{axis.key}) && isValid(datum.value_{axis.key})")
        .transform_calculate(level=f"round(datum.chance_{axis.key} * 1000) / 1000")
    )
    at = {name: channel("level", type="quantitative", title=axis.title)}
    once = levels.transform_aggregate(level="max(level)")
    return [
        levels.transform_aggregate(groupby=["level"], heads="count()")
        .mark_rule(strokeDash=[3, 4], color=MUTED, strokeWidth=1)
        .encode(**at),
        once.mark_text(color=MUTED, fontSize=11, text="chance", baseline="alphabetic", **words).encode(**at),
    ]


def _cells(key: str) -> tuple[Any, Any, Any]:
    """All heads with their distance from chance, those that have a value, and those that have none."""
    away = f"datum.value_{key} - (isValid(datum.chance_{key}) ? datum.chance_{key} : base)"
    cells = named("heads").transform_calculate(away=away)
    there = f"isValid(datum.value_{key})"
    return cells, cells.transform_filter(there), cells.transform_filter(f"!{there}")


def _band(channel: Any, name: str, axis: Any) -> Any:
    return channel(name, type="ordinal", title=name, axis=axis, scale=alt.Scale(paddingInner=0, paddingOuter=0))


def _chance_colour(legend: bool) -> Any:
    steps = len(LIGHT.chance)
    scale = alt.Scale(
        domain=[alt.ExprRef(f"reach * {2 * i / (steps - 1) - 1:.6g}") for i in range(steps)],
        range=[shade("chance", i) for i in range(steps)],
        interpolate="lab",
        clamp=True,
    )
    bar = alt.Legend(orient="top", title="above or below chance", gradientLength=200, gradientThickness=10)
    return alt.Color("away", type="quantitative", scale=scale, legend=bar if legend else None)


def _labels(places: Mapping[int, str]) -> str:
    pairs = ", ".join(f"'{place}': '{label}'" for place, label in places.items())
    return "{" + pairs + "}[datum.value]"
