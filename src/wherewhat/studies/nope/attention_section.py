"""Whose attention does a decoder without positions have? Divergence, entropy and published heights."""

from collections.abc import Callable
from typing import Any

import polars as pl

from wherewhat.formatting import MISSING
from wherewhat.report.blocks.axes import MUTED, colour, share, x, y
from wherewhat.report.blocks.chart import chart, lines
from wherewhat.report.blocks.layout import answer_section, panel
from wherewhat.report.blocks.marks import DASHES, ROWS, dots, line, named, rule, where
from wherewhat.report.blocks.numbers import fixed
from wherewhat.report.blocks.table import table as table_of
from wherewhat.report.core.html import Html, join, tag
from wherewhat.report.core.page import Section
from wherewhat.studies.engine.results import Cell, ResultRow, ResultTable
from wherewhat.studies.nope import published
from wherewhat.studies.nope.looks import LENGTHS, TONES, Answers, Look, by_name, labelled, side_by_side, training_end
from wherewhat.studies.nope.results import AGAIN, ARMS, LABELS, RELEASED, TRUE, divergence, entropy, shared_start

KINDS = {TRUE: "Jensen-Shannon, bits", RELEASED: "As released, nats"}


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
