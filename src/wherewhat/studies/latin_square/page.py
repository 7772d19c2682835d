"""The page of Latin squares: what tables learn from where they start, and what follows from it."""

from collections.abc import Sequence
from math import isnan

import polars as pl

from wherewhat.errors import UserError
from wherewhat.formatting import MISSING, percent, short
from wherewhat.report.blocks.claims import claims_section
from wherewhat.report.blocks.layout import answer_section, columns, counted, panel, run_time, small
from wherewhat.report.blocks.provenance import provenance_section
from wherewhat.report.blocks.table import table as table_of
from wherewhat.report.core.html import join, tag
from wherewhat.report.core.page import Page, Section
from wherewhat.studies.engine.results import Cell, ResultTable
from wherewhat.studies.latin_square.attention_charts import attention_chart, removed_chart
from wherewhat.studies.latin_square.charts import (
    RATE_ARMS,
    RATIO_ARMS,
    accuracy_chart,
    curve_chart,
    group_chart,
    noise_chart,
    pair_chart,
    ratio_chart,
)
from wherewhat.studies.latin_square.modules import shows_modules
from wherewhat.studies.latin_square.names import (
    ADDED,
    ADDED_BOUND,
    CHANGE_BOUND,
    HEADINGS,
    HELPS,
    LARGE,
    LINE_SINUSOID,
    MIDDLE,
    MODULES,
    NETWORK,
    NONE,
    PRE_NORM,
    SINUSOID,
    SMALL,
    SQUARES,
    block_name,
    error_cell,
    label,
    modules_cell,
    moved_cell,
    name_of,
)
from wherewhat.studies.latin_square.number_tables import accuracy_table, head_table, measure_table
from wherewhat.studies.latin_square.solution import solution
from wherewhat.studies.latin_square.table_charts import (
    cosine_map,
    growth_chart,
    layout_chart,
    network_chart,
    scatter_chart,
)
from wherewhat.tables.manifest.study import LatinSquareManifest, LatinSquareSection, LongAnswer

