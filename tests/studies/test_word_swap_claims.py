"""Verdicts on swapped words, each in worlds that are opposite."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from word_swap_worlds import CURVES, SCALE, SPREAD, World, follows, rights

from wherewhat.stats.estimate import Estimate
from wherewhat.studies.engine.claims import judge, short_answer
from wherewhat.studies.engine.encodings import EncodingCondition
from wherewhat.studies.engine.results import ResultTable
from wherewhat.studies.word_swap.claims import CLAIMS, above, kinds_of, mean_gap, side_of
from wherewhat.studies.word_swap.names import POOLED
from wherewhat.studies.word_swap.results import learnt, mean_of
from wherewhat.studies.word_swap.run import STUDY
from wherewhat.studies.word_swap.settings import CurveGroup

TRUE = World(
    shift=lambda condition: 0.2 if condition.s == 1 else 0.5, after=lambda condition: 0.5 if condition.s == 1 else 0.85
)
WIDE = (-0.3, 0.0, 0.3)


def verdict(name: str, world: World) -> str:
    return judge(CLAIMS[name], world.results()).verdict


def answers_of(table: ResultTable) -> dict[str, dict[str, str]]:
    """The short answer to every claim that has one."""
    return {name: short_answer(claim, judge(claim, table)) for name, claim in CLAIMS.items() if claim.answers}


def unlearnt(**levels: float) -> World:
    """A world in which some questions are answered no better than that."""
    return replace(TRUE, right=lambda condition, asked: levels.get(asked, rights(condition, asked)))


def asked_about_names(of_trial: Callable[[EncodingCondition], float]) -> World:
    """A world in which encodings follow so many exchanges of names, and all can tell who does it."""

    def followed(condition: EncodingCondition, question: str) -> float:
        return of_trial(condition) if question == "names" else follows(condition, question)

    return replace(TRUE, followed=followed, right=lambda condition, question: 0.9)


def guessing(encodings: tuple[str, ...]) -> World:
    """A world in which curves with sides of some encodings guess who does it, and so follow half by chance."""

    def guessed(otherwise: Callable[[EncodingCondition, str], float]) -> Callable[[EncodingCondition, str], float]:
        def of(condition: EncodingCondition, question: str) -> float:
            guesses = question == "names" and condition.encoding in encodings and not condition.mirrored
            return 0.5 if guesses else otherwise(condition, question)

        return of

    return replace(TRUE, right=guessed(rights), followed=guessed(follows))


def readers(*names: str) -> World:
    """A world in which only these encodings read roles in pairs."""

    def right(condition: EncodingCondition, question: str) -> float:
        return 0.66 if question == "roles" and condition.name not in names else rights(condition, question)

    def followed(condition: EncodingCondition, question: str) -> float:
        return 0.05 if question == "roles" and condition.name not in names else follows(condition, question)

    return replace(TRUE, right=right, followed=followed)


@pytest.mark.parametrize(
    ("world", "expected"),
    [
        (TRUE, "agrees"),
        (replace(TRUE, constituents=-0.3, whole=-0.2), "disagrees"),
        (replace(TRUE, constituents=-0.3, whole=-0.5), "in part"),
        (replace(TRUE, constituents=-0.01, whole=-0.01), "in part"),
        (replace(TRUE, apart={"learned": -0.3}, whole=-0.5), "in part"),  # small with all but one
        (unlearnt(content=0.5), "unknown"),
    ],
)
def test_shuffled_phrases(world: World, expected: str) -> None:
    assert verdict("shuffles", world) == expected


@pytest.mark.parametrize(
    ("world", "expected"),
    [
        (TRUE, "agrees"),
        (replace(TRUE, followed=lambda condition, question: 0.9), "disagrees"),
        (
            replace(TRUE, flips=lambda condition, question: 0.4),
            "disagrees",
        ),  # answers change, though not to the new label
        (replace(TRUE, flips=lambda condition, question: 0.4 if condition.name == "learned" else 0.02), "in part"),
        (replace(TRUE, spread=(-0.3, 0.0, 0.3), right=lambda condition, question: 1.0), "unknown"),
        (unlearnt(content=0.5), "unknown"),
    ],
)
def test_blindness(world: World, expected: str) -> None:
    assert verdict("blindness", world) == expected


@pytest.mark.parametrize(
    ("world", "expected"),
    [
        (TRUE, "agrees"),
        (asked_about_names(lambda condition: 0.9 if condition.s == 1 else 0.5), "disagrees"),
        (asked_about_names(lambda condition: 0.7), "disagrees"),  # sides make no difference, and clearly so
        (asked_about_names(lambda condition: 0.9 if condition.encoding == "leaning" else 0.1), "in part"),
        (guessing(("attenuated",)), "in part"),  # s 0.5 guesses, leaning heads can tell
        (guessing(("attenuated", "leaning")), "unknown"),
        (unlearnt(names=0.5), "unknown"),
        (unlearnt(roles=0.6), "agrees"),  # pairs are harder; who does it decides
    ],
)
def test_symmetry(world: World, expected: str) -> None:
    assert verdict("symmetry", world) == expected


def test_where_one_kind_of_curve_gains_the_answer_says_which() -> None:
    part = asked_about_names(lambda condition: 0.9 if condition.encoding == "leaning" else 0.1)
    assert answers_of(part.results())["symmetry"]["lead"] == (
        "Symmetric curves miss more than asymmetric ones in part: s 0.5 does not follow more, leaning 1 follows more"
    )


def test_whether_sides_matter_may_be_open_and_kinds_of_curves_are_told_apart() -> None:
    assert {side_of(Estimate(0.1, -0.3, 0.5)), side_of(Estimate(0.1))} == {0}
    scale = replace(SCALE, curves=(*CURVES, CurveGroup(0.6, (1.0, 4.0)), CurveGroup(0.25, (0.0,))))
    assert list(kinds_of(replace(TRUE, scale=scale).results())) == ["s 0.5", "s 4", "leaning 1"]  # s 0 has no partner


@pytest.mark.parametrize(("world", "expected"), [(TRUE, "learned, rope"), (unlearnt(roles=0.6), "no encoding")])
def test_it_is_said_which_encodings_learnt_pairs_about_roles(world: World, expected: str) -> None:
    ours = judge(CLAIMS["symmetry"], world.results()).ours
    assert "which are harder, were clearly learnt with" in ours and f"{expected}." in ours


@pytest.mark.parametrize(
    ("world", "expected"),
    [
        (TRUE, "seen"),
        (replace(TRUE, followed=lambda condition, question: 0.05), "not seen"),
        (replace(TRUE, followed=lambda condition, question: 0.9), "in part"),  # both follow: training decides nothing
        (unlearnt(roles=0.6), "in part"),  # by who does it alone
        (readers("learned"), "in part"),  # not only those count that learnt it
        (readers(), "in part"),
        (unlearnt(roles=0.6, names=0.5), "unknown"),
        (unlearnt(content=0.5), "unknown"),
    ],
)
def test_training(world: World, expected: str) -> None:
    assert verdict("training", world) == expected


def test_it_is_said_with_which_encodings_a_reward_for_roles_helps() -> None:
    results = readers("learned").results()
    assert "roles in pairs with 1 of 5: learned" in answers_of(results)["training"]["lead"]
    assert "with 1 of 5: learned; these follow 90" in judge(CLAIMS["training"], results).ours


def test_encodings_that_never_learnt_content_are_not_held_against_it() -> None:
    one = replace(
        TRUE,
        right=lambda condition, asked: (
            0.5 if asked == "content" and condition.name == "rope" else rights(condition, asked)
        ),
        followed=lambda condition, asked: (
            0.8 if asked == "content" and condition.name == "rope" else follows(condition, asked)
        ),
    )
    ours = judge(CLAIMS["training"], one.results()).ours
    assert "without rope, which never learnt content" in ours
    assert "(4 of the 4 that learnt content)" in ours and ours.count("a gain of +88.0 points") == 2


def test_it_is_said_whose_answers_change_and_where_shuffles_cost() -> None:
    unlike = replace(
        TRUE, flips=lambda condition, question: 0.4 if condition.name == "learned" else 0.02, apart={"learned": -0.3}
    )
    told = answers_of(unlike.results())
    assert "; not with learned; learned changes 40" in told["blindness"]["lead"]
    assert "rope changes" not in told["blindness"]["rest"]
    assert "rope; not with learned; the whole sentence clearly costs more with" in told["shuffles"]["lead"]


def test_theorems_are_seen_to_hold_and_seen_to_fail() -> None:
    assert verdict("no_position", TRUE) == "seen" and verdict("no_position", replace(TRUE, unmoved=0.2)) == "not seen"
    assert verdict("bare_names", TRUE) == "seen"
    assert verdict("bare_names", replace(TRUE, names=lambda condition: 0.1)) == "in part"
    assert (
        verdict("bare_names", replace(TRUE, names=lambda condition: 0.1 if condition.mirrored else 0.0)) == "not seen"
    )
    assert verdict("bare_names", asked_about_names(lambda condition: 0.9)) == "in part"  # symmetric ones followed


def test_two_seeds_decide_nothing_and_say_so() -> None:
    results = replace(TRUE, spread=SPREAD[:2]).results()
    claims = [judge(claim, results) for claim in CLAIMS.values()]
    assert {claim.verdict for claim in claims} == {"unknown"}
    assert all(claim.why == "Fewer than 3 seeds decide nothing." for claim in claims)


def test_seeds_that_differ_widely_leave_a_claim_open() -> None:
    wide = replace(TRUE, spread=WIDE, right=lambda condition, question: 0.9)
    assert not learnt(wide.results(), "roles")
    assert verdict("training", wide) == "unknown"


def test_answers_say_what_verdicts_say() -> None:
    for world in (TRUE, replace(TRUE, followed=lambda condition, question: 0.05), unlearnt(roles=0.6)):
        results = world.results()
        for name, told in answers_of(results).items():
            found = judge(CLAIMS[name], results)
            assert told["lead"].startswith(CLAIMS[name].answers[found.verdict])


def test_every_verdict_that_can_come_has_its_sentence() -> None:
    published, ours = {"agrees", "in part", "disagrees", "unknown"}, {"seen", "in part", "not seen", "unknown"}
    answers = [set(claim.answers) for claim in CLAIMS.values() if claim.answers]
    assert len(answers) == 4 and all(verdicts in (published, ours) for verdicts in answers)


def test_published_ranges_are_those_of_the_table() -> None:
    assert "0.2 to 1.7 points" in CLAIMS["shuffles"].published and "2.7 to 6 from" in CLAIMS["shuffles"].published
    assert "57.8 to 66.8 points" in CLAIMS["blindness"].published


def test_a_gap_is_taken_seed_by_seed_at_the_same_locality() -> None:
    results = TRUE.results()
    (_, group), *_ = results.scale.groups()
    gap = mean_gap(results, [([group[0]], curve) for curve in group[1:]], "roles", "accuracy")
    assert gap.value == pytest.approx(0.35) and gap.high - gap.low < 1e-9
    assert above(Estimate(0.5), 0.4) == 0  # without an interval nothing is clear
    assert mean_of([0.5, float("nan")]) == 0.5


def test_means_hold_every_encoding_those_that_learnt_it_and_the_gaps() -> None:
    results = TRUE.results()
    result = results.extended(STUDY.summarise(results)).rows
    assert set(result["part"]) == {"run", "mean", "gap", "encoding"}
    mean = result.filter(part="mean", subject="learned", item="roles, exchange", measure="followed").row(0, named=True)
    assert mean["value"] == pytest.approx(0.9) and mean["low"] < 0.9 < mean["high"]
    pooled_row = result.filter(part="mean", subject=POOLED, item="content, whole", measure="change")
    assert pooled_row["value"][0] == pytest.approx(-0.05)  # without the net that has no positions
    assert result.filter(part="gap", measure="accuracy")["value"].to_list() == pytest.approx([0.35] * 4)
    gaps = result.filter(part="gap", measure="followed", item="names, exchange")
    assert gaps["value"].to_list() == pytest.approx([0.9, 0.9])
