"""Rows that do not fit together are refused, chance is what it says, and averages weigh."""

import math
from dataclasses import replace

import pytest
import torch
from score_rows import random_rows, seeded

from wherewhat.errors import UserError
from wherewhat.scores import base
from wherewhat.scores.base import Rows, weighted_mean
from wherewhat.scores.chance import PSEUDO_HEADS, random_logits, uniform
from wherewhat.scores.offsets import largest_share
from wherewhat.scores.registry import ROW_SCORES as SCORES
from wherewhat.scores.registry import published_scores

ONE_TEXT = torch.zeros(99, dtype=torch.int64)  # the text of every row, where all belong to one


def test_the_scores_are_those_promised():
    attention = "locality symmetry balance entropy sink self previous next offset_peak duplicate induction"
    assert {name for name, score in SCORES.items() if not score.logits} == set(attention.split())
    logits = "exclusion_positional exclusion_symbolic logit_variance exclusion_ratio positional symbolic mean_frequency"
    shares = "position_share symbol_share interaction_share"
    attended = "attended.position_share attended.symbol_share attended.interaction_share"
    blocks = "block.positional block.symbolic"
    wanted = f"{logits} {shares} {attended} {blocks}"
    assert {name for name, score in SCORES.items() if score.logits} == set(wanted.split())


def test_texts_count_alike_except_where_parts_are_to_add_up():
    pooled = {name for name, score in SCORES.items() if score.pooled}
    shares = {"position_share", "symbol_share", "interaction_share"}
    assert pooled == {"exclusion_ratio", "mean_frequency"} | shares


def test_the_published_scores_can_be_had_at_any_temperature():
    assert [score.name for score in published_scores(0.01)] == ["positional@0.01", "symbolic@0.01"]
    assert [score.name for score in published_scores(math.inf)] == ["positional@inf", "symbolic@inf"]
    assert [score.name for score in published_scores(1e-4)] == ["positional", "symbolic"]
    rows = random_rows(2)
    for tau in (0.01, math.inf):
        for score in published_scores(tau):
            torch.testing.assert_close(score.rows(replace(rows, taus=(1e-4, tau)))[0], score.rows(rows)[0])


def test_only_scores_without_a_distance_are_asked_of_cross_attention():
    assert {name for name, score in SCORES.items() if not score.relative} == {"entropy", "sink"}


def test_scores_without_a_distance_accept_queries_beyond_the_keys():
    rows = random_rows(0, mask="bidirectional", keys=6)
    across = Rows(rows.attention_HQK, rows.queries_Q + 100, rows.allowed_QK, rows.tokens_BK)
    for name in ("entropy", "sink"):
        assert torch.equal(SCORES[name].rows(across)[0], SCORES[name].rows(rows)[0])


def test_which_chance_each_score_uses():
    drawn = {name for name, score in SCORES.items() if score.baseline is random_logits}
    assert drawn == {"symmetry", "balance", "offset_peak"}
    assert all(score.baseline is uniform for name, score in SCORES.items() if name not in drawn and not score.logits)
    assert not any(score.baseline for score in SCORES.values() if score.logits)


def test_uniform_chance_looks_at_every_allowed_key_alike():
    rows = random_rows(0, mask="window")
    (attention_QK,) = uniform(rows, [seeded()]).attention_HQK
    torch.testing.assert_close(attention_QK, rows.allowed_QK / rows.allowed_QK.sum(-1, keepdim=True).double())


def test_random_chance_is_a_softmax_of_standard_normal_logits():
    rows = random_rows(0, mask="causal", keys=400, queries=50)
    drawn = random_logits(rows, [seeded(3)])
    assert drawn.attention_HQK.shape == (PSEUDO_HEADS, 50, 400)
    logits = drawn.attention_HQK.log()
    centred = torch.cat(
        [row - row.mean() for head in logits for row in (r[r.isfinite()] for r in head) if len(row) > 99]
    )
    assert centred.std().item() == pytest.approx(1, abs=0.02)
    assert not torch.equal(drawn.attention_HQK[0], drawn.attention_HQK[1])


