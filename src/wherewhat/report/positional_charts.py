"""Charts of the positional part of attention: by offset, by layer, and all its maps as one figure."""

from collections.abc import Sequence
from typing import Any

import altair as alt

from wherewhat.report.marks import INK, LINE, MUTED, PAPER, WHAT, WHERE, WHOLE, layered, named, shade
from wherewhat.report.page import Columns, Spec
from wherewhat.report.palette import LIGHT
from wherewhat.report.positional_maps import GAMMA, LEVELS, NOTHING, Maps, ordered
from wherewhat.report.positional_tables import TITLES

COLOURS = {"identical": WHERE, "unmasked": INK, "delta": "var(--chance-5)", "mean": "var(--layer-4)"}
DASHES = {"identical": [1, 0], "unmasked": [8, 3], "delta": [6, 3], "mean": [2, 2]}
STROKES = {"identical": "solid", "unmasked": "long dashes", "delta": "dashes", "mean": "dots"}  # in words
GAP, DOWN = 3, 7  # between the maps of a figure, in cells
ROOM: dict[str, Any] = {
    "tickCount": 3,
    "offset": 40,
    "labelOverlap": "greedy",
}  # below a legend, for the titles above the first map
SMALL = 16  # cells of a map in a figure


def offset_lines(sources: Sequence[str]) -> Spec:
    """Mean attention along each diagonal, one line per source; γ has the colour of content."""
    rows = named("positional_profile")
    x = alt.X(
        "offset",
        type="quantitative",
        title="key's offset from the query",
        scale=alt.Scale(nice=False, zero=False),
        axis=alt.Axis(values=[-16, -8, -4, 0, 4, 8, 16], format="d", grid=False, labelOverlap="greedy"),
    )
    y = alt.Y(
        "value",
        type="quantitative",
        title="mean attention (√ scale)",
        scale=alt.Scale(type="sqrt", domainMin=0),
        axis=alt.Axis(tickCount=4, format="~g"),
    )
    marks = {"color": source_colour(sources), "strokeDash": source_dash(sources)}
    even = rows.transform_filter("isValid(datum.even)")
    return layered(
        rows.transform_filter("datum.offset == 0").mark_rule(color=LINE, strokeWidth=1).encode(x=x),
        even.mark_line(stroke=MUTED, strokeDash=[1, 3], strokeWidth=1.2).encode(
            x=x, y=alt.Y("even", type="quantitative"), detail="source:N"
        ),
        rows.mark_line(strokeWidth=2).encode(x=x, y=y, **marks),
        rows.mark_point(filled=True, size=60, opacity=0, tooltip=WHOLE).encode(x=x, y=y, color=marks["color"]),
    )


