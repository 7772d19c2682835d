"""Charts of nets that learn: accuracy by hops, paths of heads, longer inputs, and the margin of the best key.

A chart that is drawn once per task has `{task}` in place of its name.
"""

from collections.abc import Sequence
from typing import Any

import altair as alt

from wherewhat.report.marks import (
    INK,
    LINE,
    MUTED,
    PAPER,
    WHAT,
    WHERE,
    WHOLE,
    either,
    layer_colour,
    layered,
    named,
    shade,
)
from wherewhat.report.page import Spec
from wherewhat.report.palette import DARK, LIGHT
from wherewhat.report.where_or_what_charts import SWAPPED

OF_TASK = "datum.task == '{task}'"
TASKS = ("number", "letter")
DASHES = [5, 4]
LINES: dict[str, Any] = {"orient": "top", "title": None, "symbolType": "stroke", "symbolStrokeWidth": 3} | {
    "symbolOpacity": 1,
    "direction": "horizontal",
    "labelLimit": 150,
}


def accuracy_by_hops(hops: Sequence[str]) -> Spec:
    """Accuracy during training, one line per number of hops: thin for single seeds, bold for their mean."""
    rows = named("hops").transform_filter(f"{OF_TASK} && datum.hops != 'all'")
    means, seeds = rows.transform_filter("!isValid(datum.seed)"), rows.transform_filter("isValid(datum.seed)")
    farthest = 4 if len(hops) < 4 else len(LIGHT.layers) - 1
    shades = [round(farthest * i / max(1, len(hops) - 1)) for i in range(len(hops))]
    colour = alt.Color(
        "hops",
        type="nominal",
        scale=alt.Scale(domain=list(hops), range=[shade("layers", step) for step in shades]),
        legend=alt.Legend(**LINES),
    )
    place = {"x": _steps(), "y": _share("value", "accuracy")}
    return layered(
        means.mark_area(opacity=0.13, clip=True).encode(**_band(_steps(), "accuracy"), color=colour),
        seeds.mark_line(strokeWidth=1, opacity=0.45).encode(**place, color=colour, detail="seed:N"),
        means.mark_line(strokeWidth=2.6).encode(**place, color=colour),
        means.mark_point(filled=True, size=44, opacity=1, stroke=PAPER, strokeWidth=1, tooltip=WHOLE).encode(
            **place, color=colour
        ),
    )


def paths_in_the_plane(layers: int) -> Spec:
    """The path of every head in the plane of the published scores, from its first point to its last, in one run."""
    edge, rows = named("bound"), named("paths").transform_filter(f"{OF_TASK} && datum.seed == {{seed}}")
    place = {
        "x": _unit(alt.X, "positional", "positional score, s_POS"),
        "y": _unit(alt.Y, "symbolic", "symbolic, s_SYM"),
    }
    bare = {"x": _unit(alt.X, "x", "positional score, s_POS"), "y": _unit(alt.Y, "y", "symbolic, s_SYM")}
    corner = edge.transform_filter("datum.x == 0").transform_calculate(low="0")
    last, colour = rows.transform_filter("datum.last"), layer_colour(layers)
    return layered(
        edge.mark_area(fill=LINE, fillOpacity=0.55).encode(**bare),
        edge.mark_line(stroke=MUTED, strokeWidth=1.4).encode(**bare, order=alt.Order("x", type="quantitative")),
        corner.mark_text(
            text=list(SWAPPED), align="left", dx=10, dy=-46, lineHeight=15, fontSize=11.5, color=MUTED
        ).encode(x=bare["x"], y=alt.Y("low", type="quantitative")),
        rows.mark_line(strokeWidth=2, opacity=0.75, interpolate="monotone").encode(
            **place, color=colour, detail="head:N", order=alt.Order("step", type="quantitative")
        ),
        rows.mark_point(filled=True, size=16, opacity=0.8, tooltip=WHOLE).encode(**place, color=colour),
        rows.transform_filter("datum.step == 0")
        .mark_point(filled=False, size=70, strokeWidth=1.6, tooltip=WHOLE)
        .encode(**place, color=colour),
        last.mark_point(filled=True, size=120, opacity=1, stroke=PAPER, strokeWidth=1.2, tooltip=WHOLE).encode(
            **place, color=colour
        ),
        *_names(last.transform_filter("datum.label && datum.positional < 0.8"), place, align="left", dx=10),
        *_names(last.transform_filter("datum.label && datum.positional >= 0.8"), place, align="right", dx=-10),
    )


def _names(ends: alt.Chart, place: dict[str, Any], **beside: Any) -> list[Any]:
    """The names of heads at the ends of their paths, readable over other marks."""
    words: dict[str, Any] = {"fontSize": 12, "fontWeight": 600, "baseline": "middle", **beside}
    name = alt.Text("label", type="nominal")
    return [
        ends.mark_text(color=PAPER, stroke=PAPER, strokeWidth=4, opacity=0.8, **words).encode(**place, text=name),
        ends.mark_text(color=INK, **words).encode(**place, text=name),
    ]


