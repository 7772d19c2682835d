"""The page of scratchpads: does writing down the steps help on longer inputs, and which parts of them go wrong?"""

from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from wherewhat.errors import UserError
from wherewhat.published.scratchpads import ACCURACY
from wherewhat.report.blocks import marks
from wherewhat.report.blocks.axes import INK, WHAT, WHERE, colour, legend, names, shade, share, x, y
from wherewhat.report.blocks.chart import chart, lines
from wherewhat.report.blocks.claims import claims_section
from wherewhat.report.blocks.layout import answer_section, columns, counted, folded, key, note, panel, present, run_time
from wherewhat.report.blocks.marks import ROWS, dots, estimates, where
from wherewhat.report.blocks.numbers import per_cent
from wherewhat.report.blocks.provenance import provenance_section
from wherewhat.report.blocks.table import table as table_of
from wherewhat.report.core.html import Html, join
from wherewhat.report.core.page import Page, Section
from wherewhat.studies.engine.labels import label
from wherewhat.studies.engine.results import Cell, ResultTable
from wherewhat.studies.scratchpad.names import TEST, TRAIN, name_of
from wherewhat.tables.manifest.study import ScratchpadManifest, ScratchpadSection, ScratchpadTask

COLOURS = {
    "none": INK,
    "minimal": shade("chance", 5),
    "full": WHAT,
    "no_input": shade("layers", 1),
    "no_computation": shade("layers", 3),
    "no_output": shade("layers", 5),
    "no_variables": shade("chance", 1),
    "no_rest": WHERE,
}
PARTS = ("input", "computation", "output", "variables", "rest")
LEDES = {
    "answer": "The share of correct answers on longer inputs, by encoding and format. Bars are 95 % intervals; rings "
    "are published, for a larger net and longer inputs.",
    "length": "The share of correct answers by input length. Nets were trained on lengths up to the dotted line. Bars "
    "are 95 % intervals.",
    "parts": "The share of steps in which a part is right, on longer inputs. If the number of steps is wrong or a step "
    "cannot be read, no part counts as right.",
    "samples": "The same sample in every format, and how long it gets: a scratchpad moves longer inputs further away "
    "from those of training, in tokens.",
}


def page(result: pl.DataFrame, manifest: ScratchpadManifest) -> Page:
    """Whether scratchpads help, by length, part by part, and what they look like."""
    about, table = manifest.about, ResultTable(result, scale=manifest.about)
    if not about.tasks or not about.encodings or result.filter(part="overall").is_empty():
        raise UserError("the table has no task that was tested; run `wherewhat reproduce scratchpad` again")
    formats = list(dict.fromkeys(format_name for task in about.tasks for format_name in task.samples))
    counts = {"task": len(about.tasks), "format": len(formats), "encoding": len(about.encodings)}
    facts = [counted(many, noun) for noun, many in {**counts, "seed": about.seeds or 1}.items()]
    return Page(
        title="Does thinking aloud help?",
        kind="Reproduction of arXiv 2305.19466",
        lede="Small decoders learn to calculate on short inputs: some write only the answer, others first the steps "
        "that lead to it, in one of several formats. Then they are given longer inputs.",
        facts=[*facts, *run_time(about.seconds, about.processes)],
        sections=[
            *present(section(table, about) for section in (answer, by_length, parts, samples)),
            claims_section(manifest.claims),
            provenance_section(manifest),
        ],
    )


def words(format_name: str) -> str:
    """What a format is called on the page.

    >>> words("no_rest"), words("none")
    ('full without rest', 'no scratchpad')
    """
    return {"none": "no scratchpad"}.get(format_name, format_name.replace("no_", "full without "))


def format_colours(about: ScratchpadSection) -> dict[str, Any]:
    """A colour for every format, by its words."""
    return {words(each): COLOURS[each] for each in dict.fromkeys(each for task in about.tasks for each in task.samples)}


def answer(table: ResultTable, about: ScratchpadSection) -> Section:
    """The first screen: accuracy on longer inputs by encoding, format and task."""
    coloured = format_colours(about)
    cards = []
    for task in about.tasks:
        rows = list(answer_rows(table, about, task))
        across = share(x, "value", "correct answers on longer inputs")
        place = {"x": across, "y": names("line", order="order", labelLimit=220)}
        tint = colour("format", coloured)
        ours = estimates(where(ROWS, whose="ours"), {**place, "color": tint}, colour=tint)
        rings = dots(where(ROWS, whose="published"), place, size=54, hollow=True, strokeWidth=1.4)
        tip = "{line}, {whose}: {value:share}"
        look: dict[str, Any] = {"height": 40 + 24 * len({row["line"] for row in rows}), "figure": True}
        title = f"Longer inputs of {task.name}"
        drawn = chart(f"answer_{task.name}", rows, [*ours, rings], tip=tip, label=title, title=title, **look)
        cards.append(panel(drawn, title=f"{task.name}: trained to {task.trained}, tested to {task.tested}"))
    answers = [about.answers[name] for name in ("addition", "others") if name in about.answers]
    body = join(columns(*cards), key(("bare", "ours"), ("ring", "published")))
    return answer_section("answer", "With and without", answers, body, text=LEDES["answer"], short="Answer")


