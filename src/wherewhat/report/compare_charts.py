"""The charts of a comparison: heads before and after in strips and by layer, and scores along a list of models."""

from typing import Any

import altair as alt

from wherewhat.report.compare_tables import STATES
from wherewhat.report.marks import INK, MUTED, PAPER, WHOLE, either, layer_colour, layered, named
from wherewhat.report.page import Spec
from wherewhat.report.palette import DARK, LIGHT

ACCENT = alt.ExprRef(either(DARK.accent, LIGHT.accent))
HERE = "datum.what == '{what}'"
CROWD = 400  # heads beyond which dots become small


def strips(heads: int) -> Spec:
    """One dot per head, before above after: a bar for the middle half, a tick for the mean."""
    dots, middles, chances = (named(name).transform_filter(HERE) for name in ("dots", "middles", "chances"))
    y = alt.Y(
        "state",
        type="nominal",
        sort=list(STATES),
        title=None,
        scale=alt.Scale(paddingInner=0.35, paddingOuter=0.12),
        axis=alt.Axis(ticks=False, domain=False, labelPadding=8, minExtent=46),
    )
    x = alt.X("value", **_values("x"))
    colour = _state_colour(legend=False)
    size, opacity = _dots(heads)
    return layered(
        chances.mark_rule(strokeDash=[3, 4], color=MUTED, strokeWidth=1.2).encode(x=x, opacity=_there()),
        middles.mark_bar(size=22, opacity=0.16).encode(
            x=alt.X("low", type="quantitative"), x2="high", y=y, color=colour
        ),
        dots.mark_circle(size=size, opacity=opacity, tooltip=WHOLE).encode(
            x=x, y=y, yOffset=alt.YOffset("jitter", type="quantitative", scale=alt.Scale(domain=[0, 1])), color=colour
        ),
        middles.mark_tick(thickness=2.6, size=34, color=INK, tooltip=WHOLE).encode(
            x=alt.X("mean", type="quantitative"), y=y
        ),
    )


def by_layer(layers: int, heads: int) -> Spec:
    """One dot per head at its layer, before to the left and after to the right, with the means of layers as lines."""
    dots, means, chances = (named(name).transform_filter(HERE) for name in ("dots", "layers", "chances"))
    ticks = alt.Axis(values=list(range(0, layers, max(1, layers // 12))), format="d", grid=False)
    scale = alt.Scale(domain=[-0.5, layers - 0.5], nice=False, zero=False)
    x = alt.X("x", type="quantitative", title="layer", scale=scale, axis=ticks)
    y = alt.Y("value", **_values("y"))
    size, opacity = _dots(heads)
    colour = _state_colour(legend=True)  # in every layer: one without a legend would take it from all
    return layered(
        chances.mark_rule(strokeDash=[3, 4], color=MUTED, strokeWidth=1.2).encode(y=y, opacity=_there()),
        dots.mark_circle(size=size, opacity=opacity * 0.75, tooltip=WHOLE).encode(x=x, y=y, color=colour),
        means.mark_line(strokeWidth=2.2).encode(x=x, y=y, color=colour),
        means.mark_point(filled=True, size=70, opacity=1, stroke=PAPER, strokeWidth=1, tooltip=WHOLE).encode(
            x=x, y=y, color=colour
        ),
    )


def along(layers: int, *, steps: bool) -> Spec:
    """The mean over all heads along the list with its interval, and every layer as a thin line."""
    rows = named("along").transform_filter(HERE)
    whole, each = rows.transform_filter("!isValid(datum.layer)"), rows.transform_filter("isValid(datum.layer)")
    x, y, order = _stops(steps), alt.Y("value", **_values("y")), alt.Order("order", type="quantitative")
    ends = {"y": alt.Y("low", type="quantitative"), "y2": alt.Y2("high")}
    colour = layer_colour(layers)
    return layered(
        each.mark_line(strokeWidth=1.3, opacity=0.75).encode(
            x=x, y=y, order=order, detail=alt.Detail("layer", type="nominal"), color=colour
        ),
        # Rings, not discs: a colour that both draws and fills gets no bar for a legend.
        each.mark_point(filled=False, size=10, strokeWidth=3, opacity=0.9, tooltip=WHOLE).encode(
            x=x, y=y, color=colour
        ),
        whole.transform_filter("isValid(datum.low)").mark_rule(strokeWidth=2, color=INK).encode(x=x, **ends),
        whole.mark_line(strokeWidth=2.6, color=INK).encode(x=x, y=y, order=order),
        whole.mark_point(filled=True, size=80, color=INK, opacity=1, stroke=PAPER, strokeWidth=1, tooltip=WHOLE).encode(
            x=x, y=y
        ),
    )


def _stops(steps: bool) -> Any:
    """The axis of the list: steps of training to scale, or names in order."""
    if steps:
        axis = alt.Axis(tickCount=6, format="~s", grid=False)
        return alt.X("at", type="quantitative", title="step of training", scale=alt.Scale(nice=False), axis=axis)
    axis = alt.Axis(labelAngle=0, labelLimit=120, labelOverlap=True, ticks=False)
    return alt.X("name", type="nominal", sort=alt.EncodingSortField("order"), title=None, axis=axis)


def _values(axis: str) -> dict[str, Any]:
    look = alt.Axis(tickCount=4 if axis == "x" else 6, labelOverlap=True, labelSeparation=10)
    title = None if axis == "x" else "{title}"
    return {"type": "quantitative", "title": title, "scale": alt.Scale(zero=False, nice=True, padding=8), "axis": look}


def _there() -> Any:
    """The line of the chance level is visible only where there is one."""
    return alt.Opacity("there", type="quantitative", scale=None, legend=None)


def _dots(heads: int) -> tuple[float, float]:
    """Size and opacity of the dots, by the number of heads."""
    return (16, 0.4) if heads > CROWD else (34, 0.62)


def _state_colour(*, legend: bool) -> Any:
    scale = alt.Scale(domain=list(STATES), range=[MUTED, ACCENT])
    key = alt.Legend(orient="top", direction="horizontal", title=None, symbolType="circle", symbolStrokeWidth=0)
    return alt.Color("state", type="nominal", scale=scale, legend=key if legend else None)
