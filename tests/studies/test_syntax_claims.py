"""Verdicts follow the numbers: worlds as said, the other way round, too noisy to tell, and with too few seeds."""

import math
from statistics import fmean

import numpy as np
import polars as pl
import pytest
from syntax_worlds import LOCAL, TRIALS, as_said, the_other_way, world

from wherewhat.probing.dependencies.relation_rows import TO_DEPENDENT
from wherewhat.stats.estimate import Estimate
from wherewhat.stats.intervals import student
from wherewhat.stats.verdict import Claim, open_verdict
from wherewhat.studies.conditions import EncodingCondition
from wherewhat.studies.syntax.claims import CASE_SIGNS, CASES, CLAIMS, LEADS, answers_of, claims_of
from wherewhat.studies.syntax.means import with_means
from wherewhat.studies.syntax.open_claims import gained, slope_at_same_s
from wherewhat.studies.syntax.published_claims import ANCHORS, beyond_offset
from wherewhat.studies.syntax.results import EVEN, FREE, ONE_SIDED, SIDED, Share, SyntaxResults, groups_of
from wherewhat.studies.syntax.split_half_scores import EACH
from wherewhat.studies.syntax.verdict_rules import nearly_equal

PUBLISHED = ("short", "long", "content", "anchors")


def claims(results: SyntaxResults) -> dict[str, Claim]:
    return dict(zip(CLAIMS, claims_of(results), strict=True))


@pytest.fixture(scope="module")
def agreeing() -> SyntaxResults:
    return world(as_said)


@pytest.fixture(scope="module")
def opposite() -> SyntaxResults:
    return world(the_other_way)


def test_a_world_as_said_agrees(agreeing: SyntaxResults) -> None:
    found = {name: claim.verdict for name, claim in claims(agreeing).items()}
    assert [found[name] for name in ("short", "long", "content")] == ["agrees"] * 3
    assert found["anchors"] == "in part"  # no head is above an offset that finds everything
    assert {found[name] for name in CLAIMS if name not in PUBLISHED} == {"seen"}


def test_a_world_the_other_way_round_disagrees(opposite: SyntaxResults) -> None:
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
    flat = SyntaxResults(results.rows.with_columns(value=moved), TRIALS)
    found = {name: claim.verdict for name, claim in claims(flat).items()}
    assert set(found.values()) == {"unknown"}


def hash_of(measure: str) -> bool:
    """Parts that are set against each other swing against each other."""
    return measure.rpartition(": ")[2] in ("positional", "full", "by position, shuffled", "by content, shuffled")


def test_fewer_than_three_seeds_decide_nothing() -> None:
    for seeds in (1, 2):
        found = claims(world(as_said, seeds=range(seeds)))
        assert {claim.verdict for claim in found.values()} == {"unknown"}
        assert {claim.why for claim in found.values()} == {"Fewer than 3 seeds decide nothing."}


def test_part_of_a_claim_is_said_to_be_a_part() -> None:
    def near_only(condition: EncodingCondition, share: Share) -> float:
        return 0.9 if share.kind == "contextual" and share.at == 2 else as_said(condition, share)

    assert claims(world(near_only))["short"].verdict == "in part"


def test_content_heads_at_chance_among_shuffled_words_are_half_of_that_claim() -> None:
    def lost(condition: EncodingCondition, share: Share) -> float:
        return 0.1 if share.kind == "by content, shuffled" else as_said(condition, share)

    assert claims(world(lost))["shuffled"].verdict == "in part"


def test_a_relation_that_full_attention_finds_best_refutes_not_best(agreeing: SyntaxResults) -> None:
    def best(condition: EncodingCondition, share: Share) -> float:
        return 0.95 if share.kind == "full" else as_said(condition, share)

    assert claims(world(best))["not_best"].verdict == "not seen"


def test_rotation_needs_both_encodings(agreeing: SyntaxResults) -> None:
    without = [condition for condition in TRIALS if condition.name != "rope"]
    assert claims(SyntaxResults(agreeing.rows, without))["rotation"].verdict == "unknown"


def test_answers_say_what_the_verdict_says(agreeing: SyntaxResults, opposite: SyntaxResults) -> None:
    for results in (agreeing, opposite):
        found, told = answers_of(results), claims(results)
        for name, lead in LEADS.items():
            assert found[name]["lead"] == lead[told[name].verdict]
    assert answers_of(agreeing)["short"]["lead"] != answers_of(opposite)["short"]["lead"]


def test_every_verdict_has_its_answer() -> None:
    for name, leads in LEADS.items():
        verdicts = ("agrees", "disagrees") if name in CASE_SIGNS else ("seen", "in part", "not seen")
        assert set(leads) == {*verdicts, "unknown"}
        assert len(set(leads.values())) == len(leads)
    assert set(CASE_SIGNS) == set(CASES) and all(set(cases) == {1, 0, -1} for cases in CASES.values())


