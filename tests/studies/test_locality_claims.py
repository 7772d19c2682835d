"""Verdicts follow the numbers: worlds as published, the other way round, without any effect, and with too few seeds."""

import math
import re
from dataclasses import replace
from itertools import pairwise
from statistics import fmean

import polars as pl
import pytest
from locality_worlds import BLIND, TRIALS, as_local, bias, summed_up, world

from wherewhat.stats.estimate import Estimate
from wherewhat.stats.intervals import student
from wherewhat.studies.engine.claims import Verdict, judge, short_answer
from wherewhat.studies.engine.encodings import EncodingCondition
from wherewhat.studies.engine.results import ResultTable, Row
from wherewhat.studies.locality.claims import CLAIMS, contrast
from wherewhat.studies.locality.sets import ALL, by_seed, of, property_of, spread
from wherewhat.studies.locality.summaries import FLATTER, MATCHED, STEEPER, matched
from wherewhat.tables.schema import RESULT, frame

LEADS = {name: claim.answers for name, claim in CLAIMS.items() if claim.answers}


def claims(results: ResultTable) -> dict[str, Verdict]:
    return {name: judge(claim, results) for name, claim in CLAIMS.items()}


def verdicts(results: ResultTable) -> dict[str, str]:
    return {name: verdict.verdict for name, verdict in claims(results).items()}


def answers_of(results: ResultTable) -> dict[str, dict[str, str]]:
    return {name: short_answer(CLAIMS[name], verdict) for name, verdict in claims(results).items() if name in LEADS}


def at_same_locality(results: ResultTable, name: str) -> Estimate:
    return matched(results, of(results, MATCHED[name]), ALL)


def with_runs(results: ResultTable, rows: list[Row]) -> ResultTable:
    """The same runs with further rows, summed up again."""
    runs = results.rows.filter(pl.col("part").is_in(["run", "encoding"]))
    return summed_up(replace(results, rows=pl.concat([runs, frame(rows, RESULT)])))


def good(condition: EncodingCondition, question: str, *, way: int = 1) -> float:
    """Local and symmetric is good, or bad where the way is -1."""
    if question == "names" and way == -1:
        return 0.5
    value = 0.7 + way * 0.1 * bias(condition, "locality")
    if condition.kind == "encoder":
        value += way * 0.1 * bias(condition, "balance")
    if condition.family in ("log", "raw", "ours") or (condition.family == "decoder" and condition.w is not None):
        value += way * 0.02  # above a table, and above nothing
    return value


def published(condition: EncodingCondition, question: str) -> float:
    """As published; and a learned side weight adds to roles."""
    return good(condition, question) + 0.15 * (condition.family == "ours" and question in ("agent", "names"))


def stable(condition: EncodingCondition, question: str) -> float:
    return 2 - bias(condition, "locality") - bias(condition, "balance")


@pytest.fixture(scope="module")
def agreeing() -> ResultTable:
    steady = {condition.name: 0.01 * stable(condition, "") for condition in TRIALS}
    return world(published, forgetting=stable, noise=lambda condition: steady[condition.name])


@pytest.fixture(scope="module")
def opposite() -> ResultTable:
    return world(
        lambda condition, question: good(condition, question, way=-1),
        forgetting=lambda condition, question: -stable(condition, question),
        attention=lambda condition: 0.5 if condition.family == "raw" else 0.3 if condition.family == "log" else 0.1,
    )


@pytest.fixture(scope="module")
def flat() -> ResultTable:
    return world(lambda condition, question: 0.5 if question == "names" else 0.75, noise=lambda condition: 0.01)


def test_a_world_as_published_agrees(agreeing: ResultTable) -> None:
    found = verdicts(agreeing)
    assert [found[name] for name in ("locality", "symmetry", "by_hand")] == ["agrees"] * 3
    assert found["roles"] == "in part"  # three words are blind by construction, whole sentences are not
    assert found["decoder"] == found["leaning"] == "seen"
    assert found["middle"] == "in part"  # the steepest curve is the best of all
    assert found["raw"] == "in part"  # it moves no attention, and yet accuracy


