"""The page of row sums: who can say where a token stands, slot by slot."""

from collections.abc import Iterator, Mapping
from statistics import fmean
from typing import Any

import polars as pl

from wherewhat.errors import UserError
from wherewhat.formatting import short
from wherewhat.report.blocks import marks
from wherewhat.report.blocks.axes import MUTED, WHAT, WHERE, colour, legend, names, shade, share, x, y
from wherewhat.report.blocks.chart import chart, lines
from wherewhat.report.blocks.claims import claims_section
from wherewhat.report.blocks.layout import answer_section, columns, counted, note, panel, run_time
from wherewhat.report.blocks.marks import ROWS, estimates, where
from wherewhat.report.blocks.numbers import per_cent
from wherewhat.report.blocks.provenance import provenance_section
from wherewhat.report.blocks.table import table as table_of
from wherewhat.report.core.page import Page, Section
from wherewhat.studies.engine.results import Cell, ResultTable
from wherewhat.studies.row_sums.names import (
    ADDED,
    ALL,
    BOUND,
    FIRST_HALF,
    FREE,
    LONGER,
    SECOND_HALF,
    TASKS,
    accuracy,
    name_of,
)
from wherewhat.tables.manifest.study import RowSumsManifest, RowSumsSection

KINDS = {BOUND: WHAT, FREE: WHERE, ADDED: shade("layers", 4)}
TITLES = {"position": "Which slot is it?", "even": "Which tokens stand at even places?"}
LEDES = {
    "answer": "The share of slots that are answered correctly, with 95 % intervals. The dotted line is chance in the "
    "position task; in the even task only the first half is shown, as the second half is one filler.",
    "slots": "Accuracy slot by slot. Where rows sum to one, a net sees its place only through what differs between "
    "tokens near the ends.",
    "table": "Accuracies in per cent, by halves and on longer inputs, and how far outputs differ between slots when "
    "all tokens are equal.",
}
SOLVED, SPREAD_OUT = 0.95, 0.7  # accuracy; entropy as a share of its maximum
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
        "if all tokens are equal, however deep it is. Two small tasks show what that costs; free factors after the "
        "softmax, or positions in the tokens, remove the limit.",
        facts=[*facts, *run_time(about.seconds, about.processes)],
        sections=[
            answer(table, about),
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
        item = ALL if task == "position" else FIRST_HALF
        rows = list(answer_rows(table, about, task, item))
        across = share(x, "value", "slots answered correctly" if item == ALL else "first half answered correctly")
        tint = colour("kind", KINDS, legend=legend(symbolType="circle", labelLimit=190, columns=2))
        place = {"x": across, "y": names("name", labelLimit=190), "color": tint}
        layers = [
            marks.rule(where(ROWS, mark="chance"), {"x": across}),
            *estimates(where(ROWS, mark="ours"), place, colour=tint),
        ]
        look: dict[str, Any] = {"height": 60 + 28 * len(about.encodings), "figure": True, "title": TITLES[task]}
        drawn = chart(f"answer_{task}", rows, layers, tip="{name}: {value:share}", label=TITLES[task], **look)
        cards.append(panel(drawn, title=TITLES[task]))
    answers = [about.answers[name] for name in ("equal tokens", "which slot") if name in about.answers]
    return answer_section(
        "answer", "Who can say", answers, columns(*cards), solution(table, about), text=LEDES["answer"], short="Answer"
    )


def answer_rows(table: ResultTable, about: RowSumsSection, task: str, item: str) -> Iterator[Mapping[str, Any]]:
    """The accuracy of every encoding, and chance."""
    chance = 1 / max(1, about.tokens.get(task, 1)) if item == ALL else 1 / max(1, about.n_tok.get(task, 1))
    yield {"mark": "chance", "value": chance}
    for name in about.encodings:
        if row := table.row(name_of(task, name), accuracy(item)):
            own = {"mark": "ours", "name": name, "kind": about.kinds.get(name, BOUND)}
            yield {**own, **{end: row[end] for end in ("value", "low", "high")}}


def solution(table: ResultTable, about: RowSumsSection) -> Any:
    """What nets with free factors do, in one sentence, by the entropy of their heads, if they solve the task."""
    free = [name for name in about.encodings if about.kinds.get(name) == FREE]
    solved = [name for name in free if (table.value(name_of("position", name), accuracy(ALL)) or 0.0) > SOLVED]
    rows = [table.where(part="heads", subject=name_of("position", name), seed=None) for name in solved]
    if not rows:
        return note("No net with free factors has solved the position task.")
    spread, where_ = (mean_of(pl.concat(rows), score) for score in ("entropy", "input.position_share"))
    shape = "spread out" if (spread or 0.0) > SPREAD_OUT else "peaked"
    counts = "so the sum of the factors of a row counts the slots on each side"
    how = counts if shape == "spread out" else "so more than counting slots is at work"
    return note(
        f"How {', '.join(solved)} solve the position task: attention before the factors is {shape} (mean entropy "
        f"{short(spread)} of the maximum, position share {short(where_)}), {how}."
    )


def mean_of(heads: pl.DataFrame, score: str) -> float | None:
    """The mean over heads of one score; None if there is none."""
    values = heads.filter(pl.col("measure") == score)["value"].to_list()
    return fmean(values) if values else None


def slots(table: ResultTable, about: RowSumsSection) -> Section:
    """Accuracy by slot, a view per task."""
    views = {TITLES[task]: list(slot_rows(table, about, task)) for task in TASKS}
    ramp = [WHAT, shade("chance", 5), shade("spread", 4), shade("spread", 1), MUTED]
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
    return Section("slots", "Slot by slot", LEDES["slots"], panel(drawn), "Slots")


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
            cells = [table.row(subject, accuracy(item)) for item in (ALL, FIRST_HALF, SECOND_HALF, LONGER)]
            written = [per_cent(row["value"]) if row else "–" for row in cells]
            if table.where(part="refused", subject=subject).height:
                written[-1] = "refused"
            spread = table.row(subject, Cell("constant", "spread"))
            heads = table.where(part="heads", subject=subject, seed=None)
            means = [short(mean_of(heads, score)) for score in SCORES]
            rows.append([f"{task}, {name}", *written, short(spread["value"]) if spread else "–", *means])
    groups = [("", 1), ("slots answered correctly, %", 4), ("", 1), ("means over heads", len(SCORES))]
    headings = ["run", "all", "first half", "second half", "longer inputs", "equal tokens", *SCORES.values()]
    body = panel(table_of(headings, rows, label="accuracies, spreads and heads", groups=groups))
    return Section("table", "All numbers", LEDES["table"], body, "Numbers")
