"""The corner of a plane of two scores in which no head can be, with the reason written into it."""

from collections.abc import Sequence
from typing import Any

import altair as alt

from wherewhat.formatting import rounded
from wherewhat.report.blocks.axes import LINE, MUTED
from wherewhat.report.blocks.marks import Place, named
from wherewhat.report.core.page import Columns

STEPS = 64  # points of the bounding line
SWAPPED = ("no head can be here:", "in every swap the squares", "of the scores sum to 1 or more")


def bound() -> Columns:
    """The line x + y = 1, below which no head can be; denser at its ends, where a root scale stretches it."""
    across = [(step / STEPS) ** 2 for step in range(STEPS + 1)]
    both = sorted({*across, *(1 - x for x in across)})
    return {"x": [rounded(x) for x in both], "y": [rounded(1 - x) for x in both]}


def excluded_corner(place: Place, words: Sequence[str] = SWAPPED) -> list[Any]:
    """The corner below the bound and why it is empty: layers over a table `bound`, whose columns are x and y."""
    edge = named("bound")
    corner = edge.transform_filter("datum.x == 0").transform_calculate(low="0")
    look: dict[str, Any] = {"align": "left", "dx": 10, "dy": -46, "lineHeight": 15, "fontSize": 11.5, "color": MUTED}
    return [
        edge.mark_area(fill=LINE, fillOpacity=0.55).encode(**place),
        edge.mark_line(stroke=MUTED, strokeWidth=1.4).encode(**place, order=alt.Order("x", type="quantitative")),
        corner.mark_text(text=list(words), **look).encode(x=place["x"], y=alt.Y("low", type="quantitative")),
    ]
