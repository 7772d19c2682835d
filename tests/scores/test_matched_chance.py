"""Attended shares and published scores of a random head depend on how peaked it is: chance follows each head."""

import itertools
import math

import numpy as np
import pytest
import torch
from test_quick_look import rows_of

from wherewhat.scores.registry import ROW_SCORES as SCORES
from wherewhat.scores.registry import published_scores


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
    score = published_scores(tau)[0]
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


def drawn(logits_S: np.ndarray, weights_S: np.ndarray, draws: int) -> tuple[float, float]:
    """Slots' share and the rest in tables with the row on the diagonal and any of its logits in every other cell."""
    generator = np.random.default_rng(0)
    tables = generator.choice(logits_S, size=(draws, len(logits_S), len(logits_S)))
    tables[:, np.arange(len(logits_S)), np.arange(len(logits_S))] = logits_S
    grand = np.einsum("nks,k,s->n", tables, weights_S, weights_S)
    slots = ((np.einsum("nks,k->ns", tables, weights_S) - grand[:, None]) ** 2 @ weights_S).mean()
    contents = ((np.einsum("nks,s->nk", tables, weights_S) - grand[:, None]) ** 2 @ weights_S).mean()
    whole = np.einsum("nks,k,s->n", (tables - grand[:, None, None]) ** 2, weights_S, weights_S).mean()
    return (slots + contents) / 2 / whole, 1 - (slots + contents) / whole


@pytest.mark.parametrize("spread", [0.05, 1.0, 4.0, 12.0])
def test_chance_of_attended_shares_is_that_of_random_tables_around_the_row(spread: float):
    rows = rows_of(spread, queries=(24,))
    part, rest = (SCORES[f"attended.{name}_share"] for name in ("position", "interaction"))
    assert part.matched is SCORES["attended.symbol_share"].matched
    swappable_K = rows.swappable_QK[0]
    for head in range(len(rows.attention_HQK)):
        logits_S = rows.logits.actual_HQK[head, 0, swappable_K].numpy()
        attention_S = rows.attention_HQK[head, 0, swappable_K].numpy()
        weights_S = (attention_S / attention_S.sum() + 1 / len(attention_S)) / 2
        for ours, theirs in zip((part.matched, rest.matched), drawn(logits_S, weights_S, 4000), strict=True):
            assert ours(rows)[0][head, 0].item() == pytest.approx(theirs, abs=0.005)


def test_a_row_with_even_weights_has_the_chance_of_a_plain_table_and_a_peaked_one_at_most_a_third():
    flat, peaked = (
        SCORES["attended.position_share"].matched(rows_of(spread, queries=(24,)))[0] for spread in (1e-3, 40.0)
    )
    assert flat.numpy() == pytest.approx(1 / 24, rel=0.2)  # 23 keys may change places; the diagonal is given
    assert (peaked > 0.15).all() and (peaked < 1 / 3 + 1e-9).all()
