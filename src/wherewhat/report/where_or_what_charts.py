"""The charts of position against content: the triangle of shares, and two planes with the corner that is impossible."""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from wherewhat.report.marks import (
    BOTH,
    INK,
    LINE,
    MUTED,
    PAPER,
    RING,
    WHAT,
    WHERE,
    chosen_head,
    gradient,
    layer_colour,
    layered,
    marks_of,
    named,
    part_shape,
    shade,
)
from wherewhat.report.page import Spec
from wherewhat.report.palette import LIGHT
from wherewhat.report.shares import TALL

BELOW, ABOVE = 48, 46  # room for the labels at the corners, in pixels
SIDE = f"((height - {BELOW + ABOVE}) / {TALL:.6f})"  # of the triangle, in pixels
ROOTS = (0, 0.1, 0.25, 0.5, 1, 1.5, 2, 3, 4, 6, 9)
IMPOSSIBLE = ("no head can be here:", "exclusion theorem,", "Var ≤ P + S")
SWAPPED = ("no head can be here:", "in every swap the squares", "of the scores sum to 1 or more")


def triangle(*, parts: Sequence[str], layers: int, heads: int) -> Spec:
    """Every head by three shares that sum to one. The keys `{where}`, `{what}` and `{rest}` name their columns."""
    rows = named("heads").transform_filter(
        "isValid(datum['value_{where}']) && isValid(datum['value_{what}']) && isValid(datum['value_{rest}'])"
    )
    points, place = _in_triangle(rows, "value"), _free()
    return layered(
        *_outline(place),
        points.transform_filter("datum.mixed == 1")
        .mark_point(filled=False, size=2.6 * marks_of(heads)["size"], stroke=RING, strokeWidth=1.8)
        .encode(**place),
        points.mark_point(**marks_of(heads)).encode(
            **place, color=layer_colour(layers, inside=True), shape=part_shape(parts)
        ),
        *_baseline("chance", "noise", place, angle=45),
        *_baseline("untrained", "untrained", place),
        *chosen_head(points, place),
        *_corner_words(place),
    )


def _baseline(number: str, word: str, place: Mapping[str, Any], *, angle: int = 0) -> list[Any]:
    """A labelled cross at a baseline, its mean over the heads shown."""
    keys = ("{where}", "{what}", "{rest}")
    there = " && ".join(f"isValid(datum['{number}_{key}'])" for key in keys)
    means: dict[str, Any] = {f"{number}_{key}": f"mean({number}_{key})" for key in keys}
    level = _in_triangle(named("heads").transform_filter(there).transform_aggregate(**means), number)
    words: dict[str, Any] = {"text": word, "align": "left", "dx": 9, "dy": 1, "fontSize": 11.5}
    return [
        level.mark_point(shape="cross", size=120, filled=True, color=INK, angle=angle, stroke=PAPER).encode(**place),
        level.mark_text(color=PAPER, stroke=PAPER, strokeWidth=4, opacity=0.85, **words).encode(**place),
        level.mark_text(color=INK, **words).encode(**place),
    ]


def exclusion_plane(*, parts: Sequence[str], layers: int, heads: int) -> Spec:
    """P against S in units of the variance of the logits. `reach` is the end of both axes."""
    points = named("heads")
    place = {
        "x": _root(alt.X, "x", "← purely positional    P / Var (√ scale)"),
        "y": _root(alt.Y, "y", "← purely symbolic    S / Var (√ scale)"),
    }
    return layered(
        *_bounded(place, IMPOSSIBLE),
        points.mark_point(clip=False, **marks_of(heads)).encode(
            **place, color=layer_colour(layers), shape=part_shape(parts)
        ),
        *chosen_head(points, place),
        reach=3,
    )


def published_plane(*, parts: Sequence[str], heads: int, layers: int, entropy: str | None) -> Spec:
    """The published scores against each other, coloured by entropy: flat attention is in the upper right corner."""
    points = named("heads").transform_filter("isValid(datum['value_{x}']) && isValid(datum['value_{y}'])")
    place = {"x": _unit(alt.X, "value_{x}", "{x title}"), "y": _unit(alt.Y, "value_{y}", "{y title}")}
    words: dict[str, Any] = {"align": "right", "fontSize": 11, "color": MUTED}
    flat = named("bound").transform_filter("datum.x == 1").transform_calculate(high="1")
    bare = {"x": _unit(alt.X, "x", "{x title}"), "y": _unit(alt.Y, "y", "{y title}")}
    return layered(
        *_bounded(bare, SWAPPED),
        flat.mark_text(text="flat attention ↗", dx=-6, dy=12, **words).encode(
            x=bare["x"], y=alt.Y("high", type="quantitative")
        ),
        points.mark_point(**marks_of(heads)).encode(
            **place, color=_entropy_colour(entropy) if entropy else layer_colour(layers), shape=part_shape(parts)
        ),
        *chosen_head(points, place),
    )


