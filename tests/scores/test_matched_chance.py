"""The published scores of a random head depend on how peaked it is: chance follows each head."""

import itertools
import math

import numpy as np
import pytest
import torch
from test_quick_look import rows_of

from wherewhat.scores.registry import SCORES, at_temperature


def by_hand(logits_S: np.ndarray, weights_S: np.ndarray, tau: float) -> float:
    """Every swap, and after it every two of the row's logits in the two slots, as the mean of both cosines."""
    swaps = list(itertools.combinations(range(len(logits_S)), 2))
    gaps = np.array([abs(weights_S[s] - weights_S[t]) for s, t in swaps])
    alphas = np.exp((gaps - gaps.max()) / tau)
    total = 0.0
    for alpha, (s, t) in zip(alphas, swaps, strict=True):
        was = np.exp(logits_S[[s, t]] - logits_S[[s, t]].max())
        cosines = []
        for one, other in itertools.product(logits_S, repeat=2):
            now = np.exp(np.array([one, other]) - max(one, other))
            length = math.sqrt((was @ was) * (now @ now))
            cosines.append((was @ now + was[::-1] @ now) / 2 / length)
        total += alpha * np.mean(cosines)
    return total / alphas.sum()


@pytest.mark.parametrize("tau", [1e-4, 0.1, math.inf])
@pytest.mark.parametrize("spread", [0.05, 1.0, 4.0])
def test_chance_is_that_of_a_head_with_the_same_logits_in_random_places(spread: float, tau: float):
    rows = rows_of(spread, queries=(24,))
    score = at_temperature(tau)[0]
    assert score.matched is not None
    chance_H = score.matched(rows)[0][:, 0]
    swappable_K = rows.swappable_QK[0]
    for head in range(len(chance_H)):
        logits_S = rows.logits.actual_HQK[head, 0, swappable_K].numpy()
        weights_S = rows.attention_HQK[head, 0, swappable_K].numpy()
        # 256 points of a lattice stand for all swaps and all differences of logits.
        assert chance_H[head].item() == pytest.approx(by_hand(logits_S, weights_S, tau), abs=0.02)


def test_flat_heads_have_chance_1_and_peaked_ones_less():
    flat, peaked = (SCORES["positional"].matched(rows_of(spread))[0].mean() for spread in (1e-6, 8.0))
    assert flat == pytest.approx(1.0, abs=1e-6)
    assert peaked < 0.8


def test_both_scores_have_the_same_chance():
    rows = rows_of(2.0)
    torch.testing.assert_close(SCORES["positional"].matched(rows), SCORES["symbolic"].matched(rows))
