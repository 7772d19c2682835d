"""Means over examples with their intervals: of every version of an example, and of differences between versions."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from wherewhat.probing.swap_probe.measures import CHANGED, KEPT
from wherewhat.stats.bootstrap import NamedResampling, ranked_interval, ratio

Floats = NDArray[np.float64]
Marks = NDArray[np.bool_]

ORIGINAL, SWAPPED, CONTROL, WHOLE, VOICE = "original", "swapped", "control", "whole", "voice"
CHANGE, CONTROL_CHANGE, BEYOND_CONTROL = "change", "control change", "beyond control"
AGAINST_WHOLE, BEYOND_VOICE = "against whole", "beyond voice"
WORDS_ALONE, ONE_ANSWER = "words alone", "one answer"  # baselines that do not read
# What is subtracted from what, on the examples that have both.
DIFFERENCES = {
    CHANGE: (SWAPPED, ORIGINAL),
    CONTROL_CHANGE: (CONTROL, ORIGINAL),
    BEYOND_CONTROL: (SWAPPED, CONTROL),  # the change minus that of the control
    AGAINST_WHOLE: (SWAPPED, WHOLE),
    BEYOND_VOICE: (SWAPPED, VOICE),
}


@dataclass(frozen=True)
class ExampleValues:
    """One value per example and its weight; NaN where an example has none."""

    total_N: Floats
    weight_N: Floats

    @classmethod
    def unweighted(cls, value_N: Floats) -> "ExampleValues":
        """Every example weighs the same."""
        return cls(value_N.astype(np.float64), np.ones(len(value_N)))

    @property
    def known_N(self) -> Marks:
        """Which examples have a value."""
        return np.isfinite(self.total_N) & (self.weight_N > 0)


VersionValues = Mapping[str, ExampleValues]  # by kind: original, swapped, control, ...


@dataclass(frozen=True)
class ProbeEstimate:
    """One number about a model, with its interval: a row of the table but for the names of model and data."""

    item: str
    side: str | None
    kind: str
    measure: str
    value: float
    low: float
    high: float
    count: int


@dataclass(frozen=True)
class ProbeEstimates:
    """All estimates of one dataset, to be looked up by name."""

    rows: tuple[ProbeEstimate, ...]

    def at(self, item: str, kind: str, measure: str, side: str | None = None) -> ProbeEstimate | None:
        """One estimate, if it exists."""
        wanted = (item, kind, measure, side)
        return next((row for row in self.rows if (row.item, row.kind, row.measure, row.side) == wanted), None)

    def changed(self, item: str, kind: str) -> ProbeEstimate | None:
        """The share of answers that change, from the share that is kept."""
        row = self.at(item, kind, KEPT)
        if row is None:
            return None
        whole = 1.0 if kind in (SWAPPED, CONTROL) else 0.0  # a difference of shares has none
        return replace(row, measure=CHANGED, value=whole - row.value, low=whole - row.high, high=whole - row.low)

    def __contains__(self, measure: str) -> bool:
        return any(row.measure == measure for row in self.rows)


def means(
    values: VersionValues, resampling: NamedResampling, among_N: Marks
) -> Iterable[tuple[str, float, float, float, int]]:
    """Kind, mean, low, high and count: of every kind by itself, and of differences on the same examples and draws."""
    for kind in (kind for kind in (ORIGINAL, SWAPPED, CONTROL) if kind in values):
        yield kind, *_mean([values[kind]], resampling, among_N)
    for kind, (first, second) in DIFFERENCES.items():
        if first in values and second in values:
            yield kind, *_mean([values[first], values[second]], resampling, among_N)


def _mean(columns: list[ExampleValues], resampling: NamedResampling, among_N: Marks) -> tuple[float, float, float, int]:
    """The mean of one column, or of the first minus that of the second, with its interval over examples."""
    known_N = np.logical_and.reduce([among_N, *(column.known_N for column in columns)])
    n = int(known_N.sum())
    if not n:
        return float("nan"), float("nan"), float("nan"), 0
    count_BN = resampling.counts(n) if n > 1 else None
    values, spread = [], []
    for column in columns:
        total_N, weight_N = column.total_N[known_N], column.weight_N[known_N]
        values.append(float(total_N.sum() / weight_N.sum()))
        if count_BN is not None:
            spread.append(ratio(count_BN, total_N, weight_N))
    value = values[0] - (values[1] if len(values) > 1 else 0.0)
    if count_BN is None:  # one example says nothing about others
        return value, float("nan"), float("nan"), n
    low, high = ranked_interval(spread[0] - spread[1] if len(spread) > 1 else spread[0])
    return value, low, high, n
