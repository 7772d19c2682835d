"""What all charts are made of: the look they share, the page's colours, and laying marks over each other.

Two parameters may be set in every chart from outside at any time: `selected` (a head's name) and `dark`.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from wherewhat.report.palette import DARK, LIGHT

FONT = "-apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', 'Noto Sans', 'Liberation Sans', Arial, sans-serif"
SHAPES = ("circle", "diamond", "triangle-up", "square")
INK, MUTED, PAPER, LINE = "var(--ink)", "var(--muted)", "var(--card)", "var(--line)"
RING = "var(--chance-5)"  # around a head on which views disagree
WHERE, WHAT, BOTH = "var(--where)", "var(--what)", "var(--both)"
WHOLE = alt.TooltipContent(content="data")  # never titles: those would become part of an expression


def config(colours: Mapping[str, str] | None = None) -> dict[str, Any]:
    """The look all charts share. Colours are the page's own variables, or fixed ones for a picture."""
    colours = colours or {name: f"var(--{name})" for name in ("ink", "muted", "line")}
    ink, muted, line = colours["ink"], colours["muted"], colours["line"]
    return {
        "aria": False,  # the element around a chart carries its name and its keys
        "background": colours.get("card", "transparent"),
        "font": FONT,
        "view": {"stroke": None},
        "axis": {
            "labelColor": muted,
            "labelFontSize": 12,
            "titleColor": ink,
            "titleFontSize": 13,
            "titleFontWeight": 600,
            "titlePadding": 10,
            "titleLimit": 260,
            "gridColor": line,
            "domainColor": line,
            "tickColor": line,
            "tickSize": 4,
            "labelPadding": 5,
        },
        "legend": {
            "labelColor": muted,
            "labelFontSize": 12,
            "titleColor": ink,
            "titleFontSize": 12,
            "titleFontWeight": 600,
            "gradientStrokeWidth": 0,
            "labelLimit": 110,
            "layout": {"top": {"direction": "vertical", "anchor": "start", "margin": 6}},  # fits a phone
        },
        "title": {"color": ink, "fontSize": 16, "anchor": "start", "offset": 14, "subtitleColor": muted},
    }


def named(name: str) -> alt.Chart:
    """A chart of numbers that are handed in by this name when it is drawn."""
    return alt.Chart(alt.NamedData(name=name))


def layered(*layers: Any, **parameters: Any) -> dict[str, Any]:
    """Lay charts over each other and drop everything that a reader's own Altair theme might have added."""
    known = {"selected": "", "dark": False} | parameters
    spec = dict(alt.layer(*layers).to_dict(validate=True))
    for name in ("config", "$schema"):
        spec.pop(name, None)
    spec["params"] = [{"name": name, "value": value} for name, value in known.items()]
    spec["width"] = "container"
    return spec


def chosen_head(heads: alt.Chart, place: Mapping[str, Any]) -> list[Any]:
    """A ring around the selected head, with its name above it, readable over other marks."""
    chosen = heads.transform_filter("datum.name == selected")
    words: dict[str, Any] = {"dy": -17, "fontSize": 13, "fontWeight": 600}
    name = alt.Text("name", type="nominal")
    return [
        chosen.mark_point(filled=False, size=250, stroke=INK, strokeWidth=1.8).encode(**place),
        chosen.mark_text(color=PAPER, stroke=PAPER, strokeWidth=4, opacity=0.85, **words).encode(**place, text=name),
        chosen.mark_text(color=INK, **words).encode(**place, text=name),
    ]


def marks_of(heads: int) -> dict[str, Any]:
    """How a head looks as a point: many heads, smaller marks."""
    size = max(36, min(84, 12_000 / heads))
    return {"filled": True, "size": size, "opacity": 0.92, "stroke": PAPER, "strokeWidth": 0.8} | {
        "cursor": "pointer",
        "tooltip": WHOLE,
    }


def layer_colour(layers: int, *, inside: bool = False) -> Any:
    """From the first layer to the last; the legend stands above the chart, or inside it where that leaves room."""
    scale = alt.Scale(
        range=[shade("layers", i) for i in range(len(LIGHT.layers))],
        domain=[0, max(layers - 1, 1)],
        interpolate="lab",
    )
    place: dict[str, Any] = {"orient": "top-left", "direction": "vertical", "gradientLength": 84} if inside else {}
    legend = gradient("layer", format="d", tickCount=min(layers, 6), **place) if layers > 1 else None
    return alt.Color("layer", type="quantitative", scale=scale, legend=legend)


def gradient(title: str, **more: Any) -> Any:
    """The legend of a colour scale: a bar above the chart."""
    bar: dict[str, Any] = {"orient": "top", "gradientLength": 180, "gradientThickness": 10}
    aside = {} if "direction" in more else {"titleOrient": "left", "titlePadding": 12}
    return alt.Legend(title=title, **{**bar, **aside, **more})


def part_shape(parts: Sequence[str]) -> Any:
    """A shape for each part of the model, where there are several."""
    scale = alt.Scale(domain=list(parts), range=[SHAPES[i % len(SHAPES)] for i in range(len(parts))])
    legend = alt.Legend(orient="top", title=None, symbolFillColor=MUTED, symbolStrokeWidth=0)
    return alt.Shape("part", type="nominal", scale=scale, legend=legend if len(parts) > 1 else None)


def side_colour() -> Any:
    """Orange for what lies clearly above, blue for what lies clearly below, grey for what cannot be told."""
    scale = alt.Scale(domain=["above", "below", "unclear"], range=[shade("chance", 5), shade("chance", 1), MUTED])
    return alt.Color("side", type="nominal", legend=None, scale=scale)


def shade(scale: str, step: int) -> alt.ExprRef:
    """One step of a scale of the palette, in the reader's light."""
    return alt.ExprRef(either(getattr(DARK, scale)[step], getattr(LIGHT, scale)[step]))


def either(dark: str, light: str) -> str:
    """An expression for one of two colours, by the reader's light."""
    return f"dark ? '{dark}' : '{light}'"


def diverging() -> Any:
    """Colours from clearly below to clearly above, from -1 to 1."""
    steps = len(LIGHT.chance)
    return alt.Scale(
        domain=[2 * i / (steps - 1) - 1 for i in range(steps)],
        range=[shade("chance", i) for i in range(steps)],
        interpolate="lab",
        clamp=True,
    )
