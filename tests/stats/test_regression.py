"""Ridge regression and R² against plain loops and a general minimiser."""

import math

import numpy as np
import pytest

from wherewhat.stats.regression import r_squared, r_squared_estimate, ridge


def data(seed: int = 0, count: int = 40, width: int = 5) -> tuple[np.ndarray, np.ndarray]:
    draw = np.random.default_rng(seed)
    x_ND = draw.normal(size=(count, width)) * [1, 2, 0.5, 3, 1] + 4
    y_NY = np.stack([x_ND @ draw.normal(size=width) + draw.normal(size=count), draw.normal(size=count)], axis=1)
    return x_ND, y_NY


@pytest.mark.parametrize("penalty", [0.0, 1e-3, 0.7])
def test_ridge_has_no_slope_where_it_ends(penalty: float) -> None:
    """The penalised squared error, written as a loop, does not change to first order in any weight or intercept."""
    x_ND, y_NY = data()
    fit = ridge(x_ND, y_NY, penalty=penalty)
    means = [sum(column) / len(column) for column in x_ND.T]
    trace = sum((value - mean) ** 2 for column, mean in zip(x_ND.T, means, strict=True) for value in column)
    strength = penalty * trace / x_ND.shape[1]
    for target in range(2):
        weights, intercept = fit.weight_DY[:, target], fit.intercept_Y[target]
        errors = [
            intercept + sum(w * v for w, v in zip(weights, x, strict=True)) - y
            for x, y in zip(x_ND, y_NY[:, target], strict=True)
        ]
        assert sum(errors) == pytest.approx(0, abs=1e-9)
        for channel, weight in enumerate(weights):
            slope = sum(error * x[channel] for error, x in zip(errors, x_ND, strict=True)) + strength * weight
            assert slope == pytest.approx(0, abs=1e-8)


def test_the_penalty_does_not_depend_on_the_unit_or_the_place_of_the_columns() -> None:
    x_ND, y_NY = data()
    here, elsewhere = ridge(x_ND, y_NY), ridge(1000 * x_ND - 7, y_NY)
    np.testing.assert_allclose(elsewhere.predict(1000 * x_ND - 7), here.predict(x_ND), rtol=1e-9)


def test_more_columns_than_samples_and_constant_columns_have_an_answer() -> None:
    x_ND, y_NY = data(count=3)
    assert np.isfinite(ridge(x_ND, y_NY).predict(x_ND)).all()
    constant = ridge(np.ones((4, 3)), np.arange(4.0)[:, None])
    np.testing.assert_allclose(constant.predict(np.ones((2, 3))), 1.5)


def test_r_squared_is_the_explained_share() -> None:
    y, predicted = [1.0, 2.0, 4.0, 9.0], [1.5, 2.0, 3.0, 8.0]
    mean = sum(y) / 4
    expected = 1 - sum((a - b) ** 2 for a, b in zip(y, predicted, strict=True)) / sum((a - mean) ** 2 for a in y)
    assert r_squared(np.array(y), np.array(predicted)) == pytest.approx(expected, rel=1e-12)
    assert r_squared(np.array(y), np.full(4, mean)) == pytest.approx(0)
    assert r_squared(np.array(y), np.full(4, 100.0)) < -100
    assert math.isnan(r_squared(np.ones(3), np.ones(3)))


def test_the_interval_is_that_of_resampled_texts() -> None:
    draw = np.random.default_rng(3)
    y_N, text_N = draw.normal(size=60), np.repeat(np.arange(12), 5)
    predicted_N = y_N + 0.5 * draw.normal(size=60)
    estimate = r_squared_estimate(y_N, predicted_N, text_N, seed=1)
    values = []
    for counts in np.random.default_rng(1).multinomial(12, np.full(12, 1 / 12), size=1000):
        rows = [
            row for text, times in enumerate(counts) for _ in range(times) for row in np.flatnonzero(text_N == text)
        ]
        values.append(r_squared(y_N[rows], predicted_N[rows]))
    assert (estimate.low, estimate.high) == pytest.approx(tuple(np.quantile(values, [0.025, 0.975])), abs=1e-9)
    assert estimate.value == r_squared(y_N, predicted_N)
    assert math.isnan(r_squared_estimate(y_N, predicted_N, np.zeros(60, dtype=np.int64)).low)
