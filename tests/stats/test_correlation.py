"""Correlations beside those of SciPy, and their intervals."""

import math

import numpy as np
import pytest
from scipy import stats

from wherewhat.stats.correlation import MANY, partial, pearson, pearson_fisher, slope, spearman, spearman_over_heads
from wherewhat.stats.ranks import rank_correlation, ranks


def points(count: int) -> np.ndarray:
    x, given = np.random.default_rng(3).normal(size=(2, count))
    return np.array([x, x - 0.5 * given + np.random.default_rng(4).normal(size=count), given])


def left_of(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    line = np.polyfit(other, one, 1)
    return one - np.polyval(line, other)


@pytest.mark.parametrize("count", [6, MANY - 1, MANY, 50])
def test_correlations_are_those_of_scipy(count: int) -> None:
    x, y, given = points(count)
    assert pearson(x, y, seed=0).value == pytest.approx(stats.pearsonr(x, y).statistic, abs=1e-12)
    assert spearman(x, y, seed=0).value == pytest.approx(stats.spearmanr(x, y).statistic, abs=1e-12)
    expected = stats.pearsonr(left_of(x, given), left_of(y, given)).statistic
    assert partial(x, y, given, seed=0).value == pytest.approx(expected, abs=1e-10)


def test_few_points_have_fishers_interval_and_many_are_drawn_again() -> None:
    x, y, given = points(MANY - 1)
    theirs = stats.pearsonr(x, y).confidence_interval()
    ours = pearson(x, y, seed=0)
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=1e-9)
    assert spearman(x, y, seed=0).high - spearman(x, y, seed=0).low > 0
    held, z = partial(x, y, given, seed=0), math.atanh(partial(x, y, given, seed=0).value)
    assert held.low == pytest.approx(math.tanh(z - 1.959964 / math.sqrt(MANY - 1 - 1 - 3)), abs=1e-6)
    x, y, _ = points(60)
    drawn = np.random.default_rng(8).integers(0, 60, size=(2000, 60))
    again = [np.corrcoef(x[one], y[one])[0, 1] for one in drawn]
    ours = pearson(x, y, seed=0)
    assert (ours.low, ours.high) == pytest.approx(np.quantile(again, [0.025, 0.975]), abs=0.02)
    assert pearson(x, y, seed=0) == pearson(x, y, seed=0) != pearson(x, y, seed=1)


def test_what_does_not_vary_or_is_too_little_correlates_with_nothing() -> None:
    for found in (pearson([1.0] * 8, range(8), seed=0), pearson([1.0, 2.0, 3.0], [1.0, 2.0, 3.0], seed=0)):
        assert not found.known and found.side == 0 and found.numbers == (None, None, None)
    assert not slope([1.0, 1.0], [[1.0, 2.0]]).known and not slope([], []).known
    missing = pearson([1.0, 2.0, 3.0, 4.0, math.nan], [1.0, 2.0, 3.0, 5.0, 0.0], seed=0)
    assert missing == pearson([1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 3.0, 5.0], seed=0)


def test_a_slope_is_least_squares_seed_by_seed() -> None:
    x, ys = [0.1, 0.4, 0.9, 1.0], [[0.5, 0.6, 0.9, 0.8], [0.4, 0.7, 0.7, 0.9], [0.6, 0.6, 0.8, 0.8]]
    each = [np.polyfit(x, y, 1)[0] for y in ys]
    reach = stats.t.ppf(0.975, 2) * np.std(each, ddof=1) / math.sqrt(3)
    found = slope(x, ys)
    assert (found.value, found.low) == pytest.approx((np.mean(each), np.mean(each) - reach), abs=1e-12)


def test_correlations_of_few_or_equal_points():
    assert pearson_fisher([(0, 1), (1, 1), (2, 1)]).numbers == (None, None, None)
    few = pearson_fisher([(0, 0), (1, 1), (2, 5)])
    assert 0.9 < few.value < 1 and np.isnan(few.low) and np.isnan(few.high)
    assert pearson_fisher([(0, 0), (1, -1), (2, -2), (3, -3)]).value == pytest.approx(-1)


def test_a_rank_correlation_counts_ties_by_their_mean_rank():
    assert rank_correlation([1, 2, 2, 3], [1, 2, 3, 4]) == pytest.approx(0.9487, abs=1e-4)


def test_ranks_and_their_correlation_are_those_of_scipy():
    rng = np.random.default_rng(5)
    for _ in range(50):
        x, y = rng.integers(0, 6, 20) / 7, rng.normal(size=20)
        np.testing.assert_array_equal(ranks(x), stats.rankdata(x))
        assert rank_correlation(list(x), list(y)) == stats.spearmanr(x, y).statistic
    assert np.isnan(ranks([1.0, math.nan])).all()
    assert rank_correlation([None, 1.0], [2.0, None]) is None


def test_whole_heads_are_resampled():
    rng = np.random.default_rng(6)
    head_N = np.repeat(np.arange(12), 5)
    x = rng.normal(size=60)
    y = x + rng.normal(size=12)[head_N]  # what points of a head have in common
    by_head = spearman_over_heads(x, y, np.stack([head_N // 4, head_N % 4], 1), seed=0)
    by_point = spearman_over_heads(x, y, np.stack([np.arange(60), np.arange(60)], 1), seed=0)
    assert by_head.value == by_point.value == pytest.approx(stats.spearmanr(x, y).statistic, abs=1e-6)
    assert by_head.low < by_head.value < by_head.high
    assert spearman_over_heads(x[:2], y[:2], head_N[:2, None], seed=0).numbers == (None, None, None)
    two = spearman_over_heads(x[:10], y[:10], head_N[:10, None], seed=0)
    assert two.known and math.isnan(two.low), "two heads give no interval"
