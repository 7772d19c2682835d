"""How sure a number over sentences is: the same sentences drawn again and again, once for all numbers of a probe."""

import numpy as np
from numpy.typing import NDArray

from wherewhat.tasks.stream import Stream

TIMES = 1000
OUTSIDE = 0.025  # the share of replicates left out at each end of an interval
LEAST = 30  # cases below which an interval over cases says too little for a verdict
RULE_OF_THREE = 3  # of n cases that all did the same, up to 3 / n of all others may do otherwise (95 %)

Counts = NDArray[np.float64]  # count_BN: how often each of N sentences is in each of B replicates
Values = NDArray[np.float64]


def draws(seed: int, name: str, n: int, times: int = TIMES) -> Counts:
    """How often each sentence is in each replicate: [times, n], each row drawn with replacement.

    The stream is named, so that anybody can draw the same sentences again.

    >>> draws(1, "demo", 3, times=2)
    array([[0., 2., 1.],
           [1., 1., 1.]])
    """
    drawn_BN = Stream(seed, "bootstrap", name).many_below(n, n * times).reshape(times, n)
    flat = drawn_BN + n * np.arange(times)[:, None]
    return np.bincount(flat.ravel(), minlength=n * times).reshape(times, n).astype(np.float64)


def ends(values_B: Values) -> tuple[float, float]:
    """The 95 % interval of what replicates gave: of 1,000 the 25th and the 975th, counted from 1.

    Replicates without a value (NaN, where nothing was drawn that counts) are left out; with none left there is no
    interval.

    >>> ends(np.arange(1.0, 1001.0))
    (25.0, 975.0)
    """
    low_1, high_1 = ends_of(values_B[:, None])
    return float(low_1[0]), float(high_1[0])


def to_judge_by(low: float, high: float, count: int) -> tuple[float, float]:
    """The interval of a share or of a difference of shares. Cases that all did the same draw none: rule of three.

    >>> to_judge_by(0.2, 0.4, 30), to_judge_by(1.0, 1.0, 30)
    ((0.2, 0.4), (0.9, 1.1))
    """
    reach = RULE_OF_THREE / count if low == high else 0.0
    return low - reach, high + reach


def ends_of(values_BX: Values) -> tuple[Values, Values]:
    """The same of every column."""
    sorted_BX = np.sort(values_BX, axis=0)  # NaN comes last
    known_X = np.isfinite(values_BX).sum(0)
    low_X, high_X = (_entry(sorted_BX, known_X, share) for share in (OUTSIDE, 1 - OUTSIDE))
    return low_X, high_X


def _entry(sorted_BX: Values, known_X: NDArray[np.int64], share: float) -> Values:
    """The entry below which such a share of the known ones lies, itself included; NaN, which is last, if none is."""
    at_X = np.maximum(np.rint(share * known_X).astype(np.int64) - 1, 0)
    found: Values = np.take_along_axis(sorted_BX, at_X[None], axis=0)[0]
    return found