def test_a_row_that_may_look_nowhere_gets_no_attention_from_chance():
    rows = random_rows(0)
    allowed_QK = rows.allowed_QK.clone()
    allowed_QK[4] = False
    shut = Rows(rows.attention_HQK, rows.queries_Q, allowed_QK, rows.tokens_BK)
    for chance in (uniform, random_logits):
        assert (chance(shut, [seeded()]).attention_HQK[:, 4] == 0).all()


def test_the_mean_weighs_rows_and_ignores_those_without_weight():
    value_HQ = torch.tensor([[0.2, 0.8, math.nan], [0.5, 0.5, 0.5]])
    weight_HQ = torch.tensor([[3.0, 1.0, 0.0], [0.0, 0.0, 0.0]])
    mean_H = weighted_mean(value_HQ, weight_HQ, ONE_TEXT[: value_HQ.shape[1]])[:, 0]
    assert mean_H[0].item() == pytest.approx(0.35)
    assert mean_H[1].isnan()


def test_the_largest_share_counts_only_rows_with_weight():
    value_HQ = torch.tensor([[3.0] * 7 + [-1.0] * 3, [7.0] * 10])
    weight_HQ = torch.tensor([[0.0] + [1.0] * 9, [0.0] * 10])
    share_H = largest_share(value_HQ, weight_HQ, ONE_TEXT[: value_HQ.shape[1]])[:, 0]
    assert share_H[0].item() == pytest.approx(6 / 9)
    assert share_H[1].isnan()


@pytest.mark.parametrize(("rows", "answered"), [(1, False), (7, False), (8, True)])
def test_few_rows_cannot_be_asked_whether_they_agree(rows: int, answered: bool):
    """A single row agrees with itself, whatever the head does, and so does that of a head that knows nothing."""
    assert (
        largest_share(torch.full((1, rows), -3.0), torch.ones(1, rows), ONE_TEXT[:rows]).isfinite().item() is answered
    )


def test_a_reading_is_taken_once_and_rows_stay_frozen():
    rows = random_rows(0)
    assert rows.pairs is rows.pairs
    assert rows.mass_HQ is rows.mass_HQ
    with pytest.raises(AttributeError):
        rows.queries_Q = torch.arange(3)


def test_rows_that_do_not_fit_together_are_refused():
    rows = random_rows(0, keys=4)
    with pytest.raises(UserError) as caught:
        Rows(rows.attention_HQK, rows.queries_Q[:3], rows.allowed_QK, rows.tokens_BK)
    assert str(caught.value) == (
        "attention rows do not fit together: attention, queries, texts, allowed and tokens have shapes "
        "[(3, 4, 4), (3,), (3,), (4, 4), (1, 4)]; give (heads, queries, keys), (queries,), (queries,), "
        "(queries, keys) and (texts, keys), none of them empty"
    )
    for shape in ((4, 4), (3, 0, 4), (3, 4, 0)):
        with pytest.raises(UserError, match="do not fit together"):
            Rows(torch.zeros(shape), rows.queries_Q, rows.allowed_QK, rows.tokens_BK)


def test_what_one_text_lacks_does_not_reach_another():
    value_HQ, weight_HQ = torch.tensor([[math.nan, 0.5, 0.7]]), torch.ones(1, 3)
    mean_HB = weighted_mean(value_HQ, weight_HQ, torch.tensor([0, 1, 1]))
    assert mean_HB[0, 0].isnan() and mean_HB[0, 1].item() == pytest.approx(0.6)


def test_weights_that_rounding_has_put_in_another_order_have_cosines_all_the_same():
    """As in half precision, where logits are read more precisely than the model has computed its attention."""
    rows = random_rows(1, keys=4)
    noise_HQK = 1 + 0.1 * torch.rand(rows.attention_HQK.shape, generator=seeded(2), dtype=torch.float64)
    swaps = replace(rows, attention_HQK=rows.attention_HQK.pow(0.01) * rows.allowed_QK * noise_HQK).swaps
    assert swaps is not None and swaps.positional_THQ.isfinite().all() and swaps.symbolic_THQ.isfinite().all()


def test_factors_that_do_not_fit_are_made_anew(monkeypatch: pytest.MonkeyPatch):
    rows = random_rows(3)
    monkeypatch.setattr(base, "KEPT", 0)
    fresh = replace(rows)
    torch.testing.assert_close(fresh.exact.positional_HQ, random_rows(3).exact.positional_HQ)
    assert not fresh.kept_groups
