"""Heads made by hand, whose scores anyone can say without computing."""

import math

import pytest
import torch
from score_rows import answer, by_hand

from wherewhat.scores.offsets import offset_mass
from wherewhat.scores.registry import ROW_SCORES as SCORES

NONE = math.nan
REPEATED = [5, 3, 8, 1, 9, 4] * 2  # twelve tokens: the second half repeats the first


def is_token_again(i: int, j: int) -> bool:
    return j == i - 6


def follows_token(i: int, j: int) -> bool:
    return j == i - 5 and i >= 6


# Twelve keys, all rows. Where a row has nowhere of the wanted kind to look, it looks evenly at all it may.
HEADS = {
    "self only": (
        by_hand(lambda i, j: i == j),
        {"locality": 1, "self": 1, "previous": 0, "next": 0, "entropy": 0, "symmetry": 1},
    ),
    "self only, causal": (
        by_hand(lambda i, j: i == j, mask="causal"),
        {"locality": 1, "self": 1, "sink": 0, "offset_peak": 1},
    ),
    "previous only": (
        by_hand(lambda i, j: j == i - 1, mask="causal"),
        {
            "previous": 1,
            "self": 0,
            "offset_peak": 1,
            "entropy": 0,
            "balance": 0,
            "locality": (1 + 11 / 2) / 12,
            "sink": 1 / 11,
        },
    ),
    "next only": (
        by_hand(lambda i, j: j == i + 1 or (i == 11 and j == 11)),
        {"next": 1, "previous": 0, "balance": 0, "entropy": 0, "self": 1 / 12, "offset_peak": 11 / 12},
    ),
    "next only, causal": (by_hand(lambda i, j: i == j, mask="causal"), {"next": NONE}),
    "uniform": (
        by_hand(lambda i, j: True),
        {
            "entropy": 1,
            "symmetry": 1,
            "balance": 1,
            "sink": 1 / 12,
            "self": 1 / 12,
            "previous": 1 / 12,
            "next": 1 / 12,
            "offset_peak": 1 / 12,
        },
    ),
    "uniform, causal": (
        by_hand(lambda i, j: True, mask="causal"),
        {"entropy": 1, "balance": 0, "symmetry": 1, "sink": sum(1 / n for n in range(2, 13)) / 11},
    ),
    "left only": (by_hand(lambda i, j: j < i or i == j == 0), {"balance": 0, "next": 0}),
    "mirrored": (by_hand(lambda i, j: 0 < abs(i - j) <= min(i, 11 - i, 3)), {"balance": 1, "symmetry": 1}),
    "first only": (
        by_hand(lambda i, j: j == 0, mask="causal"),
        {"sink": 1, "entropy": 0, "self": 0, "previous": 1 / 11, "offset_peak": 1 / 11},
    ),
    "first only, both sides": (by_hand(lambda i, j: j == 0), {"sink": 1, "entropy": 0, "self": 1 / 12}),
    "earlier copy": (
        by_hand(is_token_again, mask="causal", tokens=REPEATED),
        {"duplicate": 1, "induction": 0},
    ),
    "what followed": (
        by_hand(follows_token, mask="causal", tokens=REPEATED),
        {"duplicate": 0, "induction": 1},
    ),
    "nothing repeats": (by_hand(lambda i, j: True, mask="causal"), {"duplicate": NONE, "induction": NONE}),
}


@pytest.mark.parametrize("head", HEADS)
def test_a_head_made_by_hand_has_its_scores(head: str):
    rows, known = HEADS[head]
    for name, value in known.items():
        assert answer(SCORES[name], rows).item() == pytest.approx(value, abs=1e-12, nan_ok=True), name


def test_rows_that_cannot_match_are_not_counted():
    rows, _ = HEADS["what followed"]
    for name in ("duplicate", "induction"):
        assert SCORES[name].rows(rows)[1][0].tolist() == [0] * 6 + [1] * 6


def test_the_row_before_a_repetition_is_not_an_induction_row():
    """Row L - 1 stands on a token not seen before, though the diagonal at offset L - 1 passes through it."""
    rows, _ = HEADS["what followed"]
    assert SCORES["induction"].rows(rows)[1][0, 5] == 0


@pytest.mark.parametrize("name", ["sink", "self", "entropy", "offset_peak"])
def test_rows_that_see_one_key_are_left_out(name: str):
    rows, _ = HEADS["uniform, causal"]
    assert SCORES[name].rows(rows)[1][0].tolist() == [0] + [1] * 11


def test_a_first_token_out_of_sight_is_not_asked_about():
    rows = by_hand(lambda i, j: True, mask="window")
    assert SCORES["sink"].rows(rows)[1][0].tolist() == [0, 1, 1, 1, 1] + [0] * 7


def test_equal_peaks_count_as_the_leftmost():
    rows, _ = HEADS["uniform"]
    assert SCORES["offset_peak"].rows(rows)[0][0].tolist() == [-i for i in range(12)]


def test_entropy_and_shares_are_of_what_is_spent_on_tokens():
    """A model with a sink of its own spends less than 1 on tokens; how it spends the rest is what counts."""
    rows, _ = HEADS["uniform"]
    half = type(rows)(rows.attention_HQK / 2, rows.queries_Q, rows.allowed_QK, rows.tokens_BK)
    for name in ("entropy", "self", "previous", "next"):
        torch.testing.assert_close(answer(SCORES[name], half), answer(SCORES[name], rows))
    assert answer(SCORES["sink"], half).item() == pytest.approx(1 / 24)


def test_offset_mass_of_a_previous_token_head():
    mass_HBO, count_BO = offset_mass(HEADS["previous only"][0])
    mass_HO, count_O = mass_HBO[:, 0], count_BO[0]
    assert mass_HO.shape == (1, 23)
    assert mass_HO[0, 10] == 11  # offset -1, in the eleven rows that have a token before
    assert mass_HO[0, 11] == 1  # offset 0, in the first row
    assert mass_HO.sum() == 12
    assert count_O.tolist() == list(range(1, 13)) + [0] * 11
