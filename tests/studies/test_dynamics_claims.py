"""Verdicts follow the numbers: worlds as published, the other way round, half learnt, and not learnt at all."""

from dataclasses import replace

import polars as pl
import pytest
from dynamics_worlds import SCALE, as_published, changed, the_other_way, world

from wherewhat.studies.dynamics.claims import CLAIMS, times_learnt
from wherewhat.studies.dynamics.run import STUDY
from wherewhat.studies.dynamics.summary import measure_of
from wherewhat.studies.engine.claims import Verdict, judge
from wherewhat.studies.engine.results import ResultTable

TIED = "\u00a0"


@pytest.fixture(scope="module")
def agreeing() -> ResultTable:
    return world(as_published, published=True)


def claims(results: ResultTable) -> dict[str, Verdict]:
    return {name: judge(claim, results, STUDY.fewest) for name, claim in CLAIMS.items()}


def verdicts(results: ResultTable) -> dict[str, str]:
    return {name: claim.verdict for name, claim in claims(results).items()}


def test_a_world_as_published_agrees(agreeing: ResultTable) -> None:
    assert verdicts(agreeing) == dict.fromkeys(CLAIMS, "agrees")


def test_a_world_the_other_way_round_disagrees() -> None:
    expected = dict.fromkeys(CLAIMS, "disagrees") | {"number_counts": "in part"}  # both kinds, but as many of each
    assert verdicts(world(the_other_way, published=False)) == expected


def test_a_single_seed_agrees_with_nothing_for_sure() -> None:
    alone = claims(world(as_published, published=True, seeds=1))
    assert {claim.verdict for claim in alone.values()} == {"in part"}
    assert all("A single seed does not show what other seeds would do." in claim.why for claim in alone.values())
    assert (
        "s_POS − s_SYM by layer, ± half its 95 % interval: 0.94, −0.94, −0.94, −0.94" in alone["early_then_late"].ours
    )


def test_nets_that_learnt_nothing_say_nothing(agreeing: ResultTable) -> None:
    asleep = changed(agreeing, "accuracy", pl.lit(0.2))
    by_name = claims(asleep)
    assert {name for name, claim in by_name.items() if claim.verdict != "unknown"} == {"starts_flat"}
    assert by_name["symbolic_throughout"].ours == "no seed learnt the letter task (20 % correct)"
    assert "1 hop never (20 % at the end), 2 hops never (20 % at the end)" in by_name["in_turn"].ours


def test_what_there_was_before_learning_is_not_learnt(agreeing: ResultTable) -> None:
    start = changed(agreeing, "heads", pl.lit(0.03), measure="positional", subject="letter", at=0.0)
    start = changed(start, "heads", pl.lit(0.99), measure="symbolic", subject="letter", at=0.0)
    assert verdicts(start)["symbolic_throughout"] == "in part"
    weak = changed(agreeing, "heads", pl.lit(0.6), measure="positional", subject="letter", at=400.0)
    assert verdicts(weak)["symbolic_throughout"] == "disagrees"


def test_seeds_that_did_not_learn_are_left_out_and_told() -> None:
    three = world(as_published, published=True, seeds=3)
    half = changed(three, "accuracy", pl.lit(0.5), subject="letter", item="2 hops", seed=2)
    half = changed(half, "heads", pl.lit(0.99), subject="letter", measure="positional", seed=2)
    by_name = claims(half)
    assert by_name["symbolic_throughout"].verdict == "in part"
    assert by_name["symbolic_throughout"].why == "1 of 3 seeds did not learn the letter task and is excluded."
    assert by_name["symbolic_throughout"].ours == claims(three)["symbolic_throughout"].ours
    assert by_name["early_then_late"].verdict == "agrees"  # of the other task
    assert by_name["longer_inputs"].verdict == "in part"


def test_hops_that_some_seeds_never_learn_are_not_learnt_together() -> None:
    three = world(as_published, published=True, seeds=3)
    never = changed(three, "accuracy", pl.lit(0.3), subject="letter", item="2 hops", seed=[1, 2])
    together = claims(never)["together"]
    assert together.verdict == "disagrees"
    assert "2 hops 90 (never in 2 of 3 seeds)" in together.ours


