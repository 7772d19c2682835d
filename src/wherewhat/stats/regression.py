"""Linear regression with a penalty (ridge), and how much of the variance of held-out values it explains."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wherewhat.stats.bootstrap import draws, quantiles
from wherewhat.stats.estimate import Estimate

PENALTY = 1e-3  # relative to the mean variance of the columns
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class LinearFit:
    """A linear function of D numbers, with an intercept, for each of Y targets."""

    weight_DY: Floats
    intercept_Y: Floats

    def predict(self, x_ND: Floats) -> Floats:
        """y_NY for some samples."""
        predicted_NY: Floats = x_ND @ self.weight_DY + self.intercept_Y
        return predicted_NY


def ridge(x_ND: Floats, y_NY: Floats, *, penalty: float = PENALTY) -> LinearFit:
    """Fit all targets at once. The penalty is a multiple of trace / D of the scatter matrix; the intercept has none.

    >>> fit = ridge(np.array([[0.0], [1.0], [2.0]]), np.array([[1.0], [3.0], [5.0]]), penalty=0)
    >>> fit.predict(np.array([[3.0]])).round(6).item()
    7.0
    """
    mean_D, mean_Y = x_ND.mean(0), y_NY.mean(0)
    x_ND, y_NY = x_ND - mean_D, y_NY - mean_Y
    scatter_DD, width = x_ND.T @ x_ND, x_ND.shape[1]
    strength = penalty * np.trace(scatter_DD) / width
    if np.trace(scatter_DD) == 0:  # the columns are constant, and nothing can be told from them
        weight_DY = np.zeros((width, y_NY.shape[1]))
    else:
        weight_DY = np.linalg.solve(scatter_DD + strength * np.eye(width), x_ND.T @ y_NY)
    return LinearFit(weight_DY, mean_Y - mean_D @ weight_DY)


def r_squared(y_N: Floats, predicted_N: Floats) -> float:
    """1 minus the squared error over that of the mean of these values: 1 is exact, 0 no better than the mean.

    Values that were not used to fit may be predicted worse than by their mean; then it is negative. NaN if all values
    are the same.

    >>> r_squared(np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, 3.0])), r_squared(np.zeros(2), np.ones(2))
    (1.0, nan)
    """
    spread = float(((y_N - y_N.mean()) ** 2).sum())
    return 1 - float(((y_N - predicted_N) ** 2).sum()) / spread if spread > 0 else float("nan")


def r_squared_estimate(y_N: Floats, predicted_N: Floats, text_N: NDArray[np.int64], *, seed: int = 0) -> Estimate:
    """R² with an interval by resampling whole texts; `text_N` is the number of each value's text, counted from 0."""
    value, texts = r_squared(y_N, predicted_N), int(text_N.max()) + 1
    if texts < 2 or np.isnan(value):
        return Estimate(value)
    columns = (np.ones_like(y_N), y_N, y_N**2, (y_N - predicted_N) ** 2)
    sums_X4 = np.stack([np.bincount(text_N, column, minlength=texts) for column in columns], axis=1)
    count_R, sum_R, square_R, error_R = (draws(texts, seed) @ sums_X4).T
    spread_R = square_R - sum_R**2 / count_R
    some_R = spread_R > 1e-9 * square_R  # a resample of texts that are all alike has no variance to explain
    return Estimate(value, *quantiles((1 - error_R / np.where(some_R, spread_R, 1.0))[some_R]))
