"""What every score keeps, whatever it asks."""

from dataclasses import replace

import pytest
import torch
from score_rows import MASKS, answer, narrow, random_rows, seeded, take, take_heads

from wherewhat.scores.base import Rows, RowScore, weighted_mean
from wherewhat.scores.offsets import offset_mass
from wherewhat.scores.registry import ROW_SCORES as SCORES

pytestmark = pytest.mark.parametrize("score", SCORES.values(), ids=SCORES)


@pytest.fixture(params=[(mask, queries) for mask in MASKS for queries in (None, 8)], ids=str)
def rows(request: pytest.FixtureRequest) -> Rows:
    """Made anew for every test, so that one that writes into its rows cannot hide it from the next."""
    mask, queries = request.param
    return random_rows(7, mask=mask, queries=queries)


def test_one_finite_value_and_weight_a_head_and_row(score: RowScore, rows: Rows):
    value_HQ, weight_HQ = score.rows(rows)
    assert value_HQ.shape == weight_HQ.shape == rows.attention_HQK.shape[:2]
    assert value_HQ.isfinite().all()
    assert weight_HQ.isfinite().all()
    assert (weight_HQ >= 0).all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("mask", MASKS)
def test_values_lie_in_the_range(score: RowScore, mask: str, dtype: torch.dtype):
    low, high = score.range
    for seed in range(20):
        rows = random_rows(seed, mask=mask, keys=2 + seed, dtype=dtype)
        value_HQ, weight_HQ = score.rows(rows)
        pooled_H = score.pool(value_HQ, weight_HQ, torch.zeros(value_HQ.shape[1], dtype=torch.int64))[:, 0]
        assert (pooled_H.isnan() | ((pooled_H >= low) & (pooled_H <= high + 1e-6))).all()
        if score.pool is weighted_mean:
            counted = value_HQ[weight_HQ > 0]
            assert ((counted >= low) & (counted <= high + 1e-6)).all()


def test_nothing_to_say_only_where_no_row_is_eligible(score: RowScore, rows: Rows):
    for asked in (rows, rows if score.baseline is None else score.baseline(rows, [seeded()])):
        value_HQ, weight_HQ = score.rows(asked)
        nan_H = score.pool(value_HQ, weight_HQ, torch.zeros(value_HQ.shape[1], dtype=torch.int64))[:, 0].isnan()
        assert torch.equal(nan_H, weight_HQ.sum(-1) == 0)


def test_the_order_of_rows_does_not_matter(score: RowScore, rows: Rows):
    order = torch.randperm(len(rows.queries_Q), generator=seeded(1))
    for ours, theirs in zip(score.rows(take(rows, order)), score.rows(rows), strict=True):
        torch.testing.assert_close(ours, theirs[:, order])
    torch.testing.assert_close(answer(score, take(rows, order)), answer(score, rows), equal_nan=True)


def test_rows_may_come_in_pieces(score: RowScore, rows: Rows):
    pieces = [score.rows(take(rows, index)) for index in torch.arange(len(rows.queries_Q)).split(3)]
    value_HQ, weight_HQ = (torch.cat(parts, -1) for parts in zip(*pieces, strict=True))
    for ours, theirs in zip((value_HQ, weight_HQ), score.rows(rows), strict=True):
        torch.testing.assert_close(ours, theirs)
    torch.testing.assert_close(
        score.pool(value_HQ, weight_HQ, torch.zeros(value_HQ.shape[1], dtype=torch.int64))[:, 0],
        answer(score, rows),
        equal_nan=True,
    )


def test_heads_do_not_know_of_each_other(score: RowScore, rows: Rows):
    order = [2, 0, 1]
    torch.testing.assert_close(answer(score, take_heads(rows, order)), answer(score, rows)[order], equal_nan=True)
    torch.testing.assert_close(answer(score, take_heads(rows, [1])), answer(score, rows)[1:2], equal_nan=True)


def test_nothing_is_written_into(score: RowScore, rows: Rows):
    tensors = {**vars(rows), **vars(rows.logits)}
    before = {name: (value, value.clone()) for name, value in tensors.items() if isinstance(value, torch.Tensor)}
    fresh = replace(rows)
    first = score.rows(fresh)
    kept = [x.clone() for x in first]
    for other in SCORES.values():
        answer(other, fresh)
        if other.baseline is not None:
            other.baseline(fresh, [seeded()])
    offset_mass(fresh)
    assert len(before) >= 10
    assert all(torch.equal(value, copy) for value, copy in before.values())
    for again, once, then in zip(score.rows(fresh), kept, first, strict=True):
        assert torch.equal(again, once)
        assert torch.equal(then, once)