def test_a_world_the_other_way_round_disagrees(opposite: ResultTable) -> None:
    found = verdicts(opposite)
    assert [found[name] for name in ("locality", "symmetry", "by_hand")] == ["disagrees"] * 3
    assert found["decoder"] == found["leaning"] == found["stability"] == "not seen"
    assert "Clearly the reverse: the less local, the better." in claims(opposite)["decoder"].why
    assert "forgetting rises with locality" in claims(opposite)["stability"].why


def test_where_nothing_makes_a_difference_nothing_is_seen(flat: ResultTable) -> None:
    found = verdicts(flat)
    assert found["middle"] == found["decoder"] == found["leaning"] == found["stability"] == "not seen"
    assert found["by_hand"] == "unknown"
    assert found["locality"] in ("disagrees", "unknown")  # a close correlation is ruled out, or cannot be told
    assert found["symmetry"] in ("disagrees", "unknown")


def test_fewer_than_three_seeds_decide_nothing() -> None:
    for seeds in (1, 2):
        found = claims(world(published, seeds=range(seeds)))
        assert {claim.verdict for claim in found.values()} == {"unknown"}
        assert {claim.why for claim in found.values()} == {"Fewer than 3 seeds decide nothing."}


def test_a_middle_that_is_best_is_seen() -> None:
    hill = world(lambda condition, question: 0.8 - (bias(condition, "locality") - 0.5) ** 2)
    assert verdicts(hill)["middle"] == "seen"
    assert verdicts(hill)["locality"] == "disagrees"
    assert "of middle locality compared with the flattest: +11." in claims(hill)["middle"].ours
    valley = world(lambda condition, question: 0.6 + (bias(condition, "locality") - 0.5) ** 2)
    assert verdicts(valley)["middle"] == "not seen"


def test_a_symmetric_encoding_that_tells_names_apart_refutes_blindness(agreeing: ResultTable) -> None:
    rows = agreeing.rows.with_columns(
        value=agreeing.rows["value"].set(
            (agreeing.rows["item"] == "names")
            & (agreeing.rows["measure"] == "accuracy")
            & (agreeing.rows["subject"] == "alibi"),
            0.9,
        )
    )
    told = claims(with_runs(replace(agreeing, rows=rows), []))["roles"]
    assert told.verdict == "in part"  # one-sided curves are above the rest all the same
    assert "at most 40.0 points from guessing" in told.ours


def test_one_sided_curves_that_are_blind_too_show_no_blindness_of_symmetry() -> None:
    assert verdicts(world(lambda condition, question: 0.5))["roles"] == "in part"
    assert (
        verdicts(world(lambda condition, question: 0.3))["roles"] == "in part"
    )  # blind they are, but not from symmetry


def test_blindness_in_whole_sentences_too_agrees() -> None:
    def blind(condition: EncodingCondition, question: str) -> float:
        return 0.5 if condition.name in BLIND and question == "agent" else 0.8

    assert verdicts(world(blind))["roles"] == "agrees"


def test_a_repair_that_costs_elsewhere_is_one_in_part() -> None:
    def costly(condition: EncodingCondition, question: str) -> float:
        return 0.7 + (condition.family == "ours") * (0.1 if question in ("agent", "names") else -0.05)

    told = claims(world(costly))["leaning"]
    assert (told.verdict, told.why) == ("in part", "It clearly costs something elsewhere.")
    assert "agent +9.9 points" in told.ours and "the other questions −4.9 points" in told.ours


def test_a_repair_of_names_alone_is_one_in_part() -> None:
    only = world(lambda condition, question: 0.7 + 0.2 * (condition.family == "ours" and question == "names"))
    assert verdicts(only)["leaning"] == "in part"


