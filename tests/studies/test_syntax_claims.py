"""Verdicts follow the numbers: worlds as said, the other way round, too noisy to tell, and with too few seeds."""

import math
from statistics import fmean

import numpy as np
import polars as pl
import pytest
from syntax_worlds import LOCAL, TRIALS, as_said, the_other_way, world

from wherewhat.probing.dependencies.gold import TO_DEPENDENT
from wherewhat.studies.base import Claim
from wherewhat.studies.intervals import of_mean
from wherewhat.studies.locality.estimate import Estimate
from wherewhat.studies.locality.trials import Trial
from wherewhat.studies.syntax.answers import EACH, LEADS, SIDES, answers_of
from wherewhat.studies.syntax.claims import CLAIMS, claims_of
from wherewhat.studies.syntax.evidence import EVEN, FREE, ONE_SIDED, SIDED, Evidence, What, groups_of
from wherewhat.studies.syntax.halves import EACH as EACH_RELATION
from wherewhat.studies.syntax.judge_distance import ANCHORS, beyond_offset
from wherewhat.studies.syntax.judge_open import gained, steepness
from wherewhat.studies.syntax.judging import open_verdict, the_same
from wherewhat.studies.syntax.means import with_means

PUBLISHED = ("short", "long", "content", "anchors")


def claims(seen: Evidence) -> dict[str, Claim]:
    return dict(zip(CLAIMS, claims_of(seen), strict=True))


@pytest.fixture(scope="module")
def agreeing() -> Evidence:
    return world(as_said)


@pytest.fixture(scope="module")
def opposite() -> Evidence:
    return world(the_other_way)


def test_a_world_as_said_agrees(agreeing: Evidence) -> None:
    found = {name: claim.verdict for name, claim in claims(agreeing).items()}
    assert [found[name] for name in ("short", "long", "content")] == ["agrees"] * 3
    assert found["anchors"] == "in part"  # no head is above an offset that finds everything
    assert {found[name] for name in CLAIMS if name not in PUBLISHED} == {"seen"}


def test_a_world_the_other_way_round_disagrees(opposite: Evidence) -> None:
    found = {name: claim.verdict for name, claim in claims(opposite).items()}
    assert {found[name] for name in PUBLISHED} == {"disagrees"}
    assert {found[name] for name in CLAIMS if name not in PUBLISHED} == {"not seen"}


def test_where_nothing_is_clear_nothing_is_told() -> None:
    """Every seed says the opposite of the one before."""

    def torn(trial: Trial, what: What) -> float:
        return 0.4

    seen = world(torn, noise=0.0, seeds=range(4))
    swing = seen.rows["seed"].fill_null(0).to_numpy() % 2 * 2 - 1
    kind = seen.rows["measure"].to_numpy().astype(str)
    signs = np.array([1 if hash_of(one) else -1 for one in kind])
    moved = seen.rows["value"].to_numpy() + 0.3 * swing * signs * np.char.startswith(kind, "to ")
    flat = Evidence(seen.rows.with_columns(value=moved), TRIALS)
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
    def near_only(trial: Trial, what: What) -> float:
        return 0.9 if what.kind == "contextual" and what.at == 2 else as_said(trial, what)

    assert claims(world(near_only))["short"].verdict == "in part"


def test_content_heads_at_chance_among_shuffled_words_are_half_of_that_claim() -> None:
    def lost(trial: Trial, what: What) -> float:
        return 0.1 if what.kind == "by content, shuffled" else as_said(trial, what)

    assert claims(world(lost))["shuffled"].verdict == "in part"


def test_a_relation_that_full_attention_finds_best_refutes_not_best(agreeing: Evidence) -> None:
    def best(trial: Trial, what: What) -> float:
        return 0.95 if what.kind == "full" else as_said(trial, what)

    assert claims(world(best))["not_best"].verdict == "not seen"


def test_rotation_needs_both_encodings(agreeing: Evidence) -> None:
    without = [trial for trial in TRIALS if trial.name != "rope"]
    assert claims(Evidence(agreeing.rows, without))["rotation"].verdict == "unknown"


