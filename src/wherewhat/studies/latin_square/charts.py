"""Charts of answers to Latin squares, and of what makes the difference. Torch-free."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import altair as alt
import polars as pl

from wherewhat.published.latin_square import BY_TABLE
from wherewhat.report.blocks import marks
from wherewhat.report.blocks.axes import (
    MUTED,
    WHAT,
    WHERE,
    colour,
    dash,
    legend,
    names,
    shade,
    shape,
    share,
    x,
    y,
)
from wherewhat.report.blocks.chart import chart, lines
from wherewhat.report.blocks.marks import ROWS, dots, named, rule, whiskers
from wherewhat.report.core.page import Chart
from wherewhat.studies.engine.results import Cell, ResultTable
from wherewhat.studies.latin_square.names import (
    FIXED,
    GROUPS,
    GUESS,
    HEADINGS,
    LARGE,
    LARGE_SLOW,
    LARGE_WIDE,
    LEARNED,
    MIDDLE,
    NONE,
    OTHER,
    RATIO,
    RULED_OUT,
    SINUSOID,
    SMALL,
    SMALL_NARROW,
    SMALL_SLOW,
    SQUARES,
    TEST,
    TRAIN,
    VARIANT,
    accuracy,
    block_name,
    chance,
    guess_cell,
    label,
    name_of,
    noisy,
    ratio_cell,
)
from wherewhat.tables.manifest.study import LatinSquareSection

Rows = Iterator[Mapping[str, Any]]
KINDS = {LEARNED: WHERE, FIXED: shade("chance", 5), OTHER: MUTED, VARIANT: shade("layers", 4)}
TESTED, TRAINED, PUBLISHED = "test", "training", "published"
SHAPES = {TESTED: "circle", TRAINED: "diamond", PUBLISHED: "square"}
HARDNESS = dict(zip(GROUPS, (shade("layers", 5), shade("layers", 3), shade("layers", 0)), strict=True))
CIRCLES = legend(symbolType="circle", columns=3, columnPadding=4)
STROKES_OF: dict[str, Any] = {"symbolType": "stroke", "symbolStrokeWidth": 3, "labelLimit": 170}
STROKES = legend(**STROKES_OF)
NARROW = alt.ExprRef("width < 420 ? 2 : 4")  # columns of a legend with many names, in half of the page


def tints(arms: Sequence[str]) -> dict[str, Any]:
    """A colour for each arm: small tables blue, large ones pink, the sinusoid orange."""
    fixed = {SMALL: WHERE, MIDDLE: shade("spread", 1), LARGE: WHAT, SINUSOID: shade("chance", 5), NONE: MUTED}
    ramp = [shade("layers", step) for step in (4, 2, 5, 3, 0, 6, 1)]
    others = [arm for arm in arms if arm not in fixed]
    ramps = {arm: ramp[number % len(ramp)] for number, arm in enumerate(others)}
    return {label(arm): {**fixed, **ramps}[arm] for arm in arms}


def block_tints(blocks: int) -> dict[str, Any]:
    """A colour for each block, from the first to the last."""
    last = max(1, blocks - 1)
    return {
        block_name(block): WHERE if block == 0 else shade("layers", 3 + round(3 * block / last))
        for block in range(blocks)
    }


def numbers_of(row: Mapping[str, Any]) -> dict[str, Any]:
    """The number of a row with its interval."""
    return {name: row[name] for name in ("value", "low", "high")}


# Answers -----------------------------------------------------------------------------------------------------------


def accuracy_chart(table: ResultTable, about: LatinSquareSection) -> Chart:
    """Test accuracy of every arm with its interval, training accuracy, what was published, and two guesses."""
    across = share(x, "value", "puzzles answered correctly")
    tint = colour("kind", KINDS, legend=legend(symbolType="circle", columns=2))
    kind = shape("mark", SHAPES)
    place = {"x": across, "y": names("name", labelLimit=170, grid=True), "color": tint, "shape": kind}
    tested, others = marks.where(ROWS, mark=TESTED), {TRAINED: 46, PUBLISHED: 60}
    layers = [
        rule(named("guesses"), {"x": across}),
        *(
            dots(
                marks.where(ROWS, mark=mark),
                {**place, "color": alt.value(MUTED)},
                size=size,
                hollow=True,
                strokeWidth=1.4,
            )
            for mark, size in others.items()
        ),
        whiskers(tested, {name: place[name] for name in ("x", "y", "color")}),
        dots(tested, place, size=80, strokeWidth=0),
    ]
    rows, guesses = list(accuracy_rows(table, about)), [{"value": value} for value in guess_levels(table)]
    tip, words = "{name}, {mark}: {value:share}", "test and training accuracy of every arm"
    look: dict[str, Any] = {"height": 70 + 27 * len(about.arms), "figure": True, "title": "Latin squares: accuracy"}
    return chart("accuracy", rows, layers, tip=tip, label=words, tables={"guesses": guesses}, **look)


def guess_levels(table: ResultTable) -> list[float]:
    """The accuracy of a random symbol, and of the best guess without positions."""
    counted = table.row(NONE, chance("accuracy"))
    return [GUESS, *([counted["value"]] if counted else [])]


def accuracy_rows(table: ResultTable, about: LatinSquareSection) -> Rows:
    """Accuracies of every arm, and the published one on held-out puzzles."""
    for arm in about.arms:
        own = {"name": label(arm), "kind": about.kinds.get(arm, VARIANT)}
        for mark, item in ((TESTED, TEST), (TRAINED, TRAIN)):
            if row := table.row(name_of(SQUARES, arm), accuracy(item)):
                yield {**own, "mark": mark, **numbers_of(row)}
        theirs = BY_TABLE.get(about.sigmas.get(arm, arm)) if own["kind"] != VARIANT else None
        if theirs:
            yield {**own, "mark": PUBLISHED, "value": theirs.held_out / 100}


def group_chart(table: ResultTable, about: LatinSquareSection) -> Chart:
    """Accuracy by class of puzzles, and two guesses: a random symbol, and what row, column and counts tell at worst."""
    rows = [
        {"name": label(arm), "group": group, **numbers_of(row)}
        for arm in about.arms
        for group in GROUPS
        if (row := table.row(name_of(SQUARES, arm), accuracy(group)))
    ]
    tint = colour("group", HARDNESS, legend=CIRCLES)
    across = share(x, "value", "test puzzles answered correctly")
    place = {"x": across, "y": names("name", labelLimit=170, grid=True), "color": tint}
    layers = [
        rule(named("guesses"), {"x": across}),
        whiskers(ROWS, place, width=1.6, opacity=0.6),
        dots(ROWS, place, size=72),
    ]
    look: dict[str, Any] = {"height": 60 + 26 * len(about.arms), "figure": True, "title": "Accuracy by class of puzzle"}
    tip, words = "{name}, {group}: {value:share}", "accuracy by class of puzzle"
    best = table.row(RULED_OUT, guess_cell(GROUPS[-1]))
    guesses = [{"value": value} for value in (GUESS, *([best["value"]] if best else []))]
    return chart("groups", rows, layers, tip=tip, label=words, tables={"guesses": guesses}, **look)


def noise_chart(table: ResultTable, about: LatinSquareSection) -> Chart:
    """Accuracy as more given cells are replaced, of all arms but the variants."""
    arms = [arm for arm in about.arms if about.kinds.get(arm) != VARIANT]
    rows = [
        {"name": label(arm), "at": probability, **numbers_of(row)}
        for arm in arms
        for probability in about.noise
        if (row := table.row(name_of(SQUARES, arm), noisy(probability)))
    ]
    return lines(
        "noise",
        rows,
        x=x("at", "given cells replaced", format="%", values=list(about.noise), grid=False, padding=8),
        y=share(y, "value", "answered correctly"),
        colour=colour("name", tints(arms), legend=STROKES),
        intervals="whiskers",
        label="accuracy under noise",
        tip="{name}, {at:.0%} replaced: {value:share}",
        height=320,
        figure=True,
        title="Accuracy under noise",
    )


def curve_chart(table: ResultTable, about: LatinSquareSection) -> Chart:
    """Test accuracy over training, of all arms but those that differ in more than positions and learning rate."""
    arms = [arm for arm in about.arms if about.kinds.get(arm) != VARIANT or arm in RATE_ARMS]
    rows = [
        {"name": label(arm), "at": row["at"], **numbers_of(row)}
        for arm in arms
        for row in over_training(table, arm, accuracy()).iter_rows(named=True)
    ]
    return lines(
        "curves",
        rows,
        x=x("at", "training step", nice=False, grid=False, tickCount=5, padding=6),
        y=share(y, "value", "test puzzles answered correctly"),
        colour=colour("name", tints(arms), legend=legend(**STROKES_OF, columns=NARROW)),
        intervals="band" if (about.seeds or 1) > 1 else "none",
        label="test accuracy over training",
        tip="{name}, step {at:,.0f}: {value:share}",
        size=34,
        height=320,
        figure=True,
        title="Test accuracy over training",
    )


def over_training(table: ResultTable, arm: str, cell: Cell) -> pl.DataFrame:
    """The rows of a number of an arm at every step, the means over seeds."""
    rows = table.where(part=cell.part, subject=name_of(SQUARES, arm), item=cell.item, measure=cell.measure, seed=None)
    return rows.drop_nulls("at").sort("at")


# Why ---------------------------------------------------------------------------------------------------------------

RATIO_ARMS = {  # by arm, where its table starts and its ratio to the tokens
    SMALL: (label(SMALL), "small ratio"),
    SMALL_NARROW: (label(SMALL), "large ratio"),
    LARGE_WIDE: (label(LARGE), "small ratio"),
    LARGE: (label(LARGE), "large ratio"),
}
NORM_TINTS = {label(SMALL): WHERE, label(LARGE): WHAT}
RATIO_DASHES = {"small ratio": [1, 0], "large ratio": [4, 3]}
RATE_ARMS = {  # by arm, where its table starts and how fast it learns
    SMALL: (label(SMALL), "usual rate"),
    SMALL_SLOW: (label(SMALL), "a third of it"),
    LARGE: (label(LARGE), "usual rate"),
    LARGE_SLOW: (label(LARGE), "a third of it"),
}


def pair_chart(table: ResultTable, name: str, arms: Mapping[str, tuple[str, str]], title: str) -> Chart:
    """Four arms, by where their table starts and by one more choice, which colours them."""
    rows = [
        {"start": start, "choice": choice, "name": label(arm), **numbers_of(row)}
        for arm, (start, choice) in arms.items()
        if (row := table.row(name_of(SQUARES, arm), accuracy()))
    ]
    choices = dict.fromkeys(choice for _, choice in arms.values())
    tint = colour("choice", dict(zip(choices, (WHERE, WHAT), strict=True)), legend=CIRCLES)
    across = share(x, "value", "test puzzles answered correctly")
    place = {"x": across, "y": names("start", labelLimit=170, grid=True), "color": tint}
    layers = [rule(named("guesses"), {"x": across}), whiskers(ROWS, place), dots(ROWS, place, size=110)]
    look: dict[str, Any] = {"height": 170, "figure": True, "title": title}
    tables = {"guesses": [{"value": value} for value in guess_levels(table)]}
    return chart(name, rows, layers, tip="{name}: {value:share}", label=title, tables=tables, **look)


def ratio_chart(table: ResultTable, about: LatinSquareSection) -> Chart | None:
    """The norm of the first table over that of tokens in training, of nets that differ in it; None without numbers."""
    rows = [
        {"name": label(arm), "at": row["at"], **numbers_of(row)}
        for arm in RATIO_ARMS
        for row in over_training(table, arm, ratio_cell()).iter_rows(named=True)
    ]
    if not rows:
        return None
    bands = (about.seeds or 1) > 1 and all((row["low"] or 0) > 0 for row in rows)  # a logarithmic axis has no 0
    return lines(
        "ratios",
        rows,
        x=x("at", "training step", nice=False, grid=False, tickCount=5, padding=6),
        y=y("value", HEADINGS[RATIO], scale="log", nice=False, tickCount=5),
        colour=colour(
            "name", {label(arm): NORM_TINTS[start] for arm, (start, _) in RATIO_ARMS.items()}, legend=STROKES
        ),
        dash=dash("name", {label(arm): RATIO_DASHES[its] for arm, (_, its) in RATIO_ARMS.items()}, legend=STROKES),
        intervals="band" if bands else "none",
        label="norm of the table over that of tokens in training",
        tip="{name}, step {at:,.0f}: {value:short}",
        size=34,
        height=260,
        figure=True,
        title="Ratio of table to tokens over training",
    )
