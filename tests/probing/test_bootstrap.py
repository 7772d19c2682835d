"""Drawing sentences again: the worked numbers, and the plain loop that the quick one stands for."""

import json
from pathlib import Path

import numpy as np
import pytest

from wherewhat.probing.bootstrap import draws, ends, ends_of
from wherewhat.tasks.stream import Stream

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "probes.json").read_text())["bootstrap"]


def test_the_worked_interval():
    head, baseline = np.array(VECTORS["head_hits"], float), np.array(VECTORS["baseline_hits"], float)
    count_BN = draws(1, "demo", len(head), VECTORS["B"])
    (head_B, rows_B), (baseline_B, others_B) = (count_BN @ head).T, (count_BN @ baseline).T
    low, high = ends(head_B / rows_B - baseline_B / others_B)
    point = head[:, 0].sum() / head[:, 1].sum() - baseline[:, 0].sum() / baseline[:, 1].sum()
    assert point == pytest.approx(VECTORS["point"], abs=1e-12)
    assert (low, high) == (pytest.approx(VECTORS["lo"], abs=1e-12), pytest.approx(VECTORS["hi"], abs=1e-12))


def test_draws_are_those_of_the_stream_one_by_one():
    stream, theirs = Stream(7, "bootstrap", "some name"), np.zeros((5, 9))
    for replicate in range(5):
        for _ in range(9):
            theirs[replicate, stream.below(9)] += 1
    ours = draws(7, "some name", 9, times=5)
    np.testing.assert_array_equal(ours, theirs)
    assert (ours.sum(1) == 9).all()
    assert not np.array_equal(draws(7, "another", 9, times=5), ours)


def test_numbers_drawn_at_once_go_on_where_single_ones_stop():
    one, other = Stream(1, "x"), Stream(1, "x")
    together = [*one.many_below(1000, 3).tolist(), one.below(1000), *one.many_below(7, 2).tolist()]
    alone = [other.below(1000) for _ in range(4)] + [other.below(7) for _ in range(2)]
    assert together == alone


def test_ends_leave_out_replicates_without_a_value():
    values = np.arange(1.0, 1001.0)
    rng = np.random.default_rng(0)
    assert ends(rng.permutation(values)) == (25.0, 975.0)
    assert ends(np.concatenate([values, np.full(100, np.nan)])) == (25.0, 975.0)
    assert np.isnan(ends(np.full(10, np.nan))).all()
    assert ends(np.array([3.0])) == (3.0, 3.0)


def test_every_column_has_its_own_ends():
    rng = np.random.default_rng(1)
    values_BX = rng.normal(size=(1000, 3))
    values_BX[:400, 2] = np.nan
    low_X, high_X = ends_of(values_BX)
    for x in range(3):
        known = sorted(value for value in values_BX[:, x] if np.isfinite(value))
        assert low_X[x] == known[round(0.025 * len(known)) - 1]
        assert high_X[x] == known[round(0.975 * len(known)) - 1]
