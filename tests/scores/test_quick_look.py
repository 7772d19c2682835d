"""A quick look asks fewer rows and swaps fewer slots: what it leaves out must not matter."""

from dataclasses import replace

import pytest
import torch

from wherewhat.logits.rotary import RotaryLogits
from wherewhat.scores.base import Rows
from wherewhat.scores.frequencies import frequencies
from wherewhat.scores.registry import ROW_SCORES as SCORES

KEYS, PLANES = 400, 8


def rows_of(spread: float, *, queries: tuple[int, ...] = (200, 399)) -> Rows:
    """Four heads whose logits have about this standard deviation."""
    generator = torch.Generator().manual_seed(0)
    theta_F = 0.3 ** torch.arange(PLANES, dtype=torch.float64)
    phase_KF = torch.polar(torch.ones(KEYS, PLANES, dtype=torch.float64), torch.arange(KEYS)[:, None] * theta_F)
    queries_Q = torch.tensor(queries)
    query = torch.randn(4, len(queries), PLANES, dtype=torch.complex128, generator=generator)
    key = torch.randn(2, KEYS, PLANES, dtype=torch.complex128, generator=generator)
    logits = RotaryLogits(query, key, phase_KF, theta_F, queries_Q, spread / 2)
    allowed_QK = torch.arange(KEYS) <= queries_Q[:, None]
    attention_HQK = logits.actual_HQK.masked_fill(~allowed_QK, -torch.inf).softmax(-1)
    return Rows(attention_HQK, queries_Q, allowed_QK, torch.arange(KEYS), logits=logits)


@pytest.mark.parametrize("tau", [1e-4, 1e-2, float("inf")])
@pytest.mark.parametrize("spread", [0.03, 0.3, 1.0])
def test_swaps_that_stand_for_all_give_nearly_their_score(spread: float, tau: float):
    rows = replace(rows_of(spread), taus=(tau,))
    whole, quick = rows.swaps, replace(rows, max_swaps=1000).swaps
    assert whole is not None and quick is not None
    for score in ("positional_THQ", "symbolic_THQ"):
        assert not torch.equal(getattr(whole, score), getattr(quick, score)), "more swaps count than are looked at"
        torch.testing.assert_close(getattr(quick, score), getattr(whole, score), atol=0.02, rtol=0)


@pytest.mark.parametrize("name", ["positional", "symbolic"])
def test_a_peaked_row_is_swapped_whole_where_it_counts(name: str):
    rows = rows_of(4.0)
    whole_HQ, quick_HQ = (SCORES[name].rows(replace(rows, max_swaps=max_swaps))[0] for max_swaps in (None, 100_000))
    torch.testing.assert_close(quick_HQ, whole_HQ, atol=1e-12, rtol=0)


def test_rows_that_are_not_taken_apart_have_no_weight():
    rows = rows_of(1.0, queries=(50, 200, 399))
    some = replace(rows, decomposed_Q=torch.tensor([True, False, True]))
    value_HQ, weight_HQ = SCORES["position_share"].rows(some)
    every_HQ, _ = SCORES["position_share"].rows(rows)
    assert (weight_HQ[:, 1] == 0).all() and (weight_HQ[:, [0, 2]] > 0).all()
    torch.testing.assert_close(value_HQ[:, [0, 2]], every_HQ[:, [0, 2]])


def test_shares_weighed_by_attention_hold_where_one_key_has_nearly_all_of_it():
    rows = rows_of(40.0, queries=(399,))
    logits = rows.logits
    assert isinstance(logits, RotaryLogits)
    single = replace(
        logits,
        query_HQF=logits.query_HQF.to(torch.complex64),
        key_GKF=logits.key_GKF.to(torch.complex64),
        phase_KF=logits.phase_KF.to(torch.complex64),
    )
    coarse = replace(rows, attention_HQK=rows.attention_HQK.float(), logits=single)
    assert (rows.attention_HQK.amax(-1) > 0.999).any(), "some head looks at nearly one key"
    for name in ("attended.position_share", "attended.symbol_share", "attended.interaction_share"):
        (fine_HQ, fine_weight_HQ), (value_HQ, weight_HQ) = SCORES[name].rows(rows), SCORES[name].rows(coarse)
        told_HQ = (weight_HQ > 0) & (fine_weight_HQ > 0)
        assert told_HQ.any()
        torch.testing.assert_close(value_HQ[told_HQ].double(), fine_HQ[told_HQ], atol=2e-3, rtol=0)


@pytest.mark.parametrize("name", ["positional", "symbolic"])
def test_a_temperature_next_to_nothing_still_weighs_swaps(name: str):
    values = frequencies(replace(rows_of(1.0), taus=(1e-50,)))
    assert values is not None and values.values()[name].isfinite().all()


def test_narrowed_logits_know_what_was_known():
    logits = rows_of(1.0).logits
    assert logits is not None
    before = logits.rows(torch.tensor([1])).actual_HQK
    assert logits.actual_HQK.shape[1] == 2
    torch.testing.assert_close(logits.rows(torch.tensor([1])).actual_HQK, before)
