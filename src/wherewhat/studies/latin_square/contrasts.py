"""Differences between arms that claims rest on, with their intervals. Torch-free."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import exp, isnan, log, nan
from statistics import fmean

from wherewhat.formatting import NOTHING
from wherewhat.stats.correlation import spearman
from wherewhat.stats.estimate import Estimate
from wherewhat.stats.intervals import mover, over_seeds, wilson
from wherewhat.stats.verdict import sign_of
from wherewhat.studies.engine.claims import list_shares
from wherewhat.studies.engine.results import Cell, ResultTable
from wherewhat.studies.latin_square.modules import added_modules
from wherewhat.studies.latin_square.names import (
    ADDED,
    ADDED_BOUND,
    CHANGE,
    CHANGE_BOUND,
    GROUPS,
    GUESS,
    LARGE,
    LARGE_WIDE,
    LAYOUT,
    LEARNT,
    LINE_SHARE,
    NETWORK,
    SMALL,
    SMALL_NARROW,
    SQUARES,
    TRAIN,
    accuracy,
    attention_cell,
    chance,
    change_cell,
    label,
    modules_cell,
    name_of,
    noisy,
    table_cell,
)

FEWEST_KINDS = 6  # of nets: fewer are often in perfect order by chance
MANY_SEEDS = 2  # from which intervals are over seeds, in claims as in charts
COMPARABLE = 0.05  # of accuracy: what two arms may differ by and still do as well as each other
Arms = Sequence[str]
TEST_ACCURACY = accuracy()


def accuracies(table: ResultTable, arms: Arms, cell: Cell = TEST_ACCURACY) -> dict[str, float]:
    """By arm, the mean over seeds of an accuracy, where there is one."""
    shares = {arm: table.value(name_of(SQUARES, arm), cell) for arm in arms}
    return {arm: share for arm, share in shares.items() if not isnan(share)}


def better(table: ResultTable, arms: Arms) -> str:
    """The arm that answers more test puzzles."""
    shares = accuracies(table, arms)
    return max(shares, key=shares.__getitem__)


def listing(shares: Mapping[str, float]) -> str:
    """Shares of arms in per cent, one after the other."""
    return list_shares({f"{label(arm)}:": share for arm, share in shares.items()})


def subjects(arms: Arms) -> list[str]:
    """The runs of some arms on puzzles."""
    return [name_of(SQUARES, arm) for arm in arms]


def mean_share(table: ResultTable, arms: Arms, cell: Cell) -> Estimate:
    """The mean accuracy of some arms over all seeds, with the interval of as many puzzles, which all arms share."""
    value = fmean(table.by_seed(subjects(arms), cell))
    puzzles = table.scale.samples * len(table.seeds) // (len(GROUPS) if cell.item in GROUPS else 1)
    return Estimate(value, *wilson(value, puzzles)) if 0 <= value <= 1 else Estimate()


def between(first: Estimate, second: Estimate) -> Estimate:
    """By how much the first exceeds the second."""
    return Estimate(first.value - second.value, *mover(second, first))


def contrast(table: ResultTable, first: Arms, second: Arms, cell: Cell, other: Cell | None = None) -> Estimate:
    """By how much the mean of some arms exceeds that of others: over seeds, with a single one over puzzles."""
    if len(table.seeds) >= MANY_SEEDS:
        return table.difference(subjects(first), subjects(second), cell, other)
    return between(mean_share(table, first, cell), mean_share(table, second, other or cell))


def gap(table: ResultTable, first: str, second: str) -> Estimate:
    """By how much one arm exceeds another in test accuracy."""
    return contrast(table, [first], [second], TEST_ACCURACY)


def group_gap(table: ResultTable, arms: Arms, easy: str, hard: str) -> Estimate:
    """By how much one class of puzzles exceeds another in accuracy, the mean over arms."""
    return contrast(table, arms, arms, accuracy(easy), accuracy(hard))


def kept(table: ResultTable, arm: str, probability: float) -> Estimate:
    """The share of its accuracy above a random symbol that an arm keeps under noise.

    Over seeds; with a single one over puzzles, by the difference of logarithms.
    """
    if len(table.seeds) >= MANY_SEEDS:
        return over_seeds(kept_by_seed(table, arm, probability))
    after, before = (logarithm(mean_share(table, [arm], noisy(each))) for each in (probability, 0.0))
    ratio = between(after, before)
    return Estimate(*(exp(each) for each in (ratio.value, ratio.low, ratio.high)))


def kept_by_seed(table: ResultTable, arm: str, probability: float) -> list[float]:
    """The same by seed; unknown where there was nothing to keep."""
    after, before = (table.by_seed(subjects([arm]), noisy(each)) for each in (probability, 0.0))
    both = zip(after, before, strict=True)
    return [(noisy_ - GUESS) / (clean - GUESS) if clean > GUESS else nan for noisy_, clean in both]


def logarithm(estimate: Estimate) -> Estimate:
    """Of an accuracy above a random symbol; what is not above it counts as nearly nothing."""
    return Estimate(*(log(max(each - GUESS, NOTHING)) for each in (estimate.value, estimate.low, estimate.high)))


def kept_gap(table: ResultTable, first: str, second: str, probability: float) -> Estimate:
    """By how much the share of its accuracy that one arm keeps under noise exceeds that of another."""
    if len(table.seeds) < MANY_SEEDS:
        return between(kept(table, first, probability), kept(table, second, probability))
    both = (kept_by_seed(table, arm, probability) for arm in (first, second))
    return over_seeds([own - other for own, other in zip(*both, strict=True)])


def norm_and_ratio(table: ResultTable) -> Mapping[str, Estimate]:
    """In test accuracy, small against large norms at both ratios, and small against large ratios at both norms."""
    return {
        "norm": contrast(table, [SMALL, SMALL_NARROW], [LARGE, LARGE_WIDE], TEST_ACCURACY),
        "ratio": contrast(table, [SMALL, LARGE_WIDE], [LARGE, SMALL_NARROW], TEST_ACCURACY),
    }


def leads(table: ResultTable, arms: Arms, small: str = SMALL) -> list[str]:
    """The arms that have learnt clearly more of their training puzzles than the small table they are compared with."""
    return [arm for arm in arms if behind(table, [small], arm)]


def behind(table: ResultTable, arms: Arms, small: str = SMALL) -> list[str]:
    """The arms that have learnt clearly fewer of their training puzzles than the table they are compared with."""
    learnt = accuracies(table, [small, *arms], accuracy(TRAIN))
    return [arm for arm in arms if small in learnt and learnt.get(arm, 1.0) < learnt[small] - COMPARABLE]


def highest(table: ResultTable, arm: str, cells: Sequence[Cell]) -> tuple[float, int] | None:
    """The value and the block of a measure, given for every block, where it is highest; None if the arm has none."""
    values = [(table.value(name_of(SQUARES, arm), cell), block) for block, cell in enumerate(cells)]
    return max(((value, block) for value, block in values if not isnan(value)), default=None)


def best_table(table: ResultTable, arm: str, measure: str) -> tuple[float, int] | None:
    """A measure of the table of the block in which it is highest, and that block."""
    return highest(table, arm, [table_cell(measure, block) for block in range(table.scale.layers)])


def best_lines(table: ResultTable, arm: str, measure: str = LINE_SHARE) -> tuple[float, int] | None:
    """A measure of how far attention follows rows and columns, in the block in which it does most, and that block.

    Not in the last block, of which only the attention of the last cell reaches the answer.
    """
    return highest(table, arm, [attention_cell(measure, block) for block in range(table.scale.layers - 1)])


Best = Callable[[ResultTable, str], tuple[float, int] | None]


def rank_with_accuracy(table: ResultTable, arms: Arms, best: Best) -> tuple[Estimate, int]:
    """The rank correlation, over arms, of accuracy and the best block's value; and how many arms have both."""
    shares = accuracies(table, arms)
    values = {arm: pair[0] for arm in shares if (pair := best(table, arm)) is not None}
    if len(values) < FEWEST_KINDS:
        return Estimate(), len(values)
    return rank_estimate([shares[arm] for arm in values], list(values.values())), len(values)


