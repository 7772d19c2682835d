"""Whether two numbers go together over encodings: correlations with intervals, also with a third one held still."""

import math
from collections.abc import Sequence

import numpy as np
from scipy.stats import norm, rankdata

from wherewhat.profiling.accumulate import draws
from wherewhat.studies.intervals import SURE
from wherewhat.studies.locality.estimate import Estimate, over_seeds

FEWEST = 4  # points below which a correlation says nothing
MANY = 20  # points from which resampling them gives a fair interval; with fewer it is Fisher's
STILL = 1e-12  # a spread below this is none


def pearson(x: Sequence[float], y: Sequence[float], *, seed: int) -> Estimate:
    """How closely y lies to a line over x.

    >>> pearson([1, 2, 3, 4, 5], [2, 1, 4, 3, 5], seed=0).plain()
    '+0.80 (−0.28 to +0.99)'
    """
    return _correlation(np.array([x, y], dtype=float), held=0, widened=False, seed=seed)


def spearman(x: Sequence[float], y: Sequence[float], *, seed: int) -> Estimate:
    """How closely y rises with x, whatever the shape: the correlation of ranks."""
    return _correlation(np.array([rankdata(x), rankdata(y)]), held=0, widened=True, seed=seed)


def partial(x: Sequence[float], y: Sequence[float], given: Sequence[float], *, seed: int) -> Estimate:
    """The correlation of what is left of x and y once a line over `given` is taken away from both."""
    return _correlation(np.array([x, y, given], dtype=float), held=1, widened=False, seed=seed)


def slope(x: Sequence[float], ys: Sequence[Sequence[float]]) -> Estimate:
    """How much y grows with x along the best line, one line for each seed and the interval over seeds.

    >>> slope([0, 1, 2], [[0, 1, 2], [0, 2, 4], [1, 4, 7]]).plain()
    '+2.00 (−0.48 to +4.48)'
    """
    if len(x) < 2:
        return Estimate()
    away_P = np.array(x, dtype=float) - np.mean(x)
    if (spread := float(away_P @ away_P)) < STILL:
        return Estimate()
    return over_seeds([float(away_P @ np.array(y, dtype=float)) / spread for y in ys])


def _correlation(points_VP: np.ndarray, *, held: int, widened: bool, seed: int) -> Estimate:
    """The correlation of the first two variables, with the others held still."""
    points_VP = points_VP[:, np.isfinite(points_VP).all(0)]
    count = points_VP.shape[1]
    if count < FEWEST + held:
        return Estimate()
    value = float(_weighted(points_VP, np.ones((1, count)))[0])
    if not math.isfinite(value):
        return Estimate()
    if count < MANY:
        return Estimate(value, *_fisher(value, count - held, widened))
    drawn_R = _weighted(points_VP, draws(count, seed).astype(float))
    low, high = np.quantile(drawn_R[np.isfinite(drawn_R)], [(1 - SURE) / 2, (1 + SURE) / 2])
    return Estimate(value, float(low), float(high))


def _fisher(value: float, count: int, widened: bool) -> tuple[float, float]:
    """Fisher's interval; ranks vary a little more (Bonett and Wright 2000)."""
    inside = min(max(value, -1 + 1e-9), 1 - 1e-9)
    error = math.sqrt((1 + inside**2 / 2 if widened else 1) / (count - 3))
    reach = float(norm.ppf((1 + SURE) / 2)) * error
    return math.tanh(math.atanh(inside) - reach), math.tanh(math.atanh(inside) + reach)


def _weighted(points_VP: np.ndarray, weight_RP: np.ndarray) -> np.ndarray:
    """value_R: the (partial) correlation when every point counts so often."""
    total_R = weight_RP.sum(1)
    mean_RV = weight_RP @ points_VP.T / total_R[:, None]
    product_RVV = np.einsum("rp,vp,wp->rvw", weight_RP, points_VP, points_VP) / total_R[:, None, None]
    spread_RVV = product_RVV - mean_RV[:, :, None] * mean_RV[:, None, :]
    for _ in range(len(points_VP) - 2):  # what a line over the last variable explains is taken from all others
        spread_RVV = _without_last(spread_RVV)
    with np.errstate(invalid="ignore", divide="ignore"):
        own_R = spread_RVV[:, 0, 0] * spread_RVV[:, 1, 1]
        value_R: np.ndarray = spread_RVV[:, 0, 1] / np.sqrt(np.where(own_R > STILL**2, own_R, np.nan))
    return value_R.clip(-1, 1)


def _without_last(spread_RVV: np.ndarray) -> np.ndarray:
    """The spread that is left of all variables but the last when that one is held still."""
    with np.errstate(invalid="ignore", divide="ignore"):
        last_R = np.where(spread_RVV[:, -1, -1] > STILL, spread_RVV[:, -1, -1], np.nan)
        explained_RVV = spread_RVV[:, :-1, -1:] * spread_RVV[:, -1:, :-1] / last_R[:, None, None]
    left_RVV: np.ndarray = spread_RVV[:, :-1, :-1] - explained_RVV
    return left_RVV
