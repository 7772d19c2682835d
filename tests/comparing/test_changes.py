"""By how much numbers changed: known answers, an independent library, and intervals that hold what they should."""

import numpy as np
import pytest
from scipy import stats

from wherewhat.comparing.change_rows import change_between, change_over_heads
from wherewhat.stats.estimate import Estimate
from wherewhat.stats.intervals import student_over_heads

NAN = float("nan")


def test_two_normal_means_get_the_interval_of_their_difference():
    """Of symmetric intervals the MOVER method is the usual one: reaches are the sides of a right angle."""
    change = change_between(Estimate(1.0, 0.7, 1.3), Estimate(3.0, 2.6, 3.4))
    assert (change.before, change.after, change.change) == (1.0, 3.0, 2.0)
    assert (change.low, change.high) == (pytest.approx(1.5), pytest.approx(2.5)), "3, 4, 5"


def test_a_lopsided_interval_stays_lopsided():
    change = change_between(Estimate(0.5, 0.5, 0.5), Estimate(0.9, 0.6, 0.95))
    assert (change.low, change.high) == (pytest.approx(0.1), pytest.approx(0.45))
    turned = change_between(Estimate(0.9, 0.6, 0.95), Estimate(0.5, 0.5, 0.5))
    assert (turned.low, turned.high) == (pytest.approx(-0.45), pytest.approx(-0.1)), "and turns round with its sides"


def test_what_is_exact_needs_no_interval_and_what_has_none_gets_none():
    exact = change_between(Estimate(0.2, exact=True), Estimate(0.7, exact=True))
    assert exact.change == pytest.approx(0.5) and np.isnan([exact.low, exact.high]).all()
    half = change_between(Estimate(0.2, 0.1, 0.3), Estimate(0.7, exact=True))
    assert (half.low, half.high) == (pytest.approx(0.4), pytest.approx(0.6)), "an exact side adds nothing"
    assert np.isnan(change_between(Estimate(0.2, 0.1, 0.3), Estimate(0.7)).low), "from a single text nothing is known"


def test_the_interval_of_a_difference_holds_it_as_often_as_it_says():
    generator, held, tries, count = np.random.default_rng(0), 0, 600, 12
    for _ in range(tries):
        sides = [generator.normal(mean, 1.0, count) for mean in (0.0, 0.4)]
        change = change_between(*(student_over_heads(side) for side in sides))
        held += change.low <= 0.4 <= change.high
    assert 0.93 < held / tries < 0.99


@pytest.mark.parametrize("same_heads", [True, False])
def test_means_over_heads_agree_with_scipy(same_heads: bool):
    generator = np.random.default_rng(1)
    before_H = generator.normal(0.2, 0.05, 9)
    after_H = before_H + generator.normal(0.1, 0.2, 9)
    ours = change_over_heads(before_H.tolist(), after_H.tolist(), same_heads=same_heads)
    test = stats.ttest_rel(after_H, before_H) if same_heads else stats.ttest_ind(after_H, before_H, equal_var=False)
    theirs = test.confidence_interval(0.95)
    assert (ours.low, ours.high) == (pytest.approx(theirs.low, rel=1e-12), pytest.approx(theirs.high, rel=1e-12))
    assert ours.change == pytest.approx((after_H - before_H).mean())


def test_heads_that_all_move_alike_are_sure_only_if_they_are_the_same_heads():
    before_H, after_H = [0.1, 0.5, 0.9], [0.2, 0.6, 1.0]
    same = change_over_heads(before_H, after_H, same_heads=True)
    assert (same.low, same.high) == (pytest.approx(0.1), pytest.approx(0.1))
    apart = change_over_heads(before_H, after_H, same_heads=False)
    assert apart.low < 0 < apart.high and apart.change == pytest.approx(0.1)


def test_one_head_has_no_interval_and_heads_without_spread_have_none_to_show():
    assert np.isnan(change_over_heads([0.1], [0.4], same_heads=True).low)
    still = change_over_heads([0.5, 0.5], [0.75, 0.75], same_heads=False)
    assert (still.low, still.change, still.high) == (0.25, 0.25, 0.25)
