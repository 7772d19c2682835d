"""How sure a number is: of a share that was counted, and of a mean over runs or texts."""

from collections.abc import Sequence
from math import sqrt
from statistics import fmean, stdev

from scipy import stats

SURE = 0.95


def of_share(share: float, count: int) -> tuple[float, float]:
    """The 95 % interval of a share that was counted in so many cases (Wilson's, which never leaves 0 to 1).

    >>> [round(end, 3) for end in of_share(1.0, 100)]
    [0.963, 1.0]
    """
    z = float(stats.norm.ppf((1 + SURE) / 2))
    middle, reach = share + z * z / (2 * count), z * sqrt(share * (1 - share) / count + (z / (2 * count)) ** 2)
    low, high = ((middle + side * reach) / (1 + z * z / count) for side in (-1, 1))
    return max(0.0, low), min(1.0, high)


def of_mean(values: Sequence[float]) -> tuple[float, float, float]:
    """Mean of at least two values with its 95 % interval (Student's t): two say little, and the interval shows it.

    >>> [round(number, 2) for number in of_mean([0.8, 0.9, 1.0])]
    [0.9, 0.65, 1.15]
    """
    mean, error = fmean(values), stdev(values) / sqrt(len(values))
    reach = float(stats.t.ppf((1 + SURE) / 2, len(values) - 1)) * error
    return mean, mean - reach, mean + reach
