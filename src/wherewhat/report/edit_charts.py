"""The charts of an edit: before and after, how heads move, what changed most, and the heat map of a sweep."""

from collections.abc import Mapping
from typing import Any

import altair as alt

from wherewhat.report.marks import (
    INK,
    MUTED,
    PAPER,
    WHOLE,
    diverging,
    either,
    gradient,
    layer_colour,
    layered,
    named,
    side_colour,
)
from wherewhat.report.page import Spec
from wherewhat.report.palette import DARK, LIGHT

STATES = ("before", "after")


def slope() -> Spec:
    """One measure before and after, each with its interval. `{measure}` is its name."""
    rows = named("whole").transform_filter("datum.measure == '{measure}'")
    y = alt.Y(
        "state",
        type="nominal",
        sort=list(STATES),
        title=None,
        axis=alt.Axis(ticks=False, domain=False, labelPadding=8, minExtent=46),
    )
    axis = alt.Axis(tickCount=4, grid=True, labelOverlap=True)
    x = alt.X("value", type="quantitative", title=None, scale=alt.Scale(zero=False, nice=True, padding=10), axis=axis)
    accent = alt.ExprRef(either(DARK.accent, LIGHT.accent))
    colour = alt.Color(
        "state", type="nominal", legend=None, scale=alt.Scale(domain=list(STATES), range=[MUTED, accent])
    )
    order = alt.Order("order", type="quantitative")
    return layered(
        rows.mark_line(stroke=MUTED, strokeWidth=1, strokeDash=[3, 3]).encode(x=x, y=y, order=order),
        rows.mark_rule(strokeWidth=3).encode(x=alt.X("low", type="quantitative"), x2="high", y=y, color=colour),
        rows.mark_circle(size=95, opacity=1, tooltip=WHOLE).encode(x=x, y=y, color=colour),
    )


def moves(*, layers: int) -> Spec:
    """Every head in the plane of two scores, from a ring (before) to a dot (after). `{pair}` names the two."""
    rows = named("moves").transform_filter("datum.pair == '{pair}'")
    scale = alt.Scale(nice=True, zero=False)
    axis = alt.Axis(tickCount=6, labelSeparation=8)

    def at(channel: Any, name: str, title: str) -> Any:
        return channel(name, type="quantitative", title=title, scale=scale, axis=axis)

    before = {"x": at(alt.X, "x", "{x title}"), "y": at(alt.Y, "y", "{y title}")}
    after = {"x": at(alt.X, "x2", "{x title}"), "y": at(alt.Y, "y2", "{y title}")}
    colour = layer_colour(layers)
    ring: dict[str, Any] = {"filled": False, "size": 26, "strokeWidth": 1.1, "opacity": 0.75, "tooltip": WHOLE}
    return layered(
        rows.mark_rule(strokeWidth=1.4, opacity=0.55, tooltip=WHOLE).encode(
            **before, x2=alt.X2("x2"), y2=alt.Y2("y2"), color=colour
        ),
        rows.mark_point(**ring).encode(**before, color=colour),
        rows.mark_point(filled=True, size=64, opacity=0.95, stroke=PAPER, strokeWidth=0.8, tooltip=WHOLE).encode(
            **after, color=colour
        ),
        rows.transform_filter("datum.label")
        .mark_text(align="left", dx=8, fontSize=11, color=MUTED)
        .encode(**after, text=alt.Text("label", type="nominal")),
    )


def changed() -> Spec:
    """The heads that changed most, each with its change and interval. `{score}` is the score."""
    rows = named("changed").transform_filter("datum.score == '{score}'")
    y = alt.Y(
        "who",
        type="nominal",
        sort=alt.EncodingSortField("rank", order="ascending"),
        title=None,
        axis=alt.Axis(ticks=False, domain=False, labelPadding=8),
    )
    x = alt.X(
        "value",
        type="quantitative",
        title="change, after minus before",
        scale=alt.Scale(zero=True, nice=True),
        axis=alt.Axis(tickCount=6),
    )
    nought = rows.transform_aggregate(rows="count()").transform_calculate(value="0")
    return layered(
        nought.mark_rule(stroke=INK, strokeWidth=1, opacity=0.6).encode(x=x),
        rows.mark_rule(strokeWidth=2.2).encode(
            x=alt.X("low", type="quantitative"), x2="high", y=y, color=side_colour()
        ),
        rows.mark_circle(size=72, opacity=1, tooltip=WHOLE).encode(x=x, y=y, color=side_colour()),
    )


def sweep_map(across: str, labels: Mapping[int, str] | None = None) -> Spec:
    """Layer by head, or by band: the effect of each alone on `{measure}`; `{most}` is the end of the colour scale."""
    cells = named("sweep").transform_filter("datum.measure == '{measure}'")
    axis: dict[str, Any] = {"domain": False, "ticks": False, "labelAngle": 0, "labelOverlap": True}
    written = axis if labels is None else {**axis, "labelExpr": _written(labels)}
    x = _band(alt.X, "column", across, alt.Axis(**written))
    y = _band(alt.Y, "layer", "layer", alt.Axis(**axis))
    dot = alt.ExprRef(either(DARK.ink, LIGHT.ink))
    return layered(
        cells.mark_rect(stroke=PAPER, strokeWidth=1, tooltip=WHOLE).encode(x=x, y=y, color=_from_blue_to_orange()),
        cells.transform_filter("!datum.clear")
        .mark_point(filled=True, size=14, fill=dot, strokeWidth=0, opacity=0.45, tooltip=WHOLE)
        .encode(x=x, y=y),
    )


def _from_blue_to_orange() -> Any:
    words = "datum.value > 0.5 ? '+{most}' : datum.value < -0.5 ? '−{most}' : '0'"
    legend = gradient("{title}", values=[-1, 0, 1], labelExpr=words, titleLimit=400)
    return alt.Color("reach", type="quantitative", scale=diverging(), legend=legend)


def _band(channel: Any, name: str, title: str, axis: Any) -> Any:
    return channel(name, type="ordinal", title=title, axis=axis, scale=alt.Scale(paddingInner=0, paddingOuter=0))


def _written(labels: Mapping[int, str]) -> str:
    pairs = ", ".join(f"'{place}': '{label}'" for place, label in labels.items())
    return "split({" + pairs + "}[datum.value], '|')"  # in two lines