def test_hops_that_are_learnt_at_one_time_but_not_side_by_side_are_together_in_part(agreeing: ResultTable) -> None:
    ahead = changed(agreeing, "accuracy", pl.lit(0.5), subject="letter", item="2 hops", at=0.0)
    ahead = changed(ahead, "accuracy", pl.lit(0.0), subject="letter", item="1 hop", at=0.0)
    together = claims(ahead)["together"]
    assert together.verdict == "in part"
    assert together.why == "Within one evaluation they differ by up to 50 points; in the number task by up to 67."


def test_when_hops_are_learnt_is_read_between_looks(agreeing: ResultTable) -> None:
    assert times_learnt(agreeing, "number", 0) == pytest.approx([90, 270])
    assert times_learnt(agreeing, "number", 1)[0] == pytest.approx(100 * 0.7 / 0.8)
    assert claims(agreeing)["in_turn"].ours == (
        "steps of 128 sequences until 90 % are correct: 1 hop 89, 2 hops 270; "
        "interpolated between evaluations 100 steps apart"
    )


def test_hops_that_come_one_just_after_the_other_do_not_take_turns(agreeing: ResultTable) -> None:
    near = changed(agreeing, "accuracy", pl.min_horizontal(pl.col("at") / 105, 1.0), subject="number", item="2 hops")
    assert claims(near)["in_turn"].verdict == "disagrees"
    never = changed(agreeing, "accuracy", pl.lit(0.5), subject="number", item="2 hops")
    assert claims(never)["in_turn"].verdict == "in part"


def test_the_jump_must_come_with_purity_not_somewhere_after_it(agreeing: ResultTable) -> None:
    late = pl.when(pl.col("at") < 400).then(0.1 + pl.col("at") / 1e5).otherwise(1.0)
    claim = claims(changed(agreeing, "accuracy", late))["with_purity"]
    assert claim.verdict == "disagrees"
    assert claim.ours.endswith("with evaluations 100 steps apart: number 400 and 100, letter 400 and 100")
    assert verdicts(changed(agreeing, "accuracy", late, subject="number"))["with_purity"] == "in part"


def test_heads_that_never_change_do_not_jump(agreeing: ResultTable) -> None:
    still = changed(agreeing, "heads", pl.lit(0.5), measure=["positional", "symbolic"])
    claim = claims(still)["with_purity"]
    assert claim.verdict == "disagrees" and "number 100 and never" in claim.ours


def test_layers_that_seeds_do_not_agree_on_are_not_sure() -> None:
    three = world(as_published, published=True, seeds=3)
    for seed, value in enumerate((0.1, 0.3, 0.99)):
        where = {"subject": "number", "item": "L3H0", "measure": "positional", "at": 400.0}
        three = changed(three, "heads", pl.lit(value), seed=seed, **where)
    claim = claims(three)["early_then_late"]
    assert claim.verdict == "in part"
    assert claim.why == "Not clearly positional or symbolic: L3."
    assert f"0.94, −0.94, −0.94, −0.53{TIED}±{TIED}1.16" in claim.ours


def test_layers_of_which_only_some_seeds_go_the_published_way_are_unknown(agreeing: ResultTable) -> None:
    one = changed(agreeing, "heads", pl.lit(0.0), subject="number", measure="positional", seed=1)
    assert verdicts(one)["early_then_late"] == "unknown"
    both = changed(agreeing, "heads", pl.lit(0.0), subject="number", measure="positional")
    assert verdicts(both)["early_then_late"] == "disagrees"


def test_the_lowest_score_is_one_of_a_single_net(agreeing: ResultTable) -> None:
    one = changed(agreeing, "heads", pl.lit(0.7), item="L1H0", measure="positional", seed=1, at=0.0, subject="letter")
    claim = claims(one)["starts_flat"]
    assert claim.verdict == "in part" and "lowest single score 0.70" in claim.ours


@pytest.mark.parametrize(
    ("letter", "number", "verdict"),
    [
        ((1.0, 0.95, 0.9), (1.0, 0.4, 0.1), "agrees"),
        ((1.0, 0.95, 0.5), (1.0, 0.4, 0.1), "in part"),
        ((1.0, 0.4, 0.1), (1.0, 0.4, 0.1), "disagrees"),
        ((1.0, 0.4, 0.1), (1.0, 0.95, 0.9), "disagrees"),
    ],
)
def test_longer_inputs(
    agreeing: ResultTable, letter: tuple[float, ...], number: tuple[float, ...], verdict: str
) -> None:
    results = agreeing
    for task, values in (("letter", letter), ("number", number)):
        for length, value in zip((9.0, 32.0, 200.0), values, strict=True):
            results = changed(results, "length", pl.lit(value), subject=task, at=length)
    assert verdicts(results)["longer_inputs"] == verdict