def test_answers_say_what_the_verdict_says(agreeing: Evidence, opposite: Evidence) -> None:
    for seen in (agreeing, opposite):
        found, told = answers_of(seen), claims(seen)
        for name, lead in LEADS.items():
            assert found[name]["lead"] == lead[told[name].verdict]
    assert answers_of(agreeing)["short"]["lead"] != answers_of(opposite)["short"]["lead"]


def test_every_verdict_has_its_answer() -> None:
    for name, leads in LEADS.items():
        verdicts = ("agrees", "disagrees") if name in SIDES else ("seen", "in part", "not seen")
        assert set(leads) == {*verdicts, "unknown"}
        assert len(set(leads.values())) == len(leads)
    assert set(SIDES) == set(EACH) and all(set(each) == {1, 0, -1} for each in EACH.values())


def torn_at(item: str, at: int | None, lift: float, *, other: float = 0.0) -> Evidence:
    """A world as said in which full and positional numbers of one thing swing from seed to seed, around a lift."""
    seen = world(as_said)
    hit = (pl.col("item") == item) & (pl.col("at").eq_missing(pl.lit(None if at is None else float(at))))
    its = hit & pl.col("measure").str.contains(": (full|positional)$")
    nsubj = (pl.col("item") == "nsubj") & pl.col("measure").str.ends_with(": full")
    swing = lift + 0.6 * (pl.col("seed") % 2) - 0.3
    moved = pl.when(its).then(pl.col("value") + swing).when(nsubj).then(pl.col("value") + other).otherwise("value")
    return Evidence(seen.rows.with_columns(value=moved), TRIALS)


def test_of_objects_that_cannot_be_told_nothing_flat_is_said() -> None:
    seen = torn_at("obj", None, 0.0, other=-0.7)
    assert claims(seen)["content"].verdict == "unknown"
    lead = "Subjects are found as well or better by a fixed offset, whether objects need content cannot be told"
    assert answers_of(seen)["content"]["lead"] == lead
    other = torn_at("obj", None, 0.0)
    assert claims(other)["content"].verdict == "in part"
    assert answers_of(other)["content"]["lead"].startswith("Subjects need content, whether objects")


@pytest.mark.parametrize(
    ("name", "at", "lead"),
    [
        ("short", 2, "At distance 1 words are found by position, at distance 2 it cannot be told which finds them"),
        ("long", 3, "at distance 3–5 it cannot be told which finds them, at distance 6+ words are found by content"),
    ],
)
def test_the_distance_that_is_open_is_named(name: str, at: int, lead: str) -> None:
    seen = torn_at(EACH_RELATION, at, 0.0)
    assert claims(seen)[name].verdict == "in part" and answers_of(seen)[name]["lead"] == lead


def test_sides_are_compared_between_curves_as_local(agreeing: Evidence) -> None:
    pairs = agreeing.pairs()
    assert len(pairs) == 3 and {one.s for one, _ in pairs} == {0.25} and {other.s for _, other in pairs} == {1.0}
    for one, other in pairs:
        assert LOCAL[one.name] == pytest.approx(LOCAL[other.name], abs=1e-3) and one.w != other.w


def test_means_over_free_heads_are_said_to_be(agreeing: Evidence) -> None:
    for name in ("short", "long", "content", "anchors", "stereotyped", "not_best", "shuffled", "learnt"):
        assert "eans over learned, rope, deberta:" in claims(agreeing)[name].ours


def test_gains_by_locality_go_no_further_than_the_curves(agreeing: Evidence) -> None:
    what = What("full", at=1)
    assert gained(agreeing, what).value == pytest.approx(steepness(agreeing, what).value * 0.55, rel=1e-2)
    assert "From the least local curve (0.35) to the most local (0.90)" in claims(agreeing)["locality"].ours


