"""Every kind of logits is the table its definition says, and its means and variances are those of that table."""

import numpy as np
import pytest
import torch
from logit_tables import KINDS, assert_moments, some_logits, table

from wherewhat.logits.base import Logits
from wherewhat.logits.capped import CappedLogits
from wherewhat.logits.joined import JoinedLogits

KEYS = 9
QUERIES = torch.tensor([8, 3, 5])
NEAR = {"rtol": 0, "atol": 1e-12}
MASKS = {
    "before the query": torch.arange(KEYS) < QUERIES[:, None],
    "from slot 2": (torch.arange(KEYS) < QUERIES[:, None]) & (torch.arange(KEYS) >= 2),
    "both sides": torch.arange(KEYS) != QUERIES[:, None],
    "a window": (torch.arange(KEYS) < QUERIES[:, None]) & (torch.arange(KEYS) >= QUERIES[:, None] - 3),
    "with holes": torch.arange(KEYS) * 7 % 3 != QUERIES[:, None] % 2,
}

pytestmark = pytest.mark.parametrize("kind", KINDS)


@pytest.fixture
def logits(kind: str) -> Logits:
    return some_logits(kind, QUERIES, KEYS)


def every_table(logits: Logits) -> list[list[np.ndarray]]:
    return [[table(logits, head, query) for query in range(len(QUERIES))] for head in range(4)]


def test_the_table_is_that_of_the_definition(logits: Logits):
    contents, slots = torch.tensor([7, 0, 3, 4]), torch.tensor([1, 8, 2])
    for query in range(len(QUERIES)):
        theirs = np.stack([table(logits, head, query)[contents][:, slots] for head in range(4)])
        torch.testing.assert_close(logits.table(query, contents, slots), torch.from_numpy(theirs), **NEAR)


def test_the_actual_logits_are_the_diagonal(logits: Logits):
    theirs = np.stack([[np.diag(whole) for whole in of_head] for of_head in every_table(logits)])
    torch.testing.assert_close(logits.actual_HQK, torch.from_numpy(theirs), **NEAR)


def test_the_factors_multiply_to_the_table(logits: Logits):
    rows, slots = torch.tensor([2, 0]), torch.arange(7)
    factors = logits.factors(rows, 7)
    ours = factors.content_HQKX @ factors.slot_HQKX.mT
    ours = ours if factors.nonlinearity is None else factors.nonlinearity(ours)
    theirs = torch.stack([logits.table(query, slots, slots) for query in rows.tolist()], 1)
    torch.testing.assert_close(ours.expand_as(theirs), theirs, **NEAR)
    torch.testing.assert_close(factors.actual_HQK, logits.actual_HQK[:, rows, :7], **NEAR)


def test_texts_are_joined_row_by_row(logits: Logits, kind: str):
    shorter = some_logits(kind, torch.tensor([4, 1]), 5, seed=3)
    joined = JoinedLogits.of([logits, shorter], torch.tensor([0, 0, 0, 1, 1]))
    order, own = torch.tensor([3, 1, 4]), [(shorter, 0, 5), (logits, 1, 8), (shorter, 1, 5)]
    factors = joined.factors(order, 8)
    whole = (factors.content_HQKX @ factors.slot_HQKX.mT).expand(4, len(order), -1, -1)
    whole = whole if factors.nonlinearity is None else factors.nonlinearity(whole)
    for place, (part, row, keys) in enumerate(own):
        slots = torch.arange(keys)
        torch.testing.assert_close(whole[:, place, :keys, :keys], part.table(row, slots, slots), **NEAR)
        torch.testing.assert_close(joined.table(int(order[place]), slots, slots), part.table(row, slots, slots), **NEAR)
    torch.testing.assert_close(joined.actual_HQK[:, 3:, :5], shorter.actual_HQK, **NEAR)
    torch.testing.assert_close(joined.rows(order).actual_HQK[:, 0, :5], shorter.actual_HQK[:, 0], **NEAR)


def test_rows_can_be_picked_out(logits: Logits):
    picked = logits.rows(torch.tensor([2, 0]))
    torch.testing.assert_close(picked.actual_HQK, logits.actual_HQK[:, [2, 0]], **NEAR)
    every = torch.arange(KEYS)
    torch.testing.assert_close(picked.table(0, every, every), logits.table(2, every, every), **NEAR)
    mask = MASKS["both sides"]
    torch.testing.assert_close(
        picked.moments(mask[[2, 0]]).interaction_HQ, logits.moments(mask).interaction_HQ[:, [2, 0]], **NEAR
    )


@pytest.mark.parametrize("mask", MASKS)
def test_moments_are_those_of_the_table(logits: Logits, mask: str):
    weights_QK = MASKS[mask].double() / MASKS[mask].sum(-1, keepdim=True)
    weights_HQK = weights_QK.expand(4, -1, -1).numpy()
    assert_moments(logits.moments(MASKS[mask]), every_table(logits), weights_HQK)


def test_weighted_moments_are_those_of_the_table(logits: Logits):
    odds_HQK = torch.rand(4, len(QUERIES), KEYS, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    weights_HQK = odds_HQK * MASKS["before the query"]
    weights_HQK = weights_HQK / weights_HQK.sum(-1, keepdim=True)
    assert_moments(logits.weighted_moments(weights_HQK), every_table(logits), weights_HQK.numpy())


def test_only_logits_without_a_slot_term_have_absorbed_it(logits: Logits, kind: str):
    assert logits.position_free == (kind == "still")
    assert CappedLogits(logits, 5.0).position_free == logits.position_free


def test_a_row_without_keys_to_exchange_breaks_nothing(logits: Logits):
    mask = MASKS["before the query"].clone()
    mask[1] = False
    moments, whole = logits.moments(mask), logits.moments(MASKS["before the query"])
    torch.testing.assert_close(moments.interaction_HQ[:, [0, 2]], whole.interaction_HQ[:, [0, 2]], **NEAR)
    assert moments.position_HQ.isfinite().all()
