"""Charts of where nets look on the grid, and of their accuracy without one link of attention. Torch-free."""

from collections.abc import Iterator, Mapping
from typing import Any

import altair as alt

from wherewhat.report.blocks import marks
from wherewhat.report.blocks.axes import MUTED, colour, names, share, x
from wherewhat.report.blocks.chart import ViewRows, chart
from wherewhat.report.blocks.marks import ROWS, dots, named, rule, whiskers
from wherewhat.report.core.page import Chart
from wherewhat.studies.engine.results import ResultTable
from wherewhat.studies.latin_square.charts import CIRCLES, block_tints, numbers_of
from wherewhat.studies.latin_square.names import (
    GATHERS,
    GUESS,
    LINE_SHARE,
    LINES,
    MARKS,
    OUTSIDE,
    READS,
    READS_LINES,
    REMOVED,
    SQUARES,
    attention_cell,
    block_name,
    chance,
    label,
    name_of,
    removed_cell,
    whole_cell,
)
from wherewhat.tables.manifest.study import LatinSquareSection

Rows = Iterator[Mapping[str, Any]]
LOOKS = {  # by measure of attention, the title of its view and of its axis
    LINES: ("Rows and columns", "cosine with rows and columns"),
    LINE_SHARE: ("Share on rows and columns", "attention to the own row and column"),
    GATHERS: ("Queried cell to its row and column", "attention to the other cells of its row and column"),
    MARKS: ("Row and column to the queried cell", "attention to the queried cell"),
    READS: ("Last cell to the queried cell", "attention to the queried cell"),
    READS_LINES: ("Last cell to the row and column", "attention to the row and column of the queried cell"),
    OUTSIDE: ("Queried cell to other cells", "attention to cells outside its row and column"),
}


def attention_chart(table: ResultTable, about: LatinSquareSection) -> Chart:
    """Where the blocks of every arm look, a view per measure; the dotted line is uniform attention."""
    views = {}
    for measure, (title, axis) in LOOKS.items():
        uniform = table.row("", chance(measure))
        tables = {"uniform": [{"value": uniform["value"]}] if uniform else []}
        views[title] = ViewRows(list(attention_rows(table, about, measure)), {"axis": axis}, tables)
    across = x("value", "{axis}", domain=[0, 1], nice=False, tickCount=5)
    tint = colour("block", block_tints(about.layers or 1), legend=CIRCLES)
    place = {"x": across, "y": names("name", labelLimit=170, grid=True), "color": tint}
    layers = [rule(named("uniform"), {"x": across}), whiskers(ROWS, place, width=1.6), dots(ROWS, place, size=80)]
    look: dict[str, Any] = {"height": 60 + 26 * len(about.arms), "figure": True, "title": "Where nets look"}
    tip, words = "{name}, {block}: {value:short}", "attention of every arm by block"
    return chart("attention", views, layers, tip=tip, label=words, **look)


def attention_rows(table: ResultTable, about: LatinSquareSection, measure: str) -> Rows:
    """One measure of the attention of every block."""
    for arm in about.arms:
        for block in range(about.layers or 1):
            if row := table.row(name_of(SQUARES, arm), attention_cell(measure, block)):
                yield {"name": label(arm), "block": block_name(block), **numbers_of(row)}


def removed_chart(table: ResultTable, about: LatinSquareSection) -> Chart:
    """Accuracy without one link in one block, a view per link; hollow is the whole net on the same puzzles."""
    views = {LOOKS[link][0]: ViewRows(list(removed_rows(table, about, link))) for link in REMOVED}
    across = share(x, "value", "test puzzles answered correctly")
    tint = colour("block", block_tints(about.layers or 1), legend=CIRCLES)
    place = {"x": across, "y": names("name", labelLimit=170, grid=True)}
    parts, whole = marks.where(ROWS, whole=False), marks.where(ROWS, whole=True)
    layers = [
        rule(named("guesses"), {"x": across}),
        dots(whole, {**place, "color": alt.value(MUTED)}, size=110, hollow=True, strokeWidth=1.4),
        whiskers(parts, {**place, "color": tint}, width=1.6),
        dots(parts, {**place, "color": tint}, size=80),
    ]
    look: dict[str, Any] = {"height": 60 + 26 * len(about.arms), "figure": True, "title": "Accuracy without one link"}
    tip, words, tables = "{name}, {block}: {value:share}", "accuracy without one link", [{"value": GUESS}]
    return chart("removed", views, layers, tip=tip, label=words, tables={"guesses": tables}, **look)


def removed_rows(table: ResultTable, about: LatinSquareSection, link: str) -> Rows:
    """Accuracy of the whole net, and without a link in each block."""
    for arm in about.arms:
        for block in (None, *range(about.layers or 1)):
            cell = whole_cell() if block is None else removed_cell(link, block)
            if row := table.row(name_of(SQUARES, arm), cell):
                words = "nothing removed" if block is None else block_name(block)
                yield {"name": label(arm), "block": words, "whole": block is None, **numbers_of(row)}