def rank_estimate(x: Sequence[float], y: Sequence[float]) -> Estimate:
    """The rank correlation with its interval; that of a perfect order begins where one with a swapped pair does.

    >>> rank_estimate([1, 2, 3, 4, 5, 6], [6, 5, 4, 3, 2, 1]).plain()
    '−1.00 (−1.00 to −0.38)'
    """
    estimate = spearman(x, y, seed=0)
    if not abs(estimate.value) > 1 - NOTHING:
        return estimate
    order = list(range(len(x)))
    nearly = spearman(order, [1, 0, *order[2:]], seed=0).low
    return replace(estimate, low=nearly, high=1.0) if estimate.value > 0 else replace(estimate, low=-1.0, high=-nearly)


def recovery(table: ResultTable, arm: str) -> int:
    """1 if some table of an arm has clearly come to show the layout, -1 if clearly none has, else 0.

    At its end a table is above the range of random tables, and above its start by more than half of that range. By
    intervals over seeds; a single seed has none, and says by its values what became of its own tables.
    """
    random = table.estimate("", chance(LAYOUT))
    reach, sides = (random.high - random.low) / 2, []
    for block in range(table.scale.layers):
        end, start = (
            table.by_seed(subjects([arm]), cell) for cell in (table_cell(LAYOUT, block), table_cell(LAYOUT, block, 0.0))
        )
        grown = [after - before for after, before in zip(end, start, strict=True)]
        sides.append(min(_side(end, random.high), _side(grown, reach)))
    return max(sides)