def pure(results: ResultTable, task: str, where: float, what: float) -> ResultTable:
    for kind, count in (("positional", where), ("symbolic", what)):
        results = changed(
            results, "purity", pl.lit(count), subject=task, item="all", measure=measure_of(kind, "scores", 0.1)
        )
    return results


@pytest.mark.parametrize(
    ("task", "where", "what", "verdict"),
    [
        ("number", 1.0, 3.0, "agrees"),
        ("number", 2.0, 2.0, "in part"),
        ("number", 4.0, 0.0, "disagrees"),
        ("number", 0.0, 4.0, "disagrees"),
        ("letter", 0.0, 4.0, "agrees"),
        ("letter", 0.0, 1.0, "in part"),
        ("letter", 1.0, 3.0, "in part"),
        ("letter", 2.0, 1.0, "disagrees"),
        ("letter", 0.0, 0.0, "disagrees"),
    ],
)
def test_counts_of_smaller_nets_are_judged_by_kind(
    agreeing: ResultTable, task: str, where: float, what: float, verdict: str
) -> None:
    claim = claims(pure(agreeing, task, where, what))[f"{task}_counts"]
    assert claim.verdict == verdict
    assert f"γ{TIED}={TIED}0.1: {where:.2g}{TIED}+{TIED}{what:.2g} by scores" in claim.ours
    assert claim.why.startswith(
        "With 4 layers the counts cannot match the published ones; the verdict is about the kinds of heads"
    )


@pytest.mark.parametrize(
    ("counts", "verdict"), [((4.0, 8.0), "agrees"), ((3.0, 7.0), "agrees"), ((1.0, 9.0), "in part")]
)
def test_counts_of_nets_of_the_published_size_must_be_near(counts: tuple[float, float], verdict: str) -> None:
    whole = world(as_published, published=True, scale=replace(SCALE, layers=12))
    claim = claims(pure(whole, "number", *counts))["number_counts"]
    assert (claim.verdict, claim.why) == (verdict, "")


@pytest.mark.parametrize(
    ("number", "letter", "verdict"),
    [(0.01, 0.25, "agrees"), (0.2, 0.25, "in part"), (0.19, 0.005, "disagrees"), (0.4, 0.45, "disagrees")],
)
def test_the_lead_must_shrink_faster_for_place(
    agreeing: ResultTable, number: float, letter: float, verdict: str
) -> None:
    results = changed(agreeing, "gap", pl.lit(number), subject="number", at=200.0)
    results = changed(results, "gap", pl.lit(letter), subject="letter", at=200.0)
    claim = claims(results)["margins"]
    assert claim.verdict == verdict
    assert f"from 9 to 200 tokens: number 0.300 → {number:.3f}, letter 0.300 → {letter:.3f}" in claim.ours


def test_leads_of_seeds_that_overlap_tell_nothing(agreeing: ResultTable) -> None:
    results = changed(agreeing, "gap", pl.lit(0.27), subject="number", at=200.0, seed=1)
    claim = claims(results)["margins"]
    assert (claim.verdict, claim.why) == ("unknown", "Seeds of the two tasks overlap.")
    assert claim.ours.endswith("part kept by single seeds: number 0.03 to 0.90, letter 0.83 to 0.87")


def test_frequencies_are_those_of_heads_of_a_clear_kind(agreeing: ResultTable) -> None:
    claim = claims(agreeing)["frequencies"]
    assert "positional heads 0.03 (0.03 to 0.03), symbolic heads 0.68 (0.68 to 0.68)" in claim.ours
    assert "published 0.00–0.02 and 0.14–0.65" in claim.ours
    assert CLAIMS["frequencies"].published.endswith("letter 0 at 18, 1 at 32, 2 at 42, 3–11 at 37–41")
    unclear = changed(agreeing, "heads", pl.lit(0.6), subject="number", measure="symbolic", item="L0H0", at=400.0)
    claim = claims(unclear)["frequencies"]
    assert claim.verdict == "unknown" and "positional heads none" in claim.ours