def test_raw_curves_that_do_nothing_are_inert() -> None:
    inert = world(lambda condition, question: 0.6 + 0.1 * (condition.family == "log"))
    assert verdicts(inert)["raw"] == "seen"
    assert "an unknown amount" not in claims(inert)["raw"].ours


def test_what_another_s_does_to_locality_is_not_counted_as_symmetry() -> None:
    results = world(lambda condition, question: 0.6 + 0.3 * bias(condition, "locality"))
    at_same_w, fair = contrast(results, "symmetric over one-sided"), contrast(results, FLATTER)
    assert at_same_w.side == 1 and at_same_w.value > 0.02
    assert abs(fair.value) < 0.002 and verdicts(results)["symmetry"] not in ("agrees", "in part")


@pytest.mark.parametrize("name", [FLATTER, STEEPER])
def test_curves_are_matched_along_a_line_between_symmetric_ones(name: str) -> None:
    results = world(
        lambda condition, question: 0.7 + 0.2 * bias(condition, "balance") * bias(condition, "locality") ** 2
    )
    sweep = [(property_of(results, one, "bias.locality"), one) for one in of(results, "symmetric curves")]
    gaps_S = []
    for seed in range(len(results.seeds)):
        gaps = []
        for condition in (one for one in of(results, "log") if one.s != 1 and (one.s < 1) == (name == FLATTER)):
            x = property_of(results, condition, "bias.locality")
            (x0, below), (x1, above) = next((a, b) for a, b in pairwise(sweep) if a[0] <= x <= b[0])
            y0, y1, y = (by_seed(results, [one], ALL)[seed] for one in (below, above, condition))
            gaps.append(y0 + (y1 - y0) * (x - x0) / (x1 - x0) - y)
        gaps_S.append(fmean(gaps))
    mean, low, high = student(gaps_S)
    found = at_same_locality(results, name)
    assert found == contrast(results, name)
    assert (found.value, found.low, found.high) == pytest.approx((mean, low, high), abs=1e-12) and found.side == 1


def test_the_number_of_questions_is_told(agreeing: ResultTable) -> None:
    assert (
        "Of 6 questions, taken singly and not corrected for their number, 5 are clearly for it (number, tense, "
        in claims(agreeing)["locality"].ours
    )


def test_symmetry_that_helps_against_one_side_and_hurts_against_the_other_is_so_in_part() -> None:
    results = world(
        lambda condition, question: 0.7 + 0.03 * ((condition.s or 1.0) - 1) if condition.family == "log" else 0.7
    )
    assert (contrast(results, FLATTER).side, contrast(results, STEEPER).side) == (1, -1)
    assert verdicts(results)["symmetry"] == "in part"
    assert answers_of(results)["symmetry"]["lead"] == "Symmetry helps in part: it depends on which side is steeper"


def test_locality_that_is_clear_only_with_one_sided_curves_is_so_in_part() -> None:
    def wavy(condition: EncodingCondition, question: str) -> float:
        where = bias(condition, "locality")
        if condition.s != 1.0:
            return 0.7 + 0.3 * where
        return 0.78 if where > 0.98 else 0.7 + 0.3 * where if where < 0.4 else 0.88 - 0.08 * (where > 0.7)

    results = world(wavy, noise=lambda condition: 0.0001)
    assert claims(results)["locality"].verdict == "in part", claims(results)["locality"].ours


def test_a_slope_that_hangs_on_the_steepest_decoder_is_not_clearly_the_other_way() -> None:
    results = world(lambda condition, question: 0.7 - 0.2 * (condition.family == "decoder" and (condition.w or 0) > 4))
    assert verdicts(results)["decoder"] == "not seen" and "Clearly the reverse" not in claims(results)["decoder"].why
    assert answers_of(results)["decoder"]["lead"] == "Locality brings decoders no clear gain"


