"""Charts of the effects of removing fast or slow frequencies from heads: cells, controls, norms, correlations."""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from wherewhat.report.marks import BOTH, INK, LINE, MUTED, PAPER, WHAT, WHERE, WHOLE, layered, named, side_colour
from wherewhat.report.page import Spec

KINDS = ("positional", "symbolic", "other")
HERE = "datum.measure == '{measure}' && datum.operation == '{operation}' && datum.share == '{share}'"
ROW = 17  # height of a line, in pixels


def cells_chart(labels: Mapping[str, str], leading: Sequence[str]) -> Spec:
    """One line per cell with its interval, and below it every draw of its two controls; `labels` gives the lines.

    Hollow dots are draws whose norm is not equal. The vertical tick is the mean of the others.
    """
    cells, draws, means = (named(name).transform_filter(HERE) for name in ("cells", "draws", "means"))
    x, y = alt.X("value", type="quantitative", **_change()), _lines(labels, leading)
    nought = cells.transform_aggregate(rows="count()").transform_calculate(value="0")
    dot: dict[str, Any] = {"size": 34, "opacity": 0.55, "tooltip": WHOLE, "stroke": MUTED, "strokeWidth": 1.2}
    filled = alt.Fill(
        "counts", type="nominal", scale=alt.Scale(domain=["yes", "no"], range=[MUTED, PAPER]), legend=None
    )
    return layered(
        nought.mark_rule(stroke=INK, strokeWidth=1, opacity=0.55).encode(x=x),
        draws.mark_point(**dot).encode(x=x, y=y, fill=filled),
        means.mark_tick(thickness=2.2, size=13, color=INK).encode(x=x, y=y),
        cells.mark_rule(strokeWidth=2.6).encode(
            x=alt.X("low", type="quantitative"), x2="high", y=y, color=_kind(legend=False)
        ),
        cells.mark_circle(size=92, opacity=1, tooltip=WHOLE).encode(x=x, y=y, color=_kind(legend=False)),
    )


def norms_chart() -> Spec:
    """Every cell and every draw: the norm that was changed, and the effect."""
    cells, draws = (named(name).transform_filter(HERE) for name in ("cells", "draws"))
    scale = alt.Scale(type="log", nice=False, padding=24)
    axis = alt.Axis(tickCount=5, grid=False, format="~g")
    place = {
        "x": alt.X("norm", type="quantitative", title="norm changed, % of the model's", scale=scale, axis=axis),
        "y": alt.Y("value", type="quantitative", title="{title}", axis=alt.Axis(tickCount=5)),
    }
    shape = alt.Shape(
        "what",
        type="nominal",
        scale=alt.Scale(domain=["random bands", "random heads"], range=["circle", "diamond"]),
        legend=alt.Legend(orient="top", direction="horizontal", title=None, symbolFillColor=MUTED, symbolStrokeWidth=0),
    )
    left = "datum.norm > {half}"  # labels in the right half are to the left of their dot, so that none is cut off
    label: dict[str, Any] = {**place, "text": alt.Text("label", type="nominal")}
    words = []
    for look in ({"color": PAPER, "stroke": PAPER, "strokeWidth": 4, "opacity": 0.8}, {"color": INK}):
        more: dict[str, Any] = {"fontSize": 12, "dy": -9, **look}
        words += [
            cells.transform_filter(left).mark_text(align="right", dx=-8, **more).encode(**label),
            cells.transform_filter(f"!({left})").mark_text(align="left", dx=8, **more).encode(**label),
        ]
    return layered(
        draws.mark_point(filled=True, size=46, opacity=0.45, color=MUTED, tooltip=WHOLE).encode(**place, shape=shape),
        cells.mark_rule(strokeWidth=2).encode(
            x=place["x"], y=alt.Y("low", type="quantitative"), y2="high", color=_kind(legend=False)
        ),
        cells.mark_circle(size=110, opacity=1, tooltip=WHOLE).encode(**place, color=_kind(legend=False)),
        *words,
    )


