"""The page of longer inputs: which encoding goes on working, task by task and length by length."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import cycle
from statistics import fmean
from typing import Any

import polars as pl

from wherewhat.errors import UserError
from wherewhat.published import length as published
from wherewhat.report.blocks import marks
from wherewhat.report.blocks.axes import INK, WHAT, WHERE, colour, dash, legend, names, shade, share, shares_scale, x, y
from wherewhat.report.blocks.chart import chart, heat_map, lines
from wherewhat.report.blocks.claims import claims_section
from wherewhat.report.blocks.layout import (
    answer_section,
    columns,
    counted,
    key,
    note,
    panel,
    present,
    run_time,
)
from wherewhat.report.blocks.marks import ROWS, dots, estimates, where
from wherewhat.report.blocks.numbers import per_cent
from wherewhat.report.blocks.provenance import provenance_section
from wherewhat.report.blocks.table import table as table_of
from wherewhat.report.core.html import Html, tag
from wherewhat.report.core.page import Page, Section
from wherewhat.studies.engine.labels import label
from wherewhat.studies.engine.results import Cell, ResultTable
from wherewhat.studies.length.names import ALL, EASIER, LEARNT, PUBLISHED, SCORES, TEST, TRAIN, name_of
from wherewhat.tables.manifest.study import LengthManifest, LengthSection, LengthTask

COLOURS = {
    "none": INK,
    "t5_bias": WHAT,
    "alibi": shade("chance", 5),
    "rope_quarter": shade("chance", 1),
    "sinusoidal": shade("layers", 5),
    "rope": WHERE,
}
SOLID, DASHED, DOTTED = [1, 0], [5, 3], [2, 2]
DASHES = {"rope_quarter": DASHED}
# Colours of other encodings: neither those above nor those that vanish against the paper.
STEPS = {"spread": (0, 2, 4, 1, 5), "layers": (6, 2, 4, 0), "chance": (0, 6)}
OTHERS = [shade(scale, step) for scale, steps in STEPS.items() for step in steps]
LEDES = {
    "ranks": "The mean over tasks of one over the rank by accuracy on longer inputs; 1 would be first in every task. "
    "Bars are 95 % intervals from resampling tasks. Rings are published, where only five encodings are ranked; the "
    "column “published five” ranks ours in the same way. Mean accuracies are over the same tasks as the ranks.",
    "length": "The share of outputs that are decoded without a mistake, by input length. Nets were trained on lengths "
    "up to the dotted line. Bars are 95 % intervals; over test samples with one seed, over seeds with several.",
    "tasks": "Accuracy on all longer inputs of a task. Grey numbers are published, for larger nets and longer inputs. "
    "The best of a task is bold; a star marks nets that did not learn the task at training lengths.",
    "heads": "What heads do as the input grows: means over all heads of a net, on the longest training inputs, on "
    "longer ones and on the longest test inputs. Nets that did not learn their task are left out.",
    "language": "Ranks on tasks are not the whole story: these are published perplexities of language models with 1.3 "
    "billion parameters, trained on contexts of 1,024 tokens of code. RoPE fails soon beyond that length; from 1,600 "
    "tokens on NoPE fails too, and ALiBi is best, though not flat either.",
}


def page(result: pl.DataFrame, manifest: LengthManifest) -> Page:
    """Which encoding generalises, in which task, how far, and what its heads do."""
    about, table = manifest.about, ResultTable(result, scale=manifest.about)
    if not about.tasks or not about.encodings or result.filter(part="overall").is_empty():
        raise UserError("the table has no task that was tested; run `wherewhat reproduce length` again")
    counts = {"task": len(about.tasks), "encoding": len(about.encodings), "seed": about.seeds or 1}
    facts = [counted(many, noun) for noun, many in counts.items()]
    sections = (ranks, by_length, by_task, heads, language)
    return Page(
        title="Longer than it was trained on",
        kind="Reproduction of arXiv 2305.19466",
        lede="Small decoders learn tasks such as copying, reversing and sorting on short inputs, each with one "
        "position encoding. Then they are given longer inputs. Which encoding goes on working?",
        facts=[*facts, *run_time(about.seconds, about.processes)],
        sections=[
            *present(section(table, manifest) for section in sections),
            claims_section(manifest.claims),
            provenance_section(manifest),
        ],
    )


def colours(encodings: Sequence[str]) -> dict[str, Any]:
    """A colour for every encoding, by its label; when there are none left they come again."""
    others = cycle(OTHERS)
    return {label(name): COLOURS.get(name) or next(others) for name in encodings}


def dashes(encodings: Sequence[str]) -> dict[str, list[int]]:
    """How the line of every encoding is drawn, by its label: dotted where its colour comes again."""
    others = [name for name in encodings if name not in COLOURS]
    again = dict.fromkeys(others[len(OTHERS) :], DOTTED)
    return {label(name): {**DASHES, **again}.get(name, SOLID) for name in encodings}


def accuracy(table: ResultTable, task: str, encoding: str, cell: Cell = TEST) -> Mapping[str, Any]:
    """The row of one accuracy, the mean over seeds; empty where there is none."""
    return table.row(name_of(task, encoding), cell) or {}


def ranks(table: ResultTable, manifest: LengthManifest) -> Section:
    """The first screen: mean reciprocal ranks and mean accuracies."""
    about = manifest.about
    answers = [about.answers[name] for name in ("nope first", "full rotation") if name in about.answers]
    rows = list(rank_rows(table, about))
    across = x("value", "mean reciprocal rank", domain=[0, 1], nice=False, tickCount=5)
    place = {"x": across, "y": names("name", order="order")}
    ours, theirs = where(ROWS, whose="ours"), where(ROWS, whose="published")
    tint = colour("name", colours(about.encodings))
    layers = [
        *estimates(ours, {**place, "color": tint}, colour=tint),
        dots(theirs, place, size=62, hollow=True, strokeWidth=1.6),
    ]
    tip = "{name}, {whose}: {value:plain}"
    height = 34 + 30 * len({row["name"] for row in rows})
    drawn = chart("ranks", rows, layers, tip=tip, label="mean reciprocal ranks", height=height, figure=True)
    marked = key(("bare", "ours"), ("ring", "published"))
    body = panel(drawn, marked, mean_table(table, about)) if rows else note("No task was learnt with enough encodings.")
    return answer_section("ranks", "Which encoding generalises", answers, body, text=LEDES["ranks"], short="Ranks")


def rank_rows(table: ResultTable, about: LengthSection) -> Iterator[Mapping[str, Any]]:
    """Mean reciprocal ranks of all encodings, best first, with the published ones beside them."""
    rank = {each: table.row(each, Cell("rank", "mrr", ALL)) for each in about.encodings}
    order = sorted((name for name in rank if rank[name]), key=lambda name: -rank[name]["value"])  # type: ignore[index]
    theirs = dict(zip(published.ORDER, published.RANK["all"], strict=True))
    for place, name in enumerate(order):
        own = {"name": label(name), "order": place}
        yield {**own, "whose": "ours", **{end: rank[name][end] for end in ("value", "low", "high")}}  # type: ignore[index]
        if name in theirs:
            yield {**own, "whose": "published", "value": theirs[name], "low": None, "high": None}


def mean_table(table: ResultTable, about: LengthSection) -> Html:
    """Reciprocal ranks by group and by way of breaking ties, and mean accuracies."""
    views = {ALL: "all", **{name: name for name in published.GROUPS}, PUBLISHED: "published five"}
    there = {view: words for view, words in views.items() if table.where(part="rank", item=view).height}
    rows = []
    for name in about.encodings:
        cells = [table.row(name, Cell("rank", "mrr", view)) for view in there]
        first, mean = (table.row(name, Cell("rank", measure, ALL)) for measure in ("mrr first", "mean accuracy"))
        written = [f"{row['value']:.2f}" if row else "–" for row in (*cells, first)]
        rows.append([label(name), *written, per_cent(mean["value"]) if mean else "–"])
    groups = [("", 1), ("mean reciprocal rank", len(there) + 1), ("", 1)]
    headings = ["encoding", *there.values(), "ties in row order", "mean accuracy, %"]
    return table_of(headings, rows, label="mean reciprocal ranks by group", groups=groups)


def by_length(table: ResultTable, manifest: LengthManifest) -> Section:
    """Accuracy against input length, a view per task."""
    about = manifest.about
    views = {task.name: list(length_rows(table, about, task)) for task in about.tasks}
    coloured = colours(about.encodings)
    across = x("at", "input length", zero=False, nice=False, grid=False, tickMinStep=1, padding=8)
    key_ = legend(symbolType="stroke", symbolStrokeWidth=3, labelLimit=160)
    drawn = lines(
        "by_length",
        views,
        x=across,
        y=share(y, "value", "exact outputs"),
        colour=colour("name", coloured, legend=key_),
        dash=dash("name", dashes(about.encodings), legend=key_),
        below=[marks.rule(where(ROWS, mark="trained"), {"x": across})],
        intervals="whiskers",
        size=34,
        label="accuracy by input length",
        tip="{name}, length {at:.0f}: {value:share}",
        height=380,
        figure=True,
        title="Accuracy by input length",
    )
    examples = note(*(f"{task.name}: `{task.example}`" for task in about.tasks if task.example))
    return Section("length", "Length by length", LEDES["length"], panel(drawn, examples), "Length")


def length_rows(table: ResultTable, about: LengthSection, task: LengthTask) -> Iterator[Mapping[str, Any]]:
    """Accuracy at every length, training and longer ones, for every encoding; and where training ended."""
    yield {"mark": "trained", "at": (task.trained or 0) + 0.5}
    for name in about.encodings:
        rows = table.where(part="length", subject=name_of(task.name, name), seed=None, measure="exact").sort("at")
        for at, *ends in rows.select("at", "value", "low", "high").iter_rows():
            yield {"name": label(name), "at": at, **dict(zip(("value", "low", "high"), ends, strict=True))}


def by_task(table: ResultTable, manifest: LengthManifest) -> Section:
    """A heat map of accuracies and a table with the published ones, winners in bold."""
    about = manifest.about
    rows = [
        {
            "task": task.name,
            "encoding": label(name),
            **row,
            "learnt": accuracy(table, task.name, name, TRAIN).get("value"),
        }
        for task in about.tasks
        for name in about.encodings
        if (row := accuracy(table, task.name, name))
    ]
    drawn = heat_map(
        "tasks",
        rows,
        x=names("encoding", x, labelAngle=-30),
        y=names("task"),
        scale=shares_scale(),
        label="accuracy on longer inputs by task and encoding",
        tip="{task}, {encoding}: {value:share}; {learnt:share} at training lengths",
        height=44 + 34 * len(about.tasks),
        figure=True,
        title="Accuracy on longer inputs",
    )
    return Section("tasks", "Task by task", LEDES["tasks"], panel(drawn, task_table(table, about)), "Tasks")


def task_table(table: ResultTable, about: LengthSection) -> Html:
    """Accuracies on longer inputs in per cent, each with the published one; the best of a task is in bold."""
    lines_, guessing = [], any(task.chance for task in about.tasks)
    for task in about.tasks:
        ours = {name: accuracy(table, task.name, name).get("value") for name in about.encodings}
        top = max((value for value in ours.values() if value), default=None)
        theirs = dict(zip(published.ORDER, published.ACCURACY[task.name], strict=True))
        cells = [
            _cell(value, theirs.get(name), best=value == top, learnt=is_learnt(table, task.name, name))
            for name, value in ours.items()
        ]
        chance = per_cent(task.chance) if task.chance else "–"
        lines_.append([task.name, *cells, *([chance] if guessing else [])])
    headings = ["% exact", *map(label, about.encodings), *(["guessing"] if guessing else [])]
    return table_of(headings, lines_, label="accuracy on longer inputs, ours and published")


def is_learnt(table: ResultTable, task: str, encoding: str) -> bool:
    """Whether nets with an encoding have learnt a task at training lengths."""
    return bool((accuracy(table, task, encoding, TRAIN).get("value") or 0.0) >= EASIER.get(task, LEARNT))


def _cell(value: float | None, theirs: float | None, *, best: bool, learnt: bool) -> Html:
    if value is None:
        return tag("td", "–")
    number = tag("strong" if best else "span", per_cent(value), "" if learnt else "*")
    return tag("td", number, "" if theirs is None else tag("span", f" {per_cent(theirs)}", class_="reach"))


def heads(table: ResultTable, manifest: LengthManifest) -> Section | None:
    """Entropy, sink, locality and shares of heads by input length, a view per score, a small chart per task."""
    about = manifest.about
    cards = []
    for task in about.tasks:
        views = {
            score.removeprefix("input.").replace("_", " "): list(score_rows(table, about, task, score))
            for score in SCORES
        }
        views = {title: rows for title, rows in views.items() if rows}
        if views:
            cards.append(panel(_heads_chart(task, views, about), title=task.name))
    if not cards:
        return None
    return Section("heads", "What heads do", LEDES["heads"], columns(*cards), "Heads")


def _heads_chart(task: LengthTask, views: Mapping[str, Sequence[Mapping[str, Any]]], about: LengthSection) -> Any:
    key_ = legend(symbolType="stroke", symbolStrokeWidth=3, columns=3)
    return lines(
        f"heads_{task.name}",
        views,
        x=x("at", "input length", zero=False, nice=False, grid=False, tickMinStep=1, padding=8),
        y=share(y, "value", "mean over heads"),
        colour=colour("name", colours(about.encodings), legend=key_),
        dash=dash("name", dashes(about.encodings), legend=key_),
        intervals="none",
        label=f"heads by input length in {task.name}",
        tip="{name}, length {at:.0f}: {value:share}",
        height=300,
        figure=True,
        title=f"Heads as the input grows: {task.name}",
    )


def score_rows(table: ResultTable, about: LengthSection, task: LengthTask, score: str) -> Iterator[Mapping[str, Any]]:
    """The mean over heads of one score at three lengths, for encodings that learnt the task."""
    for name in about.encodings:
        rows = table.where(part="heads", subject=name_of(task.name, name), seed=None, measure=score)
        by_at = defaultdict[float, list[float]](list)
        for at, value in rows.select("at", "value").iter_rows():
            by_at[at].append(value)
        for at, values in sorted(by_at.items()) if is_learnt(table, task.name, name) else ():
            yield {"name": label(name), "at": at, "value": fmean(values), "low": None, "high": None}


def language(table: ResultTable, manifest: LengthManifest) -> Section:
    """The published perplexities, as a counterweight to ranks on tasks."""
    called = {name: "RoPE" if name == "rope_quarter" else label(name) for name in published.PERPLEXITY}
    rows = [
        {"name": called[name], "at": context, "value": value, "low": None, "high": None}
        for name, values in published.PERPLEXITY.items()
        for context, value in zip(published.CONTEXTS, values, strict=True)
    ]
    drawn = lines(
        "language",
        rows,
        x=x("at", "context in tokens", nice=False, grid=False, format=",d"),
        y=y("value", "perplexity", scale="log", format="~g", values=[2, 5, 10, 30, 100, 300, 1000]),
        colour=colour("name", {called[name]: COLOURS[name] for name in called}, legend=legend(symbolType="stroke")),
        intervals="none",
        label="published perplexity by context",
        tip="{name}, {at:.0f} tokens: {value:short}",
        height=260,
    )
    return Section("language", "And in language models", LEDES["language"], panel(drawn), "Language")
