"""What the runs measured, to be asked by encoding, question and seed."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from statistics import fmean, stdev

import polars as pl

from wherewhat.studies.locality.estimate import Estimate, over_seeds
from wherewhat.studies.locality.trials import SYMMETRIC, Trial

ALL, OTHERS = "all", "others"  # items that stand for several questions
SHARP = ("names",)  # built so that no symmetric encoding can answer; left out where all questions count together
OF_ROLES = ("agent", "names")  # who does it to whom
NEAR_CHANCE = 0.02  # from guessing; as near as this is no better
EVEN = 0.5  # what guessing gets right where nothing else is said
STRANGE = 0.2  # a question with a larger share of unknown words is left out where all count together

# part, subject, item, at, seed, measure, value, low, high: the columns of a result
Row = tuple[str, str, str, float | None, int | None, str, float | None, float | None, float | None]


@dataclass(frozen=True)
class Evidence:
    """The rows of all runs, the encodings they are of, and the questions that were asked."""

    rows: pl.DataFrame
    trials: Sequence[Trial]
    questions: Sequence[str]
    chances: Mapping[str, float] = field(default_factory=dict)  # what guessing gets right

    @cached_property
    def seeds(self) -> list[int]:
        """The seeds of the runs."""
        return sorted(self.rows["seed"].drop_nulls().unique().to_list())

    @cached_property
    def items(self) -> Mapping[str, tuple[str, ...]]:
        """What is asked: every question alone, and those that are counted together."""
        every = tuple(one for one in self.readable if one not in SHARP)
        groups = {ALL: every, OTHERS: tuple(one for one in self.readable if one not in OF_ROLES)}
        return {**{one: (one,) for one in self.questions}, **{name: its for name, its in groups.items() if its}}

    @cached_property
    def readable(self) -> list[str]:
        """The questions whose words nets know; what they make of the others says nothing."""
        return [one for one in self.questions if self.unknown_words.get(one, 0.0) <= STRANGE]

    @cached_property
    def unknown_words(self) -> dict[str, float]:
        """By question, the share of its words that nets could not read."""
        rows = self.rows.filter(measure="unknown words").group_by("item", maintain_order=True)
        return dict(rows.agg(pl.col("value").mean()).iter_rows())

    def of(self, family: str) -> list[Trial]:
        """The encodings of a family."""
        return [trial for trial in self.trials if trial.family == family]

    def named(self, name: str) -> list[Trial]:
        """The encoding of that name, if it was tried."""
        return [trial for trial in self.trials if trial.name == name]

    @property
    def symmetric(self) -> list[Trial]:
        """The sweep over locality alone, the flattest curve first."""
        return sorted((trial for trial in self.of("log") if trial.s == SYMMETRIC), key=lambda trial: trial.w or 0)

    @cached_property
    def best(self) -> Trial | None:
        """The symmetric curve with the most right answers, picked after the fact."""
        known = [trial for trial in self.symmetric if self.mean(trial, "accuracy", ALL).known]
        return max(known, key=lambda trial: self.mean(trial, "accuracy", ALL).value, default=None)

    def at_same_w(self, trial: Trial) -> list[Trial]:
        """The symmetric curve with the w of another trial."""
        return [one for one in self.symmetric if one.w == trial.w]

    def value(self, trial: str, measure: str, item: str, seed: int | None) -> float:
        """What was measured; a mean where the item stands for several questions. NaN where it was not measured."""
        found = [self._numbers.get((trial, measure, one, seed), math.nan) for one in self.items.get(item, (item,))]
        return fmean(found)

    def values(self, trials: Iterable[Trial], measure: str, item: str) -> list[float]:
        """By seed, the mean over some encodings."""
        names = [trial.name for trial in trials]
        return [fmean(self.value(name, measure, item, seed) for name in names) for seed in self.seeds]

    def mean(self, trial: Trial, measure: str, item: str) -> Estimate:
        """The mean over seeds."""
        return over_seeds(self.values([trial], measure, item))

    def spread(self, trial: Trial, item: str) -> float:
        """The standard deviation of accuracy over seeds: of one question, or its mean over several.

        Who only guesses is steady, which is no merit: a question that any curve set by hand guesses from every seed
        does not count, for all encodings alike, so that all are compared on the same questions.
        """
        asked = [one for one in self.items.get(item, ()) if not self._guessed(one)]
        by_question = [self.values([trial], "accuracy", one) for one in asked]
        found = [stdev(its) for its in by_question if len(its) > 1]
        return fmean(found) if found else math.nan

    def _guessed(self, question: str) -> bool:
        """Whether some curve is at chance from every seed."""
        chance = self.chances.get(question, EVEN)
        by_curve = [self.values([trial], "accuracy", question) for trial in self.of("log")]
        return any(all(abs(value - chance) <= NEAR_CHANCE for value in values) for values in by_curve)

    def gap(self, ones: Sequence[Trial], others: Sequence[Trial], item: str, measure: str = "accuracy") -> Estimate:
        """How far some encodings lie above others. Each seed has its own difference: it has the same data in both."""
        if not ones or not others:
            return Estimate()
        above, below = (self.values(side, measure, item) for side in (ones, others))
        return over_seeds([one - other for one, other in zip(above, below, strict=True)])

    def bias(self, trial: Trial, measure: str) -> float:
        """What the curve of an encoding is by itself."""
        return self._numbers.get((trial.name, f"bias.{measure}", "", None), math.nan)

    def attention(self, trial: Trial, measure: str) -> float:
        """The same of attention to identical words, the mean over seeds."""
        return fmean(self.value(trial.name, f"attention.{measure}", "", seed) for seed in self.seeds)

    @cached_property
    def _numbers(self) -> dict[tuple[str, str, str, int | None], float]:
        columns = self.rows.select("subject", "measure", "item", "seed", "value")
        return {tuple(key): value for *key, value in columns.iter_rows() if value is not None}
