"""What the claims of row sums make of tables."""

from dataclasses import replace

import polars as pl
import pytest
from row_sums_worlds import changed, deviating, world

from wherewhat.studies.engine.claims import short_answer
from wherewhat.studies.engine.results import ResultTable, Row
from wherewhat.studies.row_sums.claims import CLAIMS
from wherewhat.studies.row_sums.names import (
    ALL,
    EQUAL,
    FIRST_HALF,
    FOLLOWS,
    FREE,
    LINEAR_FIT,
    LONGER,
    UNIT_SUMS,
    name_of,
)
from wherewhat.studies.row_sums.settings import ARMS


def verdicts(table: ResultTable) -> dict[str, str]:
    return {name: claim.test(table).verdict for name, claim in CLAIMS.items()}


def answer_of(table: ResultTable, name: str) -> str:
    return short_answer(CLAIMS[name], CLAIMS[name].test(table))["lead"]


def test_one_urpe_that_fails_is_no_better_than_a_bias() -> None:
    table = deviating(world(0.06, 1.0, 1.0), "urpe over toeplitz", ALL, 0.05)
    assert verdicts(table)["which slot"] == "disagrees" and verdicts(table)["even places"] == "agrees"
    assert answer_of(table, "which slot") == "Relative biases learn which slot it is no worse than URPE"


def test_one_bias_between_failing_and_solving_counts_by_task() -> None:
    table = deviating(world(0.06, 1.0, 1.0), "alibi", ALL, 0.75)
    table = deviating(table, "alibi", FIRST_HALF, 0.75, task="even")
    assert (verdicts(table)["which slot"], verdicts(table)["even places"]) == ("in part", "agrees")


def test_even_places_are_judged_by_the_first_half_and_apart_from_the_position_task() -> None:
    table = world(0.06, 1.0, 1.0)
    for name in ("t5_bias", "toeplitz", "alibi"):
        table = deviating(table, name, ALL, 1.0, task="even")  # the filler half alone does not decide
    assert verdicts(table)["even places"] == "agrees"
    for name in ("t5_bias", "toeplitz", "alibi"):
        table = deviating(table, name, FIRST_HALF, 1.0, task="even")
    assert (verdicts(table)["which slot"], verdicts(table)["even places"]) == ("agrees", "disagrees")


def test_intervals_that_overlap_are_not_apart() -> None:
    table = world(0.06, 1.0, 1.0)
    wide = pl.when(pl.col("subject") == name_of("position", "alibi")).then(1.0).otherwise(pl.col("high"))
    overlapping = replace(table, rows=table.rows.with_columns(high=wide))
    assert verdicts(overlapping)["which slot"] == "unknown"
    assert answer_of(overlapping, "which slot") == "URPE does better than relative biases, by less than seeds differ"


def test_a_task_that_neither_biases_nor_urpe_solve_is_said_to_be_unsolved() -> None:
    table = world(0.2, 0.2, 1.0)
    assert answer_of(table, "which slot") == "Neither relative biases nor URPE learn which slot it is"
    assert answer_of(world(1.0, 0.2, 1.0), "which slot").endswith("no worse than URPE")


def test_urpe_alone_shows_that_training_was_long_enough() -> None:
    assert verdicts(world(0.06, 1.0, 0.06))["which slot"] == "agrees"


def test_both_kinds_are_needed_to_compare_them() -> None:
    table = world(0.06, 1.0, 1.0)
    without = replace(table, scale=replace(table.scale, encodings=("none", "rope", "learned")))
    verdict = CLAIMS["which slot"].test(without)
    assert (verdict.verdict, verdict.ours) == ("unknown", "A relative bias and URPE are both needed for this claim")


def test_the_best_head_of_the_first_layer_decides_on_linear_sums() -> None:
    table = world(0.06, 1.0, 1.0)
    more: list[Row] = [
        ("row sums", name_of("position", name), head, None, 0, LINEAR_FIT, value, None, None)
        for name in table.scale.encodings
        if ARMS[name].kind == FREE
        for head, value in (("L0H1", 0.2), ("L1H0", 0.99))
    ]
    assert verdicts(table.extended(more))["counted slots"] == "seen"
    assert verdicts(changed(table.extended(more), "L0H0", 0.3))["counted slots"] == "in part"


def test_a_small_spread_is_printed_as_it_is() -> None:
    table = deviating(world(0.06, 1.0, 1.0), "learned", "", 0.0123, what="spread")
    assert "by at least 0.012 otherwise" in CLAIMS["equal tokens"].test(table).ours


