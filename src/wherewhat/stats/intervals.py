"""Intervals from a formula: of a share, of a mean, of a difference, of one more draw. All are 95 % intervals."""

import math
from collections.abc import Sequence
from math import sqrt
from statistics import fmean, stdev

import numpy as np
from scipy.special import ndtri, stdtrit

from wherewhat.stats.estimate import LEVEL, Estimate

Z = float(ndtri((1 + LEVEL) / 2))  # of a normal distribution, 2.5 % is above it
RULE_OF_THREE = 3  # of n examples that all agree, up to 3 / n of all others may differ (95 %)


def student_reach(error: float, freedom: float) -> float:
    """How far Student's interval extends to each side of a mean with this standard error."""
    return float(stdtrit(freedom, (1 + LEVEL) / 2)) * error


def wilson(share: float, count: int) -> tuple[float, float]:
    """The interval of a share that was counted over so many examples (Wilson's, which never leaves 0 to 1).

    >>> [round(end, 3) for end in wilson(1.0, 100)]
    [0.963, 1.0]
    """
    middle, reach = share + Z * Z / (2 * count), Z * sqrt(share * (1 - share) / count + (Z / (2 * count)) ** 2)
    low, high = ((middle + side * reach) / (1 + Z * Z / count) for side in (-1, 1))
    return max(0.0, low), min(1.0, high)


def student(values: Sequence[float]) -> tuple[float, float, float]:
    """The mean of at least two runs or texts with Student's interval: two say little, and the interval shows it.

    Sums are exact (`statistics`), so the order of the runs does not matter.

    >>> [round(number, 2) for number in student([0.8, 0.9, 1.0])]
    [0.9, 0.65, 1.15]
    """
    mean = fmean(values)
    reach = student_reach(stdev(values) / sqrt(len(values)), len(values) - 1)
    return mean, mean - reach, mean + reach


def over_seeds(values: Sequence[float], *, within: tuple[float, float] = (-math.inf, math.inf)) -> Estimate:
    """The mean over runs from several seeds, with Student's interval cut off at `within`; one seed has no interval.

    >>> over_seeds([0.8, 0.9, 1.0]).plain(), over_seeds([0.8, 0.9, 1.0], within=(0, 1)).plain()
    ('+0.90 (+0.65 to +1.15)', '+0.90 (+0.65 to +1.00)')
    """
    finite = [float(value) for value in values if math.isfinite(value)]
    if len(finite) < 2:
        return Estimate(finite[0]) if finite else Estimate()
    mean, low, high = student(finite)
    return Estimate(mean, max(low, within[0]), min(high, within[1]))


def student_over_heads(values_H: np.ndarray) -> Estimate:
    """The mean over many heads with Student's interval, summed by numpy; a single head has no interval."""
    mean = float(np.mean(values_H))
    if len(values_H) < 2:
        return Estimate(mean)
    reach = student_reach(float(np.std(values_H, ddof=1)) / sqrt(len(values_H)), len(values_H) - 1)
    return Estimate(mean, mean - reach, mean + reach)


def prediction(draws: np.ndarray) -> Estimate:
    """The mean of some draws, and the interval in which one more draw falls: a model with its own initial weights.

    >>> prediction(np.array([0.8, 0.9, 1.0])).plain()
    '+0.90 (+0.40 to +1.40)'
    """
    mean = student_over_heads(draws)
    down, up = mean.arms
    wider = sqrt(len(draws) + 1)  # from the error of a mean to that of one more value
    return Estimate(mean.value, mean.value - wider * down, mean.value + wider * up)


def welch_reach(first: float, first_freedom: float, second: float, second_freedom: float) -> float:
    """How far an interval extends around a difference of two means, from the variance of each and its freedom."""
    variance = first + second
    if variance == 0:
        return 0.0
    freedom = variance**2 / (first**2 / first_freedom + second**2 / second_freedom)
    return student_reach(sqrt(variance), freedom)


def welch(before: np.ndarray, after: np.ndarray) -> tuple[float, float]:
    """The interval of the difference of two means whose values may vary differently (Welch 1947)."""
    first, second = (float(np.var(values, ddof=1)) / len(values) for values in (before, after))
    difference = float(after.mean() - before.mean())
    reach = welch_reach(first, len(before) - 1, second, len(after) - 1)
    return difference - reach, difference + reach


def mover(before: Estimate, after: Estimate) -> tuple[float, float]:
    """The interval of a difference, from two intervals that were measured separately; none between exact numbers.

    The MOVER method (Zou & Donner, Statistics in Medicine 2008): the lower end is as far below the difference as the
    lower arm of one interval and the upper arm of the other, combined as the legs of a right triangle. It keeps
    asymmetric intervals asymmetric, and holds for independent estimates; where both rise and fall with the same texts
    it is too wide rather than too narrow.

    >>> [round(end, 3) for end in mover(Estimate(0.2, 0.1, 0.3), Estimate(0.9, 0.5, 1.0))]
    [0.288, 0.841]
    """
    if before.exact and after.exact:
        return math.nan, math.nan
    difference = after.value - before.value
    (before_down, before_up), (after_down, after_up) = before.arms, after.arms
    low, high = difference - np.hypot(after_down, before_up), difference + np.hypot(after_up, before_down)
    return float(low), float(high)


def dependent_mean(estimates: Sequence[Estimate]) -> Estimate:
    """The mean of several estimates, with the mean of their intervals.

    Heads of one model read the same words, so their errors need not cancel: the interval extends as far as if they all
    rose and fell together, which is too wide rather than too narrow.
    """
    mean = float(np.mean([estimate.value for estimate in estimates]))
    down, up = (float(np.mean([estimate.arms[side] for estimate in estimates])) for side in (0, 1))
    return Estimate(mean, mean - down, mean + up, exact=all(estimate.exact for estimate in estimates))


def jackknife(value_H: np.ndarray, others_GH: np.ndarray, ends: tuple[float, float]) -> tuple[np.ndarray, np.ndarray]:
    """How far a value moves when one group of texts is left out, within `ends`. Groups are few, so Student's t."""
    groups = len(others_GH)
    if groups < 2:
        return np.full_like(value_H, np.nan), np.full_like(value_H, np.nan)
    reach_H = stdtrit(groups - 1, (1 + LEVEL) / 2) * np.sqrt((groups - 1) * others_GH.var(0))
    return np.clip(value_H - reach_H, *ends), np.clip(value_H + reach_H, *ends)


def with_rule_of_three(low: float, high: float, count: int) -> tuple[float, float]:
    """The interval of a share or of a difference of shares, also where all examples agree and a bootstrap has none.

    >>> with_rule_of_three(0.2, 0.4, 30), with_rule_of_three(1.0, 1.0, 30)
    ((0.2, 0.4), (0.9, 1.1))
    """
    reach = RULE_OF_THREE / count if low == high else 0.0
    return low - reach, high + reach
