"""Axes, colours and shapes of charts in one call each; what is not an option of the scale is one of the axis."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from wherewhat.report.core.palette import DARK, LIGHT

INK, MUTED, PAPER, LINE = "var(--ink)", "var(--muted)", "var(--card)", "var(--line)"
WHERE, WHAT, BOTH = "var(--where)", "var(--what)", "var(--both)"
SHAPES = ("circle", "diamond", "triangle-up", "square")
FLAGS = frozenset({"zero", "nice", "reverse", "clamp"})  # options of a scale that are true or false
SCALE = FLAGS | {"domain", "domainMin", "domainMax", "padding", "paddingInner", "paddingOuter"}


def x(field: str, title: str | None = None, **options: Any) -> alt.X:
    """A horizontal axis: `type` (quantitative), `scale` (such as log), `sort`, `stack`, options of scale and axis."""
    return alt.X(field, **_position(title, options))


def y(field: str, title: str | None = None, **options: Any) -> alt.Y:
    """A vertical axis, with the options of `x`."""
    return alt.Y(field, **_position(title, options))


def _position(title: str | None, options: dict[str, Any]) -> dict[str, Any]:
    made: dict[str, Any] = {"type": options.pop("type", "quantitative"), "title": title}
    made |= {name: options.pop(name) for name in ("sort", "stack") if name in options}
    of_scale = [name for name in SCALE & options.keys() if name in FLAGS or options[name] is not False]
    scale = {name: options.pop(name) for name in of_scale}
    if "scale" in options:
        scale["type"] = options.pop("scale")
    if scale:
        made["scale"] = alt.Scale(**scale)
    if "axis" in options:
        made["axis"] = options.pop("axis")
    elif options:
        made["axis"] = alt.Axis(**options)
    return made


def end(place: Mapping[str, Any], along: str, low: str = "low", high: str = "high") -> dict[str, Any]:
    """The same place with an interval along `x` or `y`."""
    channel, second = (alt.X, alt.X2) if along == "x" else (alt.Y, alt.Y2)
    return {**place, along: channel(low, type="quantitative"), f"{along}2": second(high)}


def share(axis: Any, field: str = "value", title: str | None = None, **options: Any) -> Any:
    """An axis of shares, from 0 to 100 %; `axis` is `x` or `y`."""
    return axis(field, title, **{"domain": [0, 1], "nice": False, "format": "%", "tickCount": 5, **options})


def names(field: str, axis: Any = y, *, order: str = "", **options: Any) -> Any:
    """An axis of names, one line each: in the order of the rows, or by another column."""
    sort = alt.EncodingSortField(order, op="min", order="ascending") if order else None
    look = {"ticks": False, "domain": False, "labelPadding": 8, "labelLimit": 150, "labelOverlap": False}
    axis_options = alt.Axis(**{**look, "grid": False, **options})
    return axis(field, None, type="nominal", sort=sort, axis=axis_options)


def grouped_names(field: str, lines: Sequence[str], **options: Any) -> alt.Y:
    """An axis of these lines, each called `group|name`; one without a name is the heading of its group, in bold."""
    heading = "!split(datum.value, '|')[1]"
    look = {
        "labelLimit": 190,
        "labelExpr": "split(datum.value, '|')[1] || split(datum.value, '|')[0]",
        "labelColor": {"condition": {"test": heading, "value": INK}, "value": MUTED},
        "labelFontWeight": {"condition": {"test": heading, "value": 600}, "value": 400},
    }
    axis: alt.Y = names(field, **{**look, **options})
    axis["scale"] = alt.Scale(domain=list(lines))
    return axis


def colour(field: str, colours: Mapping[str, Any], *, legend: Any = None) -> alt.Color:
    """A colour per name; `legend` is one of `legend()`, or none."""
    scale = alt.Scale(domain=list(colours), range=list(colours.values()))
    return alt.Color(field, type="nominal", scale=scale, legend=legend)


def shape(field: str, shapes: Mapping[str, str], *, legend: Any = None) -> alt.Shape:
    """A shape per name."""
    scale = alt.Scale(domain=list(shapes), range=list(shapes.values()))
    return alt.Shape(field, type="nominal", scale=scale, legend=legend)


def dash(field: str, dashes: Mapping[str, Sequence[int]], *, legend: Any = None) -> alt.StrokeDash:
    """A stroke per name."""
    scale = alt.Scale(domain=list(dashes), range=list(dashes.values()))
    return alt.StrokeDash(field, type="nominal", scale=scale, legend=legend)


def legend(labels: Mapping[str, str] | None = None, **options: Any) -> alt.Legend:
    """A legend above the chart, with other words for some names; it breaks into lines where there is little room."""
    columns = alt.ExprRef("width < 420 ? 2 : 6")
    written = {"labelExpr": f"({json.dumps(dict(labels))})[datum.label] || datum.label"} if labels else {}
    plain = {"orient": "top", "direction": "horizontal", "title": None, "symbolOpacity": 1, "columns": columns}
    return alt.Legend(**{**plain, **written, **options})


def gradient(title: str | None, **more: Any) -> alt.Legend:
    """The legend of a colour scale: a bar above the chart."""
    bar: dict[str, Any] = {"orient": "top", "gradientLength": 180, "gradientThickness": 10}
    aside = {} if "direction" in more else {"titleOrient": "left", "titlePadding": 12}
    return alt.Legend(title=title, **{**bar, **aside, **more})


def shade(scale: str, step: int) -> alt.ExprRef:
    """One step of a scale of the palette, in the reader's light."""
    return alt.ExprRef(either(getattr(DARK, scale)[step], getattr(LIGHT, scale)[step]))


