"""Does a decoder without positions know them? R² by block, and the position that is read off."""

from typing import Any

from wherewhat.formatting import short
from wherewhat.report.blocks import axes
from wherewhat.report.blocks.axes import MUTED, WHAT, WHERE, colour, legend, x, y
from wherewhat.report.blocks.chart import chart
from wherewhat.report.blocks.layout import answer_section, note, panel
from wherewhat.report.blocks.marks import DASHES, ROWS, dots, line, named, rule, where, whiskers
from wherewhat.report.core.html import join
from wherewhat.report.core.page import Section
from wherewhat.report.core.palette import LIGHT
from wherewhat.studies.engine.results import ResultTable
from wherewhat.studies.nope.looks import LENGTHS, STROKES, Answers, Look, about_of, side_by_side
from wherewhat.studies.nope.results import AGAIN, ARMS, INVERSE, LABELS, LONGER, NOPE, PLACE, TRAINED

TARGETS = {PLACE: "position i", INVERSE: "1 / (i + 1)"}
FLOOR = -0.25  # of the axis of R²: what is below is drawn there, and its tooltip has the number


def its_place(table: ResultTable, answers: Answers) -> Section:
    """R² by block with chance, and the position that is read off longer inputs."""
    text = (
        "How much of the variance of positions a linear function of the residual stream explains (R²), on "
        "samples not used to fit it: 1 is exact, 0 no better than the mean. Block 0 is what the first block reads, the "
        "tokens themselves and, for sinusoidal positions, what is added to them. Dotted: positions shuffled within "
        f"each sample, at training lengths. Values below {short(FLOOR)} are drawn there."
    )
    below = note(
        "The mean position that is read off longer inputs, after each block of NoPE. The linear function was fitted on "
        "training lengths, whose positions end at the dotted line. On the diagonal it would be right."
    )
    rows = [
        side_by_side(
            [
                panel(explained_chart(table, task), title=task),
                panel(predicted_chart(table, task), title=f"{task}: read off longer inputs"),
            ]
        )
        for task in table.conditions
    ]
    body = join(
        *rows,
        below,
    )
    return answer_section(
        "place", "Does it know positions?", [answers["knows_its_place"]], body, text=text, short="Positions"
    )


def explained_chart(table: ResultTable, task: str) -> Any:
    """R² of both targets by block, for one encoding per view."""
    views = {LABELS[arm]: explained_rows(table, task, arm) for arm in ARMS if arm != AGAIN}
    blocks = x(
        "at",
        "after block",
        domain=[-0.2, (about_of(table).layers or 1) + 0.2],
        nice=False,
        grid=False,
        format="d",
        tickMinStep=1,
    )
    up = y(
        "shown",
        "R² of the position",
        domain=[FLOOR, 1],
        nice=False,
        values=[0, 0.25, 0.5, 0.75, 1],
        format=".2~f",
        clamp=True,
    )
    tones = {TARGETS[PLACE]: WHERE, TARGETS[INVERSE]: WHAT}
    place = {"x": blocks, "y": up, "color": colour("target", tones, legend=legend(**STROKES))}
    dashes = axes.dash(
        "lengths",
        {LENGTHS[TRAINED]: [1, 0], LENGTHS[LONGER]: DASHES},
        legend=legend(**{**STROKES, "symbolStrokeColor": MUTED}),
    )
    real, chance = where(ROWS, shuffled=False), where(ROWS, shuffled=True)
    layers = [
        rule(named("zero"), {"y": y("shown")}, dash=(1, 0), colour=axes.LINE),
        line(chance, {**place, "detail": "lengths:N"}, width=1.4, strokeDash=[1, 4], opacity=0.9),
        whiskers(where(real, low=...), place, along="y", width=1.6, clip=True),
        line(real, {**place, "strokeDash": dashes}),
        dots(where(real, lengths=LENGTHS[TRAINED]), place, size=62),
        dots(where(real, lengths=LENGTHS[LONGER]), place, size=52, hollow=True),
    ]
    tip = "{target}, {lengths}{by}, block {at:.0f}: R² {value:short}"
    return chart(
        f"place_{task}",
        views,
        layers,
        tip=tip,
        label=f"{task}: R² of the position by block",
        tables={"zero": [{"shown": 0.0}]},
        figure=True,
        title=f"{task}: does it know positions?",
        height=300,
    )


def explained_rows(table: ResultTable, task: str, arm: str) -> list[dict[str, Any]]:
    """The rows of one encoding, in words."""
    rows = []
    for row in table.where(part="place", subject=task, item=arm, seed=None).sort("at").iter_rows(named=True):
        *shuffled, target, lengths = row["measure"].split()
        if shuffled and lengths == LONGER:  # far below 0, as the mean of longer inputs is another
            continue
        low, high = (None if end is None else min(max(end, FLOOR), 1.0) for end in (row["low"], row["high"]))
        rows.append(
            {
                **{"at": row["at"], "value": row["value"], "shown": max(row["value"], FLOOR), "low": low, "high": high},
                **{"target": TARGETS[target], "lengths": LENGTHS[lengths], "shuffled": bool(shuffled)},
                "by": ", shuffled" if shuffled else "",
            }
        )
    return rows


def predicted_chart(table: ResultTable, task: str) -> Any:
    """The mean position that is read off longer inputs, by the true position, after each block of NoPE."""
    rows = table.where(part="predicted", subject=task, item=NOPE, seed=None).sort("measure", "at")
    blocks = sorted(set(rows["measure"]))
    steps = len(LIGHT.layers) - 2
    tones = {
        block: MUTED if number == 0 else axes.shade("layers", round(steps * (number - 1) / max(1, len(blocks) - 2)))
        for number, block in enumerate(blocks)
    }
    places = rows["at"].to_list()
    most = max(places, default=1.0)
    ends: Look = {"domain": [0, most], "nice": False, "tickCount": 6}
    place = {
        "x": x("at", "true position i", grid=False, **ends),
        "y": y("value", "position that is read", **ends, clamp=True),
        "color": colour("measure", tones, legend=legend(**STROKES)),
    }
    diagonal = named("diagonal")
    layers = [
        line(diagonal, {"x": place["x"], "y": place["y"]}, width=1.4, stroke=axes.LINE),
        rule(named("last"), {"x": place["x"]}),
        line(ROWS, place),
        dots(ROWS, place, size=22, strokeWidth=0),
    ]
    tables: dict[str, Any] = {"diagonal": [{"at": 0.0, "value": 0.0}, {"at": most, "value": most}]}
    tables |= {"last": [{"at": about_of(table).places.get(task, most)}]}
    return chart(
        f"predicted_{task}",
        rows,
        layers,
        tip="{measure}, position {at:.0f}: read as {value:short}",
        label=f"{task}: position that is read off longer inputs",
        tables=tables,
        figure=True,
        title=f"{task}: the position that is read off longer inputs, NoPE",
        height=300,
    )