def by_layer_and_step() -> Spec:
    """Shares of each layer during training, as a map. `{tint}` names the column that gives the colour."""
    cells = named("layers").transform_filter(OF_TASK)
    axis = alt.Axis(domain=False, ticks=False, labelAngle=0)
    across = alt.X("step", type="ordinal", title="training step", axis=_sparse(), scale=alt.Scale(paddingInner=0))
    down = alt.Y("layer", type="ordinal", title="layer", axis=axis, scale=alt.Scale(paddingInner=0))
    what, where = (alt.ExprRef(either(getattr(DARK, name), getattr(LIGHT, name))) for name in ("what", "where"))
    middle = alt.ExprRef(either(DARK.chance[3], LIGHT.chance[3]))
    colour = alt.Color(
        "{tint}",
        type="quantitative",
        scale=alt.Scale(domain=[-1, 0, 1], range=[what, middle, where], interpolate="lab", clamp=True),
        legend=alt.Legend(
            orient="top",
            title=None,
            gradientLength=180,
            gradientThickness=10,
            values=[-1, 0, 1],
            labelExpr="datum.value < 0 ? 'content' : datum.value > 0 ? 'position' : ''",
            direction="horizontal",
        ),
    )
    return layered(cells.mark_rect(stroke=PAPER, strokeWidth=0.6, tooltip=WHOLE).encode(x=across, y=down, color=colour))


def purity_and_accuracy() -> Spec:
    """The share of pure heads of either kind, and accuracy, during training. `{rule}` is the rule for purity."""
    rows = named("pure").transform_filter(f"{OF_TASK} && (datum.rule == '{{rule}}' || datum.rule == '')")
    domain = ["accuracy", "positional heads", "symbolic heads"]
    colour = alt.Color(
        "what",
        type="nominal",
        scale=alt.Scale(domain=domain, range=[INK, WHERE, WHAT]),
        legend=alt.Legend(**LINES | {"direction": "vertical"}),  # three in a row are too wide for a phone
    )
    place = {"x": _steps(), "y": _share("value", "share of heads, accuracy")}
    return layered(
        rows.mark_area(opacity=0.1, clip=True).encode(**_band(_steps(), "share of heads, accuracy"), color=colour),
        rows.mark_line(strokeWidth=2.4).encode(**place, color=colour),
        rows.mark_point(filled=True, size=40, opacity=1, stroke=PAPER, strokeWidth=1, tooltip=WHOLE).encode(
            **place, color=colour
        ),
    )


def accuracy_by_length(lengths: Sequence[float]) -> Spec:
    """Accuracy by input length for both tasks; `{hops}` is the number of hops."""
    rows = named("lengths").transform_filter("datum.hops == '{hops}'")
    means, seeds = rows.transform_filter("!isValid(datum.seed)"), rows.transform_filter("isValid(datum.seed)")
    colour, x = _task_colour(), _lengths(lengths)
    place = {"x": x, "y": _share("value", "accuracy")}
    known = named("published_lengths")
    learnt = means.transform_aggregate(length="min(length)")
    words: dict[str, Any] = {"fontSize": 11, "color": MUTED, "align": "left"}
    return layered(
        learnt.mark_rule(stroke=MUTED, strokeWidth=1, strokeDash=[2, 3]).encode(x=x),
        known.mark_rule(strokeDash=DASHES, strokeWidth=1.6).encode(
            x=alt.X("from", type="quantitative"), x2="to", y=_share("value", "accuracy"), color=colour
        ),
        known.mark_text(dy=-7, **words).encode(
            x=alt.X("from", type="quantitative"),
            y=_share("value", "accuracy"),
            text=alt.Text("label", type="nominal"),
        ),
        means.mark_area(opacity=0.12, clip=True).encode(**_band(x, "accuracy"), color=colour),
        seeds.mark_line(strokeWidth=1, opacity=0.45).encode(**place, color=colour, detail="seed:N"),
        means.mark_line(strokeWidth=2.6).encode(**place, color=colour),
        means.mark_point(filled=True, size=50, opacity=1, stroke=PAPER, strokeWidth=1, tooltip=WHOLE).encode(
            **place, color=colour
        ),
    )


