"""The results of all runs, by condition, question and seed."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from statistics import fmean, stdev

import polars as pl

from wherewhat.stats.estimate import Estimate
from wherewhat.stats.intervals import over_seeds
from wherewhat.studies.conditions import SYMMETRIC, EncodingCondition

ALL, OTHERS = "all", "others"  # items that stand for means over several questions
SHARP = ("names",)  # no symmetric encoding can answer these, so means over all questions leave them out
OF_ROLES = ("agent", "names")  # who does what to whom
NEAR_CHANCE = 0.02  # accuracy within this distance of chance counts as guessing
EVEN = 0.5  # chance, if nothing else is given
MANY_UNKNOWN = 0.2  # means over all questions leave out a question with a larger share of unknown words


@dataclass(frozen=True)
class LocalityResults:
    """The rows of all runs, with their conditions and questions."""

    rows: pl.DataFrame
    conditions: Sequence[EncodingCondition]
    questions: Sequence[str]
    chances: Mapping[str, float] = field(default_factory=dict)  # the accuracy of guessing

    @cached_property
    def seeds(self) -> list[int]:
        """The seeds of the runs."""
        return sorted(self.rows["seed"].drop_nulls().unique().to_list())

    @cached_property
    def items(self) -> Mapping[str, tuple[str, ...]]:
        """The questions behind every item: each question alone, and groups of questions."""
        groups = {
            ALL: tuple(question for question in self.readable if question not in SHARP),
            OTHERS: tuple(question for question in self.readable if question not in OF_ROLES),
        }
        single = {question: (question,) for question in self.questions}
        return {**single, **{name: questions for name, questions in groups.items() if questions}}

    @cached_property
    def readable(self) -> list[str]:
        """The questions whose words the nets know; accuracy on the others says nothing."""
        return [question for question in self.questions if self.unknown_words.get(question, 0.0) <= MANY_UNKNOWN]

    @cached_property
    def unknown_words(self) -> dict[str, float]:
        """By question, the share of its words that are not in the vocabulary."""
        rows = self.rows.filter(measure="unknown words").group_by("item", maintain_order=True)
        return dict(rows.agg(pl.col("value").mean()).iter_rows())

    def of(self, family: str) -> list[EncodingCondition]:
        """The conditions of a family."""
        return [condition for condition in self.conditions if condition.family == family]

    def named(self, name: str) -> list[EncodingCondition]:
        """The condition of that name, if it was tried."""
        return [condition for condition in self.conditions if condition.name == name]

    @property
    def symmetric(self) -> list[EncodingCondition]:
        """The symmetric curves, the flattest first."""
        return sorted(
            (condition for condition in self.of("log") if condition.s == SYMMETRIC),
            key=lambda condition: condition.w or 0,
        )

    @cached_property
    def best(self) -> EncodingCondition | None:
        """The symmetric curve with the highest accuracy, selected after the fact."""
        known = [condition for condition in self.symmetric if self.mean(condition, "accuracy", ALL).known]
        return max(known, key=lambda condition: self.mean(condition, "accuracy", ALL).value, default=None)

    def at_same_w(self, condition: EncodingCondition) -> list[EncodingCondition]:
        """The symmetric curve with the w of another condition."""
        return [symmetric for symmetric in self.symmetric if symmetric.w == condition.w]

    def value(self, condition: str, measure: str, item: str, seed: int | None) -> float:
        """A measured value, the mean over the questions of the item; NaN if it was not measured."""
        questions = self.items.get(item, (item,))
        return fmean(self._numbers.get((condition, measure, question, seed), math.nan) for question in questions)

    def values(self, conditions: Iterable[EncodingCondition], measure: str, item: str) -> list[float]:
        """By seed, the mean over some conditions."""
        names = [condition.name for condition in conditions]
        return [fmean(self.value(name, measure, item, seed) for name in names) for seed in self.seeds]

    def mean(self, condition: EncodingCondition, measure: str, item: str) -> Estimate:
        """The mean over seeds."""
        return over_seeds(self.values([condition], measure, item))

    def spread(self, condition: EncodingCondition, item: str) -> float:
        """The standard deviation of accuracy over seeds, the mean over the questions of the item.

        A net that only guesses has a small spread, which is no merit. So a question on which any curve set by hand is
        at chance from every seed is left out for all conditions, and all are compared on the same questions.
        """
        questions = [question for question in self.items.get(item, ()) if not self._guessed(question)]
        by_question = [self.values([condition], "accuracy", question) for question in questions]
        deviations = [stdev(values) for values in by_question if len(values) > 1]
        return fmean(deviations) if deviations else math.nan

    def _guessed(self, question: str) -> bool:
        """Whether some curve is at chance from every seed."""
        chance = self.chances.get(question, EVEN)
        by_curve = [self.values([condition], "accuracy", question) for condition in self.of("log")]
        return any(all(abs(value - chance) <= NEAR_CHANCE for value in values) for values in by_curve)

    def gap(
        self,
        first: Sequence[EncodingCondition],
        second: Sequence[EncodingCondition],
        item: str,
        measure: str = "accuracy",
    ) -> Estimate:
        """By how much the first conditions exceed the second. Differences are per seed, as both have the same data."""
        if not first or not second:
            return Estimate()
        above, below = (self.values(conditions, measure, item) for conditions in (first, second))
        return over_seeds([a - b for a, b in zip(above, below, strict=True)])

    def bias(self, condition: EncodingCondition, measure: str) -> float:
        """Locality or balance of the curve of a condition by itself."""
        return self._numbers.get((condition.name, f"bias.{measure}", "", None), math.nan)

    def attention(self, condition: EncodingCondition, measure: str) -> float:
        """The same for attention over identical words, the mean over seeds."""
        return fmean(self.value(condition.name, f"attention.{measure}", "", seed) for seed in self.seeds)

    @cached_property
    def _numbers(self) -> dict[tuple[str, str, str, int | None], float]:
        columns = self.rows.select("subject", "measure", "item", "seed", "value")
        return {tuple(key): value for *key, value in columns.iter_rows() if value is not None}
