"""The page of row sums: who can say where a token stands, slot by slot."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import cycle
from math import isnan
from statistics import fmean
from typing import Any

import altair as alt
import polars as pl

from wherewhat.errors import UserError
from wherewhat.formatting import MISSING, short
from wherewhat.published.row_sums import BY_TASK
from wherewhat.report.blocks import marks
from wherewhat.report.blocks.axes import MUTED, WHAT, WHERE, colour, legend, names, shade, share, x, y
from wherewhat.report.blocks.chart import chart, lines
from wherewhat.report.blocks.claims import claims_section
from wherewhat.report.blocks.layout import answer_section, columns, counted, note, panel, run_time
from wherewhat.report.blocks.marks import ROWS, estimates, where
from wherewhat.report.blocks.numbers import per_cent
from wherewhat.report.blocks.provenance import provenance_section
from wherewhat.report.blocks.table import table as table_of
from wherewhat.report.core.html import Html, tag
from wherewhat.report.core.page import Page, Section
from wherewhat.studies.engine.results import Cell, ResultTable
from wherewhat.studies.row_sums.halves import filler_sentence, halves_answer
from wherewhat.studies.row_sums.names import (
    ADDED,
    ALL,
    BOUND,
    ENTROPY,
    EQUAL,
    FIRST_HALF,
    FREE,
    LINEAR_FIT,
    LONGER,
    MOST_FREQUENT,
    ORDER,
    SCORED,
    SECOND_HALF,
    TASKS,
    accuracy,
    head_order,
    name_of,
)
from wherewhat.tables.manifest.study import RowSumsManifest, RowSumsSection

KINDS = {BOUND: WHAT, FREE: WHERE, ADDED: shade("layers", 4)}
TITLES = {"position": "Which slot is it?", "even": "Which tokens stand at even places?"}
OF_FACTORS = (
    "Scores of heads with URPE: entropy and locality are those of the absolute values of attention after the factors, "
    "each row divided by its sum, and shares are of logits, on which factors do not act."
)
LEDES = {
    "answer": "Dots are the share of slots that are answered correctly where tokens are random, with intervals at 95 % "
    "confidence over test sequences, or over seeds if there are several. Rings are the share where all tokens "
    "are equal, squares were published. Of the even task only the first half is shown, as the second half is one "
    "filler; accuracies of both halves, on equal tokens and published, are in the table below. The dotted lines are a "
    "random answer, and in the even task the best guess of a net that knows which half it is in, and nothing else "
    "about positions: the most frequent token among the other slots.",
    "slots": "Accuracy slot by slot, where tokens are random. Lines of encodings that solve a task coincide.",
    "solution": "The sum of a row of attention after the factors, by slot, for the heads of the first layer: the "
    "mean over test sequences, in the net of the first seed. Without factors every sum is 1. By hand, one layer with "
    "uniform attention can give slot i the sum i / L. The table has R² of a linear fit of the row sums of every head "
    f"by slot. {OF_FACTORS}",
    "table": "Accuracies in per cent: by halves, where all tokens are equal, and on longer inputs; of the even task, "
    "the last is of the first half. Published ones are of all slots. The order is how answers of the position task "
    "correlate with slots on longer inputs: near 1, a net still orders slots even if it names other ones. The spread "
    f"is how far logits differ between slots when all tokens are equal, relative to their size. {OF_FACTORS}",
}
HEAD_SCORES = {"entropy": "entropy after factors", "locality": "locality", "input.position_share": "position share"}
SCORES = {"entropy": "entropy", "input.position_share": "position share", "input.symbol_share": "symbol share"}


def page(result: pl.DataFrame, manifest: RowSumsManifest) -> Page:
    """Who can say where a token stands, slot by slot, and what heads do."""
    about, table = manifest.about, ResultTable(result, scale=manifest.about)
    if not about.encodings or result.filter(part="accuracy").is_empty():
        raise UserError("the table has no task that was tested; run `wherewhat reproduce row-sums` again")
    facts = [counted(len(about.encodings), "encoding"), counted(about.seeds or 1, "seed")]
    return Page(
        title="What row sums forbid",
        kind="Reproduction of arXiv 2205.13401",
        lede="A row of attention sums to one, so a net whose positions act only there answers the same in every slot "
        "if all tokens are equal, however deep it is. Two small tasks show what that costs. URPE multiplies attention "
        "by learned factors after the softmax, which removes the limit; so do positions in the tokens.",
        facts=[*facts, *run_time(about.seconds, about.processes)],
        sections=[
            answer(table, about),
            solution(table, about),
            slots(table, about),
            numbers(table, about),
            claims_section(manifest.claims),
            provenance_section(manifest),
        ],
    )


def answer(table: ResultTable, about: RowSumsSection) -> Section:
    """The first screen: accuracy by encoding in both tasks."""
    cards = []
    for task in TASKS:
        item = SCORED[task]
        rows = list(answer_rows(table, about, task, item))
        across = share(x, "value", "slots answered correctly" if item == ALL else "first half answered correctly")
        words = {ADDED: "positions in tokens"}  # short enough for two columns on a phone
        tint = colour("kind", KINDS, legend=legend(words, symbolType="circle", labelLimit=190, columns=2))
        place = {"x": across, "y": names("name", labelLimit=190, labelPadding=10), "color": tint}
        layers = [
            marks.rule(where(ROWS, mark="chance"), {"x": across}),
            marks.dots(where(ROWS, mark="equal"), place, size=120, hollow=True),
            marks.dots(
                where(ROWS, mark="published"),
                {**place, "color": alt.value(MUTED)},
                size=60,
                hollow=True,
                shape="square",
            ),
            *estimates(where(ROWS, mark="ours"), place, colour=tint),
        ]
        look: dict[str, Any] = {"height": 60 + 28 * len(about.encodings), "figure": True, "title": TITLES[task]}
        drawn = chart(f"answer_{task}", rows, layers, tip="{name}, {tokens}: {value:share}", label=TITLES[task], **look)
        cards.append(panel(drawn, title=TITLES[task]))
    questions = ("equal tokens", "which slot", "even places", "unequal tokens")
    answers = [about.answers[name] for name in questions if name in about.answers]
    bound = [name for name in about.encodings if about.kinds.get(name) == BOUND]
    below = filler_sentence(table, about.tokens.get("even", 0), bound)
    text = f"{LEDES['answer']} {below}".strip()
    title = "Who can tell where a token stands"
    return answer_section("answer", title, answers, columns(*cards), text=text, short="Answer")


def answer_rows(table: ResultTable, about: RowSumsSection, task: str, item: str) -> Iterator[Mapping[str, Any]]:
    """The accuracy of every encoding, that on equal tokens and the published one if all slots count, and a baseline."""
    baseline = 1 / max(1, about.tokens.get(task, 1)) if item == ALL else table.value("", MOST_FREQUENT)
    if not isnan(baseline):
        yield {"mark": "chance", "value": baseline}
    shown = [("ours", item, "random tokens"), *([("equal", EQUAL, "equal tokens")] if item == ALL else [])]
    for name in about.encodings:
        for mark, each, tokens in shown:
            if row := table.row(name_of(task, name), accuracy(each)):
                own = {"mark": mark, "name": name, "tokens": tokens, "kind": about.kinds.get(name, BOUND)}
                yield {**own, **{end: row[end] for end in ("value", "low", "high")}}
        if item == ALL and name in BY_TASK[task]:
            yield {"mark": "published", "name": name, "tokens": "published", "value": BY_TASK[task][name]}


def solution(table: ResultTable, about: RowSumsSection) -> Section:
    """How nets with URPE solve the position task, and the row sums of their first layer."""
    free = [name for name in about.encodings if about.kinds.get(name) == FREE]
    views = {name: rows for name in free if (rows := list(sum_rows(table, name)))}
    answers = [about.answers[name] for name in ("counted slots",) if name in about.answers]
    drawn = tag("div", panel(sums_chart(views)), class_="below") if views else note("No net with URPE was trained.")
    heads = tag("div", panel(head_table(table, list(views)), title="Heads"), class_="below") if views else None
    return answer_section(
        "solution", "How URPE tells slots", answers, drawn, heads, text=LEDES["solution"], short="Solution"
    )


def head_table(table: ResultTable, names: Sequence[str]) -> Html:
    """Row sums and scores of every head in the position task, of the first seed."""
    rows, seed = [], min(table.seeds)
    for name in names:
        subject = name_of("position", name)
        fits = table.where(part="row sums", subject=subject, measure=LINEAR_FIT, seed=seed)
        for head, fit in sorted(fits.select("item", "value").iter_rows(), key=lambda row: head_order(row[0])):
            cells = [Cell("row sums", ENTROPY, head), *(Cell("heads", score, head) for score in HEAD_SCORES)]
            scores = [table.row(subject, cell, seed) for cell in cells]
            rows.append([f"{name}, {head}", short(fit), *(short(row["value"]) if row else MISSING for row in scores)])
    headings = ["head", "R² of row sums", "entropy before factors", *HEAD_SCORES.values()]
    return table_of(headings, rows, label="row sums and scores of heads")


def sum_rows(table: ResultTable, name: str) -> Iterator[Mapping[str, Any]]:
    """The row sums of every head of the first layer, in the position task, of the first seed."""
    first = table.where(part="row sums", subject=name_of("position", name), measure="sum", seed=min(table.seeds))
    rows = first.select("item", "at", "value").iter_rows()
    for head, at, value in sorted(rows, key=lambda row: (head_order(row[0]), row[1])):
        if head.startswith("L0H"):
            yield {"name": head, "at": at, "value": value}


def sums_chart(views: Mapping[str, Sequence[Mapping[str, Any]]]) -> Any:
    """Row sums by slot, a line per head, a view per encoding."""
    heads = list(dict.fromkeys(row["name"] for rows in views.values() for row in rows))
    return lines(
        "sums",
        views,
        x=x("at", "slot", zero=False, nice=False, grid=False, tickMinStep=1, padding=8),
        y=y("value", "sum of the row", zero=False),
        colour=colour(
            "name",
            head_tints(heads),
            legend=legend(symbolType="stroke", symbolStrokeWidth=3),
        ),
        intervals="none",
        size=26,
        label="row sums by slot",
        tip="{name}, slot {at:.0f}: {value:.2f}",
        height=280,
        figure=True,
        title="Row sums of the first layer",
    )


def head_tints(heads: Sequence[str]) -> dict[str, Any]:
    """A colour per head; after those of twelve heads, as many as at paper scale, colours repeat."""
    first = [WHERE, shade("layers", 4), WHAT, shade("chance", 5), shade("layers", 2), MUTED]
    others = [("spread", 1), ("spread", 4), ("chance", 1), ("layers", 6), ("chance", 6), ("spread", 3)]
    return dict(zip(heads, cycle([*first, *(shade(*other) for other in others)]), strict=False))


def mean_of(heads: pl.DataFrame, score: str) -> float | None:
    """The mean over heads of all seeds of one score; None if there is none."""
    values = heads.filter(pl.col("measure") == score)["value"].to_list()
    return fmean(values) if values else None


def slots(table: ResultTable, about: RowSumsSection) -> Section:
    """Accuracy by slot, a view per task."""
    views = {TITLES[task]: list(slot_rows(table, about, task)) for task in TASKS}
    ramp = [WHAT, shade("chance", 5), MUTED, shade("spread", 1), shade("spread", 4)]
    others = [WHERE, shade("chance", 1), shade("layers", 4), shade("layers", 2)]
    bound = [name for name in about.encodings if about.kinds.get(name) == BOUND]
    free = [name for name in about.encodings if name not in bound]
    tints = {**dict(zip(bound, ramp * len(bound), strict=False)), **dict(zip(free, others * len(free), strict=False))}
    drawn = lines(
        "slots",
        views,
        x=x("at", "slot", zero=False, nice=False, grid=False, tickMinStep=1, padding=8),
        y=share(y, "value", "answered correctly"),
        colour=colour("name", tints, legend=legend(symbolType="stroke", symbolStrokeWidth=3, labelLimit=170)),
        intervals="none",
        size=26,
        label="accuracy by slot",
        tip="{name}, slot {at:.0f}: {value:share}",
        height=360,
        figure=True,
        title="Accuracy by slot",
    )
    answers = [about.answers[name] for name in ("ends",) if name in about.answers]
    answers.append(halves_answer(table, about.tokens.get("even", 0), bound))
    return answer_section("slots", "Slot by slot", answers, panel(drawn), text=LEDES["slots"], short="Slots")


def slot_rows(table: ResultTable, about: RowSumsSection, task: str) -> Iterator[Mapping[str, Any]]:
    """The accuracy of every encoding in every slot."""
    for name in about.encodings:
        rows = table.where(part="slot", subject=name_of(task, name), seed=None).sort("at")
        for at, *ends in rows.select("at", "value", "low", "high").iter_rows():
            yield {"name": name, "at": at, **dict(zip(("value", "low", "high"), ends, strict=True))}


def numbers(table: ResultTable, about: RowSumsSection) -> Section:
    """All accuracies, the spread on equal tokens, and what heads do."""
    rows = []
    for task in TASKS:
        for name in about.encodings:
            subject = name_of(task, name)
            cells = [table.row(subject, accuracy(item)) for item in (ALL, FIRST_HALF, SECOND_HALF, EQUAL, LONGER)]
            written = [per_cent(row["value"]) if row else MISSING for row in cells]
            if table.where(part="refused", subject=subject).height:
                written[-1] = "refused"
            theirs = BY_TASK[task].get(name)
            written.append(MISSING if theirs is None else per_cent(theirs))
            others = [table.row(subject, cell) for cell in (ORDER, Cell("constant", "spread"))]
            written += [short(row["value"]) if row else MISSING for row in others]
            heads = table.where(part="heads", subject=subject).filter(pl.col("seed").is_not_null())
            means = [short(mean_of(heads, score)) for score in SCORES]
            rows.append([f"{task}, {name}", *written, *means])
    groups = [("", 1), ("slots answered correctly, %", 6), ("", 2), ("means over heads", len(SCORES))]
    headings = [
        "run",
        "all",
        "first half",
        "second half",
        "equal tokens",
        "longer inputs",
        "published",
        "order",
        "spread",
    ]
    headings += SCORES.values()
    body = panel(table_of(headings, rows, label="accuracies, spreads and heads", groups=groups))
    return Section("table", "All numbers", LEDES["table"], body, "Numbers")
