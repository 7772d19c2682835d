"""Intervals by resampling whole texts, heads, sentences or examples with replacement.

Two generators serve two kinds of results. Profiles, edits and studies draw from numpy's generator and interpolate
quantiles (`draws`, `quantile_interval`). Probes draw from a named stream, so that the same sentences can be drawn
again in any language, and take entries of the sorted replicates (`named_draws`, `ranked_interval`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from wherewhat.stats.estimate import LEVEL, Estimate
from wherewhat.tasks.stream import Stream

RESAMPLES = 1000
LEAST = 30  # examples below which an interval over examples says too little for a verdict

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Counts = Floats  # count_BN: how often each of N sentences is in each of B replicates


def ratio(draws_RN: np.ndarray, sums_N: np.ndarray, weights_N: np.ndarray) -> np.ndarray:
    """The weighted mean of every resample, by column if there are several; NaN where nothing that counts was drawn."""
    with np.errstate(invalid="ignore", divide="ignore"):
        means: np.ndarray = (draws_RN @ sums_N) / (draws_RN @ weights_N)
    return means


# Numpy's generator, and quantiles between neighbours --------------------------------------------------------------


@lru_cache(maxsize=8)  # many intervals rest on the same draws
def draws(count: int, seed: int, resamples: int = RESAMPLES) -> np.ndarray:
    """draws_RN: how often each resample takes each of so many texts or heads."""
    draws_RN = np.random.default_rng(seed).multinomial(count, np.full(count, 1 / count), size=resamples)
    draws_RN.setflags(write=False)
    return draws_RN


def quantiles(drawn: np.ndarray) -> tuple[float, float]:
    """The 95 % interval of what resamples gave."""
    low, high = np.quantile(drawn, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)


def quantile_interval(means_RH: np.ndarray, texts_H: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """low_H and high_H of what resamples gave for every head; a single text gives no interval."""
    if np.isfinite(means_RH).all() and (texts_H > 1).all():
        low_H, high_H = np.quantile(means_RH, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
        return low_H, high_H
    low_H, high_H = np.full(means_RH.shape[1], np.nan), np.full(means_RH.shape[1], np.nan)
    for head in np.flatnonzero(texts_H > 1):
        low_H[head], high_H[head] = quantiles(means_RH[:, head][np.isfinite(means_RH[:, head])])
    return low_H, high_H


@dataclass(frozen=True)
class Resampling:
    """Resamples whole texts, all windows of a text together."""

    origins: tuple[int, ...]  # of every window, the number of the text it was cut from
    seed: int

    @cached_property
    def draws_RN(self) -> np.ndarray:
        """How often each resample takes each window."""
        draws_RX = draws(max(self.origins) + 1, self.seed)
        return np.asarray(draws_RX[:, list(self.origins)])

    def texts(self, known_NH: np.ndarray) -> np.ndarray:
        """texts_H: how many texts have a window with a value."""
        belongs_XN = np.arange(max(self.origins) + 1)[:, None] == np.array(self.origins)
        return np.asarray((belongs_XN @ known_NH > 0).sum(0))


# A named stream, and entries of sorted replicates -----------------------------------------------------------------


def named_draws(seed: int, name: str, n: int, times: int = RESAMPLES) -> Counts:
    """How often each sentence is in each replicate: [times, n], each row drawn with replacement.

    >>> named_draws(1, "demo", 3, times=2)
    array([[0., 2., 1.],
           [1., 1., 1.]])
    """
    drawn_BN = Stream(seed, "bootstrap", name).many_below(n, n * times).reshape(times, n)
    flat = drawn_BN + n * np.arange(times)[:, None]
    return np.bincount(flat.ravel(), minlength=n * times).reshape(times, n).astype(np.float64)


@dataclass(frozen=True)
class NamedResampling:
    """Resamples examples: the same draws for every number that rests on as many examples of the same data."""

    seed: int
    name: str

    def counts(self, n: int) -> Counts:
        """count_BN, how often each example is in each replicate."""
        return _kept_draws(self.seed, self.name, n)


_kept_draws = lru_cache(maxsize=8)(named_draws)


def ranked_interval(values_B: Floats) -> tuple[float, float]:
    """The 95 % interval of what replicates gave: of 1,000 the 25th and the 975th, counted from 1.

    Replicates without a value (NaN, where nothing that counts was drawn) are left out; if none is left there is no
    interval.

    >>> ranked_interval(np.arange(1.0, 1001.0))
    (25.0, 975.0)
    """
    low_1, high_1 = ranked_intervals(values_B[:, None])
    return float(low_1[0]), float(high_1[0])


def ranked_intervals(values_BX: Floats) -> tuple[Floats, Floats]:
    """The same for every column."""
    sorted_BX = np.sort(values_BX, axis=0)  # NaN comes last
    known_X = np.isfinite(values_BX).sum(0)
    outside = 0.025  # the share of replicates left out at each end

    def entry(share: float) -> Floats:
        """The entry below which such a share of the known ones is, itself included; NaN, which is last, if none is."""
        at_X = np.maximum(np.rint(share * known_X).astype(np.int64) - 1, 0)
        return np.asarray(np.take_along_axis(sorted_BX, at_X[None], axis=0)[0])

    return entry(outside), entry(1 - outside)


# Means over rows, where whole sentences are resampled -------------------------------------------------------------


def by_sentence(values_NX: NDArray[np.generic], sentence_N: Ints) -> tuple[Ints, Ints, Floats]:
    """The sentences that have rows, how many each, and the sums of their values; rows come sentence by sentence."""
    sentences_S, first_S, rows_S = np.unique(sentence_N, return_index=True, return_counts=True)
    return sentences_S, rows_S, np.add.reduceat(values_NX.astype(np.float64), first_S, axis=0)


def replicates(values_NX: NDArray[np.generic], sentence_N: Ints, count_BS: Counts) -> Floats:
    """The mean of every column in every replicate; NaN where none of its sentences was drawn."""
    sentences_S, rows_S, sum_SX = by_sentence(values_NX, sentence_N)
    return ratio(count_BS[:, sentences_S], sum_SX, rows_S[:, None])


def estimates(values_NX: NDArray[np.generic], sentence_N: Ints, count_BS: Counts) -> list[Estimate]:
    """The mean of every column with its interval; one resample of sentences serves all of them."""
    mean_X = values_NX.astype(np.float64).mean(0)
    return _listed(mean_X, replicates(values_NX, sentence_N, count_BS), [len(values_NX)] * len(mean_X))


def estimate(values_N: NDArray[np.generic], sentence_N: Ints, count_BS: Counts) -> Estimate:
    """The mean of one column with its interval."""
    return estimates(values_N[:, None], sentence_N, count_BS)[0]


def sentence_estimates(value_SX: Floats, count_BS: Counts) -> list[Estimate]:
    """The mean of every column over the sentences that have a value, with its interval."""
    known_SX = np.isfinite(value_SX)
    filled_SX = np.where(known_SX, value_SX, 0.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean_X = filled_SX.sum(0) / known_SX.sum(0)
    return _listed(mean_X, ratio(count_BS, filled_SX, known_SX), known_SX.sum(0).tolist())


def _listed(mean_X: Floats, replicates_BX: Floats, counts: Sequence[int]) -> list[Estimate]:
    low_X, high_X = ranked_intervals(replicates_BX)
    columns = zip(mean_X.tolist(), low_X.tolist(), high_X.tolist(), counts, strict=True)
    return [Estimate(mean, low, high, count=count) for mean, low, high, count in columns]