def test_refused_inputs_are_named() -> None:
    table = world(0.06, 1.0, 1.0)
    refused: list[Row] = [
        ("refused", name_of("position", name), LONGER, None, None, "refused", 1.0, None, None)
        for name in ("urpe over toeplitz", "learned")
    ]
    verdict = CLAIMS["longer"].test(table.extended(refused))
    assert verdict.ours == (
        "urpe over t5_bias 100\xa0%, sinusoidal 100\xa0%; refused by urpe over toeplitz and learned"
    )


def test_what_is_known_between_the_ends_too_is_seen_in_part() -> None:
    table = world(0.06, 1.0, 1.0, end=0.1)
    assert verdicts(table)["ends"] == "seen"
    assert verdicts(deviating(table, "alibi", "", 0.1, what="inner"))["ends"] == "in part"


def test_slots_are_counted_in_part_where_answers_do_not_follow_mirrored_sums() -> None:
    table = world(0.06, 1.0, 1.0)
    here = (pl.col("subject") == name_of("position", "urpe over toeplitz")) & (pl.col("measure") == FOLLOWS.measure)
    rows = table.rows.with_columns(value=pl.when(here).then(0.7).otherwise(pl.col("value")))
    assert CLAIMS["counted slots"].test(replace(table, rows=rows)).verdict == "in part"


def test_the_sentence_on_counted_slots() -> None:
    table = world(0.06, 1.0, 1.0)
    table = replace(table, scale=replace(table.scale, encodings=("t5_bias", "urpe over t5_bias")))
    assert CLAIMS["counted slots"].test(table).ours == (
        "With the row sums of slots mirrored, answers correlate with the mirrored slot by 0.90 (urpe over t5_bias), "
        "and 40\xa0% of answers are exactly it; with rows that sum to one again, 6\xa0% of answers are right (chance "
        "6\xa0%); with row sums alone, 100\xa0% of answers are right. R² of a linear fit of row sums, best head of the "
        "first layer: urpe over t5_bias 0.990; random factors give 0.50 (0.10 to 0.90)"
    )


def test_the_expected_table_agrees() -> None:
    assert verdicts(world(0.06, 1.0, 1.0, end=0.1, rope=1.0)) == {
        "equal tokens": "agrees",
        "which slot": "agrees",
        "even places": "agrees",
        "unequal tokens": "seen",
        "counted slots": "seen",
        "ends": "seen",
        "longer": "seen",
    }


def test_the_opposite_table_disagrees() -> None:
    table = verdicts(world(1.0, 0.2, 1.0, spread=0.5, end=-0.1))
    assert {table[name] for name in ("equal tokens", "which slot", "even places")} == {"disagrees"}
    assert table["ends"] == "not seen"


def test_a_bias_between_failing_and_solving_agrees_in_part() -> None:
    table = verdicts(world(0.9, 1.0, 1.0))
    assert (table["which slot"], table["even places"]) == ("in part", "in part")


def test_rope_is_no_relative_bias_and_decides_on_unequal_tokens_alone() -> None:
    without, solved = (verdicts(world(0.06, 1.0, 1.0, rope=rope)) for rope in (0.06, 1.0))
    assert (without.pop("unequal tokens"), solved.pop("unequal tokens")) == ("not seen", "seen")
    # That it fails on longer inputs is not in this table, so all other verdicts are the same.
    assert without == solved
    assert verdicts(changed(world(0.06, 1.0, 1.0, rope=1.0), EQUAL, 1.0))["unequal tokens"] == "not seen"


@pytest.mark.parametrize(("item", "value"), [(UNIT_SUMS, 1.0), ("L0H0", 0.3)])
def test_slots_are_counted_in_part_where_one_sign_of_it_is_missing(item: str, value: float) -> None:
    assert verdicts(changed(world(0.06, 1.0, 1.0), item, value))["counted slots"] == "in part"


def test_nothing_is_said_of_longer_inputs_that_all_encodings_refuse() -> None:
    table = world(0.06, 1.0, 1.0)
    assert verdicts(changed(table, LONGER, 0.1))["longer"] == "not seen"
    refused = replace(table, rows=table.rows.filter(pl.col("item") != LONGER))
    assert verdicts(refused)["longer"] == "unknown"


def test_a_table_of_nothing_learnt_decides_nothing() -> None:
    table = verdicts(world(0.06, 0.06, 0.06))
    open_claims = ("which slot", "even places", "unequal tokens", "counted slots", "ends", "longer")
    assert {table[name] for name in open_claims} == {"unknown"}
    assert table["equal tokens"] == "agrees"  # that holds before training too
