"""What the runs measured, to be asked by encoding, question, swap and seed."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean

import polars as pl

from wherewhat.studies.locality.estimate import Estimate, over_seeds
from wherewhat.studies.locality.trials import SYMMETRIC, Trial
from wherewhat.studies.word_swap.counting import AFTER
from wherewhat.studies.word_swap.one_run import ORIGINAL, item_name
from wherewhat.studies.word_swap.questions import QUESTIONS
from wherewhat.studies.word_swap.settings import NO_POSITION

BAG: Mapping[str, float] = {name: question.bag for name, question in QUESTIONS.items()}
PHRASES = ("3", "4", "5", "6")  # sizes of phrases that are shuffled inside
LEARNT = 0.8  # right answers from which on a question that words decide is called learnt


@dataclass(frozen=True)
class Evidence:
    """The rows of all runs, and the encodings they are of."""

    rows: pl.DataFrame
    trials: Sequence[Trial]
    groups: Sequence[tuple[float, Sequence[Trial]]] = ()  # curves of one locality, by that locality

    @cached_property
    def seeds(self) -> list[int]:
        """The seeds of the runs."""
        return sorted(self.rows["seed"].drop_nulls().unique().to_list())

    @property
    def ordered(self) -> list[Trial]:
        """The encodings that know something of order."""
        return [trial for trial in self.trials if trial.encoding != NO_POSITION]

    @property
    def without(self) -> list[Trial]:
        """The encoding that knows nothing of it."""
        return [trial for trial in self.trials if trial.encoding == NO_POSITION]

    def value(self, trial: Trial, question: str, swap: str, measure: str, seed: int) -> float:
        """What was measured; NaN where it was not."""
        return self._numbers.get((trial.name, item_name(question, swap), measure, seed), math.nan)

    def values(self, trials: Iterable[Trial], question: str, swaps: Sequence[str], measure: str) -> list[float]:
        """By seed, the mean over some encodings and swaps; what was not measured does not count."""
        chosen = list(trials)
        return [
            mean_of(self.value(trial, question, swap, measure, seed) for trial in chosen for swap in swaps)
            for seed in self.seeds
        ]

    def mean(self, trials: Iterable[Trial], question: str, swap: str | Sequence[str], measure: str) -> Estimate:
        """The mean over seeds."""
        swaps = (swap,) if isinstance(swap, str) else swap
        return over_seeds(self.values(trials, question, swaps, measure))

    def right(self, trial: Trial, question: str) -> Estimate:
        """Right answers to cases as they are."""
        return self.mean([trial], question, ORIGINAL, AFTER)

    def learnt(self, question: str) -> list[Trial]:
        """The encodings with which nets have learnt a question, as far as that can be told.

        Of names and roles that is more right answers than words alone can give, and clearly so.
        """
        return [trial for trial in self.trials if self._has_learnt(self.right(trial, question), question)]

    def _has_learnt(self, found: Estimate, question: str) -> bool:
        if BAG[question] == 1:
            return found.value >= LEARNT
        return found.low > BAG[question]

    @cached_property
    def _numbers(self) -> dict[tuple[str, str, str, int | None], float]:
        columns = self.rows.select("subject", "item", "measure", "seed", "value")
        return {tuple(key): value for *key, value in columns.iter_rows() if value is not None}


def mean_of(values: Iterable[float]) -> float:
    """The mean of what is known.

    >>> mean_of([1.0, math.nan, 3.0]), math.isnan(mean_of([]))
    (2.0, True)
    """
    known = [value for value in values if math.isfinite(value)]
    return fmean(known) if known else math.nan


def sided(group: Sequence[Trial]) -> tuple[list[Trial], list[Trial]]:
    """Of curves of one locality the symmetric one, and the others."""
    return [one for one in group if one.s == SYMMETRIC], [one for one in group if one.s != SYMMETRIC]
