"""Whether two numbers rise together: correlations, of values or of ranks, with the interval that fits the data.

- `pearson`, `spearman`, `partial`, `slope`: points are conditions of a study. Fisher's interval for few points, a
  bootstrap over points for many.
- `pearson_fisher`: points are treebanks or relations; Fisher's interval always.
- `spearman_over_heads`: several points come from one head, so the bootstrap resamples whole heads.

The number alone is `ranks.rank_correlation`.
"""

import math
from collections.abc import Sequence

import numpy as np

from wherewhat.stats.bootstrap import draws, quantiles
from wherewhat.stats.estimate import Estimate
from wherewhat.stats.intervals import Z, over_seeds
from wherewhat.stats.ranks import ranks

FEWEST = 4  # points below which a correlation says nothing
MANY = 20  # points from which resampling them gives a fair interval; with fewer it is Fisher's
CONSTANT = 1e-12  # a spread below this is none
LEAST_HEADS = 3  # fewer heads give no interval
RESAMPLED_HEADS = 400  # resamples of whole heads


def pearson(x: Sequence[float], y: Sequence[float], *, seed: int) -> Estimate:
    """How closely y follows a line over x.

    >>> pearson([1, 2, 3, 4, 5], [2, 1, 4, 3, 5], seed=0).plain()
    '+0.80 (−0.28 to +0.99)'
    """
    return _correlation(np.array([x, y], dtype=float), controlled=0, ranked=False, seed=seed)


def spearman(x: Sequence[float], y: Sequence[float], *, seed: int) -> Estimate:
    """How closely y rises with x, whatever the shape: the correlation of ranks."""
    return _correlation(np.array([ranks(x), ranks(y)]), controlled=0, ranked=True, seed=seed)


def partial(x: Sequence[float], y: Sequence[float], given: Sequence[float], *, seed: int) -> Estimate:
    """The correlation of what is left of x and y after regressing both on `given`."""
    return _correlation(np.array([x, y, given], dtype=float), controlled=1, ranked=False, seed=seed)


def slope(x: Sequence[float], ys: Sequence[Sequence[float]]) -> Estimate:
    """How much y grows with x along the best line: one line per seed, and the interval over seeds.

    >>> slope([0, 1, 2], [[0, 1, 2], [0, 2, 4], [1, 4, 7]]).plain()
    '+2.00 (−0.48 to +4.48)'
    """
    if len(x) < 2:
        return Estimate()
    away_P = np.array(x, dtype=float) - np.mean(x)
    if (spread := float(away_P @ away_P)) < CONSTANT:
        return Estimate()
    return over_seeds([float(away_P @ np.array(y, dtype=float)) / spread for y in ys])


def pearson_fisher(points: Sequence[tuple[float, float]]) -> Estimate:
    """Pearson's r with its interval by Fisher's z; no interval for fewer than four points, or points on a line.

    >>> pearson_fisher([(0, 0), (1, 2), (2, 1), (3, 3), (4, 5)]).plain()
    '+0.90 (+0.11 to +0.99)'
    """
    x, y = np.array(points, dtype=np.float64).T
    if np.ptp(x) == 0 or np.ptp(y) == 0:
        return Estimate()
    r = float(np.corrcoef(x, y)[0, 1])
    if len(points) < FEWEST or abs(r) >= 1:
        return Estimate(r)
    reach = Z / math.sqrt(len(points) - 3)
    return Estimate(r, math.tanh(math.atanh(r) - reach), math.tanh(math.atanh(r) + reach))


def spearman_over_heads(x: np.ndarray, y: np.ndarray, head_N: np.ndarray, *, seed: int) -> Estimate:
    """The correlation of ranks, to six digits; `head_N` is the layer and head of every point, and heads are resampled.

    Resamples are cheap, as they need no more than sums per head.
    """
    if len(x) < 3:
        return Estimate()
    x, y = ranks(x), ranks(y)
    x, y = x - x.mean(), y - y.mean()
    moments = np.stack([np.ones_like(x), x, y, x * x, y * y, x * y], axis=1)
    _, owner = np.unique(head_N, axis=0, return_inverse=True)
    heads = int(owner.max()) + 1
    sums = np.zeros((heads, moments.shape[1]))
    np.add.at(sums, owner.ravel(), moments)
    rho = float(_from_moments(sums.sum(0)[None])[0])
    drawn = _from_moments(draws(heads, seed, RESAMPLED_HEADS) @ sums)
    drawn = drawn[np.isfinite(drawn)]
    sure = heads >= LEAST_HEADS and len(drawn) > 0 and math.isfinite(rho)
    low, high = quantiles(drawn) if sure else (math.nan, math.nan)
    return Estimate(round(rho, 6), round(low, 6), round(high, 6))


def _from_moments(sums: np.ndarray) -> np.ndarray:
    """Pearson's correlation from count, sums and sums of products, one per row."""
    count, x, y, xx, yy, xy = sums.T
    with np.errstate(invalid="ignore", divide="ignore"):
        spread = (xx / count - (x / count) ** 2) * (yy / count - (y / count) ** 2)
        correlations: np.ndarray = (xy / count - x * y / count**2) / np.sqrt(
            np.where(spread > CONSTANT, spread, np.nan)
        )
    return correlations


def _correlation(points_VP: np.ndarray, *, controlled: int, ranked: bool, seed: int) -> Estimate:
    """The correlation of the first two variables, controlled for the others."""
    points_VP = points_VP[:, np.isfinite(points_VP).all(0)]
    count = points_VP.shape[1]
    if count < FEWEST + controlled:
        return Estimate()
    value = float(_weighted(points_VP, np.ones((1, count)))[0])
    if not math.isfinite(value):
        return Estimate()
    if count < MANY:
        inside = min(max(value, -1 + 1e-9), 1 - 1e-9)
        more = 1 + inside**2 / 2 if ranked else 1  # ranks vary a little more (Bonett and Wright 2000)
        reach = Z * math.sqrt(more / (count - controlled - 3))
        return Estimate(value, math.tanh(math.atanh(inside) - reach), math.tanh(math.atanh(inside) + reach))
    drawn_R = _weighted(points_VP, draws(count, seed).astype(float))
    return Estimate(value, *quantiles(drawn_R[np.isfinite(drawn_R)]))


def _weighted(points_VP: np.ndarray, weight_RP: np.ndarray) -> np.ndarray:
    """value_R: the (partial) correlation when every point counts so often."""
    total_R = weight_RP.sum(1)
    mean_RV = weight_RP @ points_VP.T / total_R[:, None]
    product_RVV = np.einsum("rp,vp,wp->rvw", weight_RP, points_VP, points_VP) / total_R[:, None, None]
    spread_RVV = product_RVV - mean_RV[:, :, None] * mean_RV[:, None, :]
    with np.errstate(invalid="ignore", divide="ignore"):
        for _ in range(len(points_VP) - 2):  # what a line over the last variable explains is taken from all others
            last_R = np.where(spread_RVV[:, -1, -1] > CONSTANT, spread_RVV[:, -1, -1], np.nan)
            explained_RVV = spread_RVV[:, :-1, -1:] * spread_RVV[:, -1:, :-1] / last_R[:, None, None]
            spread_RVV = spread_RVV[:, :-1, :-1] - explained_RVV
        own_R = spread_RVV[:, 0, 0] * spread_RVV[:, 1, 1]
        value_R: np.ndarray = spread_RVV[:, 0, 1] / np.sqrt(np.where(own_R > CONSTANT**2, own_R, np.nan))
    return value_R.clip(-1, 1)