def _in_triangle(rows: alt.Chart, number: str) -> alt.Chart:
    where, what, rest = (f"datum['{number}_{{{key}}}']" for key in ("where", "what", "rest"))
    return rows.transform_calculate(
        x=f"({what} + {rest} / 2) / ({where} + {what} + {rest})",
        y=f"{TALL:.6f} * {rest} / ({where} + {what} + {rest})",
    )


def _free() -> dict[str, Any]:
    """Hidden axes with the same scale in both directions, whatever the size of the chart."""
    half, low, high = f"width / 2 / {SIDE}", f"-{BELOW} / {SIDE}", f"{TALL:.6f} + {ABOVE} / {SIDE}"
    across = alt.Scale(domain=[alt.ExprRef(f"0.5 - {half}"), alt.ExprRef(f"0.5 + {half}")], nice=False, zero=False)
    up = alt.Scale(domain=[alt.ExprRef(low), alt.ExprRef(high)], nice=False, zero=False)
    return {
        "x": alt.X("x", type="quantitative", axis=None, scale=across),
        "y": alt.Y("y", type="quantitative", axis=None, scale=up),
    }


def _outline(place: Mapping[str, Any]) -> list[Any]:
    """The corners, tinted where one share is more than a half, and the lines."""
    lines = named("lines")
    to = {"x2": alt.X2("x2"), "y2": alt.Y2("y2")}
    tints = [
        named("halves")
        .transform_filter(f"datum.corner == {corner}")
        .mark_line(interpolate="linear-closed", fill=colour, fillOpacity=0.1, strokeWidth=0)
        .encode(**place, order=alt.Order("order", type="quantitative"))
        for corner, colour in enumerate((WHERE, WHAT, BOTH))
    ]
    return [
        *tints,
        lines.transform_filter("!datum.side").mark_rule(stroke=LINE, strokeWidth=1).encode(**place, **to),
        lines.transform_filter("datum.side")
        .mark_rule(stroke=MUTED, strokeWidth=1.2, opacity=0.6)
        .encode(**place, **to),
    ]


def _corner_words(place: Mapping[str, Any]) -> list[Any]:
    labels = []
    out = f"min(30, width / 2 - {SIDE} / 2)"  # the lower labels begin outside their corners, as far as there is room
    for corner, (align, colour, dx, title, note) in enumerate(
        (("left", WHERE, f"-{out}", 22, 39), ("right", WHAT, out, 22, 39), ("center", INK, "0", -34, -17))
    ):
        row = named("corners").transform_filter(f"datum.corner == {corner}")
        shared: dict[str, Any] = {"align": align, "dx": alt.ExprRef(dx), "baseline": "middle"}
        labels += [
            row.mark_text(fontSize=15, fontWeight=600, color=colour, dy=title, **shared).encode(
                **place, text=alt.Text("title", type="nominal")
            ),
            row.mark_text(fontSize=12, color=MUTED, dy=note, **shared).encode(
                **place, text=alt.Text("note", type="nominal")
            ),
        ]
    return labels


def _bounded(place: Mapping[str, Any], words: Sequence[str]) -> list[Any]:
    """The corner that no head can be in, with the reason."""
    edge = named("bound")
    corner = edge.transform_filter("datum.x == 0").transform_calculate(low="0")
    return [
        edge.mark_area(fill=LINE, fillOpacity=0.55).encode(**place),
        edge.mark_line(stroke=MUTED, strokeWidth=1.4).encode(**place, order=alt.Order("x", type="quantitative")),
        corner.mark_text(
            text=list(words), align="left", dx=10, dy=-46, lineHeight=15, fontSize=11.5, color=MUTED
        ).encode(x=place["x"], y=alt.Y("low", type="quantitative")),
    ]


def _root(channel: Any, name: str, title: str) -> Any:
    scale = alt.Scale(type="sqrt", domain=[0, alt.ExprRef("reach")], nice=False, clamp=True)
    axis = alt.Axis(values=list(ROOTS), format="~g", labelOverlap="greedy")
    return channel(name, type="quantitative", title=title, scale=scale, axis=axis)


def _unit(channel: Any, name: str, title: str) -> Any:
    scale = alt.Scale(domain=[0, 1.0], nice=False)
    return channel(name, type="quantitative", title=title, scale=scale, axis=alt.Axis(tickCount=5))


def _entropy_colour(key: str) -> Any:
    colours = [shade("spread", step) for step in range(len(LIGHT.spread))]
    scale = alt.Scale(range=colours, interpolate="lab", domain=[0, 1])
    return alt.Color(f"value_{key}", type="quantitative", scale=scale, legend=gradient("entropy", tickCount=3))