TEXTS = {
    "answer": "Circles: test puzzles, drawn from Latin squares that no training puzzle is drawn from (16 % of test "
    "puzzles also fit one of those), with 95 % intervals. Diamonds: training puzzles. Squares: published, of a larger "
    "net that was trained for far longer. Dotted: a random symbol, and the best guess from counts of symbols, which is "
    "all that is visible without positions. Beside it, the correlation over pairs of cells of the cosine of their rows "
    "with the number of rows and columns that they share: hollow at the start of training, filled at its end. Grey are "
    "95 % of random tables; the dotted line is the fixed 2-D sinusoid.",
    "maps": "Cosines of all pairs of rows, cells in reading order, of the first seed: blue below 0, orange above. Dots "
    "mark cells in the same row, the blocks on the diagonal, or in the same column, the diagonals parallel to it. The "
    "sinusoid is without its mean row. Below, measures of tables by block and test accuracy, both over training, and a "
    "dot per net with a learned table, by the block with the highest value. Grey are 95 % of random tables.",
    "ratio": "Left, both tables with tokens that start so wide or narrow that the ratio of the first table to its "
    "input is small or large: if the norm decides, dots on the same line are close to each other; if the ratio does, "
    "dots of the same colour. Right, both tables at two learning rates. Adam moves every weight by about the learning "
    "rate per step, whatever its size. A table that starts ten times wider moves about ten times less, as a share of "
    "itself, if it moves as far; the table of measures below has the change of each since its start. Dotted: a random "
    "symbol, and the best guess from counts of symbols. Below them, the norm of the first table over that of tokens in "
    "training, both as root mean squares, dashed where the ratio starts large: tables and tokens both learn, so that a "
    "ratio need not stay where it starts. 95 % intervals.",
    "solution": "The answer is read from the last cell, so that in the last block only the attention of that cell "
    "counts. A route is two links of attention, the second in a later block, that end there. Each net is judged by "
    "itself: it needs a link where accuracy without it is clearly lower, with intervals that do not overlap. A route "
    "counts for the smaller loss of its two links, as a cell without a link also gets an unfamiliar mixture of all "
    "other cells. First chart: the cosine of the attention of a block, over all sixteen queries of a test puzzle, with "
    "attention to all cells in the same row or column alike, which is lower for attention to fewer of them; then the "
    "share of attention on the own row and column; then the share on each link, which joins the queried cell, the "
    "other cells of its row and column, and the last cell. Dotted: uniform attention. Second chart: test accuracy when "
    "one block lacks a link; attention there is 0, and the rest of the row is scaled to a sum of 1. Hollow: the whole "
    "net. The link from the queried cell to cells outside its row and column is a control. Links are measured on "
    "puzzles that ask for a cell outside the row and column of the last cell, nine in sixteen: in the others they "
    "overlap. 95 % intervals.",
    "groups": "Binary puzzles follow from a row or a column, ternary ones from both, quaternary ones only from the "
    "whole grid. Dotted: a random symbol, and, for quaternary puzzles, the best guess after the symbols of the row and "
    "the column are ruled out, by how often the grid has each of the others; in the other classes that guess is always "
    "right. Under noise, each given cell is replaced with some probability by a random symbol. 95 % intervals.",
    "network": "A network of nodes in modules, in random order; a net reads all nodes but the hidden ones, whose "
    "values it predicts. Which nodes belong together is nowhere given: a table can learn it, or the weights of the net "
    "can if its positions tell nodes apart, as those of a fixed sinusoid do. Without positions a net can use little "
    "more than the mean of the nodes that it sees. Grey are 95 % of random tables. The table also has the contrast of "
    "what training has added to each table, which a large start can hide, with what 97.5 % of the same changes with "
    "nodes in random modules are below. Unexplained variance: 1 for a net that predicts the mean of all nodes at all "
    "times.",
    "numbers": "Published are means and standard deviations over 15 seeds in per cent. Ours are test and training "
    "accuracies; measures of tables are those at the end of training, by block, with the norm of their change since "
    "the start over their norm there, and the layout correlation of that change alone: of a table that starts large, a "
    "small change hardly moves the correlation of the whole. Beside it, what 97.5 % of the same changes with cells in "
    "random orders are below. The head of every block has its measures of attention and three scores, which rest on 8 "
    "test puzzles. Entropy is how widely attention is spread, as a share of the maximum. The position share is how "
    "much of where the last cell attends is decided by positions alone when all cells are permuted at random at the "
    "input; the symbol share, how much by symbols alone.",
}

MORE_THAN_STEPS = 15.0  # by how many times less a table moves that starts ten times wider


def page(result: pl.DataFrame, manifest: LatinSquareManifest) -> Page:
    """What tables learn from where they start, what decides, and how nets solve the task."""
    about, table = manifest.about, ResultTable(result, scale=manifest.about)
    if not about.arms or result.filter(part="accuracy").is_empty():
        raise UserError("the table has no net that was tested; run `wherewhat reproduce latin-square` again")
    facts = [
        counted(len(about.arms), "kind of nets", "kinds of nets"),
        counted(about.seeds or 1, "seed"),
        counted(about.steps or 0, "step per net", "steps per net"),
        counted(about.puzzles or 0, "training puzzle"),
    ]
    return Page(
        title="Do learned tables find the true layout?",
        kind="Reproduction of arXiv 2406.08272",
        lede="Sixteen cells of a Latin square reach a net as a sequence, and nothing says that they are a grid. A "
        "learned table of positions can find out. Published: it does, and generalises, if it starts small. Here, small "
        "encoders are trained on the task with tables that start small or large, with fixed and relative positions, "
        "and with none.",
        facts=[*facts, *run_time(about.seconds, about.processes)],
        sections=[
            answer(table, about),
            maps(table, about),
            ratio(table, about),
            solved(table, about),
            groups(table, about),
            network(table, about),
            numbers(table, about),
            claims_section(manifest.claims),
            provenance_section(manifest),
        ],
    )


