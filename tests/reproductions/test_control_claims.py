"""What is concluded from made-up outcomes: each claim with a world in which it holds, and one in which it does not."""

from dataclasses import replace

import pytest

from wherewhat.effects import Interval
from wherewhat.reproductions.base import Claim
from wherewhat.reproductions.control.claims import (
    FAST_POSITIONAL,
    MATCHING,
    SLOW_SYMBOLIC,
    Outcome,
    beyond_controls,
    by_heads,
    by_pair,
    claims,
    dissociation,
    slow_or_fast,
)
from wherewhat.reproductions.control.correlate import Line
from wherewhat.reproductions.control.settings import BANDS, CONTROLS, HEADS, KINDS, SIDES

PLACES = [(kind, side) for kind in KINDS for side in SIDES]


def every(value: float, wide: float = 0.01) -> dict[str, Interval]:
    return {name: Interval(value, value - wide, value + wide) for name in ("loss", "copy", "induction")}


def world(matching: float, crossed: float, beyond: float = 0.1) -> Outcome:
    """Cells where the band fits the heads do so much harm, the crossed ones so much."""
    harm = {place: matching if place in MATCHING else crossed for place in PLACES}
    both = [(place, control) for place in PLACES for control in CONTROLS]
    pairs = [(one, other) for one in PLACES for other in PLACES if one != other]
    against = {(one, other): every(harm[one] - harm[other]) for one, other in pairs}
    return Outcome(
        operation="drop",
        share=0.25,
        harm={place: every(value) for place, value in harm.items()},
        above={key: every(beyond) for key in both},
        beaten={key: dict.fromkeys(("loss", "copy", "induction"), (3, 4)) for key in both},
        equal=dict.fromkeys(both, True),
        against=against,
        per_norm=against,
    )


EXPECTED, NOTHING, REVERSED = world(0.5, 0.1), world(0.1, 0.1, 0.0), world(0.1, 0.5, -0.1)


@pytest.mark.parametrize(("outcome", "verdict"), [(EXPECTED, "seen"), (NOTHING, "not seen"), (REVERSED, "not seen")])
def test_every_causal_claim_follows_the_numbers(outcome: Outcome, verdict: str):
    assert beyond_controls(outcome, FAST_POSITIONAL, "loss").verdict == verdict
    assert beyond_controls(outcome, SLOW_SYMBOLIC, "copy").verdict == verdict
    assert slow_or_fast(outcome, "symbolic", "copy").verdict == verdict
    assert dissociation(outcome).verdict == verdict


def test_what_is_said_has_the_numbers_in_it():
    claim = beyond_controls(EXPECTED, FAST_POSITIONAL, "loss")
    assert claim.claim == (
        "Dropping the fast quarter in positional heads hurts the loss more than random bands and random heads of equal "
        "norm do."
    )
    assert claim.published == "unknown" and claim.ours.startswith("The loss +0.50 (+0.49 to +0.51) nats a token.")
    assert "Harm beyond random heads: +0.10 (+0.090 to +0.11), more than 3 of 4 draws." in claim.ours
    copying = slow_or_fast(EXPECTED, "symbolic", "copy").ours
    assert "Slow: Copying −0.50 (−0.51 to −0.49) of tokens copied." in copying, "harm to copying is less copying"
    assert "Harm of the slow band beyond the fast: +0.40" in copying


def test_one_control_alone_is_only_a_part():
    beaten_by_heads = {**EXPECTED.above, (FAST_POSITIONAL, HEADS): every(-0.1)}
    assert beyond_controls(replace(EXPECTED, above=beaten_by_heads), FAST_POSITIONAL, "loss").verdict == "in part"
    without = replace(EXPECTED, equal={**EXPECTED.equal, (FAST_POSITIONAL, BANDS): False})
    claim = beyond_controls(without, FAST_POSITIONAL, "loss")
    assert (
        claim.verdict == "in part"
        and "There are no random bands of equal norm; of the nearest, 3 of 4 did less harm." in claim.ours
    )


def test_without_any_control_of_equal_norm_it_cannot_be_told():
    claim = beyond_controls(replace(EXPECTED, equal=dict.fromkeys(EXPECTED.equal, False)), FAST_POSITIONAL, "loss")
    assert claim.verdict == "unknown" and "does not count" in claim.why


def test_without_copying_there_is_nothing_to_lose():
    told = [claim for claim in claims([], [], [EXPECTED], None) if "copying" in claim.claim]
    assert len(told) == 2 and all(claim.verdict == "unknown" for claim in told)
    assert all(claim.ours == "There is no copying of random tokens to lose." for claim in told)


def test_a_dissociation_must_also_hold_for_equal_norm():
    claim = dissociation(replace(EXPECTED, per_norm=NOTHING.against))
    assert claim.verdict == "in part" and "Clear in 4 of 4 comparisons, and in 0 of 4" in claim.ours
    half = {**EXPECTED.against, (SLOW_SYMBOLIC, ("positional", "low")): every(-0.1)}
    assert dissociation(replace(EXPECTED, against=half, per_norm=half)).verdict == "not seen"
    assert slow_or_fast(replace(EXPECTED, per_norm=NOTHING.against), "symbolic", "loss").verdict == "in part"


def test_what_would_be_told_as_nothing_is_not_seen():
    tiny = {key: {"loss": Interval(3e-5, 1e-5, 4e-5)} for key in EXPECTED.above}
    claim = beyond_controls(replace(EXPECTED, above=tiny), FAST_POSITIONAL, "loss")
    assert claim.verdict == "not seen" and "Harm beyond random bands: 0 (0 to 0)" in claim.ours


def test_bands_of_another_size_are_added_and_do_not_judge():
    found = claims([], [], [EXPECTED, replace(NOTHING, share=0.5)], "copy")
    assert found[2].verdict == "seen" and found[2].why.endswith("With bands of a half: not seen.")


def line(x: str, y: str, rho: float) -> Line:
    return Line(x, y, rho, rho - 0.1, rho + 0.1)


@pytest.mark.parametrize(
    ("positional", "symbolic", "verdict"),
    [(0.8, -0.8, "agrees"), (0.8, 0.0, "in part"), (-0.8, 0.8, "disagrees"), (0.0, 0.0, "not seen")],
)
def test_what_was_published_is_judged_by_both_correlations(positional: float, symbolic: float, verdict: str):
    claim = by_pair([line("theta", "positional", positional), line("theta", "symbolic", symbolic)])
    assert claim.verdict == verdict and "arXiv 2511.11579" in claim.published and "arithmetic" in claim.why


def test_the_norm_has_a_say_in_which_frequencies_heads_use():
    by_mean = [line("mean_frequency", "position_share", -0.7), line("mean_frequency", "symbol_share", 0.7)]
    assert by_heads(by_mean).verdict == "in part"
    by_norm = [line("high:0.25", "position_share", 0.5), line("low:0.25", "position_share", -0.5)]
    assert by_heads([*by_mean, *by_norm]).verdict == "seen"
    assert by_heads([]).verdict == "not seen" and isinstance(by_heads([]), Claim)
