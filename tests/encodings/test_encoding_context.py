"""A context says where queries and keys stand, for all rows or some."""

from dataclasses import replace

import torch

from wherewhat.encodings.base import Context


def test_causal_queries_see_themselves_and_the_past() -> None:
    expected = torch.tensor([[1, 0, 0], [1, 1, 0], [1, 1, 1]]).bool()
    assert torch.equal(Context.of(3, causal=True).allowed_BHQK[0, 0], expected)
    assert Context.of(3, causal=False).allowed_BHQK.all()


def test_the_last_queries_see_the_whole_past() -> None:
    context = Context.of(4, causal=True, last=2)
    assert context.query_positions_BQ.tolist() == [[2, 3]]
    assert context.allowed_BHQK[0, 0].int().tolist() == [[1, 1, 1, 0], [1, 1, 1, 1]]


def test_padding_does_not_count_as_a_position() -> None:
    real_BK = torch.tensor([[0, 0, 1, 1, 1], [1, 1, 1, 1, 0]]).bool()
    context = Context.of(5, causal=True, real_BK=real_BK)
    assert context.key_positions_BK.tolist() == [[0, 0, 0, 1, 2], [0, 1, 2, 3, 3]]
    assert context.allowed_BHQK.shape == (2, 1, 5, 5)
    assert context.allowed_BHQK[0, 0].int().tolist()[3] == [0, 0, 1, 1, 0]
    assert context.allowed_BHQK[1, 0].int().tolist()[4] == [1, 1, 1, 1, 0]
    assert not context.allowed_BHQK[0, 0, :2].any()


def test_rows_of_rows_are_rows() -> None:
    real_BK = torch.tensor([[0, 1, 1, 1, 1, 1]]).bool()
    context = Context.of(6, causal=True, real_BK=real_BK, last=4).rows(torch.tensor([3, 0]))
    assert context.rows_Q is not None and context.rows_Q.tolist() == [5, 2]
    assert context.query_positions_BQ.tolist() == [[4, 1]]
    assert context.real_BQ is not None and context.real_BQ.tolist() == [[True, True]]
    assert context.lags_BHQK[0, 0].tolist() == [[4, 4, 3, 2, 1, 0], [1, 1, 0, -1, -2, -3]]


def test_a_mask_is_needed_only_where_the_causal_flag_does_not_say_it_all() -> None:
    real_BK = torch.ones(1, 4, dtype=torch.bool)
    assert not Context.of(4, causal=True).needs_mask
    assert not Context.of(4, causal=True, last=4).needs_mask
    assert not Context.of(4, causal=False).rows(torch.tensor([2])).needs_mask
    assert Context.of(4, causal=True).rows(torch.tensor([2])).needs_mask
    assert Context.of(4, causal=True, last=1).needs_mask
    assert Context.of(4, causal=False, real_BK=real_BK).needs_mask


def test_what_is_made_once_is_common_to_blocks_and_to_nothing_else() -> None:
    context = Context.of(3, causal=True)
    assert context.once("a", lambda: 1) == 1
    noted = context.noted({"note": torch.zeros(1, 1, 3)})
    assert noted.once("a", lambda: 2) == 1 and noted.once("b", lambda: 3) == 3
    assert context.once("b", lambda: 4) == 3
    assert context.rows(torch.tensor([0])).once("a", lambda: 5) == 5
    assert replace(context, key_positions_BK=context.key_positions_BK + 1).once("a", lambda: 6) == 6
