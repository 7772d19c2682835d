"""What the runs measured, to be asked by encoding, kind, relation, distance and seed."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean

import polars as pl

from wherewhat.probing.dependencies.gold import ALL, TO_HEAD
from wherewhat.studies.locality.estimate import Estimate, over_seeds
from wherewhat.studies.locality.trials import SYMMETRIC, Trial
from wherewhat.studies.syntax.halves import EACH

TRAINED, UNTRAINED = STATES = ("trained", "untrained")
BIAS, ATTENTION = "bias.locality", "attention.locality"
# Encodings that go together, and what sets them apart.
FREE, ONE_SIDED, EVEN, SIDED = "free", "one-sided", "symmetric", "sided"
ALIKE = 0.01  # of locality, within which curves are called as local as each other
GROUPS: dict[str, str] = {
    FREE: "encodings whose heads may learn to look to either side, at any distance",
    ONE_SIDED: "curves of distance that are flatter on one side, alike in all heads",
    EVEN: "encodings that treat both sides alike, and none at all",
    SIDED: "all encodings that tell the two sides apart",
}


@dataclass(frozen=True)
class What:
    """Which number of a run: a share of rows that are found, by what, in which relation, how far apart."""

    kind: str  # one of `halves.KINDS`
    item: str = EACH
    at: int | None = None  # the first number of a distance; None: any
    side: str = TO_HEAD
    state: str = TRAINED

    @property
    def measure(self) -> str:
        """As the table calls it."""
        return f"{self.side}: {self.kind}"


@dataclass(frozen=True)
class Evidence:
    """The rows of all runs, and the encodings they are of."""

    rows: pl.DataFrame
    trials: Sequence[Trial]

    @cached_property
    def seeds(self) -> list[int]:
        """The seeds of the runs."""
        return sorted(self.rows["seed"].drop_nulls().unique().to_list())

    @cached_property
    def relations(self) -> list[str]:
        """Every relation with rows enough from some seed, those between neighbours first."""
        rows = self.rows.filter(part=TRAINED, measure=f"{TO_HEAD}: distance")
        far = dict(rows.group_by("item").agg(pl.col("value").mean()).iter_rows())
        return sorted((name for name in far if name not in (ALL, EACH)), key=lambda name: (far[name], name))

    def group(self, name: str) -> list[Trial]:
        """The encodings that go together under a name."""
        return self._groups[name]

    @cached_property
    def _groups(self) -> Mapping[str, list[Trial]]:
        its = [(trial, groups_of(trial)) for trial in self.trials]
        return {name: [trial for trial, groups in its if name in groups] for name in GROUPS}

    def named(self, name: str) -> list[Trial]:
        """The encoding of that name, if it was tried."""
        return [trial for trial in self.trials if trial.name == name]

    @property
    def curves(self) -> list[Trial]:
        """Curves that are set by hand."""
        return [trial for trial in self.trials if trial.family == "log"]

    def pairs(self) -> list[tuple[Trial, Trial]]:
        """Each one-sided curve with the symmetric one that is as local."""
        even = [trial for trial in self.curves if trial.s == SYMMETRIC]
        every = ((one, other) for one in self.group(ONE_SIDED) for other in even)
        return [(one, other) for one, other in every if abs(self.place(one, BIAS) - self.place(other, BIAS)) < ALIKE]

    def values(self, trials: Sequence[Trial], what: What) -> list[float]:
        """By seed, the mean over some encodings; NaN where one of them has no such number."""
        at = None if what.at is None else float(what.at)
        keys = [(what.state, trial.name, what.item, at, what.measure) for trial in trials]
        return [
            fmean(self._numbers.get((*key, seed), math.nan) for key in keys) if keys else math.nan
            for seed in self.seeds
        ]

    def mean(self, trials: Sequence[Trial], what: What) -> Estimate:
        """The mean over seeds."""
        return over_seeds(self.values(trials, what))

    def gap(self, trials: Sequence[Trial], one: What, other: What) -> Estimate:
        """How far one number lies above another of the same runs, seed by seed."""
        return self._gap(self.values(trials, one), self.values(trials, other))

    def between(self, ones: Sequence[Trial], others: Sequence[Trial], what: What) -> Estimate:
        """How far some encodings lie above others, seed by seed: all read the same sentences."""
        return self._gap(self.values(ones, what), self.values(others, what))

    def place(self, trial: Trial, measure: str) -> float:
        """How local an encoding is: its curve by itself, or attention to identical words, the mean over seeds."""
        rows = self._places.get((trial.name, measure))
        return math.nan if rows is None else rows

    def _gap(self, above: Sequence[float], below: Sequence[float]) -> Estimate:
        return over_seeds([one - other for one, other in zip(above, below, strict=True)])

    @cached_property
    def _places(self) -> Mapping[tuple[str, str], float]:
        rows = self.rows.filter(part="encoding").group_by("subject", "measure").agg(pl.col("value").mean())
        return {(name, measure): value for name, measure, value in rows.iter_rows()}

    @cached_property
    def _numbers(self) -> Mapping[tuple[str, str, str, float | None, str, int | None], float]:
        columns = self.rows.select("part", "subject", "item", "at", "measure", "seed", "value")
        return {tuple(key): value for *key, value in columns.iter_rows() if value is not None}


def groups_of(trial: Trial) -> tuple[str, ...]:
    """Every group that an encoding belongs to."""
    if trial.mirrored:
        return (EVEN,)
    return (ONE_SIDED if trial.family == "log" else FREE), SIDED
