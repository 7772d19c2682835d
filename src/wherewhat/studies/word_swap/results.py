"""The results of all runs, by condition, question, swap and seed."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean

import polars as pl

from wherewhat.stats.estimate import Estimate
from wherewhat.stats.intervals import over_seeds
from wherewhat.studies.conditions import SYMMETRIC, EncodingCondition
from wherewhat.studies.word_swap.answer_measures import AFTER
from wherewhat.studies.word_swap.questions import QUESTIONS
from wherewhat.studies.word_swap.run import ORIGINAL, item_name
from wherewhat.studies.word_swap.settings import NO_POSITION

BAG: Mapping[str, float] = {name: question.bag for name, question in QUESTIONS.items()}
CONSTITUENTS = ("3", "4", "5", "6")  # sizes of constituents whose words are shuffled
LEARNT = 0.8  # accuracy from which a question that a bag of words can answer is called learnt


@dataclass(frozen=True)
class WordSwapResults:
    """The rows of all runs, with their conditions."""

    rows: pl.DataFrame
    conditions: Sequence[EncodingCondition]
    groups: Sequence[tuple[float, Sequence[EncodingCondition]]] = ()  # curves of the same locality, with that locality

    @cached_property
    def seeds(self) -> list[int]:
        """The seeds of the runs."""
        return sorted(self.rows["seed"].drop_nulls().unique().to_list())

    @property
    def ordered(self) -> list[EncodingCondition]:
        """The conditions with positions."""
        return [condition for condition in self.conditions if condition.encoding != NO_POSITION]

    @property
    def without(self) -> list[EncodingCondition]:
        """The condition without positions."""
        return [condition for condition in self.conditions if condition.encoding == NO_POSITION]

    def value(self, condition: EncodingCondition, question: str, swap: str, measure: str, seed: int) -> float:
        """A measured value; NaN if it was not measured."""
        return self._numbers.get((condition.name, item_name(question, swap), measure, seed), math.nan)

    def values(
        self, conditions: Iterable[EncodingCondition], question: str, swaps: Sequence[str], measure: str
    ) -> list[float]:
        """By seed, the mean over some conditions and swaps; values that were not measured are left out."""
        conditions = list(conditions)
        return [
            mean_of(self.value(condition, question, swap, measure, seed) for condition in conditions for swap in swaps)
            for seed in self.seeds
        ]

    def mean(
        self, conditions: Iterable[EncodingCondition], question: str, swap: str | Sequence[str], measure: str
    ) -> Estimate:
        """The mean over seeds."""
        swaps = (swap,) if isinstance(swap, str) else swap
        return over_seeds(self.values(conditions, question, swaps, measure))

    def accuracy(self, condition: EncodingCondition, question: str) -> Estimate:
        """Accuracy on original examples."""
        return self.mean([condition], question, ORIGINAL, AFTER)

    def learnt(self, question: str) -> list[EncodingCondition]:
        """The conditions in which nets learnt a question; for names and roles, that clearly beat a bag of words."""
        return [condition for condition in self.conditions if self._has_learnt(condition, question)]

    def _has_learnt(self, condition: EncodingCondition, question: str) -> bool:
        accuracy = self.accuracy(condition, question)
        return accuracy.value >= LEARNT if BAG[question] == 1 else accuracy.low > BAG[question]

    def ordered_and_learnt(self, question: str) -> list[EncodingCondition]:
        """The conditions with positions in which a question was learnt."""
        learnt = {condition.name for condition in self.learnt(question)}
        return [condition for condition in self.ordered if condition.name in learnt]

    @cached_property
    def _numbers(self) -> dict[tuple[str, str, str, int | None], float]:
        columns = self.rows.select("subject", "item", "measure", "seed", "value")
        return {tuple(key): value for *key, value in columns.iter_rows() if value is not None}


def mean_of(values: Iterable[float]) -> float:
    """The mean of the known values.

    >>> mean_of([1.0, math.nan, 3.0]), math.isnan(mean_of([]))
    (2.0, True)
    """
    known = [value for value in values if math.isfinite(value)]
    return fmean(known) if known else math.nan


def by_symmetry(group: Sequence[EncodingCondition]) -> tuple[list[EncodingCondition], list[EncodingCondition]]:
    """The symmetric curve of a group, and the others."""
    symmetric = [condition for condition in group if condition.s == SYMMETRIC]
    return symmetric, [condition for condition in group if condition.s != SYMMETRIC]
