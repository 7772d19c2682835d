"""What is concluded from made-up outcomes: each claim with a world in which it holds, and one in which it does not."""

from dataclasses import replace

import pytest

from wherewhat.stats.estimate import Estimate
from wherewhat.stats.verdict import Claim
from wherewhat.studies.control.claims import (
    FAST_POSITIONAL,
    MATCHING,
    SLOW_SYMBOLIC,
    beyond_controls,
    by_heads,
    by_pair,
    claims,
    comparisons,
    dissociation,
    slow_or_fast,
)
from wherewhat.studies.control.compare import BandEffects
from wherewhat.studies.control.correlate import Correlations, RankCorrelation
from wherewhat.studies.control.settings import (
    CONTROLS,
    EQUAL,
    HEADS,
    KINDS,
    LARGER,
    MIXED,
    SIDES,
    SMALLER,
)

PLACES = [(kind, side) for kind in KINDS for side in SIDES]


def every(value: float, wide: float = 0.01) -> dict[str, Estimate]:
    return {name: Estimate(value, value - wide, value + wide) for name in ("loss", "copy", "induction")}


def world(matching: float, crossed: float, beyond: float = 0.1) -> BandEffects:
    """Cells where the band fits the heads do so much harm, the crossed ones so much."""
    harm = {place: matching if place in MATCHING else crossed for place in PLACES}
    both = [(place, control) for place in PLACES for control in CONTROLS]
    pairs = [(one, other) for one in PLACES for other in PLACES if one != other]
    against = {(one, other): every(harm[one] - harm[other]) for one, other in pairs}
    return BandEffects(
        operation="drop",
        share=0.25,
        harm={place: every(value) for place, value in harm.items()},
        excess={key: every(beyond) for key in both},
        less_harmful={key: dict.fromkeys(("loss", "copy", "induction"), (13, 16)) for key in both},
        norm_match=dict.fromkeys(both, EQUAL),
        difference=against,
        per_norm=against,
    )


EXPECTED, NOTHING, REVERSED = world(0.5, 0.1), world(0.1, 0.1, 0.0), world(0.1, 0.5, -0.1)


@pytest.mark.parametrize(("outcome", "verdict"), [(EXPECTED, "seen"), (NOTHING, "not seen"), (REVERSED, "not seen")])
def test_every_causal_claim_follows_the_numbers(outcome: BandEffects, verdict: str):
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
    assert claim.published == "unknown" and claim.ours.startswith(
        "The loss changes by +0.50 (+0.49 to +0.51) nats per token."
    )
    assert "Excess harm over random heads: +0.10 (+0.090 to +0.11); 13 of 16 draws did less harm." in claim.ours
    copying = slow_or_fast(EXPECTED, "symbolic", "copy")
    assert copying.claim == (
        "In symbolic heads, dropping the slow quarter hurts copying more than dropping the fast quarter does."
    )
    assert copying.ours.startswith(
        "Slow: copying changes by −0.50 (−0.51 to −0.49) of the tokens; fast: copying changes by −0.10"
    ), "harm to copying is less copying"
    assert "Excess harm of the slow band over the fast: +0.40 (+0.39 to +0.41); per percent" in copying.ours


def test_what_is_clearly_the_other_way_is_said_to_be():
    for claim in (beyond_controls(REVERSED, FAST_POSITIONAL, "loss"), slow_or_fast(REVERSED, "symbolic", "loss")):
        assert claim.verdict == "not seen" and claim.ours.count(", reversed") == 2
    assert "Of 4 comparisons, 0 are clear and 4 are reversed" in dissociation(REVERSED).ours
    assert not any("reversed" in claim.ours for claim in claims(NONE, [NOTHING, EXPECTED], "copy"))


def held(standing: str, beyond: float, draws: int = 16) -> Claim:
    """A world in which random bands are of equal norm and well behind, and random heads stand like this."""
    key = (FAST_POSITIONAL, HEADS)
    other = replace(
        EXPECTED,
        norm_match={**EXPECTED.norm_match, key: standing},
        excess={**EXPECTED.excess, key: every(beyond)},
        less_harmful={**EXPECTED.less_harmful, key: {"loss": (0, draws)}},
    )
    return beyond_controls(other, FAST_POSITIONAL, "loss")


