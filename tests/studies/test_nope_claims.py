"""Verdicts follow the numbers: worlds as published, the other way round, with a single seed, and not learnt."""

from dataclasses import replace

import polars as pl
import pytest
from nope_worlds import changed, world

from wherewhat.studies.engine.claims import Verdict, judge, short_answer
from wherewhat.studies.engine.results import ResultTable
from wherewhat.studies.nope.claims import CLAIMS
from wherewhat.studies.nope.results import (
    AGAIN,
    ALIBI,
    APE,
    FAR,
    LONGER,
    NEAR,
    NOPE,
    PLACE,
    QUARTER,
    RELEASED,
    T5,
    TRAINED,
    divergence,
    exact,
    explained,
    looked,
)
from wherewhat.studies.nope.run import STUDY

UNPUBLISHED = {"knows_its_place", "inverse_is_nearer", "place_falls_off", "inverse_keeps"}
UNPUBLISHED |= {"whole_rope_is_farther", "start_counts"}


@pytest.fixture(scope="module")
def agreeing() -> ResultTable:
    return world(published=True)


def claims(table: ResultTable) -> dict[str, Verdict]:
    return {name: judge(claim, table, STUDY.fewest) for name, claim in CLAIMS.items()}


def verdicts(table: ResultTable) -> dict[str, str]:
    return {name: verdict.verdict for name, verdict in claims(table).items()}


def test_a_world_as_published_agrees(agreeing: ResultTable) -> None:
    assert verdicts(agreeing) == {name: "seen" if name in UNPUBLISHED else "agrees" for name in CLAIMS}


def test_a_world_the_other_way_round_disagrees() -> None:
    expected = {name: "not seen" if name in UNPUBLISHED else "disagrees" for name in CLAIMS}
    assert verdicts(world(published=False)) == expected


def test_a_single_seed_agrees_with_nothing_for_sure() -> None:
    alone = claims(world(published=True, seeds=1))
    assert {verdict.verdict for verdict in alone.values()} == {"in part"}
    assert all("A single seed does not show what other seeds would do." in verdict.why for verdict in alone.values())
    answer = short_answer(CLAIMS["knows_its_place"], alone["knows_its_place"])
    assert answer["lead"].startswith("Yes: ") and answer["lead"].endswith(" never told them (a single run per task)")


def test_nets_that_did_not_learn_say_nothing(agreeing: ResultTable) -> None:
    asleep = changed(agreeing, exact(NOPE), 0.5)
    by_name = claims(asleep)
    assert {name for name, verdict in by_name.items() if verdict.verdict != "unknown"} == {"near_only", "everywhere"}
    assert by_name["knows_its_place"].ours == "in no run did NoPE learn the task"
    assert by_name["t5_at_the_floor"].ours == "in no run did NoPE, NoPE from another seed and T5 bias learn the task"


def test_runs_that_were_not_learnt_are_left_out_and_named(agreeing: ResultTable) -> None:
    half = changed(agreeing, exact(T5), 0.5, subject="sort_single", seed=[0, 2])
    half = changed(half, divergence(T5), 0.9, subject="sort_single", seed=[0, 2])
    verdict = claims(half)["t5_at_the_floor"]
    assert verdict.verdict == "agrees" and verdict.why.endswith("Not learnt and excluded: sort_single from 2 seeds.")
    assert "sort_single: NoPE from another seed 0.101, T5 bias 0.101 bits" in verdict.ours


@pytest.mark.parametrize(("apart", "verdict"), [(0.02, "agrees"), (0.12, "agrees"), (0.13, "disagrees")])
def test_t5_is_at_the_floor_up_to_a_quarter_above_it(agreeing: ResultTable, apart: float, verdict: str) -> None:
    assert verdicts(changed(agreeing, divergence(T5), apart))["t5_at_the_floor"] == verdict


def test_some_runs_are_a_part(agreeing: ResultTable) -> None:
    assert verdicts(changed(agreeing, divergence(T5), 0.9, seed=1))["t5_at_the_floor"] == "in part"
    assert verdicts(changed(agreeing, divergence(ALIBI), 0.1))["others_above_the_floor"] == "in part"


