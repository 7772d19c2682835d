"""A mean over rows and how sure it is: sentences are drawn again, and rows of a sentence stay together."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import erfc, sqrt

import numpy as np
from numpy.typing import NDArray

from wherewhat.probing.bootstrap import Counts, ends_of

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Estimate:
    """A number with its 95 % interval, and how many rows stand behind it."""

    value: float
    low: float
    high: float
    count: int


def by_sentence(values_NX: NDArray[np.generic], sentence_N: Ints) -> tuple[Ints, Ints, Floats]:
    """The sentences that have rows, how many each, and the sums of their values; rows come sentence by sentence."""
    sentences_S, first_S, rows_S = np.unique(sentence_N, return_index=True, return_counts=True)
    return sentences_S, rows_S, np.add.reduceat(values_NX.astype(np.float64), first_S, axis=0)


def replicates(values_NX: NDArray[np.generic], sentence_N: Ints, count_BS: Counts) -> Floats:
    """The mean of every column in every replicate; NaN where none of its sentences was drawn."""
    sentences_S, rows_S, sum_SX = by_sentence(values_NX, sentence_N)
    drawn_BS = count_BS[:, sentences_S]
    with np.errstate(invalid="ignore", divide="ignore"):
        means: Floats = (drawn_BS @ sum_SX) / (drawn_BS @ rows_S)[:, None]
    return means


def estimates(values_NX: NDArray[np.generic], sentence_N: Ints, count_BS: Counts) -> list[Estimate]:
    """The mean of every column with its interval; one resample of sentences serves all of them."""
    low_X, high_X = ends_of(replicates(values_NX, sentence_N, count_BS))
    mean_X = values_NX.astype(np.float64).mean(0)
    ends = zip(mean_X.tolist(), low_X.tolist(), high_X.tolist(), strict=True)
    return [Estimate(*one, len(values_NX)) for one in ends]


def estimate(values_N: NDArray[np.generic], sentence_N: Ints, count_BS: Counts) -> Estimate:
    """The mean of one column with its interval."""
    return estimates(values_N[:, None], sentence_N, count_BS)[0]


def chance_of_none(differences_N: NDArray[np.generic], sentence_N: Ints) -> float:
    """How probable a difference as large as this is if it were none: signs of whole sentences may flip (two-sided).

    The sum over sentences under random signs is nearly normal. A bootstrap of 1,000 could not tell small ones apart.
    """
    _, _, sum_S1 = by_sentence(differences_N[:, None], sentence_N)
    size = sqrt(float((sum_S1**2).sum()))
    return 1.0 if size == 0 else erfc(abs(float(sum_S1.sum())) / size / sqrt(2))


def holm(chances: Sequence[float]) -> list[float]:
    """The same after Holm's correction for asking several times: below .05, less than one in twenty such lists errs.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    corrected, worst = [0.0] * len(chances), 0.0
    for before, at in enumerate(sorted(range(len(chances)), key=chances.__getitem__)):
        worst = max(worst, min(1.0, (len(chances) - before) * chances[at]))
        corrected[at] = worst
    return corrected
