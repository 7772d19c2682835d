"""Numbers of the table by condition, question and swap, which questions were learnt, and rows of means and gaps."""

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import compress, product
from statistics import fmean

import polars as pl

from wherewhat.stats.estimate import Estimate
from wherewhat.studies.engine.encodings import EncodingCondition
from wherewhat.studies.engine.results import ResultTable, Row, over_seeds, paired
from wherewhat.studies.word_swap import names
from wherewhat.studies.word_swap.names import BAG, POOLED, ROLE_SWAP, cell, item_name
from wherewhat.studies.word_swap.settings import NO_POSITION

LEARNT = 0.8  # accuracy from which a question that a bag of words can answer is called learnt
GAPS = (names.AFTER, names.FOLLOWED, names.FLIP, names.SHIFT)
Conditions = Sequence[EncodingCondition]


def ordered(table: ResultTable) -> list[EncodingCondition]:
    """The conditions with positions."""
    return [condition for condition in table.conditions if condition.encoding != NO_POSITION]


def learnt(table: ResultTable, question: str) -> list[EncodingCondition]:
    """The conditions in which nets learnt a question; for names and roles, that clearly beat a bag of words."""
    bag = BAG[question]
    right = [mean(table, [each], question, names.AFTER, names.ORIGINAL) for each in table.conditions]
    clear = [accuracy.value >= LEARNT if bag == 1 else accuracy.low > bag for accuracy in right]
    return list(compress(table.conditions, clear))


def ordered_and_learnt(table: ResultTable, question: str) -> list[EncodingCondition]:
    """The conditions with positions in which a question was learnt."""
    return [condition for condition in learnt(table, question) if condition.encoding != NO_POSITION]


def by_seed(table: ResultTable, conditions: Conditions, question: str, measure: str, *swaps: str) -> list[float]:
    """By seed, the mean over some conditions and swaps, or the role swap; what was not measured is left out."""
    cells = [cell(question, swap, measure) for swap in swaps or (ROLE_SWAP,)]
    subjects = [condition.name for condition in conditions]
    return [mean_of(table.value(name, at, seed) for name in subjects for at in cells) for seed in table.seeds]


def mean(table: ResultTable, conditions: Conditions, question: str, measure: str, *swaps: str) -> Estimate:
    """The mean over seeds."""
    return over_seeds(by_seed(table, conditions, question, measure, *swaps))


def mean_of(values: Iterable[float]) -> float:
    """The mean of the known values.

    >>> mean_of([1.0, math.nan, 3.0]), math.isnan(mean_of([]))
    (2.0, True)
    """
    known = [value for value in values if math.isfinite(value)]
    return fmean(known) if known else math.nan


def summary_rows(table: ResultTable) -> Iterator[Row]:
    """Means over seeds of every condition, and of all with positions in which a question was learnt; then gaps.

    A gap is by how much an asymmetric curve exceeds the symmetric one of its locality.
    """
    for condition in table.conditions:
        of_condition = table.where(part="run", subject=condition.name)
        for (item, measure), rows in of_condition.group_by(["item", "measure"], maintain_order=True):
            over = over_seeds(rows["value"].drop_nulls().to_list())
            yield "mean", condition.name, str(item), None, None, str(measure), *over.numbers
    for question in BAG:
        conditions = ordered_and_learnt(table, question)
        of_question = table.rows.filter(pl.col("item").str.starts_with(item_name(question, "")))
        for item, measure in of_question.select("item", "measure").unique(maintain_order=True).iter_rows():
            over = mean(table, conditions, question, measure, item.removeprefix(item_name(question, "")))
            if over.known:
                yield "mean", POOLED, item, None, None, measure, *over.numbers
    for locality, symmetric, curve in table.scale.asymmetric():
        for question, measure in product((names.NAMES, names.ROLES), GAPS):
            gap = paired(*(by_seed(table, each, question, measure) for each in ([curve], symmetric)))
            yield "gap", curve.name, item_name(question, ROLE_SWAP), locality, None, measure, *gap.numbers