def test_who_only_guesses_is_not_called_steady() -> None:
    results = world(lambda condition, question: 0.5 if question == "tense" else 0.8, noise=lambda condition: 0.001)
    one = of(results, "symmetric curves")[2]
    assert math.isnan(spread(results, one, "tense"))
    rest = [q for q in results.notes["items"][ALL] if q != "tense"]
    assert spread(results, one, ALL) == pytest.approx(fmean(spread(results, one, q) for q in rest), abs=1e-15)


def test_spread_is_of_the_same_questions_for_all_curves() -> None:
    def flattest_guesses(condition: EncodingCondition, question: str) -> float:
        return 0.5 if question == "agent" and condition.family == "log" and as_local(condition) < 0.15 else 0.8

    results = world(flattest_guesses, noise=lambda condition: 0.001)
    steep = of(results, "symmetric curves")[-1]
    rest = [q for q in results.notes["items"][ALL] if q != "agent"]
    assert math.isnan(spread(results, steep, "agent"))
    assert spread(results, steep, ALL) == pytest.approx(fmean(spread(results, steep, q) for q in rest), abs=1e-15)


def test_questions_that_nets_cannot_read_decide_nothing(agreeing: ResultTable) -> None:
    strange = [
        ("run", agreeing.conditions[0].name, question, None, 0, "unknown words", 0.9, None, None)
        for question in agreeing.scale.questions
    ]
    results = with_runs(agreeing, strange)
    assert results.notes["readable"] == [] and ALL not in results.notes["items"]
    found = claims(results)
    assert {name: found[name].verdict for name in ("middle", "leaning", "roles")} == dict.fromkeys(
        ("middle", "leaning", "roles"), "unknown"
    )
    assert not any("nan" in claim.ours for claim in found.values())


def test_raw_curves_that_may_gain_half_as_much_are_not_known_to_be_inert() -> None:
    loose = world(
        lambda condition, question: 0.6 + 0.1 * (condition.family == "log") + 0.05 * (condition.family == "raw"),
        noise=lambda condition: 0.05 if condition.family == "raw" else 0.001,
    )
    assert verdicts(loose)["raw"] == "unknown"


def test_what_learning_adds_to_leaning_is_told(agreeing: ResultTable) -> None:
    leans = world(
        lambda condition, question: 0.7 + 0.1 * (condition.encoding == "leaning"), noise=lambda condition: 0.0001
    )
    assert verdicts(leans)["leaning"] == "seen" and contrast(leans, "leaning over not learned", ALL).value < 0.001
    assert contrast(agreeing, "leaning over not learned", "agent").side == 1
    for name in ("rope", "deberta", "learned positions"):
        assert f"{name} {contrast(agreeing, f'leaning over {name}', ALL).points()}" in claims(agreeing)["leaning"].ours


def test_a_question_of_unknown_words_does_not_count_together_with_others(agreeing: ResultTable) -> None:
    unread = [("run", one.name, "tense", None, 0, "unknown words", 0.3, None, None) for one in TRIALS]
    results = with_runs(agreeing, unread)
    assert (
        "tense" not in results.notes["items"][ALL]
        and "tense" not in results.notes["items"]["others"]
        and results.notes["items"]["tense"] == ("tense",)
    )


def test_answers_follow_from_the_verdict_alone(agreeing: ResultTable, opposite: ResultTable, flat: ResultTable) -> None:
    for results in (agreeing, opposite, flat, world(published, seeds=range(1))):
        found = verdicts(results)
        for name, answer in answers_of(results).items():
            assert re.split("[.:]", answer["lead"])[0] == LEADS[name][found[name]]
            assert not answer["lead"].endswith(".") and answer["rest"].endswith(".")
    assert answers_of(agreeing)["locality"]["lead"] == "Locality helps"
    assert answers_of(opposite)["locality"]["lead"] == "Accuracy does not correlate closely with locality"
    assert answers_of(opposite)["decoder"]["lead"].endswith(": the less local, the better")
    assert len({lead for leads in LEADS.values() for lead in leads.values()}) == sum(map(len, LEADS.values()))
