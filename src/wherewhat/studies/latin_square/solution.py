"""How nets solve Latin squares, in a sentence: what their attention reads in which order, and what they need of it."""

from collections.abc import Sequence
from itertools import combinations
from math import isnan
from statistics import fmean
from typing import NamedTuple

from wherewhat.formatting import count, listed, percent, short
from wherewhat.studies.engine.results import Cell, ResultTable
from wherewhat.studies.latin_square.names import (
    GATHERS,
    READS,
    READS_LINES,
    SQUARES,
    accuracy,
    attention_cell,
    chance,
    label,
    name_of,
    removed_cell,
)
from wherewhat.tables.manifest.study import LatinSquareSection

SOLVED = 0.8  # test accuracy from which a net shows how the task is solved
FOLLOWS, FOCUSED = 0.6, 0.5  # shares of attention: on a row and a column, on a single cell
ENOUGH = {GATHERS: FOLLOWS, READS: FOCUSED, READS_LINES: FOLLOWS}
ALONE = 0.9  # share of a head's variance from which one of position and symbols decides alone


class Solution(NamedTuple):
    """Two links in successive blocks, in words with the share of attention on each; one of them reads the lines."""

    first: str
    second: str
    reads: int  # which of them reads the row and the column of the queried cell
    words: str


SOLUTIONS = (
    Solution(
        GATHERS,
        READS,
        0,
        "the queried cell gathers them ({0} of its attention; uniform: {2}) and the last cell then looks the queried "
        "cell up ({1}; {3})",
    ),
    Solution(
        READS,
        READS_LINES,
        1,
        "the last cell first locates the queried cell ({0} of its attention; uniform: {2}) and then reads them itself "
        "({1}; {3})",
    ),
)


def solution(table: ResultTable, about: LatinSquareSection) -> str:
    """How nets that answer most puzzles solve them, from where their blocks look and what they cannot do without."""
    arms = [arm for arm in about.arms if table.value(name_of(SQUARES, arm), accuracy()) >= SOLVED]
    if not arms:
        return f"No net answers {percent(SOLVED)} of the test puzzles, so there is no solution to describe."
    layers, rest, parts = about.layers or 1, list(arms), []
    for each in SOLUTIONS:
        blocks = {arm: pair for arm in rest if (pair := blocks_of(table, arm, each, layers)) is not None}
        rest = [arm for arm in rest if arm not in blocks]
        parts += [solution_words(table, each, blocks)] if blocks else []
    solved = len(arms) - len(rest)
    lead = f"{solved or 'None'} of {count(len(arms), 'arm')} with a test accuracy of at least {percent(SOLVED)} "
    lead += f"{'reads' if solved < 2 else 'read'} the row and column of the queried cell"
    lead += ", but not all alike" if len(parts) > 1 else ""
    others = f" In {names(rest)} attention shows no such steps{by_position(table, rest)}." if rest else ""
    return f"{lead}{': ' if parts else ' in two steps'}{'; '.join(parts)}.{others}"


def blocks_of(table: ResultTable, arm: str, solution: Solution, layers: int) -> tuple[int, int] | None:
    """The blocks that take the steps of a solution one after the other, with most attention; None if none do."""
    shares = {
        (link, block): table.value(name_of(SQUARES, arm), attention_cell(link, block))
        for link in solution[:2]
        for block in range(layers)
    }
    first, second = solution[:2]
    pairs = [
        (shares[first, before] + shares[second, after], (before, after))
        for before, after in combinations(range(layers), 2)
        if shares[first, before] >= ENOUGH[first] and shares[second, after] >= ENOUGH[second]
    ]
    return max(pairs)[1] if pairs else None


def solution_words(table: ResultTable, solution: Solution, blocks: dict[str, tuple[int, int]]) -> str:
    """The arms that take a solution, the mean share of attention on each link, and accuracy without what reads."""
    links = solution[:2]
    shares = [
        percent(fmean(table.value(name_of(SQUARES, arm), attention_cell(link, blocks[arm][step])) for arm in blocks))
        for step, link in enumerate(links)
    ]
    uniform = [percent(table.value("", chance(link))) for link in links]
    sentence = f"in {names(list(blocks))} {solution.words.format(*shares, *uniform)}"
    link = links[solution.reads]
    before, after = (
        fmean(table.value(name_of(SQUARES, arm), removed_cell(link, block)) for arm, block in each.items())
        for each in (dict.fromkeys(blocks), {arm: pair[solution.reads] for arm, pair in blocks.items()})
    )
    if isnan(before + after):  # not measured
        return sentence
    falls = "falls" if after < before else "goes"
    step = ("first", "second")[solution.reads]
    return f"{sentence}; without the {step} of these links accuracy {falls} from {percent(before)} to {percent(after)}"


def names(arms: Sequence[str]) -> str:
    """The arms of a sentence."""
    return listed([label(arm) for arm in arms])


def by_position(table: ResultTable, arms: Sequence[str]) -> str:
    """Which of these arms have a first block that looks by position alone, or by symbols alone; half a sentence."""
    words = ""
    for score, what in (("input.position_share", "position"), ("input.symbol_share", "symbols")):
        values = {arm: table.value(name_of(SQUARES, arm), Cell("heads", score, "L0H0")) for arm in arms}
        if alone := {arm: value for arm, value in values.items() if value >= ALONE}:
            listing = listed([f"{label(arm)} ({short(value)} of the variance)" for arm, value in alone.items()])
            words += f"; the first block goes by {what} alone in {listing}"
    return words
