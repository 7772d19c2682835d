"""The tables of the page of Latin squares: accuracies beside published ones, measures of tables, and heads."""

from typing import Any

from wherewhat.formatting import MISSING, interval, short
from wherewhat.published.latin_square import BY_TABLE
from wherewhat.report.blocks.numbers import per_cent
from wherewhat.report.blocks.table import table as table_of
from wherewhat.report.core.html import Html
from wherewhat.studies.engine.results import Cell, ResultTable
from wherewhat.studies.latin_square.names import (
    CHANGE,
    CHANGE_BOUND,
    HEADINGS,
    LINE_SHARE,
    LINES,
    MOVED,
    REMOVED,
    SINUSOID,
    SQUARES,
    TABLE_MEASURES,
    TEST,
    TRAIN,
    VARIANT,
    accuracy,
    attention_cell,
    block_name,
    chance,
    change_cell,
    label,
    moved_cell,
    name_of,
    table_cell,
)
from wherewhat.tables.manifest.study import LatinSquareSection


def accuracy_table(table: ResultTable, about: LatinSquareSection) -> Html:
    """Accuracies by arm, with published ones where there are any, also of sigmas that were not trained here."""
    rows = []
    ours = {about.sigmas.get(arm, arm): arm for arm in about.arms if about.kinds.get(arm) != VARIANT}
    others = [arm for arm in about.arms if arm not in ours.values()]
    for key in [*BY_TABLE, *(key for key in ours if key not in BY_TABLE), *others]:
        arm, theirs = (key if key in others else ours.get(key)), BY_TABLE.get(key)
        published = [f"{theirs[n]:.1f} ({theirs[n + 1]:.1f})" for n in (0, 2)] if theirs else [MISSING, MISSING]
        cells = [table.row(name_of(SQUARES, str(arm)), accuracy(item)) for item in (TEST, TRAIN)]
        name = label(str(arm)) if arm else f"σ = {key:g}" if isinstance(key, float) else key
        rows.append([name, *published, *(per_cent(row["value"]) if row else MISSING for row in cells)])
    groups_ = [("", 1), ("published, mean (sd)", 2), ("ours", 2)]
    headings = ["positions", "held-out puzzles", "108 originals", "test", "training"]
    return table_of(headings, rows, label="published and own accuracies", groups=groups_)


def measure_table(table: ResultTable, about: LatinSquareSection) -> Html:
    """Every measure of every table at the end of training, with those of random tables and of the sinusoid itself."""
    of_changes = (MOVED, CHANGE, CHANGE_BOUND)
    none = [MISSING] * len(of_changes)
    rows = [
        ["random tables", *(random_words(table, measure) for measure in TABLE_MEASURES), *none],
        ["2-D sinusoid itself", *(short(table.value(SINUSOID, chance(each))) for each in TABLE_MEASURES), *none],
    ]
    for arm in (arm for arm in about.arms if arm in about.sigmas):
        for block in range(about.layers or 1):
            measured = [*(table_cell(measure, block) for measure in TABLE_MEASURES), moved_cell(block)]
            measured += [change_cell(block, measure) for measure in (CHANGE, CHANGE_BOUND)]
            cells = [table.row(name_of(SQUARES, arm), cell) for cell in measured]
            rows.append(
                [f"{label(arm)}, {block_name(block)}", *(short(row["value"]) if row else MISSING for row in cells)]
            )
    return table_of(
        ["table", *(HEADINGS.get(each, each) for each in (*TABLE_MEASURES, *of_changes))],
        rows,
        label="measures of tables",
    )


def random_words(table: ResultTable, measure: str) -> str:
    """The mean of a measure over random tables, and the range of 95 % of them."""
    row = table.row("", chance(measure))
    return f"{short(row['value'])} ({interval(row['low'], row['high'])})" if row else MISSING


def head_table(table: ResultTable, about: LatinSquareSection) -> Html:
    """Attention measures and scores of the head of every block."""
    scores = {"entropy": "entropy", "input.position_share": "position share", "input.symbol_share": "symbol share"}
    rows = []
    for arm in about.arms:
        for block in range(about.layers or 1):
            subject = name_of(SQUARES, arm)
            cells: list[Any] = [attention_cell(measure, block) for measure in (LINES, LINE_SHARE, *REMOVED)]
            cells += [Cell("heads", score, f"L{block}H0") for score in scores]
            known = [table.row(subject, cell) for cell in cells]
            rows.append(
                [f"{label(arm)}, {block_name(block)}", *(short(row["value"]) if row else MISSING for row in known)]
            )
    headings = ["head", LINES, LINE_SHARE, *REMOVED, *scores.values()]
    return table_of(headings, rows, label="attention and scores of heads")
