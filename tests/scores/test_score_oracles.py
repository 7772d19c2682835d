"""Every score equals plain loops over plain numbers, on rows of every kind."""

import math
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from logit_oracle import ORACLES as LOGIT_ORACLES
from score_oracle import ORACLES, Row, commonest, mean
from score_rows import MASKS, random_rows

from wherewhat.scores.base import Rows
from wherewhat.scores.offsets import offset_mass
from wherewhat.scores.registry import ROW_SCORES as SCORES

TOLERANCE = {"rtol": 0, "atol": 1e-9}


def plain(rows: Rows) -> list[list[Row]]:
    """The same rows as lists, by head."""
    queries, allowed, tokens = rows.queries_Q.tolist(), rows.allowed_QK.tolist(), rows.tokens_BK[0].tolist()
    return [
        [Row(weights, *place, tokens) for weights, *place in zip(head, queries, allowed, strict=True)]
        for head in rows.attention_HQK.tolist()
    ]


def assert_equals_loops(name: str, rows: Rows) -> None:
    score, pool = SCORES[name], commonest if name == "offset_peak" else mean
    theirs = [[ORACLES[name](row) for row in head] for head in plain(rows)]
    value_HQ, weight_HQ = score.rows(rows)
    want_value, want_weight = torch.tensor(theirs, dtype=torch.float64).unbind(-1)
    torch.testing.assert_close(weight_HQ, want_weight, **TOLERANCE, check_dtype=False)
    counts = want_weight > 0
    torch.testing.assert_close(value_HQ[counts], want_value[counts], **TOLERANCE, check_dtype=False)
    pooled = torch.tensor([pool(head) for head in theirs], dtype=torch.float64)
    torch.testing.assert_close(
        score.pool(value_HQ, weight_HQ, rows.text_Q)[:, 0], pooled, **TOLERANCE, equal_nan=True, check_dtype=False
    )


def test_every_score_has_an_oracle():
    assert set(ORACLES) | set(LOGIT_ORACLES) == set(SCORES)
    assert set(LOGIT_ORACLES) == {name for name, score in SCORES.items() if score.logits}


@pytest.mark.parametrize("queries", [None, 9], ids=["all rows", "sampled rows"])
@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("name", ORACLES)
def test_a_score_equals_plain_loops(name: str, mask: str, queries: int | None):
    assert_equals_loops(name, random_rows(3, mask=mask, queries=queries))


@pytest.mark.parametrize("name", ORACLES)
def test_a_long_text_equals_plain_loops(name: str):
    """Longer than the reach of locality and than one stretch of pairs."""
    for mask in MASKS:
        assert_equals_loops(name, random_rows(5, mask=mask, keys=150, queries=20))


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 10_000), st.sampled_from(MASKS), st.integers(1, 40), st.integers(1, 40), st.sampled_from([1.0, 0.3])
)
def test_any_rows_equal_plain_loops(seed: int, mask: str, keys: int, queries: int, mass: float):
    """Any length, any rows in any order, and rows that keep part of their attention for a sink of their own."""
    rows = random_rows(seed, mask=mask, keys=keys, queries=min(queries, keys))
    for name in ORACLES:
        assert_equals_loops(name, replace(rows, attention_HQK=rows.attention_HQK * mass))


@pytest.mark.parametrize("name", ORACLES)
def test_rows_that_look_at_nothing_equal_plain_loops(name: str):
    rows = random_rows(1)
    attention_HQK = rows.attention_HQK.clone()
    attention_HQK[0] = 0
    attention_HQK[1, ::2] = 1e-14 * attention_HQK[1, ::2]
    assert_equals_loops(name, replace(rows, attention_HQK=attention_HQK))


@pytest.mark.parametrize("name", ORACLES)
def test_attention_cut_out_of_a_larger_block_gives_the_same(name: str):
    """Rows may be a view into something bigger, as they are where padding was cut away."""
    rows = random_rows(2)
    block = torch.full((5, 30, 40), torch.nan, dtype=torch.float64)
    block[1:4, 3:26, 8:31] = rows.attention_HQK
    assert_equals_loops(name, replace(rows, attention_HQK=block[1:4, 3:26, 8:31]))


@pytest.mark.parametrize("queries", [None, 9], ids=["all rows", "sampled rows"])
@pytest.mark.parametrize("mask", MASKS)
def test_offset_mass_equals_plain_loops(mask: str, queries: int | None):
    rows = random_rows(4, mask=mask, queries=queries)
    keys = rows.tokens_BK.shape[1]
    mass = [[0.0] * (2 * keys - 1) for _ in range(3)]
    count = [0] * (2 * keys - 1)
    for head, head_rows in enumerate(plain(rows)):
        for row in head_rows:
            for key in row.seen:
                mass[head][key - row.query + keys - 1] += row.weights[key]
                count[key - row.query + keys - 1] += head == 0
    mass_HBO, count_BO = offset_mass(rows)
    mass_HO, count_O = mass_HBO[:, 0], count_BO[0]
    torch.testing.assert_close(mass_HO, torch.tensor(mass, dtype=torch.float64), **TOLERANCE)
    assert count_O.tolist() == count
    assert math.isclose(mass_HO.sum().item(), rows.attention_HQK.sum().item())