def layer_lines(layers: int, sources: Sequence[str]) -> Spec:
    """One measure from the first layer to the last, one line per source, with half of the heads in the band."""
    mine = "datum.measure == '{measure}' && datum.over == '{over}'"
    rows = named("positional_layers").transform_filter(f"{mine} && datum.series == '{{series}}'")
    chance = named("positional_chance").transform_filter(mine)
    axis = alt.Axis(values=list(range(0, layers, max(1, layers // 6))), format="d", grid=False)
    x = alt.X(
        "layer",
        type="quantitative",
        title="layer",
        scale=alt.Scale(domain=[-0.5, layers - 0.5], nice=False, zero=False),
        axis=axis,
    )
    y = alt.Y("value", type="quantitative", title="{measure}", scale=alt.Scale(zero=True), axis=alt.Axis(tickCount=5))
    marks = {"color": source_colour(sources), "strokeDash": source_dash(sources)}
    words: dict[str, Any] = {"fontSize": 11, "align": "left", "x": 4, "dy": -6}
    name = alt.Text("name", type="nominal")
    return layered(
        chance.mark_rule(stroke=MUTED, strokeDash=[3, 4], strokeWidth=1).encode(y=y),
        chance.mark_text(color=PAPER, stroke=PAPER, strokeWidth=4, **words).encode(y=y, text=name),
        rows.mark_area(opacity=0.13).encode(x=x, y=alt.Y("low", type="quantitative"), y2="high", color=marks["color"]),
        rows.mark_line(strokeWidth=2.2).encode(x=x, y=y, **marks),
        rows.mark_point(filled=True, size=44, opacity=1, stroke=PAPER, strokeWidth=1, tooltip=WHOLE).encode(
            x=x, y=y, color=marks["color"]
        ),
        chance.mark_text(color=MUTED, **words).encode(y=y, text=name),
    )


def source_colour(sources: Sequence[str]) -> Any:
    """The colour of each source; γ has that of content."""
    shown = ordered(sources)
    hues = [WHAT if name.endswith(GAMMA) else COLOURS[name] for name in shown]
    return alt.Color("source", type="nominal", legend=None, scale=alt.Scale(domain=shown, range=hues))


def source_dash(sources: Sequence[str]) -> Any:
    """The stroke of each source, so that colour is not needed to tell them apart."""
    shown = ordered(sources)
    dashes = [DASHES[name.removesuffix(GAMMA)] for name in shown]
    return alt.StrokeDash("source", type="nominal", legend=None, scale=alt.Scale(domain=shown, range=dashes))


def maps_picture() -> Spec:
    """Every layer's map, the mean of its heads: layers across, sources down."""
    cells, words = named("positional_cells"), named("positional_titles")
    steps = len(LIGHT.chance)
    scale = alt.Scale(
        domain=[alt.ExprRef(f"reach * {2 * i / (steps - 1) - 1:.6g}") for i in range(steps)],
        range=[shade("chance", i) for i in range(steps)],
        interpolate="lab",
        clamp=True,
    )
    times = "(datum.value < 0 ? '1/' : '') + format(pow(2, abs(datum.value)), '~g') + ' ×'"
    legend = alt.Legend(
        orient="top",
        title="attention, uniform = 1 ×",
        gradientLength=200,
        gradientThickness=10,
        labelExpr=times,
        **ROOM,
    )
    free: dict[str, Any] = {"nice": False, "zero": False}
    looks: dict[str, dict[str, Any]] = {
        "layer": {"fontSize": 11, "color": MUTED, "dy": -2},
        "source": {"fontSize": 13, "color": INK, "dy": -16, "fontWeight": 600},
    }
    place = {
        "x": alt.X("x", type="quantitative", axis=None, scale=alt.Scale(**free)),
        "y": alt.Y("y", type="quantitative", axis=None, scale=alt.Scale(reverse=True, **free)),
    }
    return layered(
        cells.mark_rect(strokeWidth=0).encode(
            **place, x2="x2", y2="y2", color=alt.Color("away", type="quantitative", scale=scale, legend=legend)
        ),
        *(
            words.transform_filter(f"datum.kind == '{kind}'")
            .mark_text(align="left", baseline="bottom", **look)
            .encode(**place, text=alt.Text("title", type="nominal"))
            for kind, look in looks.items()
        ),
        reach=2,
    )


def picture_tables(maps: Maps) -> dict[str, Columns]:
    """The cells of that figure, coarser than on the page, and its titles."""
    sources = [name for name in maps.sources if not name.endswith(GAMMA)]
    layers = sorted({int(name[1:]) for source in sources for name in maps.cells[source] if "H" not in name})
    side = max((_side(maps, source) for source in sources), default=0)
    cells: list[tuple[float, ...]] = []
    titles: list[tuple[float, float, str, str]] = []
    for down, source in enumerate(sources):
        titles.append((0, down * (side + DOWN), f"{TITLES[source]}, {maps.slots(source)}", "source"))
        for across, layer in enumerate(layers):
            left, top = across * (side + GAP), down * (side + DOWN)
            titles.append((left, top, f"L{layer}", "layer"))
            coarse = _coarse(maps, source, f"L{layer}")
            cells += [(left + key, top + query, left + key + 1, top + query + 1, away) for query, key, away in coarse]
    names = ("x", "y", "x2", "y2", "away")
    return {
        "positional_cells": {name: [cell[i] for cell in cells] for i, name in enumerate(names)},
        "positional_titles": {
            name: [title[i] for title in titles] for i, name in enumerate(("x", "y", "title", "kind"))
        },
    }


def _side(maps: Maps, source: str) -> int:
    return -(-maps.side(source) // -(-maps.side(source) // SMALL))


def _coarse(maps: Maps, source: str, name: str) -> list[tuple[int, int, float]]:
    """A map in fewer cells: the distance from uniform attention in doublings, the mean of the cells it covers."""
    step = -(-maps.side(source) // SMALL)
    held: dict[tuple[int, int], list[float]] = {}
    for at, mark in enumerate(maps.cells[source].get(name, "")):
        if mark != NOTHING:
            query, key = divmod(at, maps.side(source))
            away = maps.reach * (2 * LEVELS.index(mark) / (len(LEVELS) - 1) - 1)
            held.setdefault((query // step, key // step), []).append(away)
    return [(query, key, sum(aways) / len(aways)) for (query, key), aways in held.items()]
