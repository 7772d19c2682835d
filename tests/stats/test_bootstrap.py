"""Drawing sentences again: the worked numbers, and the plain loop that the quick one stands for."""

import json
from pathlib import Path

import numpy as np
import pytest

from wherewhat.stats.bootstrap import estimates, named_draws, ranked_interval, ranked_intervals
from wherewhat.tasks.stream import Stream

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "probes.json").read_text())["bootstrap"]


def test_the_worked_interval():
    head, baseline = np.array(VECTORS["head_hits"], float), np.array(VECTORS["baseline_hits"], float)
    count_BN = named_draws(1, "demo", len(head), VECTORS["B"])
    (head_B, rows_B), (baseline_B, others_B) = (count_BN @ head).T, (count_BN @ baseline).T
    low, high = ranked_interval(head_B / rows_B - baseline_B / others_B)
    point = head[:, 0].sum() / head[:, 1].sum() - baseline[:, 0].sum() / baseline[:, 1].sum()
    assert point == pytest.approx(VECTORS["point"], abs=1e-12)
    assert (low, high) == (pytest.approx(VECTORS["lo"], abs=1e-12), pytest.approx(VECTORS["hi"], abs=1e-12))


def test_draws_are_those_of_the_stream_one_by_one():
    stream, theirs = Stream(7, "bootstrap", "some name"), np.zeros((5, 9))
    for replicate in range(5):
        for _ in range(9):
            theirs[replicate, stream.below(9)] += 1
    ours = named_draws(7, "some name", 9, times=5)
    np.testing.assert_array_equal(ours, theirs)
    assert (ours.sum(1) == 9).all()
    assert not np.array_equal(named_draws(7, "another", 9, times=5), ours)


def test_numbers_drawn_at_once_go_on_where_single_ones_stop():
    one, other = Stream(1, "x"), Stream(1, "x")
    together = [*one.many_below(1000, 3).tolist(), one.below(1000), *one.many_below(7, 2).tolist()]
    alone = [other.below(1000) for _ in range(4)] + [other.below(7) for _ in range(2)]
    assert together == alone


def test_ends_leave_out_replicates_without_a_value():
    values = np.arange(1.0, 1001.0)
    rng = np.random.default_rng(0)
    assert ranked_interval(rng.permutation(values)) == (25.0, 975.0)
    assert ranked_interval(np.concatenate([values, np.full(100, np.nan)])) == (25.0, 975.0)
    assert np.isnan(ranked_interval(np.full(10, np.nan))).all()
    assert ranked_interval(np.array([3.0])) == (3.0, 3.0)


def test_every_column_has_its_own_ends():
    rng = np.random.default_rng(1)
    values_BX = rng.normal(size=(1000, 3))
    values_BX[:400, 2] = np.nan
    low_X, high_X = ranked_intervals(values_BX)
    for x in range(3):
        known = sorted(value for value in values_BX[:, x] if np.isfinite(value))
        assert low_X[x] == known[round(0.025 * len(known)) - 1]
        assert high_X[x] == known[round(0.975 * len(known)) - 1]


def test_intervals_are_those_of_a_plain_loop():
    rng = np.random.default_rng(3)
    sentence_N = np.sort(rng.integers(0, 12, 70))
    sentence_N = sentence_N[sentence_N != 4]  # a sentence without a row
    values_NX = rng.random((len(sentence_N), 2)) < 0.5
    count_BS = named_draws(0, "a test", 12)
    ours = estimates(values_NX, sentence_N, count_BS)
    for x in range(2):
        theirs = []
        for count_S in count_BS:
            drawn = [(values_NX[row, x], count_S[sentence_N[row]]) for row in range(len(sentence_N))]
            theirs.append(sum(hit * times for hit, times in drawn) / sum(times for _, times in drawn))
        theirs.sort()
        assert ours[x].value == pytest.approx(values_NX[:, x].mean(), abs=1e-12)
        assert (ours[x].low, ours[x].high) == (pytest.approx(theirs[24]), pytest.approx(theirs[974]))
        assert ours[x].count == len(sentence_N)
