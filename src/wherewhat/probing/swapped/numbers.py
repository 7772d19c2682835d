"""What is counted of swapped cases: one value a case, and means of them with intervals over cases."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from wherewhat.probing.bootstrap import Counts, draws, ends

Floats = NDArray[np.float64]
Marks = NDArray[np.bool_]

ORIGINAL, SWAPPED, CONTROL, WHOLE, VOICE = "original", "swapped", "control", "whole", "voice"
CHANGE, CONTROL_CHANGE, BEYOND_CONTROL = "change", "control change", "beyond control"
AGAINST_WHOLE, BEYOND_VOICE = "against whole", "beyond voice"
ALONE, ONE_ANSWER = "words alone", "one answer"  # what is right without reading
# What is taken from what, on the cases that have both.
DIFFERENCES = {
    CHANGE: (SWAPPED, ORIGINAL),
    CONTROL_CHANGE: (CONTROL, ORIGINAL),
    BEYOND_CONTROL: (SWAPPED, CONTROL),  # the change less that of the control
    AGAINST_WHOLE: (SWAPPED, WHOLE),
    BEYOND_VOICE: (SWAPPED, VOICE),
}


@dataclass(frozen=True)
class Column:
    """One value a case and how much it weighs; NaN where a case has none."""

    total_N: Floats
    weight_N: Floats

    @classmethod
    def plain(cls, value_N: Floats) -> "Column":
        """Every case weighs the same."""
        return cls(value_N.astype(np.float64), np.ones(len(value_N)))

    @property
    def known_N(self) -> Marks:
        """Which cases have a value."""
        return np.isfinite(self.total_N) & (self.weight_N > 0)


@dataclass(frozen=True)
class Measured:
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
class Resampling:
    """Draws the cases again: the same draws for every number that rests on as many cases of the same data."""

    seed: int
    name: str

    def counts(self, n: int) -> Counts:
        """count_BN, how often each case is in each replicate."""
        return _counts(self.seed, self.name, n)


@lru_cache(maxsize=8)
def _counts(seed: int, name: str, n: int) -> Counts:
    return draws(seed, name, n)


Columns = Mapping[str, Column]  # by kind: original, swapped, control, ...


def means(columns: Columns, resampling: Resampling, among_N: Marks) -> Iterable[tuple[str, float, float, float, int]]:
    """Kind, mean, low, high and cases: of every kind by itself, and of differences on the same cases and draws."""
    for kind in (kind for kind in (ORIGINAL, SWAPPED, CONTROL) if kind in columns):
        yield kind, *_mean([columns[kind]], resampling, among_N)
    for kind, (one, other) in DIFFERENCES.items():
        if one in columns and other in columns:
            yield kind, *_mean([columns[one], columns[other]], resampling, among_N)


def _mean(columns: list[Column], resampling: Resampling, among_N: Marks) -> tuple[float, float, float, int]:
    """The mean of one column, or of the first less that of the second, with its interval over cases."""
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
            spread.append((count_BN @ total_N) / (count_BN @ weight_N))
    value = values[0] - (values[1] if len(values) > 1 else 0.0)
    if count_BN is None:  # one case says nothing of others
        return value, float("nan"), float("nan"), n
    low, high = ends(spread[0] - spread[1] if len(spread) > 1 else spread[0])
    return value, low, high, n
