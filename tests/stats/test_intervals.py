"""Intervals beside those of SciPy, and how often they hold what they should."""

import math

import numpy as np
import pytest
from scipy import stats

from wherewhat.stats.estimate import Estimate
from wherewhat.stats.intervals import (
    dependent_mean,
    jackknife,
    over_seeds,
    prediction,
    student,
    student_over_heads,
    wilson,
)


def test_an_estimate_says_how_sure_it_is() -> None:
    found = [Estimate(1, 0.5, 2), Estimate(-1, -2, -0.5), Estimate(1, -1, 2), Estimate(1)]
    assert [one.side for one in found] == [1, -1, 0, 0]
    assert over_seeds([0.5]).numbers == (0.5, None, None)
    assert not over_seeds([]).known and over_seeds([math.nan, 1.0]).value == 1.0
    assert Estimate(-0.0001, -0.00012, 0.00012).points() == "−0.01 points (−0.01 to +0.01)"
    assert Estimate(0.1, 1e-17, 0.2).side == 0 and Estimate(0.1, 1e-17, 0.2).plain() == "+0.10 (0.00 to +0.20)"


@pytest.mark.parametrize(("right", "count"), [(0, 20), (7, 20), (20, 20), (450, 1000)])
def test_the_interval_of_a_share_is_wilson_s(right: int, count: int) -> None:
    theirs = stats.binomtest(right, count).proportion_ci(method="wilson")
    assert wilson(right / count, count) == pytest.approx((theirs.low, theirs.high), abs=1e-12)


def test_the_interval_of_a_mean_is_student_s() -> None:
    values = [0.2, 0.5, 0.9]
    mean, low, high = student(values)
    theirs = stats.t.interval(0.95, 2, loc=np.mean(values), scale=stats.sem(values))
    assert (low, high) == pytest.approx(theirs, abs=1e-12)
    assert mean == pytest.approx(np.mean(values))


def test_intervals_over_seeds() -> None:
    assert over_seeds([0.2, 0.4]).numbers == pytest.approx((0.3, 0.3 - 1.2706, 0.3 + 1.2706), abs=1e-3)
    assert over_seeds([0.2, 0.4], within=(0, 1)).numbers == pytest.approx((0.3, 0, 1))
    assert np.isnan(over_seeds([0.5]).low)
    assert over_seeds([0.5, float("nan")]).value == 0.5


def test_student_of_draws():
    mean = student_over_heads(np.array([0.8, 0.9, 1.0]))
    theirs = stats.t.interval(0.95, 2, loc=0.9, scale=0.1 / np.sqrt(3))
    assert mean.value == pytest.approx(0.9) and (mean.low, mean.high) == pytest.approx(theirs)
    assert student_over_heads(np.array([0.3])).numbers == (0.3, None, None)


def test_the_mean_of_heads_is_as_sure_as_they_are_on_average():
    mean = dependent_mean([Estimate(0.2, 0.1, 0.4), Estimate(0.6, 0.5, 0.6)])
    assert (mean.value, mean.low, mean.high) == pytest.approx((0.4, 0.3, 0.5)) and not mean.exact
    half = dependent_mean([Estimate(0.2, 0.1, 0.4), Estimate(0.6, exact=True)])
    assert (half.low, half.high) == pytest.approx((0.35, 0.5)) and not half.exact
    assert dependent_mean([Estimate(0.2, exact=True), Estimate(0.6, exact=True)]).exact
    assert np.isnan(dependent_mean([Estimate(0.2, 0.1, 0.4), Estimate(0.6)]).low)


def test_one_more_draw_lies_where_it_is_said_to():
    generator, held, tries = np.random.default_rng(2), 0, 1000
    for _ in range(tries):
        *draws, one = generator.normal(0.0, 1.0, 4)
        interval = prediction(np.array(draws))
        held += interval.low <= one <= interval.high
    assert 0.93 < held / tries < 0.97
    assert prediction(np.array([0.3])).numbers == (0.3, None, None)


def test_the_jackknife_of_a_mean_is_students_interval():
    values_G = np.array([0.2, 0.5, 0.4, 0.9])
    others_G1 = ((values_G.sum() - values_G) / 3)[:, None]
    low_1, high_1 = jackknife(np.array([values_G.mean()]), others_G1, (-np.inf, np.inf))
    _, *theirs = student(values_G.tolist())
    assert (low_1[0], high_1[0]) == pytest.approx(tuple(theirs), abs=1e-12)
    assert jackknife(np.array([0.5]), others_G1, (0.0, 1.0))[1] <= 1.0
    assert np.isnan(jackknife(np.array([0.5]), others_G1[:1], (0.0, 1.0))).all(), "one group says nothing"
