"""The worked toy: every tensor by hand, by gradients and in the vectors, and what must hold between encodings."""

import pytest
import torch
from torch import Tensor
from toys import (
    CASES,
    HIDDEN,
    LAGS,
    SLOPE,
    VECTORS,
    Toy,
    assert_known,
    by_hand,
    distance_bias,
    key_bias,
    known,
    largest,
    run_plain,
    watched_toy,
)

from wherewhat.attribution.explain import explain
from wherewhat.attribution.rules import FrozenRules

EXACT = {"rtol": 0, "atol": 1e-13}


def position_of(trace, case: str) -> Tensor:
    """position_T of a run in plain operations."""
    if case == "alibi":
        of_b = trace.relevance("b")
        return (of_b.sum(0) + of_b.sum(1)) / 2
    names = {"nope": [], "ape": ["p"], "rope": ["cos_q", "sin_q", "cos_k", "sin_k"]}[case]
    return sum((trace.relevance(name).sum(-1) for name in names), torch.zeros(4, dtype=torch.float64))


@pytest.mark.parametrize("case", CASES)
def test_rules_by_hand_are_values_times_gradients_for_every_tensor(case: str):
    trace, _ = run_plain(case)
    by_rule = by_hand(case)
    assert by_rule.keys() == VECTORS["cases"][case]["R"].keys()
    for name, expected in by_rule.items():
        torch.testing.assert_close(
            trace.relevance(name), expected, **EXACT, msg=lambda text, name=name: f"{name}: {text}"
        )
        assert_known(expected, VECTORS["cases"][case]["R"][name])


@pytest.mark.parametrize("case", CASES)
def test_values_and_sums_are_the_worked_ones(case: str):
    trace, record = run_plain(case)
    worked = VECTORS["cases"][case]
    for name in ("logits", "A"):
        assert_known(trace[name], worked[name])
    for name, values in worked["forward"].items():
        assert_known(trace[name], values)
    assert_known(trace.relevance("e").sum(-1), worked["token"])
    assert_known(position_of(trace, case), worked.get("position", [0.0] * 4))
    (leak,) = record.softmaxes
    assert leak.value == pytest.approx(worked["ledger"]["softmax_leak"], abs=1e-12)


@pytest.mark.parametrize("case", CASES)
def test_the_net_explains_itself_by_the_worked_numbers(case: str):
    relevance = explain(watched_toy(case), largest)
    worked = VECTORS["cases"][case]
    assert_known(relevance.token_T, worked["token"])
    assert_known(relevance.position_T, worked.get("position", [0.0] * 4))
    ledger, expected = relevance.ledger, worked["ledger"]
    assert ledger.tokens == pytest.approx(expected["token"], abs=1e-12)
    assert ledger.positions == pytest.approx(expected["position"], abs=1e-12)
    assert ledger.softmax == pytest.approx(expected["softmax_leak"], abs=1e-12)
    assert ledger.logit == pytest.approx(expected["logit"], abs=1e-12)
    assert abs(ledger.rest) < 1e-15 and ledger.balances()


@pytest.mark.parametrize("case", CASES)
def test_frozen_attention_conserves_and_is_blind_to_scores(case: str):
    worked = VECTORS["cases"][case]["cp_lrp"]
    trace, record = run_plain(case, rules=FrozenRules)
    assert_known(trace.relevance("e").sum(-1), worked["token"])
    assert_known(position_of(trace, case), worked["position"])
    relevance = explain(watched_toy(case), largest, method="cp-lrp")
    assert_known(relevance.token_T, worked["token"])
    assert relevance.ledger.softmax == 0 and not record.softmaxes
    assert relevance.ledger.tokens + relevance.ledger.positions == pytest.approx(relevance.ledger.logit, abs=1e-15)
    if case in ("rope", "alibi"):
        assert not relevance.position_T.any()


@pytest.mark.parametrize("method", ["pa-lrp", "attnlrp", "cp-lrp", "input-x-gradient", "random"])
@pytest.mark.parametrize("case", CASES)
def test_explaining_changes_no_output_and_leaves_the_net_as_it_was(case: str, method: str):
    watched = watched_toy(case)
    before = {name: value.clone() for name, value in watched.module.state_dict().items()}
    relevance = explain(watched, largest, method=method)
    torch.testing.assert_close(relevance.logits_C, Toy(case)(torch.tensor([VECTORS["tokens"]])).detach(), **EXACT)
    assert all(torch.equal(value, before[name]) for name, value in watched.module.state_dict().items())
    assert watched.module.encoding.watch is None and all(p.grad is None for p in watched.module.parameters())