def use_chart() -> Spec:
    """Every head: the frequencies it uses and how positional it is. `{x}` and `{y}` name the columns."""
    heads = named("used").transform_filter("isValid(datum['{x}']) && isValid(datum['{y}'])")
    scale = alt.Scale(zero=False, nice=True, padding=12)
    fast_right = alt.Scale(zero=False, nice=True, padding=12, reverse=alt.ExprRef("'{x}' == 'mean_frequency'"))
    place = {
        "x": alt.X("{x}", type="quantitative", title="{x title}", scale=fast_right, axis=alt.Axis(tickCount=6)),
        "y": alt.Y("{y}", type="quantitative", title="{y title}", scale=scale, axis=alt.Axis(tickCount=5)),
    }
    dot: dict[str, Any] = {"filled": True, "size": 70, "opacity": 0.92, "stroke": PAPER, "strokeWidth": 0.8}
    return layered(heads.mark_point(tooltip=WHOLE, **dot).encode(**place, color=_kind(legend=True)))


def correlations_chart(labels: Mapping[str, str], leading: Sequence[str]) -> Spec:
    """Rank correlations with their intervals, one line each; thin and open for redrawn weights."""
    rows, y = named("correlations"), _lines(labels, leading)
    trained, redrawn = (rows.transform_filter(f"datum.part == '{part}'") for part in ("correlation", "unlearnt"))
    below: dict[str, Any] = {"yOffset": 5, "stroke": MUTED}
    axis = alt.Axis(values=[-1, -0.5, 0, 0.5, 1])
    x = alt.X(
        "rho", type="quantitative", title="Spearman correlation", scale=alt.Scale(domain=[-1, 1], nice=False), axis=axis
    )
    nought = rows.transform_aggregate(rows="count()").transform_calculate(rho="0")
    return layered(
        nought.mark_rule(stroke=INK, strokeWidth=1, opacity=0.6).encode(x=x),
        redrawn.mark_rule(strokeWidth=1, **below).encode(x=alt.X("low", type="quantitative"), x2="high", y=y),
        redrawn.mark_point(size=30, fill=PAPER, strokeWidth=1.2, opacity=1, tooltip=WHOLE, **below).encode(x=x, y=y),
        trained.mark_rule(strokeWidth=2.2).encode(
            x=alt.X("low", type="quantitative"), x2="high", y=y, color=side_colour()
        ),
        trained.mark_circle(size=64, opacity=1, tooltip=WHOLE).encode(x=x, y=y, color=side_colour()),
    )


def height_of(labels: Mapping[str, str]) -> int:
    """The height of a chart with these lines, in pixels."""
    return ROW * len(labels) + 8


def _lines(labels: Mapping[str, str], leading: Sequence[str]) -> Any:
    """Lines from top to bottom; the first line of a group is bold. A line without a label is a gap."""
    names = ", ".join(f"'{key}': '{label}'" for key, label in labels.items())
    first = f"indexof([{', '.join(repr(key) for key in leading)}], datum.value) >= 0"
    axis = alt.Axis(
        labelExpr=f"{{{names}}}[datum.value]",
        labelColor={"condition": {"test": first, "value": INK}, "value": MUTED},
        labelFontWeight={"condition": {"test": first, "value": 600}, "value": 400},
        ticks=False,
        domain=False,
        grid=False,
        labelPadding=8,
        labelLimit=190,
        labelOverlap=False,
    )
    return alt.Y("line", type="nominal", title=None, sort=None, scale=alt.Scale(domain=list(labels)), axis=axis)


def _change() -> dict[str, Any]:
    return {"title": "{title}", "scale": alt.Scale(nice=True, zero=True), "axis": alt.Axis(tickCount=5, gridColor=LINE)}


def _kind(*, legend: bool) -> Any:
    key = alt.Legend(orient="top", direction="horizontal", title=None, symbolOpacity=1) if legend else None
    scale = alt.Scale(domain=list(KINDS), range=[WHERE, WHAT, BOTH])
    return alt.Color("kind", type="nominal", scale=scale, legend=key)
