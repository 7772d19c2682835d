"""By how much a number changed, and how sure that is: of one head, and over all heads of a layer or a model."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np
from scipy import stats

SURE = 0.95


@dataclass(frozen=True)
class Value:
    """A number with its interval. NaN ends: there is none. An exact number has no interval because it needs none."""

    value: float
    low: float = float("nan")
    high: float = float("nan")
    exact: bool = False

    @property
    def reaches(self) -> tuple[float, float]:
        """How far down and how far up the interval goes."""
        return (0.0, 0.0) if self.exact else (self.value - self.low, self.high - self.value)


@dataclass(frozen=True)
class Change:
    """Before, after, and after minus before with its interval."""

    before: float
    after: float
    low: float
    high: float

    @property
    def change(self) -> float:
        return self.after - self.before

    def __iter__(self) -> Iterator[float]:
        return iter((self.before, self.after, self.change, self.low, self.high))


def of_head(before: Value, after: Value) -> Change:
    """The change of a score of one head, or of the mean of some, from two numbers that were measured apart.

    Both intervals are combined by the MOVER method (Zou & Donner, Statistics in Medicine 2008): the lower end is as far
    below the difference as the lower reach of one and the upper reach of the other together, as sides of a right
    angle. It keeps lopsided intervals lopsided, and holds for estimates that do not depend on each other; where both
    rise and fall with the same texts it is too wide rather than too narrow.

    >>> [round(number, 3) for number in of_head(Value(0.2, 0.1, 0.3), Value(0.9, 0.5, 1.0))]
    [0.2, 0.9, 0.7, 0.288, 0.841]
    """
    difference = after.value - before.value
    if before.exact and after.exact:
        return Change(before.value, after.value, np.nan, np.nan)
    (before_down, before_up), (after_down, after_up) = before.reaches, after.reaches
    low, high = difference - np.hypot(after_down, before_up), difference + np.hypot(after_up, before_down)
    return Change(before.value, after.value, float(low), float(high))


def mean_value(values: Sequence[Value]) -> Value:
    """The mean over heads, as sure as they are on average.

    Heads of one model read the same words, so their errors need not cancel: it reaches as far as if they all rose and
    fell together, which is too wide rather than too narrow.
    """
    mean = float(np.mean([one.value for one in values]))
    down, up = (float(np.mean([one.reaches[side] for one in values])) for side in (0, 1))
    return Value(mean, mean - down, mean + up, exact=all(one.exact for one in values))


def over_heads(before_H: Sequence[float], after_H: Sequence[float], *, same_heads: bool) -> Change:
    """The change of the mean over heads, with Student's interval over heads.

    Where heads are the same heads at two times, each is held against itself. Where they are not, their numbers mean
    nothing, and two groups of heads are held against each other (Welch's interval).

    >>> [round(number, 3) for number in over_heads([0.1, 0.2, 0.3], [0.4, 0.6, 0.8], same_heads=True)]
    [0.2, 0.6, 0.4, 0.152, 0.648]
    >>> [round(number, 3) for number in over_heads([0.1, 0.2, 0.3], [0.4, 0.6, 0.8], same_heads=False)]
    [0.2, 0.6, 0.4, -0.016, 0.816]
    """
    before, after = np.asarray(before_H, dtype=float), np.asarray(after_H, dtype=float)
    middle = (float(before.mean()), float(after.mean()))
    if min(len(before), len(after)) < 2:
        return Change(*middle, np.nan, np.nan)
    low, high = student(after - before)[1:] if same_heads else _welch(before, after)
    return Change(*middle, low, high)


def student(values: np.ndarray) -> tuple[float, float, float]:
    """The mean of some values with its interval; of a single one there is none."""
    mean = float(np.mean(values))
    if len(values) < 2:
        return mean, np.nan, np.nan
    reach = _reach(float(np.std(values, ddof=1)) / sqrt(len(values)), len(values) - 1)
    return mean, mean - reach, mean + reach


def one_more(values: np.ndarray) -> tuple[float, float, float]:
    """The mean of some draws, and between which ends one more draw would lie: a model started from a draw of its own.

    >>> [round(number, 3) for number in one_more(np.array([0.8, 0.9, 1.0]))]
    [0.9, 0.403, 1.397]
    """
    mean, low, high = student(values)
    wider = sqrt(len(values) + 1)  # from the error of a mean to that of a single value beside it
    return mean, mean - wider * (mean - low), mean + wider * (high - mean)


def _welch(before: np.ndarray, after: np.ndarray) -> tuple[float, float]:
    """The interval of the difference of two means whose values may vary unlike (Welch 1947)."""
    parts = [float(np.var(values, ddof=1)) / len(values) for values in (before, after)]
    difference, error = float(after.mean() - before.mean()), sum(parts)
    if error == 0:
        return difference, difference
    freedom = error**2 / sum(part**2 / (len(values) - 1) for part, values in zip(parts, (before, after), strict=True))
    reach = _reach(sqrt(error), freedom)
    return difference - reach, difference + reach


def _reach(error: float, freedom: float) -> float:
    """How far an interval goes to each side of a mean with this standard error."""
    return float(stats.t.ppf((1 + SURE) / 2, freedom)) * error