def answers_of(about: LatinSquareSection, *keys: str) -> Sequence[LongAnswer]:
    """The short answers to some claims."""
    return [about.answers[key] for key in keys if key in about.answers]


def answer(table: ResultTable, about: LatinSquareSection) -> Section:
    """The first screen: accuracy by arm, and what tables have learnt of the layout."""
    cards = columns(
        panel(accuracy_chart(table, about), title="Accuracy by positions"),
        panel(layout_chart(table, about), title="Layout correlation of tables"),
    )
    answers = answers_of(about, "generalises", "layout")
    return answer_section("answer", "Where a table starts", answers, cards, text=TEXTS["answer"], short="Answer")


def maps(table: ResultTable, about: LatinSquareSection) -> Section:
    """Cosine matrices of the first block as small multiples, and measures over training."""
    shown = [arm for arm in (SMALL, PRE_NORM, MIDDLE, LARGE) if arm in about.arms]
    drawn = {label(arm): cosine_map(table, arm, name_of(SQUARES, arm), block_name(0)) for arm in shown}
    drawn["fixed 2-D sinusoid"] = cosine_map(table, SINUSOID, SINUSOID, "")
    tiles = [small(title, tile) for title, tile in drawn.items() if tile is not None]
    cards = (
        tag("div", panel(columns(*tiles, look="multiples"), title="Cosines of rows, first block"), class_="below"),
        tag("div", panel(growth_chart(table, about), title="Over training"), class_="below"),
        tag(
            "div",
            columns(
                panel(curve_chart(table, about), title="Test accuracy over training"),
                panel(scatter_chart(table, about), title="Tables and test accuracy"),
            ),
            class_="below",
        ),
    )
    answers = answers_of(about, "resembling")
    return answer_section("tables", "What tables look like", answers, *cards, text=TEXTS["maps"], short="Tables")


def ratio(table: ResultTable, about: LatinSquareSection) -> Section:
    """Is it the norm of the table, its ratio to the tokens, or the learning rate?"""
    cards = columns(
        panel(pair_chart(table, "ratio", RATIO_ARMS, "Norm or ratio?"), title="Norm or ratio to tokens?"),
        panel(pair_chart(table, "rate", RATE_ARMS, "At two learning rates"), title="At two learning rates"),
    )
    over = ratio_chart(table, about)
    rows = [cards, *([panel(over, title="Ratio to tokens over training")] if over else [])]
    body = (tag("div", row, class_="below") for row in rows)
    answers, text = answers_of(about, "ratio", "rate"), f"{TEXTS['ratio']} {moved_words(table, about)}".strip()
    return answer_section("ratio", "What makes the difference?", answers, *body, text=text, short="Why")


def moved_words(table: ResultTable, about: LatinSquareSection) -> str:
    """How many times less a table that starts large has moved, as a share of itself; empty where not measured."""
    moved = [
        [table.value(name_of(SQUARES, arm), moved_cell(block)) for arm in (SMALL, LARGE)]
        for block in range(about.layers or 1)
    ]
    if any(isnan(value) or value == 0 for values in moved for value in values):
        return ""
    times = [small_ / large for small_, large in moved]
    low, high = (f"{each:.0f}" for each in (min(times), max(times)))
    factor = f"{low} to {high} times" if low != high else f"{low} times"
    more = ": more than the size of steps is at work" if min(times) > MORE_THAN_STEPS else ""
    return f"Tables from {label(LARGE)} moved {factor} less than those from {label(SMALL)} in the same blocks{more}."


