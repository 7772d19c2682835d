"""The released divergence with its two faults, beside the true one, against plain loops in float64."""

import math

import pytest
import torch
from torch import Tensor

from wherewhat.scores.entropy import divergence
from wherewhat.scores.released_divergence import closest_pair, released_divergence

CAUSAL = torch.ones(6, 6).tril().bool()


def rows(seed: int, heads: int = 3, slots: int = 6) -> Tensor:
    logits_HQK = 2 * torch.randn(heads, slots, slots, generator=torch.Generator().manual_seed(seed)).double()
    return logits_HQK.masked_fill(~CAUSAL[:slots, :slots], -torch.inf).softmax(-1)


def one_row(weights: tuple[float, float]) -> Tensor:
    """Two heads with the same single row."""
    return torch.tensor([[weights], [weights]], dtype=torch.float64)


@pytest.mark.parametrize(
    ("p", "q", "released", "true"),
    [((0.9, 0.1), (0.5, 0.5), 0.1180, 0.1017), ((0.999, 0.001), (0.001, 0.999), 2.761, 0.685)],
)
def test_the_known_rows(p: tuple[float, float], q: tuple[float, float], released: float, true: float) -> None:
    seen_QK = torch.ones(1, 2).bool()
    assert float(released_divergence(one_row(p), one_row(q), seen_QK)[0, 1]) == pytest.approx(released, abs=6e-4)
    bits = float(divergence(one_row(p), one_row(q), seen_QK)[0, 1])
    assert bits * math.log(2) == pytest.approx(true, abs=6e-4)


def test_it_is_the_mean_over_rows_of_a_plain_sum() -> None:
    first, other = rows(0), rows(1)
    ours = released_divergence(first, other, CAUSAL)
    for a in range(3):
        for b in range(3):
            if a >= b:
                assert ours[a, b].isnan()
                continue
            total = 0.0
            for i in range(6):
                for j in range(i + 1):
                    p, q = float(first[a, i, j]), float(other[b, i, j])
                    m = (p + q) / 2
                    total += (m * math.log(m / p) + m * math.log(m / q)) / 2 / 6
            assert float(ours[a, b]) == pytest.approx(total, rel=1e-12)


def test_the_same_heads_in_the_same_order_are_not_close_to_each_other() -> None:
    """The first fault: a net is not at 0 from itself, as no head is compared with itself."""
    first = rows(0)
    assert float(closest_pair(released_divergence(first, first, CAUSAL))) > 0.1
    assert float(closest_pair(divergence(first, first, CAUSAL))) == pytest.approx(0, abs=1e-12)


def test_a_weight_that_was_rounded_to_0_is_far_but_finite() -> None:
    apart = released_divergence(one_row((1.0, 0.0)), one_row((0.5, 0.5)), torch.ones(1, 2).bool())
    assert 10 < float(apart[0, 1]) < 100


def test_one_head_has_no_pair() -> None:
    assert closest_pair(released_divergence(rows(0, 1), rows(1, 1), CAUSAL)).isnan()
    two = torch.stack([torch.tensor([[math.nan, 0.5], [math.nan, math.nan]]), torch.tensor([[0.4, 0.2], [0.3, 0.9]])])
    assert closest_pair(two).tolist() == pytest.approx([0.5, 0.2])
