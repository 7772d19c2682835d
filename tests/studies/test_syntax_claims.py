"""Verdicts follow the numbers: worlds as said, the other way round, too noisy to tell, and with too few seeds."""

import math
from dataclasses import replace
from statistics import fmean
from typing import Any

import numpy as np
import polars as pl
import pytest
from syntax_worlds import CONDITIONS, LOCAL, Share, as_published, results_of, the_other_way, world

from wherewhat.probing.dependencies.settings import FULL, TO_DEPENDENT
from wherewhat.published.relation_heads import ANCHORS
from wherewhat.stats.estimate import Estimate
from wherewhat.stats.intervals import student
from wherewhat.stats.verdict import ClaimResult, open_verdict
from wherewhat.studies.engine.claims import claim_result, judge, short_answer
from wherewhat.studies.engine.encodings import EncodingCondition
from wherewhat.studies.engine.results import ResultTable
from wherewhat.studies.syntax.claims import (
    CLAIMS,
    case_by_case,
    curves,
    equally_local,
    gained,
    nearly_equal,
    over_offset,
    summarise,
)
from wherewhat.studies.syntax.results import EACH, EVEN, FREE, ONE_SIDED, SIDED, gap, members, share
from wherewhat.studies.syntax.run import groups_of

PUBLISHED = ("short", "long", "content", "anchors")
ANSWERED = {name: claim for name, claim in CLAIMS.items() if claim.answers}
BY_CASE = ("short", "long", "content")  # whose answer goes case by case where cases differ


def claims(results: ResultTable) -> dict[str, ClaimResult]:
    return {name: claim_result(claim, judge(claim, results)) for name, claim in CLAIMS.items()}


def answers_of(results: ResultTable) -> dict[str, dict[str, str]]:
    return {name: short_answer(claim, judge(claim, results)) for name, claim in ANSWERED.items()}


@pytest.fixture(scope="module")
def agreeing() -> ResultTable:
    return world(as_published)


@pytest.fixture(scope="module")
def opposite() -> ResultTable:
    return world(the_other_way)


def test_a_world_as_published_agrees(agreeing: ResultTable) -> None:
    found = {name: claim.verdict for name, claim in claims(agreeing).items()}
    assert [found[name] for name in ("short", "long", "content")] == ["agrees"] * 3
    assert found["anchors"] == "in part"  # no head is above an offset that finds everything
    assert {found[name] for name in CLAIMS if name not in PUBLISHED} == {"seen"}


def test_a_world_the_other_way_round_disagrees(opposite: ResultTable) -> None:
    found = {name: claim.verdict for name, claim in claims(opposite).items()}
    assert {found[name] for name in PUBLISHED} == {"disagrees"}
    assert {found[name] for name in CLAIMS if name not in PUBLISHED} == {"not seen"}


def test_where_nothing_is_clear_nothing_is_told() -> None:
    """Every seed says the opposite of the one before."""

    def torn(condition: EncodingCondition, share: Share) -> float:
        return 0.4

    results = world(torn, noise=0.0, seeds=range(4))
    swing = results.rows["seed"].fill_null(0).to_numpy() % 2 * 2 - 1
    kind = results.rows["measure"].to_numpy().astype(str)
    signs = np.array([1 if hash_of(one) else -1 for one in kind])
    moved = results.rows["value"].to_numpy() + 0.3 * swing * signs * np.char.startswith(kind, "to ")
    flat = moved_to(results, moved)
    found = {name: claim.verdict for name, claim in claims(flat).items()}
    assert set(found.values()) == {"unknown"}


def moved_to(results: ResultTable, values: Any) -> ResultTable:
    """The same results with other values."""
    return replace(results, rows=results.rows.with_columns(value=values))


def hash_of(measure: str) -> bool:
    """Parts that are set against each other swing against each other."""
    return measure.rpartition(": ")[2] in ("positional", "full", "by position, shuffled", "by content, shuffled")


def test_fewer_than_three_seeds_decide_nothing() -> None:
    for seeds in (1, 2):
        found = claims(world(as_published, seeds=range(seeds)))
        assert {claim.verdict for claim in found.values()} == {"unknown"}
        assert {claim.why for claim in found.values()} == {"Fewer than 3 seeds decide nothing."}


def test_part_of_a_claim_is_said_to_be_a_part() -> None:
    def near_only(condition: EncodingCondition, share: Share) -> float:
        return 0.9 if share.kind == "contextual" and share.at == 2 else as_published(condition, share)

    assert claims(world(near_only))["short"].verdict == "in part"


def test_content_heads_at_chance_among_shuffled_words_are_half_of_that_claim() -> None:
    def lost(condition: EncodingCondition, share: Share) -> float:
        return 0.1 if share.kind == "by content, shuffled" else as_published(condition, share)

    assert claims(world(lost))["shuffled"].verdict == "in part"