@pytest.mark.parametrize(
    ("standing", "beyond", "verdict"),
    [
        *((EQUAL, 0.1, "seen"), (EQUAL, 0.0, "in part"), (EQUAL, -0.1, "not seen")),
        *((SMALLER, 0.1, "in part"), (SMALLER, 0.0, "in part"), (SMALLER, -0.1, "not seen")),
        *((LARGER, 0.1, "seen"), (LARGER, 0.0, "in part"), (LARGER, -0.1, "in part")),
        *((MIXED, 0.1, "in part"), (MIXED, 0.0, "in part"), (MIXED, -0.1, "in part")),
    ],
)
def test_controls_of_smaller_norm_speak_only_against_and_of_larger_only_for(standing: str, beyond: float, verdict: str):
    claim = held(standing, beyond)
    assert claim.verdict == verdict
    assert ("can only refute" in claim.why) == (standing != EQUAL)
    if standing == SMALLER:
        assert "No random heads have an equal norm; excess harm over the nearest, which are smaller: " in claim.ours
    assert ("reversed" in claim.ours) == (beyond < 0 and standing in (EQUAL, SMALLER)), "where it may say so"


def test_what_does_no_harm_does_not_do_more_of_it():
    """The controls do good, and the cell does less of that."""
    harmless = replace(EXPECTED, harm=dict.fromkeys(EXPECTED.harm, every(0.0)))
    for claim in (beyond_controls(harmless, SLOW_SYMBOLIC, "copy"), slow_or_fast(harmless, "symbolic", "copy")):
        assert claim.verdict == "not seen" and claim.why == "There is no clear harm in the first place."


def test_a_handful_of_draws_decides_nothing():
    assert held(EQUAL, -0.1, draws=5).verdict == "not seen"
    few = held(EQUAL, -0.1, draws=4)
    assert few.verdict == "in part" and few.why == "Fewer than 5 draws do not allow a verdict."
    endless = {"loss": Estimate(0.1, float("-inf"), float("inf"))}
    one = replace(
        EXPECTED,
        excess=dict.fromkeys(EXPECTED.excess, endless),
        less_harmful={key: {"loss": (1, 1)} for key in EXPECTED.less_harmful},
    )
    claim = beyond_controls(one, FAST_POSITIONAL, "loss")
    assert claim.verdict == "unknown" and "+0.10 (no interval); 1 of 1 draw did less harm." in claim.ours


def test_without_any_control_that_may_speak_it_cannot_be_told():
    outcome = replace(EXPECTED, norm_match=dict.fromkeys(EXPECTED.norm_match, SMALLER))
    claim = beyond_controls(outcome, FAST_POSITIONAL, "loss")
    assert claim.verdict == "unknown" and "can only refute" in claim.why
    worse = replace(outcome, excess=dict.fromkeys(EXPECTED.excess, every(-0.1)))
    assert beyond_controls(worse, FAST_POSITIONAL, "loss").verdict == "not seen", "less norm did more harm"


def test_without_copying_there_is_nothing_to_lose():
    told = [claim for claim in claims(NONE, [EXPECTED], None) if "copying" in claim.claim]
    assert len(told) == 2 and all(claim.verdict == "unknown" for claim in told)
    assert all(claim.ours == "The model does not copy random tokens, so it has no copying to lose." for claim in told)


def test_a_dissociation_must_also_hold_for_equal_norm():
    claim = dissociation(replace(EXPECTED, per_norm=NOTHING.difference))
    assert claim.verdict == "in part"
    assert "Of 4 comparisons, 4 are clear; per percent of the model's norm, 0 are clear." in claim.ours
    half = {**EXPECTED.difference, (SLOW_SYMBOLIC, ("positional", "low")): every(-0.1)}
    assert dissociation(replace(EXPECTED, difference=half, per_norm=half)).verdict == "not seen"


@pytest.mark.parametrize(
    ("each", "why"),
    [
        (EXPECTED, ""),
        (NOTHING, "Overall the difference is clear; per percent of norm it is not clear."),
        (REVERSED, "Overall the difference is clear; per percent of norm it is reversed."),
    ],
)
def test_what_the_norm_changes_is_said_as_it_is(each: BandEffects, why: str):
    claim = slow_or_fast(replace(EXPECTED, per_norm=each.difference), "symbolic", "loss")
    assert claim.why == why and claim.verdict == ("in part" if why else "seen")


