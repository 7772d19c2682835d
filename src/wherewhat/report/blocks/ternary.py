"""The triangle of three shares that sum to one: position is left, content is right, the rest is up."""

from collections.abc import Mapping, Sequence
from math import sqrt
from typing import Any

import altair as alt

from wherewhat.formatting import rounded
from wherewhat.report.blocks.axes import BOTH, INK, LINE, MUTED, PAPER, WHAT, WHERE, x, y
from wherewhat.report.blocks.marks import RING, Place, chosen_head, layered, named, text_labels, where
from wherewhat.report.core.page import Columns, Spec

TALL = sqrt(3) / 2  # of a triangle with sides of 1
BELOW, ABOVE = 48, 46  # room for the labels at the corners, in pixels
SIDE = f"((height - {BELOW + ABOVE}) / {TALL:.6f})"  # of the triangle, in pixels
KEYS = ("{where}", "{what}", "{rest}")
CORNERS = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))


def ternary(marks: Mapping[str, Any], **channels: Any) -> Spec:
    """Every head by three shares, whose columns `{where}`, `{what}` and `{rest}` name; `marks` is how a head looks.

    Its tables are `heads` and those of `ternary_tables`; a ring is around heads that are `mixed`.
    """
    points, place = _placed("value"), _free()
    ring = {"filled": False, "size": 2.6 * marks["size"], "stroke": RING, "strokeWidth": 1.8}
    return layered(
        *_outline(place),
        points.transform_filter("datum.mixed == 1").mark_point(**ring).encode(**place),
        points.mark_point(**marks).encode(**place, **channels),
        *_baseline("chance", "noise", place, angle=45),
        *_baseline("untrained", "untrained", place, angle=0),
        *chosen_head(points, place),
        *_corner_words(place),
    )


def ternary_tables(corners: Sequence[tuple[str, str]]) -> dict[str, Columns]:
    """The lines of the triangle, the outlines of its halves, and its corners with what stands at each and below."""
    lines = []
    for share in (0.0, 0.25, 0.5, 0.75):  # its sides, and a quarter, a half and three quarters of each share
        left = 1 - share
        for ends in (
            ((share, left, 0.0), (share, 0.0, left)),
            ((left, share, 0.0), (0.0, share, left)),
            ((left, 0.0, share), (0.0, left, share)),
        ):
            lines.append((*at(*ends[0]), *at(*ends[1]), share == 0))
    halves = []
    for corner, far in enumerate(CORNERS):  # in each of them one share is more than a half
        middles = [tuple((a + b) / 2 for a, b in zip(far, other, strict=True)) for other in CORNERS if other != far]
        halves += [(corner, order, *at(*place)) for order, place in enumerate((far, *middles))]
    labels = [(corner, *at(*far), *words) for corner, (far, words) in enumerate(zip(CORNERS, corners, strict=True))]
    return {
        "lines": _columns(lines, ("x", "y", "x2", "y2", "side")),
        "halves": _columns(halves, ("corner", "order", "x", "y")),
        "corners": _columns(labels, ("corner", "x", "y", "title", "note")),
    }


def at(where: float, what: float, rest: float) -> tuple[float, float]:
    """A point in the triangle.

    >>> at(1, 0, 0), at(0, 1, 0), at(0, 0, 1)[0]
    ((0.0, 0.0), (1.0, 0.0), 0.5)
    """
    total = where + what + rest
    return (what + rest / 2) / total, TALL * rest / total


def _columns(rows: Sequence[tuple[Any, ...]], names: Sequence[str]) -> Columns:
    return {name: [rounded(row[i]) for row in rows] for i, name in enumerate(names)}


def _placed(number: str) -> alt.Chart:
    """The heads that have all three of a number (`value`, `chance`, `untrained`), with their place."""
    there = " && ".join(f"isValid(datum['{number}_{key}'])" for key in KEYS)
    rows = named("heads").transform_filter(there)
    if number != "value":  # of a baseline the mean over heads
        means: dict[str, Any] = {f"{number}_{key}": f"mean({number}_{key})" for key in KEYS}
        rows = rows.transform_aggregate(**means)
    left, right, up = (f"datum['{number}_{key}']" for key in KEYS)
    whole = f"({left} + {right} + {up})"
    return rows.transform_calculate(x=f"({right} + {up} / 2) / {whole}", y=f"{TALL:.6f} * {up} / {whole}")


def _free() -> dict[str, Any]:
    """Hidden axes with the same scale in both directions, whatever the size of the chart."""
    half, low, high = f"width / 2 / {SIDE}", f"-{BELOW} / {SIDE}", f"{TALL:.6f} + {ABOVE} / {SIDE}"
    plain: dict[str, Any] = {"axis": None, "nice": False, "zero": False}
    return {
        "x": x("x", domain=[alt.ExprRef(f"0.5 - {half}"), alt.ExprRef(f"0.5 + {half}")], **plain),
        "y": y("y", domain=[alt.ExprRef(low), alt.ExprRef(high)], **plain),
    }


def _outline(place: Place) -> list[Any]:
    """The corners, tinted where one share is more than a half, and the lines."""
    lines, to = named("lines"), {**place, "x2": alt.X2("x2"), "y2": alt.Y2("y2")}
    tints = [
        where(named("halves"), corner=corner)
        .mark_line(interpolate="linear-closed", fill=colour, fillOpacity=0.1, strokeWidth=0)
        .encode(**place, order=alt.Order("order", type="quantitative"))
        for corner, colour in enumerate((WHERE, WHAT, BOTH))
    ]
    return [
        *tints,
        where(lines, side=False).mark_rule(stroke=LINE, strokeWidth=1).encode(**to),
        where(lines, side=True).mark_rule(stroke=MUTED, strokeWidth=1.2, opacity=0.6).encode(**to),
    ]


def _baseline(number: str, word: str, place: Place, *, angle: int) -> list[Any]:
    """A labelled cross at a baseline, its mean over the heads shown."""
    level = _placed(number)
    cross = level.mark_point(shape="cross", size=120, filled=True, color=INK, angle=angle, stroke=PAPER)
    return [cross.encode(**place), *text_labels(level, f"={word}", place, align="left", dx=9, dy=1, fontSize=11.5)]


def _corner_words(place: Place) -> list[Any]:
    labels = []
    out = f"min(30, width / 2 - {SIDE} / 2)"  # the lower labels begin outside their corners, as far as there is room
    looks = (("left", WHERE, f"-{out}", 22, 39), ("right", WHAT, out, 22, 39), ("center", INK, "0", -34, -17))
    for corner, (align, colour, dx, title, note) in enumerate(looks):
        row = where(named("corners"), corner=corner)
        shared: dict[str, Any] = {"align": align, "dx": alt.ExprRef(dx), "baseline": "middle"}
        big = row.mark_text(fontSize=15, fontWeight=600, color=colour, dy=title, **shared)
        below = row.mark_text(fontSize=12, color=MUTED, dy=note, **shared)
        labels += [mark.encode(**place, text=f"{name}:N") for mark, name in ((big, "title"), (below, "note"))]
    return labels