def test_a_relation_that_full_attention_finds_best_refutes_not_best(agreeing: ResultTable) -> None:
    def best(condition: EncodingCondition, share: Share) -> float:
        return 0.95 if share.kind == "full" else as_published(condition, share)

    assert claims(world(best))["not_best"].verdict == "not seen"


def test_rotation_needs_both_encodings(agreeing: ResultTable) -> None:
    without = [condition for condition in CONDITIONS if condition.name != "rope"]
    assert claims(results_of(agreeing.rows.rows(), without))["rotation"].verdict == "unknown"


def test_answers_say_what_the_verdict_says(agreeing: ResultTable, opposite: ResultTable) -> None:
    assert set(ANSWERED) == {"short", "long", "content", "locality", "learnt"}
    for results in (agreeing, opposite):
        answers, verdicts = answers_of(results), claims(results)
        for name, claim in ANSWERED.items():
            assert answers[name]["lead"] == claim.answers[verdicts[name].verdict]
    assert answers_of(agreeing)["short"]["lead"] != answers_of(opposite)["short"]["lead"]


def test_every_verdict_has_its_answer() -> None:
    for name, claim in ANSWERED.items():
        verdicts = ("agrees", "disagrees") if name in BY_CASE else ("seen", "in part", "not seen")
        assert set(claim.answers) == {*verdicts, "unknown"}
        assert len(set(claim.answers.values())) == len(claim.answers)


def test_cases_are_told_apart_only_where_they_differ() -> None:
    sentences = {1: "{} need content", -1: "{} need none", 0: "it is unclear whether {} need content"}
    above, below, unclear = (Estimate(0, *ends) for ends in ((0.1, 0.2), (-0.2, -0.1), (-0.1, 0.1)))
    assert case_by_case({"subjects": above, "objects": above}, sentences) == ""
    words = case_by_case({"subjects": below, "objects": unclear}, sentences)
    assert words == "Subjects need none, it is unclear whether objects need content"


def torn_at(item: str, at: int | None, lift: float, *, other: float = 0.0) -> ResultTable:
    """A world as said in which full and positional numbers of one thing swing from seed to seed, around a lift."""
    results = world(as_published)
    hit = (pl.col("item") == item) & (pl.col("at").eq_missing(pl.lit(None if at is None else float(at))))
    its = hit & pl.col("measure").str.contains(": (full|positional)$")
    nsubj = (pl.col("item") == "nsubj") & pl.col("measure").str.ends_with(": full")
    swing = lift + 0.6 * (pl.col("seed") % 2) - 0.3
    moved = pl.when(its).then(pl.col("value") + swing).when(nsubj).then(pl.col("value") + other).otherwise("value")
    return moved_to(results, moved)


def test_of_objects_that_cannot_be_told_nothing_flat_is_said() -> None:
    results = torn_at("obj", None, 0.0, other=-0.7)
    assert claims(results)["content"].verdict == "unknown"
    lead = "Subjects are found as well or better by a fixed offset, it is unclear whether objects need content"
    assert answers_of(results)["content"]["lead"] == lead
    other = torn_at("obj", None, 0.0)
    assert claims(other)["content"].verdict == "in part"
    assert answers_of(other)["content"]["lead"].startswith("Subjects need content, it is unclear whether objects")


@pytest.mark.parametrize(
    ("name", "at", "lead"),
    [
        ("short", 2, "At distance 1 words are found by position, at distance 2 it is unclear which finds them"),
        ("long", 3, "At distance 3–5 it is unclear which finds them, at distance 6+ words are found by content"),
    ],
)
def test_the_distance_that_is_open_is_named(name: str, at: int, lead: str) -> None:
    results = torn_at(EACH, at, 0.0)
    assert claims(results)[name].verdict == "in part" and answers_of(results)[name]["lead"] == lead


def test_sides_are_compared_between_curves_as_local(agreeing: ResultTable) -> None:
    named = {condition.name: condition for condition in CONDITIONS}
    pairs = [(named[one], named[other]) for one, other in equally_local(agreeing)]
    assert len(pairs) == 3 and {one.s for one, _ in pairs} == {0.25} and {other.s for _, other in pairs} == {1.0}
    for one, other in pairs:
        assert LOCAL[one.name] == pytest.approx(LOCAL[other.name], abs=1e-3) and one.w != other.w


def test_means_over_free_heads_are_said_to_be(agreeing: ResultTable) -> None:
    for name in ("short", "long", "content", "anchors", "stereotyped", "not_best", "shuffled", "learnt"):
        assert "eans over learned, rope, deberta:" in claims(agreeing)[name].ours


