"""The page of decoders without positions: what they know of them, whose attention is theirs, and how far they look."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import altair as alt
import polars as pl

from wherewhat.errors import UserError
from wherewhat.formatting import MISSING, short
from wherewhat.report.blocks import axes
from wherewhat.report.blocks.axes import INK, MUTED, WHAT, WHERE, colour, legend, share, x, y
from wherewhat.report.blocks.chart import ViewRows, chart, lines
from wherewhat.report.blocks.claims import claims_section
from wherewhat.report.blocks.layout import answer_section, columns, counted, note, panel, run_time
from wherewhat.report.blocks.marks import DASHES, ROWS, TIP, dots, line, named, rule, where, whiskers
from wherewhat.report.blocks.numbers import fixed
from wherewhat.report.blocks.provenance import provenance_section
from wherewhat.report.blocks.table import table as table_of
from wherewhat.report.core.html import Html, join, tag
from wherewhat.report.core.page import Page, Section
from wherewhat.report.core.palette import LIGHT
from wherewhat.studies.engine.results import Cell, ResultRow, ResultTable
from wherewhat.studies.nope import published
from wherewhat.studies.nope.results import (
    AGAIN,
    ALIBI,
    APE,
    ARMS,
    FAR,
    INVERSE,
    LABELS,
    LONGER,
    NEAR,
    NOPE,
    PLACE,
    QUARTER,
    RELEASED,
    ROPE,
    T5,
    TRAINED,
    TRUE,
    UNIFORM,
    divergence,
    entropy,
    looked,
    shared_start,
)
from wherewhat.tables.manifest.study import LongAnswer, NopeManifest, NopeSection

Look = Mapping[str, Any]  # options of charts and axes
Answers = Mapping[str, LongAnswer]
TONES = {
    NOPE: INK,
    AGAIN: MUTED,
    T5: axes.shade("chance", 1),
    ALIBI: axes.shade("chance", 5),
    QUARTER: WHAT,
    APE: axes.shade("layers", 5),
    ROPE: WHERE,
}
STROKES: Look = {"symbolType": "stroke", "symbolStrokeWidth": 3, "labelLimit": 160}
LENGTHS = {TRAINED: "training lengths", LONGER: "longer inputs"}
TARGETS = {PLACE: "position i", INVERSE: "1 / (i + 1)"}
KINDS = {TRUE: "Jensen-Shannon, bits", RELEASED: "As released, nats"}
VIEWS = {"all": "All lengths", TRAINED: "Training lengths", LONGER: "Longer inputs"}
SIDES = {NEAR: WHERE, FAR: WHAT}
FLOOR = -0.25  # of the axis of R²: what is below is drawn there, and its tooltip has the number


def page(result: pl.DataFrame, manifest: NopeManifest) -> Page:
    """What was measured on nets with and without positions, with the published claims."""
    about = manifest.about
    there = set(result.filter(pl.col("seed").is_null(), part="place", item=NOPE)["subject"])
    tasks = [task for task in about.lengths if task in there]
    if not tasks:
        raise UserError("the table has no net that was measured; run `wherewhat reproduce nope` again")
    table, answers = ResultTable(result, tasks, about), defaultdict(LongAnswer, about.answers)
    nets = result.filter(pl.col("seed").is_not_null(), part="place").select("subject", "item", "seed").n_unique()
    counts = (
        (len(tasks), "task"),
        (len(table.seeds), "seed"),
        (nets, "net"),
        (about.steps or 0, "step per net", "steps per net"),
    )
    sizes = [(f"{about.layers} × {about.heads}", "layers × heads")] if about.layers and about.heads else []
    facts = [*(counted(*each) for each in counts if each[0]), *sizes, *run_time(about.seconds, about.processes)]
    measured = (its_place, whose_attention, how_far, what_they_learnt)
    return Page(
        title="What does a decoder without positions know about them?",
        kind="Reproduction after arXiv 2305.19466",
        lede="A causal decoder without any encoding of position (NoPE) can tell where a token stands: each token sees "
        "one token more than the one before it. Small decoders learn the same task, without positions and with five "
        "encodings of them. Is the position of a token in what the first one computes? Which of the others does its "
        "attention resemble? And how far back do its heads look?",
        facts=facts,
        sections=[
            *(section(table, answers) for section in measured),
            claims_section(manifest.claims),
            provenance_section(manifest),
        ],
    )


def labelled(rows: pl.DataFrame, column: str = "item") -> pl.DataFrame:
    """Rows with the name of their encoding as people write it, in the order of encodings."""
    order = pl.col(column).replace_strict({arm: number for number, arm in enumerate(LABELS)}, default=99)
    name = pl.col(column).replace(LABELS)
    return rows.with_columns(name=name, order=order).sort("order", "at", maintain_order=True)


def by_name(arms: Sequence[str], **look: Any) -> alt.Color:
    """A colour per encoding, under its name."""
    key = legend(**{**STROKES, "columns": alt.ExprRef("width < 420 ? 2 : 3"), **look})
    return colour("name", {LABELS[arm]: TONES[arm] for arm in arms}, legend=key)


def training_end(table: ResultTable, task: str) -> dict[str, Any]:
    """A table for a chart with the longest training length."""
    return {"trained": [{"at": about_of(table).lengths[task] + 0.5}]}


def about_of(table: ResultTable) -> NopeSection:
    """What the manifest says of the nets."""
    about: NopeSection = table.scale
    return about


def side_by_side(cards: Sequence[Html]) -> Html:
    """Cards, two in a row; a single one is as wide as the page."""
    return tag("div", columns(*cards) if len(cards) > 1 else join(*cards), class_="below")


# Does it know positions? ------------------------------------------------------------------------------------------


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


# Whose attention does it resemble? --------------------------------------------------------------------------------


def whose_attention(table: ResultTable, answers: Answers) -> Section:
    """Divergence from NoPE by length, entropy beside it, and what was published."""
    text = (
        "How far the attention of each net is from that of NoPE on the same samples, by their length: for every layer "
        "the closest pair of heads, then the mean over layers. The grey area reaches up to the floor, NoPE trained "
        "from another seed; thin lines are single seeds. The dotted line is where training lengths end. Flat heads "
        "resemble each other, so entropy is beside it: 1 attends to all keys alike. Published heights were computed "
        "with the released formula and can be compared with it alone, in their order: tasks and nets differ. Same "
        "start: the divergence from the second NoPE, whose initial weights and samples each encoding shares."
    )
    rows = []
    for task in table.conditions:
        entropies = panel(entropy_chart(table, task), title=f"{task}: entropy")
        rows.append(side_by_side([panel(divergence_chart(table, task), title=task), entropies]))
    tables = [panel(heights_table(table, task), title=f"{task}, beside published heights") for task in table.conditions]
    body = join(*rows, *(tag("div", each, class_="below") for each in tables))
    nearest = [answers["t5_at_the_floor"], answers["others_above_the_floor"]]
    return answer_section("attention", "Whose attention does it resemble?", nearest, body, text=text, short="Attention")


def length_axis(rows: pl.DataFrame) -> Any:
    """An axis of the lengths of samples."""
    ends = [rows["at"].min(), rows["at"].max()]
    return x("at", "length of the sample", domain=ends, nice=False, grid=False, tickMinStep=1, format="d", padding=6)


def divergence_chart(table: ResultTable, task: str) -> Any:
    """A line per encoding, and the floor as an area."""
    every = labelled(table.where(part="divergence", subject=task).drop_nulls("at"))
    arms = [arm for arm in ARMS if arm in set(every["item"])]
    kinds = {title: every.filter(measure=kind) for kind, title in KINDS.items()}
    views = {title: rows for title, rows in kinds.items() if not rows.is_empty()}  # one head has no released pairs
    place = {"x": length_axis(every), "y": y("value", "divergence from NoPE", zero=True), "color": by_name(arms)}
    means, runs = where(ROWS, seed=None), where(ROWS, seed=...)
    floor, others = where(means, item=AGAIN), means.transform_filter(f"datum.item != '{AGAIN}'")
    layers = [
        floor.mark_area(fill=MUTED, opacity=0.16).encode(x=place["x"], y=place["y"]),
        rule(named("trained"), {"x": place["x"]}),
        line(floor, place, width=1.8, strokeDash=DASHES),
        line(runs, {**place, "detail": "seed:N"}, width=0.9, opacity=0.4),
        line(others, place),
        dots(means, place, size=30),
    ]
    return chart(
        f"divergence_{task}",
        views,
        layers,
        tip="{name}, length {at:.0f}: {value:short}",
        label=f"{task}: divergence from NoPE by length",
        tables=training_end(table, task),
        figure=True,
        title=f"{task}: divergence from NoPE",
        height=320,
    )


def entropy_chart(table: ResultTable, task: str) -> Any:
    """The entropy of every net by length."""
    rows = labelled(table.where(part="entropy", subject=task, seed=None).drop_nulls("at"))
    arms = [arm for arm in ARMS if arm in set(rows["item"])]
    look: Look = {"x": length_axis(rows), "y": share(y, "value", "mean entropy", format=".1f")}
    below = [rule(named("trained"), {"x": look["x"]})]
    words: Look = {"label": f"{task}: entropy of attention by length", "tip": "{name}, length {at:.0f}: {value:short}"}
    return lines(
        f"entropy_{task}",
        rows,
        colour=colour("name", {LABELS[arm]: TONES[arm] for arm in arms}),
        tables=training_end(table, task),
        below=below,
        height=320,
        size=20,
        intervals="none",
        **look,
        **words,
    )


def heights_table(table: ResultTable, task: str) -> Html:
    """Divergence and entropy of every encoding, at training lengths and longer, beside what was published."""
    columns_of: dict[
        str, Callable[[str, str], Cell]
    ] = {  # by heading over two columns, what makes a cell of an encoding and lengths
        "as released, nats": lambda arm, lengths: divergence(arm, RELEASED, lengths),
        "Jensen-Shannon, bits": lambda arm, lengths: divergence(arm, TRUE, lengths),
        "same start, bits": lambda arm, lengths: shared_start(arm, TRUE, lengths),
        "entropy": entropy,
    }
    rows = []
    for arm in ARMS:
        theirs = published.MEANS.get(arm, {})
        cells = [fixed(theirs[each]) if each in theirs else MISSING for each in LENGTHS]
        places = [cell_of(arm, each) for cell_of in columns_of.values() for each in LENGTHS]
        rows.append([LABELS[arm], *cells, *(number(table.row(task, place)) for place in places)])
    groups = [("", 1), ("published, SCAN, as released", 2), *((heading, 2) for heading in columns_of)]
    headings = ["encoding", *("trained", "longer") * (len(columns_of) + 1)]
    return table_of(headings, rows, label=f"{task}: divergence from NoPE, and entropy", groups=groups)


def number(row: ResultRow | None) -> str:
    """A number with three decimals."""
    return MISSING if row is None or row["value"] is None else fixed(row["value"])


# How far do heads look? -------------------------------------------------------------------------------------------


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


# What the nets learnt ---------------------------------------------------------------------------------------------


def what_they_learnt(table: ResultTable, answers: Answers) -> Section:
    """Exact outputs by length, as a reminder of what the nets can do."""
    cards = []
    for task in table.conditions:
        rows = labelled(table.where(part="accuracy", subject=task, seed=None).drop_nulls("at"))
        arms = [arm for arm in ARMS if arm in set(rows["item"])]
        across = length_axis(rows)
        drawn = lines(
            f"accuracy_{task}",
            rows,
            x=across,
            y=share(y, "value", "exact outputs"),
            colour=by_name(arms),
            intervals="none",
            below=[rule(named("trained"), {"x": across})],
            tables=training_end(table, task),
            tip="{name}, length {at:.0f}: {value:share}",
            label=f"{task}: exact outputs by length",
            figure=True,
            title=f"{task}: exact outputs",
            size=30,
        )
        cards.append(panel(drawn, title=task))
    lede = (
        "The share of samples whose whole output is decoded without a mistake, by length. Left of the dotted line are "
        "training lengths. A net counts for a claim if it answers at least 90 % of these."
    )
    return Section("learnt", "What the nets learnt", lede, side_by_side(cards), "Learnt")
