"""Ranks, and the plain rank correlation without an interval: all that a page needs, without SciPy."""

from collections.abc import Sequence

import numpy as np
import polars as pl


def ranks(values: Sequence[float] | np.ndarray) -> np.ndarray:
    """The rank of every value from 1, ties at their mean; NaN everywhere if one of them is.

    >>> ranks([0.5, 0.1, 0.5]).tolist()
    [2.5, 1.0, 2.5]
    """
    column = np.asarray(values, dtype=float)
    if np.isnan(column).any():
        return np.full(len(column), np.nan)
    return pl.Series(column).rank("average").to_numpy()


def rank_correlation(x: Sequence[float | None], y: Sequence[float | None]) -> float | None:
    """Spearman's rho over the points that have both values; None where one of the two is constant.

    >>> rank_correlation([1, 2, 3, None], [10, 20, 30, 0]), rank_correlation([1, 1], [1, 2])
    (1.0, None)
    """
    points = [(a, b) for a, b in zip(x, y, strict=True) if a is not None and b is not None]
    columns = [np.array(column, dtype=float) for column in zip(*points, strict=True)]
    if min((len(np.unique(column)) for column in columns), default=0) < 2:
        return None
    return float(np.corrcoef(np.column_stack([ranks(column) for column in columns]), rowvar=False)[1, 0])


def reciprocal_ranks(scores_M: Sequence[float] | np.ndarray, *, ties: str = "average") -> np.ndarray:
    """One over the rank of every score, the highest first.

    Equal scores share the mean of their ranks, or, with `ties="first"`, have ranks in the order in which they stand.

    >>> reciprocal_ranks([0.9, 0.5, 0.5]).tolist(), reciprocal_ranks([0.5, 0.9, 0.5], ties="first").tolist()
    ([1.0, 0.4, 0.4], [0.5, 1.0, 0.3333333333333333])
    """
    scores = np.asarray(scores_M, dtype=float)
    if ties == "first":
        places = np.empty(len(scores))
        places[np.argsort(-scores, kind="stable")] = np.arange(1, len(scores) + 1)
        return 1 / places
    return 1 / ranks(-scores)