def test_the_entropy_of_nets_that_are_compared_is_beside_their_divergence(agreeing: ResultTable) -> None:
    why = claims(agreeing)["t5_at_the_floor"].why
    assert (
        why
        == "Flat heads resemble each other; mean entropy of 1: NoPE 0.70, NoPE from another seed 0.70, T5 bias 0.70."
    )


def test_the_order_is_that_of_the_released_divergence_and_may_have_one_exchange(agreeing: ResultTable) -> None:
    once = changed(agreeing, divergence(ALIBI, RELEASED), 0.7)  # behind sinusoidal
    assert verdicts(once)["in_published_order"] == "agrees"
    twice = changed(once, divergence(T5, RELEASED), 0.75)
    verdict = claims(twice)["in_published_order"]
    assert verdict.verdict == "disagrees"
    assert verdict.why.startswith("Of 6 pairs of encodings, 3.0 are in the published order")
    assert verdicts(changed(agreeing, divergence(ALIBI), 0.9))["in_published_order"] == "agrees"
    order = "T5 bias 0.201 < ALiBi 0.401 < sinusoidal (APE) 0.601 < RoPE (quarter) 0.801"
    assert f"copy_repeat: {order} nats as released, in bits the same" in claims(agreeing)["in_published_order"].ours


def test_a_place_that_the_tokens_tell_is_not_known(agreeing: ResultTable) -> None:
    told = changed(agreeing, explained(PLACE, TRAINED, 0), 0.55)
    assert verdicts(told)["knows_its_place"] == "not seen"
    by_chance = agreeing
    for block in (1, 2, 3):
        by_chance = changed(by_chance, explained(PLACE, TRAINED, block, shuffled=True), 0.6)
    assert verdicts(by_chance)["knows_its_place"] == "not seen"


def test_the_place_is_that_of_the_best_block(agreeing: ResultTable) -> None:
    best = changed(changed(agreeing, explained(PLACE, TRAINED, 2), 0.95), explained(PLACE, LONGER, 2), 0.94)
    verdict = claims(best)["place_falls_off"]
    assert verdict.verdict == "not seen" and "copy_repeat: R² 0.95 → 0.94" in verdict.ours


@pytest.mark.parametrize(
    ("arm", "side", "share", "claim", "verdict"),
    [
        (T5, FAR, 0.1, "near_and_far", "in part"),
        (NOPE, NEAR, 0.1, "near_and_far", "in part"),
        (ALIBI, FAR, 0.09, "near_only", "disagrees"),
        (ALIBI, NEAR, 0.1, "near_only", "disagrees"),
        (APE, NEAR, 0.5, "everywhere", "in part"),
        (QUARTER, FAR, 0.4, "everywhere", "in part"),
    ],
)
def test_how_far_heads_look(agreeing: ResultTable, arm: str, side: str, share: float, claim: str, verdict: str) -> None:
    assert verdicts(changed(agreeing, looked(arm, side), share))[claim] == verdict


def test_published_numbers_are_beside_ours() -> None:
    assert CLAIMS["t5_at_the_floor"].published.startswith(
        "NoPE from another seed 0.254 and 0.291, T5 bias 0.249 and 0.298"
    )
    assert CLAIMS["near_only"].published == "ALiBi 85\xa0% near, 3\xa0% far (addition with a scratchpad)"
    assert CLAIMS["everywhere"].published.startswith("RoPE (quarter) 25\xa0% near, 20\xa0% far")


def test_every_verdict_has_a_short_answer(agreeing: ResultTable) -> None:
    worlds = (agreeing, world(published=False), world(published=True, seeds=1), changed(agreeing, exact(NOPE), 0.0))
    for table in worlds:
        for name, verdict in claims(table).items():
            if CLAIMS[name].answers:
                assert short_answer(CLAIMS[name], verdict)["lead"]
    assert sum(bool(claim.answers) for claim in CLAIMS.values()) == 4


def test_a_table_without_numbers_decides_nothing(agreeing: ResultTable) -> None:
    empty = replace(agreeing, rows=agreeing.rows.filter(pl.col("part") == "accuracy", pl.col("item") == AGAIN))
    assert set(verdicts(empty).values()) == {"unknown"}