def test_gains_by_locality_go_no_further_than_the_curves(agreeing: ResultTable) -> None:
    cell = share(FULL, at=1)
    assert gained(agreeing, cell).value == pytest.approx(fmean(slopes(agreeing)) * 0.55, rel=1e-2)
    assert "From the least local curve (0.35) to the most local (0.90)" in claims(agreeing)["locality"].ours


def test_symmetric_encodings_are_in_no_mean_but_their_own(agreeing: ResultTable) -> None:
    assert not set(members(agreeing, SIDED)) & set(members(agreeing, EVEN))
    assert len(members(agreeing, SIDED)) == 6


def test_differences_are_taken_seed_by_seed(agreeing: ResultTable) -> None:
    rows = agreeing.rows.filter(part="trained", item=EACH, at=1.0)
    by_seed = []
    for seed in range(3):
        here = {
            kind: fmean(
                rows.filter(subject=name, seed=seed, measure=f"to head: {kind}")["value"][0]
                for name in members(agreeing, FREE)
            )
            for kind in ("positional", "contextual")
        }
        by_seed.append(here["positional"] - here["contextual"])
    ours = gap(agreeing, share("positional", at=1), share("contextual", at=1))
    assert (ours.value, ours.low, ours.high) == pytest.approx(student(by_seed), abs=1e-12)


def slopes(results: ResultTable) -> list[float]:
    """By seed, the slope over locality of least squares with an intercept for each s."""
    tried = curves(results)
    x = np.array([locality for _, locality in tried])
    sides = sorted({condition.s or 0.0 for condition, _ in tried})
    own = np.array([[float(condition.s == s) for s in sides] for condition, _ in tried])
    theirs = []
    for place, _ in enumerate(results.seeds):
        y = np.array([results.by_seed([condition.name], share(FULL, at=1))[place] for condition, _ in tried])
        theirs.append(np.linalg.lstsq(np.column_stack([x, own]), y, rcond=None)[0][0])
    return theirs


def test_the_gain_over_curves_is_that_of_least_squares_with_an_intercept_for_each_s(agreeing: ResultTable) -> None:
    x = [locality for _, locality in curves(agreeing)]
    assert len(x) == 6
    theirs = student([(max(x) - min(x)) * rise for rise in slopes(agreeing)])
    ours = gained(agreeing, share(FULL, at=1))
    assert (ours.value, ours.low, ours.high) == pytest.approx(theirs, abs=1e-9)


def test_groups_of_encodings() -> None:
    groups = {condition.name: groups_of(condition)[0] for condition in CONDITIONS}
    assert [name for name, group in groups.items() if group == FREE] == ["learned", "rope", "deberta"]
    assert {name for name, group in groups.items() if group == ONE_SIDED} == {
        condition.name for condition in CONDITIONS if condition.family == "log" and condition.s == 0.25
    }
    assert groups["none"] == "symmetric" and len(LOCAL) == 10


@pytest.mark.parametrize(
    ("ends", "side"),
    [((-0.01, 0.01), 1), ((-0.2, -0.1), -1), ((0.06, 0.2), -1), ((-0.2, 0.01), 0), ((math.nan, math.nan), 0)],
)
def test_what_is_nearly_equal(ends: tuple[float, float], side: int) -> None:
    assert nearly_equal(Estimate(0.0, *ends)) == side


def test_an_unknown_number_is_neither_seen_nor_not_seen() -> None:
    assert open_verdict([Estimate().side]) == "unknown"


def test_published_figures_are_told_with_their_names(agreeing: ResultTable) -> None:
    published = claims(agreeing)["anchors"].published
    assert "dobj 86.8 / 40.0" in published and "auxpass 94.1 / 82.5" in published and "all 34.7 / 26.7" in published
    assert set(over_offset(agreeing, FULL, ANCHORS)) == set(ANCHORS)


def test_means_stand_beside_the_runs(agreeing: ResultTable) -> None:
    rows = agreeing.extended(summarise(agreeing)).rows
    means = rows.filter(part="trained mean", subject="rope", item=EACH, at=6.0, measure=f"{TO_DEPENDENT}: contextual")
    runs = rows.filter(part="trained", subject="rope", item=EACH, at=6.0, measure=f"{TO_DEPENDENT}: contextual")
    assert means.row(0)[6:] == pytest.approx(student(runs["value"].to_list()), abs=1e-12)
    gap = rows.filter(part="gap", subject=FREE, item=EACH, at=1.0, measure="to head: positional over contextual")
    assert gap["value"][0] == pytest.approx(0.5, abs=0.01) and gap["low"][0] > 0.4
    assert set(rows.filter(part="link")["subject"]) == {"bias.locality", "attention.locality"}