def best_change(table: ResultTable, arm: str) -> tuple[float, int] | None:
    """The layout correlation of what a table has added to its start, of the block where it is highest."""
    return highest(table, arm, [change_cell(block) for block in range(table.scale.layers)])


def change_shows(table: ResultTable, arm: str) -> int:
    """1 if what some table of an arm has added to its start clearly shows the layout, -1 if clearly none, else 0."""
    if best_change(table, arm) is None:
        return 0
    sides = []
    for block in range(table.scale.layers):
        change, bound = (
            table.by_seed(subjects([arm]), change_cell(block, measure)) for measure in (CHANGE, CHANGE_BOUND)
        )
        sides.append(_side([own - limit for own, limit in zip(change, bound, strict=True)], 0.0))
    return max(sides)


def added_shows_modules(table: ResultTable, arm: str) -> int:
    """1 if what a table of nodes has added to its start clearly shows the modules, -1 if clearly not, else 0."""
    if added_modules(table, arm) is None:
        return 0
    added, bound = (table.by_seed([name_of(NETWORK, arm)], modules_cell(measure)) for measure in (ADDED, ADDED_BOUND))
    return _side([own - limit for own, limit in zip(added, bound, strict=True)], 0.0)


def shows_layout(table: ResultTable, arm: str) -> int:
    """1 if some table of an arm is at its end clearly above the range of random tables, -1 if clearly none, else 0."""
    bound = table.estimate("", chance(LAYOUT)).high
    blocks = range(table.scale.layers)
    return max(_side(table.by_seed(subjects([arm]), table_cell(LAYOUT, block)), bound) for block in blocks)


def without_layout(table: ResultTable, arms: Arms) -> dict[str, float]:
    """The accuracies of arms that have learnt the task although clearly none of their tables shows the layout.

    A table that has not grown may still show it: by chance it can start with more than random tables have.
    """
    shares = accuracies(table, arms).items()
    return {arm: share for arm, share in shares if share >= LEARNT and shows_layout(table, arm) == -1}


def _side(values: Sequence[float], bound: float) -> int:
    estimate = over_seeds(values)
    low, high = (estimate.low, estimate.high) if len(values) >= MANY_SEEDS else (estimate.value, estimate.value)
    return sign_of(low - bound, high - bound)