def test_a_bias_by_distance_and_by_key_differ_only_in_which_distance_they_blame():
    ours, shifted = run_plain("alibi")[0], run_plain("alibi", bias=key_bias)[0]
    torch.testing.assert_close(ours["logits"], shifted["logits"], **EXACT)
    torch.testing.assert_close(ours.relevance("e"), shifted.relevance("e"), **EXACT)
    invariance = VECTORS["invariance"]["alibi_key_index"]
    for trace, form in ((ours, "row_sum_distance_form"), (shifted, "row_sum_key_index_form")):
        assert_known(trace.relevance("b").sum(1), invariance[form])
    by_distance = [trace.relevance("b")[-1].flip(0) for trace in (ours, shifted)]
    assert_known(by_distance[0], VECTORS["cases"]["alibi"]["by_distance"])
    assert_known(by_distance[1], invariance["by_distance_key_index_form"])
    assert (by_distance[0] - by_distance[1]).abs().max() > 0.01
    assert torch.equal(distance_bias() - key_bias(), -SLOPE * (LAGS + torch.arange(4)).double())


def test_moving_all_positions_moves_relevance_from_cosines_to_sines_only():
    ours, moved = run_plain("rope")[0], run_plain("rope", first=7)[0]
    invariance = VECTORS["invariance"]["rope_offset_7"]
    torch.testing.assert_close(ours["logits"], moved["logits"], **EXACT)
    torch.testing.assert_close(position_of(ours, "rope"), position_of(moved, "rope"), **EXACT)
    assert_known(position_of(moved, "rope"), invariance["position"])
    assert_known(ours.relevance("cos_q").sum(), invariance["cos_q_total_offset_0"])
    assert_known(moved.relevance("cos_q").sum(), invariance["cos_q_total"])


def test_a_rotation_by_nothing_still_gets_half():
    still, plain = run_plain("rope", theta=0.0)[0], run_plain("nope")[0]
    invariance = VECTORS["invariance"]["rope_theta_0"]
    assert_known(still["logits"], invariance["logits"])
    assert_known(position_of(still, "rope"), invariance["position"])
    assert_known(still.relevance("e").sum(-1), invariance["token"])
    together = still.relevance("e").sum(-1) + position_of(still, "rope")
    torch.testing.assert_close(together, plain.relevance("e").sum(-1), **EXACT)


def test_in_one_layer_tokens_and_positions_are_what_attnlrp_gives_tokens():
    worked = VECTORS["cases"]["rope"]
    ours, plain = explain(watched_toy("rope"), largest), explain(watched_toy("rope"), largest, method="attnlrp")
    torch.testing.assert_close(ours.token_T + ours.position_T, plain.token_T, **EXACT)
    assert_known(plain.token_T, worked["token_without_pa"])
    assert_known(ours.token_T + ours.position_T, worked["combined"])
    assert not plain.sources and not torch.equal(ours.token_T, plain.token_T)
    unsplit = run_plain("rope", split=False)[0]
    torch.testing.assert_close(unsplit.relevance("e").sum(-1), plain.token_T, **EXACT)


@pytest.mark.parametrize("case", ["rope", "alibi"])
def test_logits_split_into_content_and_position(case: str):
    worked = VECTORS["cases"][case]["score_split"]
    (split,) = explain(watched_toy(case), largest).splits
    assert split.layer == 0
    assert_known(split.position.by_distance_R, worked["by_distance"])
    for part, name in ((split.content, "R_content"), (split.position, "R_position")):
        expected_QK = known(worked[name])
        assert_known(part.by_query_HQ[0], expected_QK.sum(1).tolist())
        assert_known(part.by_key_HK[0], expected_QK.sum(0).tolist())
        torch.testing.assert_close(part.by_slot_T, (expected_QK.sum(0) + expected_QK.sum(1)) / 2, rtol=0, atol=2e-12)
        assert part.total == pytest.approx(float(expected_QK.sum()), abs=1e-11)
    total = run_plain(case)[0].relevance("s").sum()
    assert split.content.total + split.position.total == pytest.approx(float(total), abs=1e-13)


def test_without_position_all_of_a_logit_is_content():
    (split,) = explain(watched_toy("nope"), largest).splits
    assert not split.position.by_distance_HR.any() and split.content.total == pytest.approx(
        float(known(VECTORS["cases"]["nope"]["R"]["s"]).sum()), abs=1e-11
    )


def test_keys_after_the_query_get_nothing():
    trace, _ = run_plain("alibi")
    for name in ("s", "A", "b"):
        assert not trace.relevance(name)[HIDDEN].any() and trace.relevance(name).any()
