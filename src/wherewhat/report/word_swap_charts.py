"""Charts of swapped words: accuracy before and after a role swap, and the role of symmetry.

`{question}` is what nets were fine-tuned on, `{measure}` what is shown, `{y title}` the title of the axis.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any

import altair as alt

from wherewhat.report.marks import INK, PAPER, WHAT, WHERE, WHOLE, either, layered, named
from wherewhat.report.page import Spec
from wherewhat.report.palette import DARK, LIGHT
from wherewhat.report.probe_swaps_charts import changes

ACCENT = alt.ExprRef(either(DARK.accent, LIGHT.accent))
OF_QUESTION = "datum.question == '{question}'"
LINE = 27  # pixels per encoding


@cache
def charts_of() -> Mapping[str, Spec]:
    """Every chart of the page by name."""
    return {"exchanged": role_swaps(), "changes": changes(), "sides": sides()}


def role_swaps() -> Spec:
    """One line per encoding: hollow before, filled after the role swap; a vertical line at a bag of words."""
    rows = named("exchanged").transform_filter(OF_QUESTION)
    y = alt.Y(
        "encoding",
        type="nominal",
        sort=alt.EncodingSortField("order", op="min", order="ascending"),
        title=None,
        axis=alt.Axis(ticks=False, domain=False, grid=True, labelPadding=8, labelLimit=150, labelOverlap=False),
    )
    scale = alt.Scale(domain=[0, 100])
    x = alt.X("value", type="quantitative", title="accuracy, %", scale=scale, axis=alt.Axis(tickCount=5))
    way = rows.transform_aggregate(low="min(value)", high="max(value)", groupby=["encoding", "order"])
    before, after = (rows.transform_filter(f"datum.state == '{state}'") for state in ("as it is", "exchanged"))
    level = named("levels").transform_filter(OF_QUESTION)
    dot: dict[str, Any] = {"size": 84, "opacity": 1, "tooltip": WHOLE}
    whisker = after.transform_filter("isValid(datum.low)").mark_rule(stroke=ACCENT, strokeWidth=2.4, clip=True)
    return layered(
        level.mark_rule(stroke=INK, strokeDash=[4, 3], strokeWidth=1.2, opacity=0.7, tooltip=WHOLE).encode(x=x),
        way.mark_rule(stroke=INK, strokeWidth=1, opacity=0.45).encode(
            x=alt.X("low", type="quantitative"), x2="high", y=y
        ),
        whisker.encode(x=alt.X("low", type="quantitative"), x2="high", y=y),
        before.mark_point(shape="circle", fill=PAPER, stroke=INK, strokeWidth=1.6, **dot).encode(x=x, y=y),
        after.mark_point(shape="circle", fill=ACCENT, stroke=PAPER, strokeWidth=1, **dot).encode(x=x, y=y),
    )


def sides() -> Spec:
    """Curves from one-sided to symmetric and beyond, one colour per locality."""
    rows = named("sides").transform_filter(f"{OF_QUESTION} && datum.measure == '{{measure}}'")
    x = alt.X(
        "s",
        type="ordinal",
        sort=None,
        title="s (1: symmetric), or initial side weight of leaning heads",
        axis=alt.Axis(labelAngle=0),
    )
    scale = alt.Scale(domain=[0, 100])
    y = alt.Y("value", type="quantitative", title="{y title}", scale=scale, axis=alt.Axis(tickCount=5))
    colour = alt.Color(
        "locality",
        type="nominal",
        scale=alt.Scale(range=[WHERE, WHAT, INK, ACCENT]),
        legend=alt.Legend(title="locality", orient="top"),
    )
    apart = alt.XOffset("locality", type="nominal")
    return layered(
        rows.transform_filter("isValid(datum.low)")
        .mark_rule(strokeWidth=2.2, clip=True)
        .encode(x=x, xOffset=apart, y=alt.Y("low", type="quantitative"), y2="high", color=colour),
        rows.mark_circle(size=90, opacity=1, tooltip=WHOLE).encode(x=x, xOffset=apart, y=y, color=colour),
    )