def torn_at(item: str, at: int | None, lift: float, *, other: float = 0.0) -> SyntaxResults:
    """A world as said in which full and positional numbers of one thing swing from seed to seed, around a lift."""
    results = world(as_said)
    hit = (pl.col("item") == item) & (pl.col("at").eq_missing(pl.lit(None if at is None else float(at))))
    its = hit & pl.col("measure").str.contains(": (full|positional)$")
    nsubj = (pl.col("item") == "nsubj") & pl.col("measure").str.ends_with(": full")
    swing = lift + 0.6 * (pl.col("seed") % 2) - 0.3
    moved = pl.when(its).then(pl.col("value") + swing).when(nsubj).then(pl.col("value") + other).otherwise("value")
    return SyntaxResults(results.rows.with_columns(value=moved), TRIALS)


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
        ("long", 3, "at distance 3–5 it is unclear which finds them, at distance 6+ words are found by content"),
    ],
)
def test_the_distance_that_is_open_is_named(name: str, at: int, lead: str) -> None:
    results = torn_at(EACH, at, 0.0)
    assert claims(results)[name].verdict == "in part" and answers_of(results)[name]["lead"] == lead


def test_sides_are_compared_between_curves_as_local(agreeing: SyntaxResults) -> None:
    pairs = agreeing.pairs()
    assert len(pairs) == 3 and {one.s for one, _ in pairs} == {0.25} and {other.s for _, other in pairs} == {1.0}
    for one, other in pairs:
        assert LOCAL[one.name] == pytest.approx(LOCAL[other.name], abs=1e-3) and one.w != other.w


def test_means_over_free_heads_are_said_to_be(agreeing: SyntaxResults) -> None:
    for name in ("short", "long", "content", "anchors", "stereotyped", "not_best", "shuffled", "learnt"):
        assert "eans over learned, rope, deberta:" in claims(agreeing)[name].ours


def test_gains_by_locality_go_no_further_than_the_curves(agreeing: SyntaxResults) -> None:
    share = Share("full", at=1)
    assert gained(agreeing, share).value == pytest.approx(slope_at_same_s(agreeing, share).value * 0.55, rel=1e-2)
    assert "From the least local curve (0.35) to the most local (0.90)" in claims(agreeing)["locality"].ours


def test_symmetric_encodings_are_in_no_mean_but_their_own(agreeing: SyntaxResults) -> None:
    assert not {condition.name for condition in agreeing.group(SIDED)} & {
        condition.name for condition in agreeing.group(EVEN)
    }
    assert len(agreeing.group(SIDED)) == 6


def test_differences_are_taken_seed_by_seed(agreeing: SyntaxResults) -> None:
    free = agreeing.group(FREE)
    rows = agreeing.rows.filter(part="trained", item=EACH, at=1.0)
    by_seed = []
    for seed in range(3):
        here = {
            kind: fmean(
                rows.filter(subject=condition.name, seed=seed, measure=f"to head: {kind}")["value"][0]
                for condition in free
            )
            for kind in ("positional", "contextual")
        }
        by_seed.append(here["positional"] - here["contextual"])
    ours = agreeing.gap(free, Share("positional", at=1), Share("contextual", at=1))
    assert (ours.value, ours.low, ours.high) == pytest.approx(student(by_seed), abs=1e-12)


def test_the_slope_over_curves_is_that_of_least_squares_with_an_intercept_for_each_s(agreeing: SyntaxResults) -> None:
    share, curves = Share("full", at=1), agreeing.curves
    x = np.array([agreeing.locality_of(condition, "bias.locality") for condition in curves])
    sides = sorted({condition.s or 0.0 for condition in curves})
    own = np.array([[float(condition.s == s) for s in sides] for condition in curves])
    theirs = []
    for place, _ in enumerate(agreeing.seeds):
        y = np.array([agreeing.values([condition], share)[place] for condition in curves])
        theirs.append(np.linalg.lstsq(np.column_stack([x, own]), y, rcond=None)[0][0])
    ours = slope_at_same_s(agreeing, share)
    assert (ours.value, ours.low, ours.high) == pytest.approx(student(theirs), abs=1e-9)


def test_groups_of_encodings() -> None:
    groups = {condition.name: groups_of(condition)[0] for condition in TRIALS}
    assert [name for name, group in groups.items() if group == FREE] == ["learned", "rope", "deberta"]
    assert {name for name, group in groups.items() if group == ONE_SIDED} == {
        condition.name for condition in TRIALS if condition.family == "log" and condition.s == 0.25
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


def test_published_figures_are_told_with_their_names(agreeing: SyntaxResults) -> None:
    published = claims(agreeing)["anchors"].published
    assert "dobj 86.8 / 40.0" in published and "auxpass 94.1 / 82.5" in published and "all 34.7 / 26.7" in published
    assert set(beyond_offset(agreeing, tuple(ANCHORS))) == set(ANCHORS)


def test_means_stand_beside_the_runs(agreeing: SyntaxResults) -> None:
    rows = with_means(agreeing)
    means = rows.filter(part="trained mean", subject="rope", item=EACH, at=6.0, measure=f"{TO_DEPENDENT}: contextual")
    runs = rows.filter(part="trained", subject="rope", item=EACH, at=6.0, measure=f"{TO_DEPENDENT}: contextual")
    assert means.row(0)[6:] == pytest.approx(student(runs["value"].to_list()), abs=1e-12)
    gap = rows.filter(part="gap", subject=FREE, item=EACH, at=1.0, measure="to head: positional over contextual")
    assert gap["value"][0] == pytest.approx(0.5, abs=0.01) and gap["low"][0] > 0.4
    assert set(rows.filter(part="link")["subject"]) == {"bias.locality", "attention.locality"}
