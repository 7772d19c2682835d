"""How near row sums are to a straight line over their slots."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

ROUNDING = 1e-5  # of sums in float32, relative to their size


def linear_r_squared(sums_XS: NDArray[np.floating[Any]]) -> NDArray[np.float64]:
    """R² of a linear fit over slots, of every row; 0 where the sums are the same but for rounding.

    >>> linear_r_squared(np.array([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0], [0.0, 1.0, 0.0], [1.0, 1.0, 1.0]])).tolist()
    [1.0, 1.0, 0.0, 0.0]
    """
    slots_S = np.arange(sums_XS.shape[-1]) - (sums_XS.shape[-1] - 1) / 2
    centred_XS = sums_XS - sums_XS.mean(-1, keepdims=True)
    constant_X = np.ptp(sums_XS, axis=-1) <= ROUNDING * np.abs(sums_XS).max(-1)
    variance_X = np.where(constant_X, np.inf, (centred_XS**2).sum(-1))
    explained_X = (centred_XS @ slots_S) ** 2 / (slots_S**2).sum()
    return np.asarray(explained_X / variance_X)
