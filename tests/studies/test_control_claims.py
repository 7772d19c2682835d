"""What is concluded from made-up outcomes: each claim with a world in which it holds, and one in which it does not."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import permutations, product
from types import SimpleNamespace
from typing import Any

import pytest

from wherewhat.stats.estimate import Estimate
from wherewhat.stats.verdict import ClaimResult
from wherewhat.studies.control.claims import (
    beyond_controls,
    by_heads,
    by_pair,
    claims,
    comparisons,
    dissociation,
    learnt,
    slow_or_fast,
)
from wherewhat.studies.control.heads import Rhos
from wherewhat.studies.control.interventions import EQUAL, LARGER, MIXED, SMALLER
from wherewhat.studies.control.settings import CONTROLS, HEADS, KINDS, SIDES

Place = tuple[str, str]  # kind of heads, side of their frequencies
FAST_POSITIONAL, SLOW_SYMBOLIC = ("positional", "high"), ("symbolic", "low")
MATCHING = (FAST_POSITIONAL, SLOW_SYMBOLIC)
CROSSED = (("positional", "low"), ("symbolic", "high"))


def within(value: float, wide: float = 0.01) -> Estimate:
    return Estimate(value, value - wide, value + wide)


@dataclass(frozen=True)
class World:
    """Made-up effects of one operation on bands of one size, the same for every measure."""

    harm: Mapping[Place, float]
    difference: Mapping[tuple[Place, Place], float]  # harm of one cell minus that of another
    per_norm: Mapping[tuple[Place, Place], float]
    excess: Mapping[str, Estimate]  # by control
    match: Mapping[str, str]  # how the norms of the controls compare with the cell's
    draws: Mapping[str, tuple[int, int]]  # that did less harm, of how many
    share: float = 0.25

    def cell(self, place: Place) -> "MadeUpCell":
        return MadeUpCell(*place, self)

    @property
    def cells(self) -> "list[MadeUpCell]":
        return [self.cell(place) for place in product(KINDS, SIDES)]


@dataclass(frozen=True)
class MadeUpCell:
    """A cell of such a world, with what claims ask of a cell."""

    kind: str
    side: str
    world: World
    operation: str = "drop"

    @property
    def share(self) -> float:
        return self.world.share

    @property
    def place(self) -> Place:
        return self.kind, self.side

    def harm(self, measure: str) -> Estimate:
        return within(self.world.harm[self.place])

    def change(self, measure: str) -> Estimate:
        return within(self.world.harm[self.place] * (1 if measure == "loss" else -1))

    def difference(self, other: "MadeUpCell", measure: str) -> Estimate:
        return within(self.world.difference[self.place, other.place])

    def per_norm(self, other: "MadeUpCell", measure: str) -> Estimate:
        return within(self.world.per_norm[self.place, other.place])

    def excess(self, control: str, measure: str) -> Estimate:
        return self.world.excess[control]

    def less_harmful(self, control: str, measure: str) -> tuple[int, int]:
        return self.world.draws[control]

    def norm_match(self, control: str) -> str:
        return self.world.match[control]


def world(matching: float, crossed: float, beyond: float = 0.1) -> World:
    """Cells where the band fits the heads do so much harm, the crossed ones so much."""
    harm = {place: matching if place in MATCHING else crossed for place in product(KINDS, SIDES)}
    against = {(one, other): harm[one] - harm[other] for one, other in permutations(harm, 2)}
    excess, match = dict.fromkeys(CONTROLS, within(beyond)), dict.fromkeys(CONTROLS, EQUAL)
    return World(harm, against, against, excess, match, dict.fromkeys(CONTROLS, (13, 16)))


def beyond(outcome: World, place: Place, measure: str | None) -> ClaimResult:
    return beyond_controls(outcome.cell(place), measure)  # type: ignore[arg-type]


def slow_fast(outcome: World, kind: str, measure: str | None) -> ClaimResult:
    return slow_or_fast(outcome.cell((kind, "low")), outcome.cell((kind, "high")), measure)  # type: ignore[arg-type]


def dissociated(outcome: World) -> ClaimResult:
    sides = [[outcome.cell(place) for place in places] for places in (MATCHING, CROSSED)]
    return dissociation(*sides)  # type: ignore[arg-type]


def judged(outcomes: list[World], copying: str | None) -> list[ClaimResult]:
    cells: list[Any] = [cell for outcome in outcomes for cell in outcome.cells]
    without: Any = SimpleNamespace(trained={}, redrawn={}, fastest=None)  # correlations
    return claims(without, cells, copying)


EXPECTED, NOTHING, REVERSED = world(0.5, 0.1), world(0.1, 0.1, 0.0), world(0.1, 0.5, -0.1)


@pytest.mark.parametrize(("outcome", "verdict"), [(EXPECTED, "seen"), (NOTHING, "not seen"), (REVERSED, "not seen")])
def test_every_causal_claim_follows_the_numbers(outcome: World, verdict: str):
    assert beyond(outcome, FAST_POSITIONAL, "loss").verdict == verdict
    assert beyond(outcome, SLOW_SYMBOLIC, "copy").verdict == verdict
    assert slow_fast(outcome, "symbolic", "copy").verdict == verdict
    assert dissociated(outcome).verdict == verdict


def test_what_is_said_has_the_numbers_in_it():
    claim = beyond(EXPECTED, FAST_POSITIONAL, "loss")
    assert claim.claim == (
        "Dropping the fast quarter in positional heads hurts the loss more than random bands and random heads of equal "
        "norm do."
    )
    assert claim.published == "unknown" and claim.ours.startswith(
        "The loss changes by +0.50 (+0.49 to +0.51) nats per token."
    )
    assert "Excess harm over random heads: +0.10 (+0.090 to +0.11); 13 of 16 draws did less harm." in claim.ours
    copying = slow_fast(EXPECTED, "symbolic", "copy")
    assert copying.claim == (
        "In symbolic heads, dropping the slow quarter hurts copying more than dropping the fast quarter does."
    )
    assert copying.ours.startswith(
        "Slow: copying changes by −0.50 (−0.51 to −0.49) of the tokens; fast: copying changes by −0.10"
    ), "harm to copying is less copying"
    assert "Excess harm of the slow band over the fast: +0.40 (+0.39 to +0.41); per percent" in copying.ours


def test_what_is_clearly_the_other_way_is_said_to_be():
    for claim in (beyond(REVERSED, FAST_POSITIONAL, "loss"), slow_fast(REVERSED, "symbolic", "loss")):
        assert claim.verdict == "not seen" and claim.ours.count(", reversed") == 2
    assert "Of 4 comparisons, 0 are clear and 4 are reversed" in dissociated(REVERSED).ours
    assert not any("reversed" in claim.ours for claim in judged([NOTHING], "copy") + judged([EXPECTED], "copy"))


def held(standing: str, excess: float, draws: int = 16) -> ClaimResult:
    """A world in which random bands are of equal norm and well behind, and random heads stand like this."""
    other = replace(
        EXPECTED,
        match={**EXPECTED.match, HEADS: standing},
        excess={**EXPECTED.excess, HEADS: within(excess)},
        draws={**EXPECTED.draws, HEADS: (0, draws)},
    )
    return beyond(other, FAST_POSITIONAL, "loss")


@pytest.mark.parametrize(
    ("standing", "excess", "verdict"),
    [
        *((EQUAL, 0.1, "seen"), (EQUAL, 0.0, "in part"), (EQUAL, -0.1, "not seen")),
        *((SMALLER, 0.1, "in part"), (SMALLER, 0.0, "in part"), (SMALLER, -0.1, "not seen")),
        *((LARGER, 0.1, "seen"), (LARGER, 0.0, "in part"), (LARGER, -0.1, "in part")),
        *((MIXED, 0.1, "in part"), (MIXED, 0.0, "in part"), (MIXED, -0.1, "in part")),
    ],
)
def test_controls_of_smaller_norm_speak_only_against_and_of_larger_only_for(standing: str, excess: float, verdict: str):
    claim = held(standing, excess)
    assert claim.verdict == verdict
    assert ("can only refute" in claim.why) == (standing != EQUAL)
    if standing == SMALLER:
        assert "No random heads have an equal norm; excess harm over the nearest, which are smaller: " in claim.ours
    assert ("reversed" in claim.ours) == (excess < 0 and standing in (EQUAL, SMALLER)), "where it may say so"


def test_what_does_no_harm_does_not_do_more_of_it():
    """The controls do good, and the cell does less of that."""
    harmless = replace(EXPECTED, harm=dict.fromkeys(EXPECTED.harm, 0.0))
    for claim in (beyond(harmless, SLOW_SYMBOLIC, "copy"), slow_fast(harmless, "symbolic", "copy")):
        assert claim.verdict == "not seen" and claim.why == "There is no clear harm in the first place."


def test_a_handful_of_draws_decides_nothing():
    assert held(EQUAL, -0.1, draws=5).verdict == "not seen"
    few = held(EQUAL, -0.1, draws=4)
    assert few.verdict == "in part" and few.why == "Fewer than 5 draws do not allow a verdict."
    endless = Estimate(0.1, float("-inf"), float("inf"))
    one = replace(EXPECTED, excess=dict.fromkeys(CONTROLS, endless), draws=dict.fromkeys(CONTROLS, (1, 1)))
    claim = beyond(one, FAST_POSITIONAL, "loss")
    assert claim.verdict == "unknown" and "+0.10 (no interval); 1 of 1 draw did less harm." in claim.ours


def test_without_any_control_that_may_speak_it_cannot_be_told():
    outcome = replace(EXPECTED, match=dict.fromkeys(CONTROLS, SMALLER))
    claim = beyond(outcome, FAST_POSITIONAL, "loss")
    assert claim.verdict == "unknown" and "can only refute" in claim.why
    worse = replace(outcome, excess=dict.fromkeys(CONTROLS, within(-0.1)))
    assert beyond(worse, FAST_POSITIONAL, "loss").verdict == "not seen", "less norm did more harm"


def test_without_copying_there_is_nothing_to_lose():
    of_copying = [claim for claim in judged([EXPECTED], None) if "copying" in claim.claim]
    assert len(of_copying) == 2 and all(claim.verdict == "unknown" for claim in of_copying)
    nothing = "The model does not copy random tokens, so it has no copying to lose."
    assert all(claim.ours == nothing for claim in of_copying)


def test_a_dissociation_must_also_hold_for_equal_norm():
    claim = dissociated(replace(EXPECTED, per_norm=NOTHING.difference))
    assert claim.verdict == "in part"
    assert "Of 4 comparisons, 4 are clear; per percent of the model's norm, 0 are clear." in claim.ours
    half = {**EXPECTED.difference, (SLOW_SYMBOLIC, ("positional", "low")): -0.1}
    assert dissociated(replace(EXPECTED, difference=half, per_norm=half)).verdict == "not seen"


@pytest.mark.parametrize(
    ("each", "why"),
    [
        (EXPECTED, ""),
        (NOTHING, "Overall the difference is clear; per percent of norm it is not clear."),
        (REVERSED, "Overall the difference is clear; per percent of norm it is reversed."),
    ],
)
def test_what_the_norm_changes_is_said_as_it_is(each: World, why: str):
    claim = slow_fast(replace(EXPECTED, per_norm=each.difference), "symbolic", "loss")
    assert claim.why == why and claim.verdict == ("in part" if why else "seen")


def test_what_would_be_told_as_nothing_is_not_seen():
    tiny = dict.fromkeys(CONTROLS, Estimate(3e-5, 1e-5, 4e-5))
    claim = beyond(replace(EXPECTED, excess=tiny), FAST_POSITIONAL, "loss")
    assert claim.verdict == "not seen" and "Excess harm over random bands: 0 (0 to 0)" in claim.ours


def test_bands_of_another_size_are_added_and_do_not_judge():
    results = judged([EXPECTED, replace(NOTHING, share=0.5)], "copy")
    assert results[2].verdict == "seen" and results[2].why.endswith("With bands of a half: not seen.")


def pairs(positional: float, symbolic: float) -> Rhos:
    rhos = {"positional": positional, "symbolic": symbolic}
    return {("pairs", "theta", name): within(rho, 0.1) for name, rho in rhos.items()}


@pytest.mark.parametrize(
    ("own", "verdict"),
    [
        *(((0.9, -0.9), "agrees"), ((0.9, -0.5), "in part"), ((0.9, 0.9), "in part")),
        *(((0.5, -0.5), "unknown"), ((0.0, 0.0), "unknown"), ((-0.9, 0.9), "disagrees"), ((0.5, 0.9), "disagrees")),
    ],
)
def test_what_was_published_must_go_beyond_what_arithmetic_gives(own: tuple[float, float], verdict: str):
    claim = by_pair(pairs(*own), pairs(0.5, -0.5), (0.9, 0.2))
    assert claim.verdict == verdict and "redrawn weights" in claim.why
    assert "; with redrawn weights, 0.50 (0.40 to 0.60) and −0.50 (−0.60 to −0.40)." in claim.ours
    assert claim.ours.endswith("The fastest frequency of a head is at 0.90 and 0.20 (medians).")


def test_the_publication_is_quoted_with_its_fastest_plane_and_with_what_each_number_is():
    published = by_pair({}, {}).published
    assert "arXiv 2511.11579" in published and "plane 127, the slowest, at s_POS 0 and s_SYM 1" in published
    assert "plane 0, the fastest, mostly about 0.97 and 0.97" in published
    assert by_pair({}, {}).verdict == "unknown" and "medians" not in by_pair({}, {}).ours


def heads(mean: float, norm: float) -> Rhos:
    rhos = {("mean_speed", "position_share"): mean, ("mean_speed", "symbol_share"): -mean}
    rhos |= {("high:0.25", "position_share"): norm, ("low:0.25", "position_share"): -norm}
    return {("heads", *names): within(rho, 0.1) for names, rho in rhos.items()}


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
    half = {**heads(0.8, 0.3), ("heads", "mean_speed", "symbol_share"): within(-0.3, 0.1)}
    assert by_heads(half, heads(0.3, 0.3)).verdict == "not seen"


def test_a_correlation_is_told_from_another_by_both_intervals():
    for sign in (1, -1):
        own, others = within(0.5 * sign, 0.1), [within(rho * sign, 0.1) for rho in (0.35, 0.37, 0.63, 0.65)]
        assert [learnt(own, other, sign) for other in others] == [1, 0, 0, 0], "by 0.14 and more"
        assert [learnt(own, other, -sign) for other in others] == [-1] * 4, "it has the other sign"
        assert [learnt(other, own, sign) for other in others] == [0, 0, 0, 1]
    assert learnt(within(0.5, 0.1), Estimate(), 1) == 0 == learnt(Estimate(0.9), within(0.5, 0.1), 1)


def test_every_comparison_that_a_verdict_asks_is_counted():
    assert comparisons("copy") == 3 * 2 + 2 + 2 * 4 and comparisons(None) == 2 * 2 + 2 * 4
