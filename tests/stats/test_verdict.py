"""Claims and the rules that judge them."""

import pytest

from wherewhat.stats.verdict import (
    VERDICTS,
    ClaimResult,
    clearly_above,
    interval_verdict,
    seen_verdict,
    unanimous_verdict,
)


def test_a_claim_is_written_with_what_belongs_to_it():
    claim = ClaimResult("It is so.", "yes", "0.9", "agrees", about={"data": "a file"})
    assert claim.entry == {
        "claim": "It is so.",
        "published": "yes",
        "ours": "0.9",
        "verdict": "agrees",
        "why": "",
        "data": "a file",
    }
    with pytest.raises(AssertionError):
        ClaimResult("It is so.", "yes", "0.9", "perhaps")


def test_rules_give_verdicts_only():
    for sides in ([], [0], [1], [-1], [1, -1], [1, 0], [0, -1]):
        assert unanimous_verdict(sides) in VERDICTS
    assert [seen_verdict(held) for held in ([True], [True, False], [False])] == ["seen", "in part", "not seen"]
    assert interval_verdict(float("nan"), float("nan")) == "unknown"


def test_below_a_bound_is_above_it_mirrored():
    assert clearly_above(-0.4, -0.3, -0.5) == 1
    assert clearly_above(0.5, 0.5, 0.5) == 0, "the bound itself is on neither side"
