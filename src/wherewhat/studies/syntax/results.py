"""The results of all runs, by condition, kind, relation, distance and seed."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean

import polars as pl

from wherewhat.probing.dependencies.relation_rows import ALL, TO_HEAD
from wherewhat.stats.estimate import Estimate
from wherewhat.stats.intervals import over_seeds
from wherewhat.studies.conditions import SYMMETRIC, EncodingCondition
from wherewhat.studies.syntax.split_half_scores import EACH

TRAINED, UNTRAINED = STATES = ("trained", "untrained")
BIAS, ATTENTION = "bias.locality", "attention.locality"
# Groups of encodings, and what they have in common.
FREE, ONE_SIDED, EVEN, SIDED = "free", "one-sided", "symmetric", "sided"
EQUALLY_LOCAL = 0.01  # curves whose localities differ by less are called equally local
GROUPS: dict[str, str] = {
    FREE: "encodings whose heads can learn to attend to either side, at any distance",
    ONE_SIDED: "curves of distance that are flatter on one side, the same in all heads",
    EVEN: "encodings that treat both sides alike, and no encoding",
    SIDED: "all encodings that tell the two sides apart",
}


@dataclass(frozen=True)
class Share:
    """Which number of a run: the share of rows that are found, by which part of attention, relation and distance."""

    kind: str  # one of `split_half_scores.KINDS`
    item: str = EACH
    at: int | None = None  # the smallest distance of a group; None: any distance
    side: str = TO_HEAD
    state: str = TRAINED

    @property
    def measure(self) -> str:
        """The name of the measure in the table."""
        return f"{self.side}: {self.kind}"


@dataclass(frozen=True)
class SyntaxResults:
    """The rows of all runs, with their conditions."""

    rows: pl.DataFrame
    conditions: Sequence[EncodingCondition]

    @cached_property
    def seeds(self) -> list[int]:
        """The seeds of the runs."""
        return sorted(self.rows["seed"].drop_nulls().unique().to_list())

    @cached_property
    def relations(self) -> list[str]:
        """Every relation with enough rows from some seed, by mean distance."""
        rows = self.rows.filter(part=TRAINED, measure=f"{TO_HEAD}: distance")
        far = dict(rows.group_by("item").agg(pl.col("value").mean()).iter_rows())
        return sorted((name for name in far if name not in (ALL, EACH)), key=lambda name: (far[name], name))

    def group(self, name: str) -> list[EncodingCondition]:
        """The conditions of a group."""
        return self._groups[name]

    @cached_property
    def _groups(self) -> Mapping[str, list[EncodingCondition]]:
        return {name: [condition for condition in self.conditions if name in groups_of(condition)] for name in GROUPS}

    def named(self, name: str) -> list[EncodingCondition]:
        """The condition of that name, if it was tried."""
        return [condition for condition in self.conditions if condition.name == name]

    @property
    def curves(self) -> list[EncodingCondition]:
        """Curves set by hand."""
        return [condition for condition in self.conditions if condition.family == "log"]

    def pairs(self) -> list[tuple[EncodingCondition, EncodingCondition]]:
        """Each one-sided curve with the symmetric one that is equally local."""
        symmetric = [condition for condition in self.curves if condition.s == SYMMETRIC]
        pairs = ((first, second) for first in self.group(ONE_SIDED) for second in symmetric)
        return [
            (first, second)
            for first, second in pairs
            if abs(self.locality_of(first, BIAS) - self.locality_of(second, BIAS)) < EQUALLY_LOCAL
        ]

    def values(self, conditions: Sequence[EncodingCondition], share: Share) -> list[float]:
        """By seed, the mean over some conditions; NaN if one of them has no such number."""
        at = None if share.at is None else float(share.at)
        keys = [(share.state, condition.name, share.item, at, share.measure) for condition in conditions]
        return [
            fmean(self._numbers.get((*key, seed), math.nan) for key in keys) if keys else math.nan
            for seed in self.seeds
        ]

    def mean(self, conditions: Sequence[EncodingCondition], share: Share) -> Estimate:
        """The mean over seeds."""
        return over_seeds(self.values(conditions, share))

    def gap(self, conditions: Sequence[EncodingCondition], above: Share, below: Share) -> Estimate:
        """By how much one share exceeds another of the same runs, seed by seed."""
        return self._gap(self.values(conditions, above), self.values(conditions, below))

    def between(
        self, first: Sequence[EncodingCondition], second: Sequence[EncodingCondition], share: Share
    ) -> Estimate:
        """By how much the first conditions exceed the second, seed by seed: all have the same sentences."""
        return self._gap(self.values(first, share), self.values(second, share))

    def locality_of(self, condition: EncodingCondition, measure: str) -> float:
        """The locality of a condition: of its curve, or of attention over identical words, the mean over seeds."""
        return self._places.get((condition.name, measure), math.nan)

    def _gap(self, above: Sequence[float], below: Sequence[float]) -> Estimate:
        return over_seeds([a - b for a, b in zip(above, below, strict=True)])

    @cached_property
    def _places(self) -> Mapping[tuple[str, str], float]:
        rows = self.rows.filter(part="encoding").group_by("subject", "measure").agg(pl.col("value").mean())
        return {(name, measure): value for name, measure, value in rows.iter_rows()}

    @cached_property
    def _numbers(self) -> Mapping[tuple[str, str, str, float | None, str, int | None], float]:
        columns = self.rows.select("part", "subject", "item", "at", "measure", "seed", "value")
        return {tuple(key): value for *key, value in columns.iter_rows() if value is not None}


def groups_of(condition: EncodingCondition) -> tuple[str, ...]:
    """Every group that a condition belongs to."""
    if condition.mirrored:
        return (EVEN,)
    return (ONE_SIDED if condition.family == "log" else FREE), SIDED
