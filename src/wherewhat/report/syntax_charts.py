"""Charts of the study of syntax: those of the dependency probe, and the share found against locality."""

from collections.abc import Sequence
from functools import cache
from typing import Any

import altair as alt

from wherewhat.report.marks import MUTED, PAPER, WHAT, WHERE, WHOLE, layered, named
from wherewhat.report.page import Spec
from wherewhat.report.probe_dependencies_charts import by_distance, by_relation
from wherewhat.report.syntax_data import GROUPS

COLOURS = {"free": WHAT, "one-sided": WHERE, "symmetric": MUTED}
SHAPES = {"free": "triangle-up", "one-sided": "square", "symmetric": "circle"}


@cache
def charts_of(groups: tuple[str, ...]) -> dict[str, Spec]:
    """Every chart of the page by name; the legend shows these groups."""
    return {"distances": by_distance(), "relations": by_relation(), "places": against_locality(groups)}


def against_locality(groups: Sequence[str]) -> Spec:
    """The share that a part of attention finds at a distance, against the locality of the encoding.

    `{by}` is which locality, `{part}` which part of attention, `{at}` the distance.
    """
    rows = named("places").transform_filter("datum.by == '{by}' && datum.part == '{part}' && datum.at == {at}")
    shown = [name for name in groups if name in COLOURS]
    curves = [name for name in shown if name != "free"]  # free heads have no curve
    fitting = alt.ExprRef("width < 420 ? 2 : 4")  # entries per line
    named_group = f"({GROUPS!r})[datum.label]"
    legend = alt.Legend(
        orient="top",
        direction="horizontal",
        title=None,
        symbolOpacity=1,
        columns=fitting,
        labelExpr=named_group,
        values=alt.ExprRef(f"'{{by}}' == 'bias.locality' ? {curves} : {shown}"),
    )
    colour, shape = (
        channel(
            "group",
            type="nominal",
            legend=legend,
            scale=alt.Scale(domain=shown, range=[values[name] for name in shown]),
        )
        for channel, values in ((alt.Color, COLOURS), (alt.Shape, SHAPES))
    )
    place = alt.Scale(zero=False, padding=18)
    x = alt.X("x", type="quantitative", title="locality", scale=place, axis=alt.Axis(tickCount=5, grid=False))
    share = alt.Scale(domain=[0, 1], nice=False)
    y = alt.Y("value", type="quantitative", title="found", scale=share, axis=alt.Axis(format="%", tickCount=5))
    ends: dict[str, Any] = {"x": x, "y": alt.Y("low", type="quantitative"), "y2": "high"}
    spec = layered(
        rows.mark_rule(strokeWidth=1.4, opacity=0.6).encode(**ends, color=colour),
        rows.mark_point(filled=True, size=90, opacity=1, stroke=PAPER, strokeWidth=1, tooltip=WHOLE).encode(
            x=x, y=y, color=colour, shape=shape
        ),
    )
    return {**spec, "title": {"text": "{link}", "fontSize": 12.5, "fontWeight": 500, "offset": 8}}
