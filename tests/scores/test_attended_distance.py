"""How far heads look, against a plain loop, and on heads whose answer is known."""

import math
from fractions import Fraction

import pytest
import torch
from torch import Tensor

from wherewhat.scores.attended_distance import BINS, attended_distances, near_and_far


def plain(attention_HQK: Tensor, queries_Q: Tensor) -> list[list[list[float]]]:
    """The same as a loop: one vote per row, which equal keys share."""
    heads = []
    for rows_QK in attention_HQK.tolist():
        heads.append([])
        for weights, i in zip(rows_QK, queries_Q.tolist(), strict=True):
            most = max(weights[: i + 1])
            best = [j for j in range(i + 1) if weights[j] >= (1 - 1e-4) * most]
            votes = [0.0] * BINS
            for j in best:
                votes[math.floor(Fraction(20 * (i - j), i + 1) + Fraction(1, 2))] += 1 / len(best)
            heads[-1].append(votes)
    return heads


def test_it_is_the_plain_loop() -> None:
    generator = torch.Generator().manual_seed(0)
    attention_HQK = torch.rand(3, 12, 12, generator=generator).double().tril()
    attention_HQK[1] = attention_HQK[1].round(decimals=1)  # many ties
    queries_Q = torch.arange(12)
    expected = torch.tensor(plain(attention_HQK, queries_Q), dtype=torch.float64)
    torch.testing.assert_close(attended_distances(attention_HQK, queries_Q), expected)
    some_Q = torch.tensor([3, 7, 11])
    torch.testing.assert_close(attended_distances(attention_HQK[:, some_Q], some_Q), expected[:, some_Q])


@pytest.mark.parametrize(("key", "near", "far"), [(40, 1.0, 0.0), (39, 1.0, 0.0), (20, 0.0, 0.0), (0, 0.0, 1.0)])
def test_a_head_that_looks_at_one_key(key: int, near: float, far: float) -> None:
    attention_HQK = torch.zeros(1, 1, 41)
    attention_HQK[0, 0, key] = 1
    shares = near_and_far(attended_distances(attention_HQK, torch.tensor([40])).mean((0, 1)))
    assert [float(share) for share in shares] == [near, far]


def test_equal_keys_share_a_row_however_they_are_rounded() -> None:
    attention_HQK = torch.full((1, 1, 40), 1 / 40) * (1 + 1e-6 * torch.arange(40))
    share_E = attended_distances(attention_HQK, torch.tensor([39]))[0, 0]
    bins = [math.floor(Fraction(20 * (39 - j), 40) + Fraction(1, 2)) for j in range(40)]
    assert share_E.tolist() == pytest.approx([bins.count(number) / 40 for number in range(BINS)])


def test_keys_after_the_query_never_count() -> None:
    attention_HQK = torch.tensor([[[0.1, 0.2, 0.7]]])  # as rows of a bidirectional model might be
    assert int(attended_distances(attention_HQK, torch.tensor([1]))[0, 0].argmax()) == 0
