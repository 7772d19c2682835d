"""How far do heads look? Near and far keys, and all distances."""

from typing import Any

import altair as alt

from wherewhat.report.blocks import axes
from wherewhat.report.blocks.axes import WHAT, WHERE, colour, legend, share, x
from wherewhat.report.blocks.chart import ViewRows, chart
from wherewhat.report.blocks.layout import answer_section, panel
from wherewhat.report.blocks.marks import ROWS, TIP, dots, named, whiskers
from wherewhat.report.core.html import join
from wherewhat.report.core.page import Section
from wherewhat.studies.engine.results import ResultTable
from wherewhat.studies.nope import published
from wherewhat.studies.nope.looks import Answers, labelled, side_by_side
from wherewhat.studies.nope.results import ARMS, FAR, LABELS, LONGER, NEAR, TRAINED, UNIFORM, looked

VIEWS = {"all": "All lengths", TRAINED: "Training lengths", LONGER: "Longer inputs"}
SIDES = {NEAR: WHERE, FAR: WHAT}


def how_far(table: ResultTable, answers: Answers) -> Section:
    """Near and far shares by encoding with published rings, and the whole distribution."""
    text = (
        "The key that a row attends to most, by its distance from the query as a part of all that the query sees, for "
        "rows from which an output token is predicted; all heads of all layers. Near is the nearest tenth, far is from "
        "0.85 on. Rings are published, for addition with a scratchpad. Vertical lines are chance: uniform attention "
        "over all visible keys. Beside it, the stronger the colour, the more rows have their key at that distance."
    )
    rows = []
    for task in table.conditions:
        distances = panel(distances_chart(table, task), title=f"{task}: all distances")
        rows.append(side_by_side([panel(sides_chart(table, task), title=task), distances]))
    body = join(*rows)
    return answer_section(
        "distance", "How far do its heads look?", [answers["near_and_far"]], body, text=text, short="Distance"
    )


def sides_chart(table: ResultTable, task: str) -> Any:
    """Two dots per encoding: the share of rows that look near, and far."""
    arms = [arm for arm in ARMS if table.row(task, looked(arm, NEAR)) is not None]
    theirs = [
        {"name": LABELS[arm], "order": ARMS.index(arm), "side": side, "value": published.MASSES[arm][side]}
        for arm in arms
        for side in SIDES
        if arm in published.MASSES
    ]
    views = {}
    for lengths, title in VIEWS.items():
        rows = [side_row(table, task, arm, side, lengths) for arm in arms for side in SIDES]
        known = {side: table.row(task, looked(UNIFORM, side, lengths)) for side in SIDES}
        chance = [{"side": side, "value": row["value"]} for side, row in known.items() if row]
        views[title] = ViewRows([row for row in rows if row], tables={"published": theirs, "chance": chance})
    across = share(x, "value", "share of output rows")
    key = colour("side", SIDES, legend=legend(symbolType="circle"))
    place = {"x": across, "y": axes.names("name", order="order", grid=True), "color": key}
    layers = [
        named("chance").mark_rule(strokeDash=[2, 3], strokeWidth=1.4).encode(x=across, color=key),
        dots(named("published"), place, size=110, hollow=True, strokeWidth=1.5, fill="transparent", tooltip=None),
        whiskers(ROWS, place),
        dots(ROWS, place, size=86),
    ]
    return chart(
        f"sides_{task}",
        views,
        layers,
        tip="{name}, {side}: {value:share}",
        label=f"{task}: share of rows that look near and far",
        figure=True,
        title=f"{task}: near and far",
        height=30 * len(arms) + 60,
    )


def side_row(table: ResultTable, task: str, arm: str, side: str, lengths: str) -> dict[str, Any] | None:
    """One dot."""
    row = table.row(task, looked(arm, side, lengths))
    known = None if row is None else {end: row[end] for end in ("value", "low", "high")}
    return known and {"name": LABELS[arm], "order": ARMS.index(arm), "side": side, **known}


def distances_chart(table: ResultTable, task: str) -> Any:
    """Shares of rows by relative distance, as a row of cells per encoding."""
    views = {}
    for name, title in VIEWS.items():
        views[title] = labelled(table.where(part="distance", subject=task, seed=None, measure=name).drop_nulls("at"))
    across = x(
        "at",
        "relative distance",
        type="ordinal",
        paddingInner=0,
        ticks=False,
        labelAngle=0,
        values=[0, 0.25, 0.5, 0.75, 1],
        format=".2~f",
        labelOverlap=False,
    )
    scale = alt.Scale(
        domain=[0, 0.05, 0.2, 0.6],
        range=[axes.shade("chance", 3), axes.shade("chance", 4), axes.shade("chance", 5), axes.shade("chance", 6)],
        interpolate="lab",
        clamp=True,
    )
    cells = ROWS.mark_rect(stroke=axes.PAPER, strokeWidth=1, tooltip=TIP).encode(
        x=across,
        y=axes.names("name", order="order"),
        color=alt.Color(
            "value",
            type="quantitative",
            scale=scale,
            legend=axes.gradient(None, format="%", values=[0, 0.2, 0.6], gradientLength=110, direction="horizontal"),
        ),
    )
    return chart(
        f"distances_{task}",
        views,
        [cells],
        tip="{name}, distance {at:.2f}: {value:share}",
        label=f"{task}: relative distance of the most attended key",
        figure=True,
        title=f"{task}: how far heads look",
        height=240,
    )