def solved(table: ResultTable, about: LatinSquareSection) -> Section:
    """Where nets look, and what that says about how they solve the task."""
    charts = panel(attention_chart(table, about)), panel(removed_chart(table, about), title="Without one link")
    body = (tag("div", chart, class_="below") for chart in charts)
    answers = [solution(table, about)]
    return answer_section("solution", "How nets solve it", answers, *body, text=TEXTS["solution"], short="Solution")


def groups(table: ResultTable, about: LatinSquareSection) -> Section:
    """Accuracy by class, and under noise."""
    cards = columns(
        panel(group_chart(table, about), title="By class of puzzle"),
        panel(noise_chart(table, about), title="Under noise"),
    )
    answers = answers_of(about, "classes", "noise")
    title = "Hard puzzles and wrong cells"
    return answer_section("groups", title, answers, cards, text=TEXTS["groups"], short="Puzzles")


def network(table: ResultTable, about: LatinSquareSection) -> Section:
    """The simulated network: modules in tables, and prediction errors."""
    rows = []
    for arm in about.network_arms:
        cells = (*(modules_cell(measure) for measure in (MODULES, ADDED, ADDED_BOUND)), error_cell())
        values = [table.row(name_of(NETWORK, arm), cell) for cell in cells]
        rows.append([label(arm), *(short(row["value"]) if row else MISSING for row in values)])
    headings = ["positions", MODULES, "of the change alone", HEADINGS[CHANGE_BOUND], "unexplained variance"]
    cards = columns(
        panel(network_chart(table, about), title="Do tables show the modules?"),
        panel(table_of(headings, rows, label="the simulated network"), title="And do they help?"),
    )
    lede = " ".join(part for part in (network_finding(table), TEXTS["network"]) if part)
    return Section("network", "A simulated network", lede, cards, "Network")


def network_finding(table: ResultTable) -> str:
    """Whether a fixed sinusoid of the random order helps as well, and a large table; empty where nets are missing."""
    arms = (NONE, LINE_SINUSOID, SMALL)
    rows = [table.row(name_of(NETWORK, arm), error_cell()) for arm in arms]
    if not all(rows):
        return ""
    none, line, small_ = (row["value"] for row in rows if row)
    too = " too" if small_ < none - HELPS else ""
    helps = f"helps{too}" if line < none - HELPS else "does not help"
    sentence = (
        f"A fixed sinusoid of the random order {helps}: {percent(line)} of the variance of hidden nodes stays "
        f"unexplained with it, {percent(none)} without positions, and {percent(small_)} with a learned table from "
        f"{label(SMALL)}."
    )
    large = table.value(name_of(NETWORK, LARGE), error_cell())
    if not (large < none - HELPS and shows_modules(table, LARGE) == -1):
        return sentence
    return f"{sentence} With one from {label(LARGE)} it is {percent(large)}, although that table shows no modules."


def numbers(table: ResultTable, about: LatinSquareSection) -> Section:
    """Published accuracies beside ours, measures of all tables, and scores of heads."""
    body = join(
        tag("div", panel(accuracy_table(table, about), title="Published and ours, per cent"), class_="below"),
        tag("div", panel(measure_table(table, about), title="Measures of tables"), class_="below"),
        tag("div", panel(head_table(table, about), title="Heads"), class_="below"),
    )
    lede = f"{head_finding(table, about)} {TEXTS['numbers']}".strip()
    return Section("numbers", "All numbers", lede, body, "Numbers")


def head_finding(table: ResultTable, about: LatinSquareSection) -> str:
    """What decides where the last cell attends, in the first and the last block; empty where not measured."""
    blocks = (0, (about.layers or 1) - 1)
    cells = [Cell("heads", "input.position_share", f"L{block}H0") for block in blocks]
    rows = [table.row(name_of(SQUARES, SMALL), cell) for cell in cells]
    first, last = (percent(row["value"]) if row else "" for row in rows)
    if not (first and last):
        return ""
    return (
        f"Positions alone decide {first} of where the last cell attends in the first block of nets from "
        f"{label(SMALL)}, and {last} in the last block."
    )
