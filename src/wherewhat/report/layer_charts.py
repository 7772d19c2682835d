"""Charts along the layers or along the rotary frequencies."""

from collections.abc import Sequence
from typing import Any

import altair as alt

from wherewhat.report.marks import (
    BOTH,
    INK,
    LINE,
    MUTED,
    PAPER,
    WHAT,
    WHERE,
    WHOLE,
    diverging,
    either,
    layered,
    named,
    side_colour,
)
from wherewhat.report.page import Spec
from wherewhat.report.palette import DARK, LIGHT

PARTS = ("position_part", "symbol_part", "interaction_part")
EXTENT = 40  # of a vertical axis, so that charts above each other align


def layer_strip(layers: int) -> Spec:
    """One score from the first layer to the last: every head as a faint dot, the layers' means as a line."""
    heads = named("heads").transform_filter("isValid(datum['value_{score}'])")
    place = {"x": _layers("layer", layers), "y": _height("value_{score}")}
    means = heads.transform_aggregate(mean="mean(value_{score})", heads="count()", groupby=["layer"])
    middle = {"x": _layers("layer", layers), "y": _height("mean")}
    levels = heads.transform_filter("isValid(datum['chance_{score}'])").transform_aggregate(
        level="mean(chance_{score})", groupby=["layer"]
    )
    fresh = heads.transform_filter("isValid(datum['untrained_{score}'])").transform_aggregate(
        level="mean(untrained_{score})", groupby=["layer"]
    )
    colour = alt.ExprRef("hue")
    dot: dict[str, Any] = {"filled": True, "size": 26, "opacity": 0.42, "cursor": "pointer", "tooltip": WHOLE}
    return layered(
        levels.mark_line(stroke=MUTED, strokeDash=[3, 4], strokeWidth=1).encode(x=middle["x"], y=_height("level")),
        fresh.mark_line(stroke=INK, strokeDash=[1, 4], strokeCap="round", strokeWidth=2).encode(
            x=middle["x"], y=_height("level")
        ),
        heads.mark_point(color=colour, **dot).encode(**place),
        means.mark_line(stroke=colour, strokeWidth=2.4).encode(**middle),
        means.mark_point(filled=True, size=46, fill=colour, stroke=PAPER, strokeWidth=1, opacity=1).encode(**middle),
        heads.transform_filter("datum.name == selected")
        .mark_point(filled=False, size=130, stroke=INK, strokeWidth=1.8)
        .encode(**place),
        hue=WHERE,
        y_span=[0, 1],
    )


def correspondence() -> Spec:
    """The correlation of behaviour with speed over all layers, one row per behaviour, with its interval and zero."""
    rows, y = named("correspondence"), _behaviour()
    scale = alt.Scale(domain=[-1, 1], nice=False)
    axis = alt.Axis(values=[-1, -0.5, 0, 0.5, 1])
    x = alt.X("rho", type="quantitative", title="slower  ←  ρ  →  faster", scale=scale, axis=axis)
    nought = rows.transform_aggregate(rows="count()").transform_calculate(rho="0")
    return layered(
        nought.mark_rule(stroke=INK, strokeWidth=1, opacity=0.6).encode(x=x),
        rows.mark_rule(strokeWidth=2.2).encode(
            x=alt.X("low", type="quantitative"), x2="high", y=y, color=side_colour()
        ),
        rows.mark_circle(size=64, opacity=1, tooltip=WHOLE).encode(x=x, y=y, color=side_colour()),
    )


def correspondence_by_layer() -> Spec:
    """The same correlations layer by layer, one cell each; a dot marks an interval that includes 0."""
    cells, y = named("correspondence"), _behaviour()
    axis = alt.Axis(ticks=False, domain=False, labelAngle=0, labelOverlap=True)
    x = alt.X("layer", type="ordinal", sort=None, title="layer", axis=axis, scale=alt.Scale(padding=0))
    known = cells.transform_filter("isValid(datum.rho)")
    colour = alt.Color("rho", type="quantitative", scale=diverging(), legend=None)
    unclear = known.transform_filter("datum.side == 'unclear'")
    return layered(
        cells.mark_rect(fill="transparent", stroke=LINE, strokeWidth=1, tooltip=WHOLE).encode(x=x, y=y),
        known.mark_rect(stroke=PAPER, strokeWidth=1, tooltip=WHOLE).encode(x=x, y=y, color=colour),
        unclear.mark_point(filled=True, size=12, fill=INK, strokeWidth=0, opacity=0.45, tooltip=WHOLE).encode(x=x, y=y),
    )


def _behaviour() -> Any:
    """One row per behaviour, in the order of the table."""
    axis = alt.Axis(ticks=False, domain=False, labelPadding=8, labelLimit=215, labelOverlap=False)
    return alt.Y("title", type="nominal", sort=None, title=None, axis=axis)


