"""P-values: exact random signs beside the normal approximation, and Holm's correction by hand."""

from itertools import product

import numpy as np
import pytest

from wherewhat.stats.significance import holm, sign_flip


def test_the_chance_of_no_difference_is_that_of_random_signs():
    rng = np.random.default_rng(4)
    sentence_N = np.repeat(np.arange(12), 3)
    differences_N = rng.normal(0.3, 1, 36)
    sums = differences_N.reshape(12, 3).sum(1)
    at_least = [abs(sums @ np.array(signs)) >= abs(sums.sum()) for signs in product((-1, 1), repeat=12)]
    # nearly normal: the exact share of signs lies close
    assert sign_flip(differences_N, sentence_N) == pytest.approx(np.mean(at_least), abs=0.02)
    assert sign_flip(np.zeros(5), np.arange(5)) == 1.0
    assert sign_flip(np.ones(100), np.arange(100)) < 1e-20


def test_holms_correction():
    assert holm([]) == []
    assert holm([0.2]) == [0.2]
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.6, 0.6]) == [1.0, 1.0]