def test_what_would_be_told_as_nothing_is_not_seen():
    tiny = {key: {"loss": Estimate(3e-5, 1e-5, 4e-5)} for key in EXPECTED.excess}
    claim = beyond_controls(replace(EXPECTED, excess=tiny), FAST_POSITIONAL, "loss")
    assert claim.verdict == "not seen" and "Excess harm over random bands: 0 (0 to 0)" in claim.ours


def test_bands_of_another_size_are_added_and_do_not_judge():
    found = claims(NONE, [EXPECTED, replace(NOTHING, share=0.5)], "copy")
    assert found[2].verdict == "seen" and found[2].why.endswith("With bands of a half: not seen.")


def line(x: str, y: str, rho: float) -> RankCorrelation:
    return RankCorrelation(x, y, Estimate(rho, rho - 0.1, rho + 0.1))


NONE = (Correlations([], []), Correlations([], []))


def pairs(positional: float, symbolic: float) -> Correlations:
    return Correlations([line("theta", "positional", positional), line("theta", "symbolic", symbolic)], [], (0.9, 0.2))


@pytest.mark.parametrize(
    ("learnt", "verdict"),
    [
        *(((0.9, -0.9), "agrees"), ((0.9, -0.5), "in part"), ((0.9, 0.9), "in part")),
        *(((0.5, -0.5), "unknown"), ((0.0, 0.0), "unknown"), ((-0.9, 0.9), "disagrees"), ((0.5, 0.9), "disagrees")),
    ],
)
def test_what_was_published_must_go_beyond_what_arithmetic_gives(learnt: tuple[float, float], verdict: str):
    claim = by_pair(pairs(*learnt), pairs(0.5, -0.5))
    assert claim.verdict == verdict and "redrawn weights" in claim.why
    assert "; with redrawn weights, 0.50 (0.40 to 0.60) and −0.50 (−0.60 to −0.40)." in claim.ours
    assert claim.ours.endswith("The fastest frequency of a head is at 0.90 and 0.20 (medians).")


def test_the_publication_is_quoted_with_its_fastest_plane_and_with_what_each_number_is():
    published = by_pair(*NONE).published
    assert "arXiv 2511.11579" in published and "plane 127, the slowest, at s_POS 0 and s_SYM 1" in published
    assert "plane 0, the fastest, mostly about 0.97 and 0.97" in published
    assert by_pair(*NONE).verdict == "unknown" and "medians" not in by_pair(*NONE).ours


def heads(mean: float, norm: float) -> Correlations:
    return Correlations(
        [],
        [
            *(line("mean_speed", "position_share", mean), line("mean_speed", "symbol_share", -mean)),
            *(line("high:0.25", "position_share", norm), line("low:0.25", "position_share", -norm)),
        ],
    )


@pytest.mark.parametrize(
    ("mean", "norm", "verdict"),
    [
        (0.8, 0.8, "seen"),
        (0.8, 0.3, "in part"),
        (0.3, 0.3, "not seen"),
        (0.8, -0.8, "in part"),
        (-0.8, 0.0, "not seen"),
    ],
)
def test_the_norm_has_a_say_in_which_frequencies_heads_use(mean: float, norm: float, verdict: str):
    claim = by_heads(heads(mean, norm), heads(0.3, 0.3))
    assert claim.verdict == verdict and "redrawn −0.30 (−0.40 to −0.20)" in claim.ours


def test_heads_differ_only_if_both_shares_say_so():
    one = heads(0.8, 0.3)
    half = replace(one, heads=[one.heads[0], line("mean_speed", "symbol_share", -0.3), *one.heads[2:]])
    assert by_heads(half, heads(0.3, 0.3)).verdict == "not seen"


def test_a_correlation_is_told_from_another_by_both_intervals():
    one = line("x", "y", 0.5)
    assert [one.compare(line("x", "y", rho)) for rho in (0.35, 0.37, 0.63, 0.65)] == [1, 0, 0, -1], "by 0.14 and more"
    assert one.compare(RankCorrelation("x", "y")) == 0 == RankCorrelation("x", "y", Estimate(0.9)).compare(one)


def test_every_comparison_that_a_verdict_asks_is_counted():
    assert comparisons("copy") == 3 * 2 + 2 + 2 * 4 and comparisons(None) == 2 * 2 + 2 * 4