def test_symmetric_encodings_are_in_no_mean_but_their_own(agreeing: Evidence) -> None:
    assert not {trial.name for trial in agreeing.group(SIDED)} & {trial.name for trial in agreeing.group(EVEN)}
    assert len(agreeing.group(SIDED)) == 6


def test_differences_are_taken_seed_by_seed(agreeing: Evidence) -> None:
    free = agreeing.group(FREE)
    rows = agreeing.rows.filter(part="trained", item=EACH_RELATION, at=1.0)
    by_seed = []
    for seed in range(3):
        here = {
            kind: fmean(
                rows.filter(subject=trial.name, seed=seed, measure=f"to head: {kind}")["value"][0] for trial in free
            )
            for kind in ("positional", "contextual")
        }
        by_seed.append(here["positional"] - here["contextual"])
    ours = agreeing.gap(free, What("positional", at=1), What("contextual", at=1))
    assert (ours.value, ours.low, ours.high) == pytest.approx(of_mean(by_seed), abs=1e-12)


def test_the_slope_over_curves_is_that_of_least_squares_with_an_intercept_for_each_s(agreeing: Evidence) -> None:
    what, curves = What("full", at=1), agreeing.curves
    x = np.array([agreeing.place(trial, "bias.locality") for trial in curves])
    sides = sorted({trial.s or 0.0 for trial in curves})
    own = np.array([[float(trial.s == s) for s in sides] for trial in curves])
    theirs = []
    for place, _ in enumerate(agreeing.seeds):
        y = np.array([agreeing.values([trial], what)[place] for trial in curves])
        theirs.append(np.linalg.lstsq(np.column_stack([x, own]), y, rcond=None)[0][0])
    ours = steepness(agreeing, what)
    assert (ours.value, ours.low, ours.high) == pytest.approx(of_mean(theirs), abs=1e-9)


def test_groups_of_encodings() -> None:
    groups = {trial.name: groups_of(trial)[0] for trial in TRIALS}
    assert [name for name, group in groups.items() if group == FREE] == ["learned", "rope", "deberta"]
    assert {name for name, group in groups.items() if group == ONE_SIDED} == {
        trial.name for trial in TRIALS if trial.family == "log" and trial.s == 0.25
    }
    assert groups["none"] == "symmetric" and len(LOCAL) == 10


@pytest.mark.parametrize(
    ("ends", "side"),
    [((-0.01, 0.01), 1), ((-0.2, -0.1), -1), ((0.06, 0.2), -1), ((-0.2, 0.01), 0), ((math.nan, math.nan), 0)],
)
def test_what_is_the_same(ends: tuple[float, float], side: int) -> None:
    assert the_same(Estimate(0.0, *ends)) == side


def test_an_unknown_number_is_neither_seen_nor_not_seen() -> None:
    assert open_verdict([Estimate().side]) == "unknown"


def test_published_figures_are_told_with_their_names(agreeing: Evidence) -> None:
    published = claims(agreeing)["anchors"].published
    assert "dobj 86.8 / 40.0" in published and "auxpass 94.1 / 82.5" in published and "all 34.7 / 26.7" in published
    assert set(beyond_offset(agreeing, tuple(ANCHORS))) == set(ANCHORS)


def test_means_stand_beside_the_runs(agreeing: Evidence) -> None:
    rows = with_means(agreeing)
    means = rows.filter(
        part="trained mean", subject="rope", item=EACH_RELATION, at=6.0, measure=f"{TO_DEPENDENT}: contextual"
    )
    runs = rows.filter(
        part="trained", subject="rope", item=EACH_RELATION, at=6.0, measure=f"{TO_DEPENDENT}: contextual"
    )
    assert means.row(0)[6:] == pytest.approx(of_mean(runs["value"].to_list()), abs=1e-12)
    gap = rows.filter(
        part="gap", subject=FREE, item=EACH_RELATION, at=1.0, measure="to head: positional over contextual"
    )
    assert gap["value"][0] == pytest.approx(0.5, abs=0.01) and gap["low"][0] > 0.4
    assert set(rows.filter(part="link")["subject"]) == {"bias.locality", "attention.locality"}