def answer_rows(table: ResultTable, about: ScratchpadSection, task: ScratchpadTask) -> Iterator[Mapping[str, Any]]:
    """Accuracy on longer inputs for every encoding and format, with the published one."""
    lines_ = [(encoding, format_name) for encoding in about.encodings for format_name in task.samples]
    for order, (encoding, format_name) in enumerate(lines_):
        own = {"line": f"{label(encoding)} · {words(format_name)}", "order": order, "format": words(format_name)}
        if row := table.row(name_of(task.name, format_name, encoding), TEST):
            yield {**own, "whose": "ours", **{end: row[end] for end in ("value", "low", "high")}}
        theirs = ACCURACY.get(task.name, {}).get(encoding, {}).get(format_name)
        if theirs is not None:
            yield {**own, "whose": "published", "value": theirs, "low": None, "high": None}


def by_length(table: ResultTable, about: ScratchpadSection) -> Section:
    """Accuracy by input length, a chart per encoding, a view per task."""
    across, cards = x("at", "input length", zero=False, nice=False, grid=False, tickMinStep=1, padding=8), []
    for encoding in about.encodings:
        views = {task.name: list(length_rows(table, task, encoding)) for task in about.tasks}
        drawn = lines(
            f"length_{encoding}",
            views,
            x=across,
            y=share(y, "value", "correct answers"),
            colour=colour("format", format_colours(about), legend=legend(symbolType="stroke", labelLimit=160)),
            below=[marks.rule(where(ROWS, mark="trained"), {"x": across})],
            intervals="whiskers",
            size=30,
            label=f"accuracy by input length with {label(encoding)}",
            tip="{format}, length {at:.0f}: {value:share}",
            height=280,
        )
        cards.append(panel(drawn, title=label(encoding)))
    return Section("length", "Length by length", LEDES["length"], columns(*cards), "Length")


def length_rows(table: ResultTable, task: ScratchpadTask, encoding: str) -> Iterator[Mapping[str, Any]]:
    """Accuracy at every length for every format of a task, and where training ended."""
    yield {"mark": "trained", "at": (task.trained or 0) + 0.5}
    for format_name in task.samples:
        subject = name_of(task.name, format_name, encoding)
        rows = table.where(part="length", subject=subject, seed=None, measure="exact").sort("at")
        for at, *ends in rows.select("at", "value", "low", "high").iter_rows():
            yield {"format": words(format_name), "at": at, **dict(zip(("value", "low", "high"), ends, strict=True))}


def parts(table: ResultTable, about: ScratchpadSection) -> Section | None:
    """A table of the parts of steps: which of them are right on longer inputs."""
    rows = []
    for task in about.tasks:
        for format_name in (each for each in task.samples if each != "none"):
            for encoding in about.encodings:
                subject = name_of(task.name, format_name, encoding)
                shares = [table.row(subject, Cell("overall", f"step {part}", "test")) for part in PARTS]
                unreadable = table.row(subject, Cell("overall", "unreadable steps", "test"))
                cells = [per_cent(row["value"]) if row else "–" for row in (*shares, unreadable)]
                ends = [table.row(subject, cell) for cell in (TEST, TRAIN)]
                if all(ends):
                    answers = [per_cent(row["value"]) for row in ends if row]
                    rows.append([f"{task.name} · {words(format_name)} · {label(encoding)}", *cells, *answers])
    if not rows:
        return None
    groups = [("", 1), ("% of steps with this part right", len(PARTS)), ("% of steps", 1), ("% of answers right", 2)]
    headings = ["run", *PARTS, "unreadable", "longer", "training lengths"]
    body = panel(table_of(headings, rows, label="parts of steps that are right", groups=groups))
    return Section("parts", "Part by part", LEDES["parts"], body, "Parts")


def samples(table: ResultTable, about: ScratchpadSection) -> Section:
    """One sample in each format, and the longest samples of training and test in tokens."""
    cards = [folded(task.name, _samples(table, about, task), opened=not n) for n, task in enumerate(about.tasks)]
    return Section("samples", "What is written", LEDES["samples"], join(*cards), "Samples")


def _samples(table: ResultTable, about: ScratchpadSection, task: ScratchpadTask) -> Html:
    rows = []
    for format_name in task.samples:
        subject = name_of(task.name, format_name, about.encodings[0])
        ends = [table.where(part="tokens", subject=subject, item=item) for item in ("train", "test")]
        sizes = [max(rows_["value"].to_list(), default=None) for rows_ in ends]
        rows.append([words(format_name), *("–" if size is None else f"{size:.0f}" for size in sizes)])
    headings, groups = ["format", "training", "test"], [("", 1), ("longest sample, tokens", 2)]
    examples = note(*(f"{words(each)}: `{sample}`" for each, sample in task.samples.items()))
    return panel(table_of(headings, rows, label=f"tokens of {task.name}", groups=groups), examples)