@pytest.mark.parametrize("mask", MASKS)
def test_float32_agrees_with_float64(score: RowScore, mask: str):
    for seed in range(5):
        wide = random_rows(seed, mask=mask, keys=60, queries=20)
        torch.testing.assert_close(
            answer(score, narrow(wide)).double(), answer(score, wide).double(), rtol=1e-5, atol=1e-5, equal_nan=True
        )


def test_chance_is_drawn_or_known_or_said_to_be_neither(score: RowScore):
    unknown = {"exclusion_positional", "exclusion_symbolic", "logit_variance", "mean_frequency"}
    none = score.name in unknown or score.name.startswith("block.")
    assert [score.baseline, score.expected, score.matched].count(None) == (3 if none else 2)


def test_chance_is_attention_on_the_same_rows(score: RowScore, rows: Rows):
    if score.baseline is None:
        return
    chance = score.baseline(rows, [seeded()])
    for name in ("queries_Q", "allowed_QK", "tokens_BK"):
        assert getattr(chance, name) is getattr(rows, name)
    assert chance.attention_HQK.dtype == rows.attention_HQK.dtype
    assert (chance.attention_HQK >= 0).all()
    assert (chance.attention_HQK[:, ~rows.allowed_QK] == 0).all()
    torch.testing.assert_close(chance.mass_HQ, torch.ones_like(chance.mass_HQ))


def test_the_same_seed_gives_the_same_chance(score: RowScore, rows: Rows):
    if score.baseline is None:
        return
    once, again = (answer(score, score.baseline(rows, [seeded(5)])) for _ in range(2))
    torch.testing.assert_close(once, again, rtol=0, atol=0, equal_nan=True)
    close = answer(score, score.baseline(narrow(rows), [seeded(5)]))
    torch.testing.assert_close(close.double(), once.double(), rtol=1e-4, atol=1e-4, equal_nan=True)


def test_what_is_expected_is_known_without_the_attention(score: RowScore, rows: Rows):
    if score.expected is None:
        return
    low, high = score.range
    value_HQ, weight_HQ = score.expected(rows)
    asked_HQ = score.rows(rows)[1]
    assert value_HQ.shape == weight_HQ.shape == (1, len(rows.queries_Q))
    assert ((value_HQ >= low) & (value_HQ <= high)).all()
    if not score.name.startswith("block."):  # which rows have blocks to swap is not asked
        assert torch.equal(weight_HQ[0] > 0, (asked_HQ > 0).any(0))
    other = replace(rows, attention_HQK=rows.attention_HQK.flip(0) ** 2)
    assert torch.equal(score.expected(other)[0], value_HQ)


def test_rows_without_logits_have_nothing_to_say_of_them(score: RowScore, rows: Rows):
    value_HQ, weight_HQ = score.rows(replace(rows, logits=None))
    if score.logits:
        assert value_HQ.shape == rows.attention_HQK.shape[:2]
        assert (weight_HQ == 0).all()
    else:
        for ours, theirs in zip((value_HQ, weight_HQ), score.rows(rows), strict=True):
            assert torch.equal(ours, theirs)


def test_only_rows_chosen_for_it_have_their_logits_decomposed(score: RowScore, rows: Rows):
    decomposed_Q = torch.arange(len(rows.queries_Q)) % 3 == 0
    value_HQ, weight_HQ = score.rows(replace(rows, decomposed_Q=decomposed_Q))
    kept_Q = decomposed_Q if score.logits else torch.ones_like(decomposed_Q)
    torch.testing.assert_close(weight_HQ, score.rows(rows)[1] * kept_Q)
    torch.testing.assert_close(value_HQ[:, kept_Q], score.rows(rows)[0][:, kept_Q])


def test_chance_does_not_look_at_the_attention(score: RowScore, rows: Rows):
    if score.baseline is None:
        return
    other = replace(rows, attention_HQK=rows.attention_HQK.flip(0) ** 2)
    ours, theirs = (score.baseline(asked, [seeded(5)]).attention_HQK for asked in (other, rows))
    assert torch.equal(ours, theirs)


def test_it_explains_itself(score: RowScore):
    assert SCORES[score.name] is score
    for text in (score.asks, score.low, score.high, score.paper):
        assert len(text) > 4
        assert text == text.strip()
        assert "\n" not in text
    assert score.asks.endswith("?") or "? " in score.asks
    assert len(score.asks) <= 120