def mean_parts(layers: int) -> Spec:
    """The logits of a layer's heads, split by the sides of query and key; parts may be negative."""
    rows = named("parts")
    colour = alt.Color("side", type="nominal", legend=None, scale=alt.Scale(domain=["pos", "con"], range=[WHERE, WHAT]))
    depth = alt.Opacity("depth", type="quantitative", scale=None)
    bars = rows.mark_bar(width=alt.ExprRef(f"max(4, width / {layers} * 0.7)"), tooltip=WHOLE, stroke=PAPER)
    return layered(
        bars.encode(
            x=_layers("layer", layers),
            y=alt.Y(
                "value", type="quantitative", title="share of the logits", stack="zero", axis=alt.Axis(tickCount=5)
            ),
            color=colour,
            opacity=depth,
            order=alt.Order("order", type="quantitative"),
        ),
        _nought(rows, "value"),
    )


def spectrum_norms() -> Spec:
    """The norms of query and key in each rotary plane."""
    colours = [alt.ExprRef(either(DARK.accent, LIGHT.accent)), MUTED]
    return _lines(named("spectrum"), ["query_norm", "key_norm"], colours, title="norm", labels=False)


def spectrum_parts() -> Spec:
    """What each frequency adds to the variances of a head's logits, as shares; these may be negative."""
    rows = named("spectrum").transform_filter(_one_of(PARTS))
    colour = alt.Color(
        "measure", type="nominal", legend=None, scale=alt.Scale(domain=list(PARTS), range=[WHERE, WHAT, BOTH])
    )
    y = alt.Y("value", type="quantitative", title="share", stack="zero", axis=alt.Axis(tickCount=4, minExtent=EXTENT))
    bars = rows.mark_bar(width=alt.ExprRef("max(1.5, width / bins * 0.74)"), tooltip=WHOLE)
    order = alt.Order("order", type="quantitative")
    return layered(
        bars.encode(x=_frequencies(False), y=y, color=colour, order=order), _nought(rows, "value"), **_places()
    )


def spectrum_scores() -> Spec:
    """The published scores of each plane on its own."""
    domain = ["positional", "symbolic"]
    return _lines(named("spectrum"), domain, [WHERE, WHAT], title="score", labels=True, domain=[0, 1])


def _lines(
    data: alt.Chart, measures: Sequence[str], colours: Sequence[Any], *, title: str, labels: bool, domain: Any = None
) -> Spec:
    rows = data.transform_filter(_one_of(measures))
    colour = alt.Color(
        "measure", type="nominal", legend=None, scale=alt.Scale(domain=list(measures), range=list(colours))
    )
    scale = alt.Scale(domain=domain, nice=False) if domain else alt.Scale(domainMin=0, nice=True)
    place = {
        "x": _frequencies(labels),
        "y": alt.Y(
            "value", type="quantitative", title=title, scale=scale, axis=alt.Axis(tickCount=3, minExtent=EXTENT)
        ),
    }
    return layered(
        rows.mark_line(strokeWidth=1.8).encode(**place, color=colour),
        rows.mark_point(filled=True, size=30, opacity=1, tooltip=WHOLE).encode(**place, color=colour),
        **_places(),
    )


def _places() -> dict[str, Any]:
    return {"bins": 32, "ticks": [], "labels": []}


def _frequencies(labels: bool) -> Any:
    """From the fastest frequency to the slowest; `ticks` are labelled with wavelengths."""
    axis = alt.Axis(
        values=alt.ExprRef("ticks"),
        labelExpr="labels[datum.value]",
        grid=False,
        labels=labels,
        ticks=labels,
        domain=labels,
        labelOverlap="greedy",
    )
    scale = alt.Scale(domain=[-0.6, alt.ExprRef("bins - 0.4")], nice=False, zero=False)
    title = "wavelength in tokens, fastest first" if labels else None
    return alt.X("at", type="quantitative", title=title, scale=scale, axis=axis)


def _layers(name: str, layers: int) -> Any:
    axis = alt.Axis(values=list(range(0, layers, max(1, layers // 6))), format="d", grid=False)
    scale = alt.Scale(domain=[-0.5, layers - 0.5], nice=False, zero=False)
    return alt.X(name, type="quantitative", title="layer", scale=scale, axis=axis)


def _height(name: str) -> Any:
    scale = alt.Scale(domain=[alt.ExprRef("y_span[0]"), alt.ExprRef("y_span[1]")], nice=False, zero=False)
    return alt.Y(name, type="quantitative", title=None, scale=scale, axis=alt.Axis(tickCount=5))


def _nought(rows: alt.Chart, name: str) -> Any:
    """A line at zero, for bars in both directions."""
    once = rows.transform_aggregate(rows="count()").transform_calculate(**{name: "0"})
    return once.mark_rule(stroke=LINE, strokeWidth=1).encode(y=alt.Y(name, type="quantitative"))


def _one_of(measures: Sequence[str]) -> str:
    names = ", ".join(f"'{name}'" for name in measures)
    return f"indexof([{names}], datum.measure) >= 0"