def either(dark: str, light: str) -> str:
    """An expression for one of two colours, by the reader's light."""
    return f"dark ? '{dark}' : '{light}'"


def tone(name: str) -> alt.ExprRef:
    """A plain colour of the palette as an expression, for places where a page's variable cannot stand."""
    return alt.ExprRef(either(getattr(DARK, name), getattr(LIGHT, name)))


ACCENT = tone("accent")


def side_colour() -> alt.Color:
    """Orange for what lies clearly above, blue for what lies clearly below, grey for what cannot be told."""
    return colour("side", {"above": shade("chance", 5), "below": shade("chance", 1), "unclear": MUTED})


def diverging(reach: str = "") -> alt.Scale:
    """Colours from clearly below to clearly above, from -1 to 1 or to the parameter `reach`."""
    steps = len(LIGHT.chance)
    places = [2 * i / (steps - 1) - 1 for i in range(steps)]
    domain: list[Any] = [alt.ExprRef(f"{reach} * {place:.6g}") for place in places] if reach else places
    return alt.Scale(domain=domain, range=[shade("chance", i) for i in range(steps)], interpolate="lab", clamp=True)


def shares_scale() -> alt.Scale:
    """Colours of shares from 0 to 1: from neutral to the darkest blue."""
    steps = [shade("chance", step) for step in (3, 2, 1, 0)]
    return alt.Scale(domain=[0, 1 / 3, 2 / 3, 1], range=steps, interpolate="lab", clamp=True)


def two_tones(below: str, above: str) -> alt.Scale:
    """Colours from one plain colour of the palette over neutral to another, from -1 to 1."""
    neutral = shade("chance", len(LIGHT.chance) // 2)
    return alt.Scale(domain=[-1, 0, 1], range=[tone(below), neutral, tone(above)], interpolate="lab", clamp=True)


def layer_colour(layers: int, *, inside: bool = False) -> alt.Color:
    """From the first layer to the last; the legend stands above the chart, or inside it where that leaves room."""
    colours = [shade("layers", i) for i in range(len(LIGHT.layers))]
    scale = alt.Scale(range=colours, domain=[0, max(layers - 1, 1)], interpolate="lab")
    place: dict[str, Any] = {"orient": "top-left", "direction": "vertical", "gradientLength": 84} if inside else {}
    bar = gradient("layer", format="d", tickCount=min(layers, 6), **place) if layers > 1 else None
    return alt.Color("layer", type="quantitative", scale=scale, legend=bar)


def part_shape(parts: Sequence[str]) -> alt.Shape:
    """A shape for each part of the model, where there are several."""
    key = alt.Legend(orient="top", title=None, symbolFillColor=MUTED, symbolStrokeWidth=0)
    shapes = {part: SHAPES[i % len(SHAPES)] for i, part in enumerate(parts)}
    return shape("part", shapes, legend=key if len(parts) > 1 else None)
