"""Differences between arms that claims rest on, with their intervals. Torch-free."""

from collections.abc import Mapping, Sequence
from math import isnan
from statistics import fmean

from wherewhat.stats.correlation import spearman
from wherewhat.stats.estimate import Estimate
from wherewhat.stats.intervals import mover, over_seeds, wilson
from wherewhat.studies.engine.claims import FEWEST_SEEDS
from wherewhat.studies.engine.results import Cell, ResultTable
from wherewhat.studies.latin_square.names import (
    GROUPS,
    LARGE,
    LARGE_WIDE,
    LINES,
    MODULES,
    NETWORK,
    SMALL,
    SMALL_NARROW,
    SQUARES,
    accuracy,
    attention_cell,
    name_of,
    noisy,
    table_cell,
)

MOST_BLOCKS = 64  # that are looked for in a table
Arms = Sequence[str]
TEST_ACCURACY = accuracy()


def accuracies(table: ResultTable, arms: Arms, cell: Cell = TEST_ACCURACY) -> dict[str, float]:
    """By arm, the mean over seeds of an accuracy, where there is one."""
    shares = {arm: table.value(name_of(SQUARES, arm), cell) for arm in arms}
    return {arm: share for arm, share in shares.items() if not isnan(share)}


def subjects(arms: Arms) -> list[str]:
    """The runs of some arms on puzzles."""
    return [name_of(SQUARES, arm) for arm in arms]


def mean_share(table: ResultTable, arms: Arms, cell: Cell) -> Estimate:
    """The mean accuracy of some arms over all seeds, with the interval of as many puzzles."""
    value = fmean(table.by_seed(subjects(arms), cell))
    puzzles = table.scale.samples * len(table.seeds) * len(arms) // (len(GROUPS) if cell.item in GROUPS else 1)
    return Estimate(value, *wilson(value, puzzles)) if 0 <= value <= 1 else Estimate()


def between(first: Estimate, second: Estimate) -> Estimate:
    """By how much the first exceeds the second."""
    return Estimate(first.value - second.value, *mover(second, first))


def contrast(table: ResultTable, first: Arms, second: Arms, cell: Cell, other: Cell | None = None) -> Estimate:
    """By how much the mean of some arms exceeds that of others: over seeds if there are enough, else over puzzles."""
    if len(table.seeds) >= FEWEST_SEEDS:
        return table.difference(subjects(first), subjects(second), cell, other)
    return between(mean_share(table, first, cell), mean_share(table, second, other or cell))


def gap(table: ResultTable, first: str, second: str) -> Estimate:
    """By how much one arm exceeds another in test accuracy."""
    return contrast(table, [first], [second], TEST_ACCURACY)


def group_gap(table: ResultTable, arms: Arms, easy: str, hard: str) -> Estimate:
    """By how much one class of puzzles exceeds another in accuracy, the mean over arms."""
    return contrast(table, arms, arms, accuracy(easy), accuracy(hard))


def drop_gap(table: ResultTable, first: str, second: str, probability: float) -> Estimate:
    """By how much less the accuracy of one arm falls under noise than that of another."""
    if len(table.seeds) >= FEWEST_SEEDS:
        both = (falls(table, arm, probability) for arm in (first, second))
        return over_seeds([own - other for own, other in zip(*both, strict=True)])
    own, other = (
        between(mean_share(table, [arm], noisy(probability)), mean_share(table, [arm], noisy(0.0)))
        for arm in (first, second)
    )
    return between(own, other)


def falls(table: ResultTable, arm: str, probability: float) -> list[float]:
    """By seed, accuracy under noise minus that without."""
    after, before = (table.by_seed(subjects([arm]), noisy(each)) for each in (probability, 0.0))
    return [noisy_share - share for noisy_share, share in zip(after, before, strict=True)]


def norm_and_ratio(table: ResultTable) -> Mapping[str, Estimate]:
    """In test accuracy, small against large norms at both ratios, and small against large ratios at both norms."""
    return {
        "norm": contrast(table, [SMALL, SMALL_NARROW], [LARGE, LARGE_WIDE], TEST_ACCURACY),
        "ratio": contrast(table, [SMALL, LARGE_WIDE], [LARGE, SMALL_NARROW], TEST_ACCURACY),
    }


def highest(table: ResultTable, arm: str, measure: str) -> float | None:
    """The value of a measure in the block in which it is highest; None if the arm has no table."""
    return _best([table.value(name_of(SQUARES, arm), table_cell(measure, block)) for block in range(MOST_BLOCKS)])


def best_lines(table: ResultTable, arm: str) -> float | None:
    """How much attention follows rows and columns, in the block in which it does most."""
    return _best([table.value(name_of(SQUARES, arm), attention_cell(LINES, block)) for block in range(MOST_BLOCKS)])


def _best(values: Sequence[float]) -> float | None:
    return max((value for value in values if not isnan(value)), default=None)


def lines_and_accuracy(table: ResultTable) -> tuple[Estimate, int]:
    """The rank correlation, over arms, of accuracy and attention to rows and columns; and the number of arms."""
    shares = accuracies(table, table.scale.arms)
    lines = {arm: value for arm in shares if (value := best_lines(table, arm)) is not None}
    estimate = spearman([shares[arm] for arm in lines], list(lines.values()), seed=0) if lines else Estimate()
    return estimate, len(lines)


def module_contrasts(table: ResultTable) -> dict[str, float]:
    """By arm, how much more rows of nodes resemble each other inside modules than across."""
    cell = Cell("network", MODULES, "block 0")
    contrasts = {arm: table.value(name_of(NETWORK, arm), cell) for arm in table.scale.network_arms}
    return {arm: value for arm, value in contrasts.items() if not isnan(value)}