def margins_by_length(lengths: Sequence[float]) -> Spec:
    """The measured margin of the best key over the second, with the bounds of the theory, on logarithmic axes."""
    points, lines = named("margins"), named("bounds")
    colour, x = _task_colour(), _lengths(lengths)
    scale = alt.Scale(type="log", nice=True)
    y = alt.Y("value", type="quantitative", title="margin of the best key (cosine)", scale=scale, axis=_decades())
    dashes = alt.StrokeDash(
        "whose",
        type="nominal",
        scale=alt.Scale(
            domain=["measured", "bound at our θ", "bound at the published θ"], range=[[1, 0], [6, 4], [2, 4]]
        ),
        legend=alt.Legend(
            orient="top", title=None, labelLimit=200, columns=1, symbolStrokeColor=MUTED, symbolStrokeWidth=2
        ),
    )
    return layered(
        lines.mark_line(strokeWidth=1.8, tooltip=WHOLE).encode(x=x, y=y, color=colour, strokeDash=dashes),
        points.mark_rule(strokeWidth=1.6).encode(
            x=x, y=alt.Y("low", type="quantitative", scale=scale), y2="high", color=colour
        ),
        points.mark_line(strokeWidth=2.4).encode(x=x, y=y, color=colour, strokeDash=dashes),
        points.mark_point(filled=True, size=64, opacity=1, stroke=PAPER, strokeWidth=1, tooltip=WHOLE).encode(
            x=x, y=y, color=colour
        ),
    )


def frequency_by_depth() -> Spec:
    """The mean frequency of each layer, ours and published, from the first layer to the last."""
    rows = named("frequencies")
    ours = rows.transform_filter("datum.whose == 'ours'")
    theirs = rows.transform_filter("datum.whose == 'published'")
    colour = _task_colour()
    x = alt.X(
        "depth",
        type="quantitative",
        title="first layer → last layer",
        scale=alt.Scale(domain=[-0.03, 1.03], nice=False),
        axis=alt.Axis(labels=False, ticks=False, grid=False),
    )
    y = _frequency("value")
    return layered(
        theirs.mark_area(opacity=0.14).encode(x=x, y=_frequency("low"), y2="high", color=colour),
        theirs.mark_line(strokeDash=DASHES, strokeWidth=1.4).encode(x=x, y=_frequency("low"), color=colour),
        theirs.mark_line(strokeDash=DASHES, strokeWidth=1.4).encode(x=x, y=_frequency("high"), color=colour),
        theirs.transform_filter("isValid(datum.value)")
        .mark_point(filled=False, size=30, strokeWidth=1.4, tooltip=WHOLE)
        .encode(x=x, y=y, color=colour),
        theirs.transform_filter("!isValid(datum.value)")
        .mark_rule(strokeWidth=3, opacity=0.6, tooltip=WHOLE)
        .encode(x=x, y=_frequency("low"), y2="high", color=colour),
        ours.mark_rule(strokeWidth=1.6, clip=True).encode(x=x, y=_frequency("low"), y2="high", color=colour),
        ours.mark_line(strokeWidth=2.4).encode(x=x, y=y, color=colour),
        ours.mark_point(filled=True, size=64, opacity=1, stroke=PAPER, strokeWidth=1, tooltip=WHOLE).encode(
            x=x, y=y, color=colour
        ),
    )


def _frequency(name: str) -> Any:
    axis = alt.Axis(values=[0, 0.5, 1], labelExpr="{0: 'fastest', 0.5: 'middle', 1: 'slowest'}[datum.value]")
    scale = alt.Scale(domain=[0, 1], reverse=True, nice=False)
    return alt.Y(name, type="quantitative", title="mean rotary frequency", scale=scale, axis=axis)


def _task_colour() -> Any:
    scale = alt.Scale(domain=list(TASKS), range=[WHERE, WHAT])
    return alt.Color("task", type="nominal", scale=scale, legend=alt.Legend(**LINES))


def _steps() -> Any:
    axis = alt.Axis(tickCount=5, grid=False, format=",d", labelFlush=True)
    return alt.X("step", type="quantitative", title="training step", scale=alt.Scale(nice=False), axis=axis)


def _share(name: str, title: str) -> Any:
    scale = alt.Scale(domain=[0, 1], nice=False)
    return alt.Y(name, type="quantitative", title=title, scale=scale, axis=alt.Axis(format="%", tickCount=5))


def _band(x: Any, title: str) -> dict[str, Any]:
    """An interval around a line."""
    return {"x": x, "y": _share("low", title), "y2": alt.Y2("high")}


def _unit(channel: Any, name: str, title: str) -> Any:
    scale = alt.Scale(domain=[0, 1.0], nice=False)
    return channel(name, type="quantitative", title=title, scale=scale, axis=alt.Axis(tickCount=5))


def _lengths(lengths: Sequence[float]) -> Any:
    axis = alt.Axis(values=list(lengths), grid=False, labelOverlap="greedy", format="d")
    scale = alt.Scale(type="log", nice=False, domain=[min(lengths), max(lengths)], padding=12)
    return alt.X("length", type="quantitative", title="input length in tokens", scale=scale, axis=axis)


def _decades() -> Any:
    marks = [digit * 10.0**power for power in range(-6, 1) for digit in (1, 2, 5)]
    return alt.Axis(values=marks, format="~g", labelOverlap="greedy")


def _sparse() -> Any:
    return alt.Axis(domain=False, ticks=False, labelAngle=0, labelOverlap="greedy", format=",d")
