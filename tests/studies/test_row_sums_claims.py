"""What the claims of row sums make of tables."""

from dataclasses import replace

import polars as pl
import pytest
from row_sums_worlds import changed, deviating, world

from wherewhat.formatting import percent
from wherewhat.studies.engine.claims import short_answer
from wherewhat.studies.engine.results import ResultTable, Row
from wherewhat.studies.row_sums.claims import CLAIMS
from wherewhat.studies.row_sums.names import (
    ALL,
    ENTROPY,
    EQUAL,
    FIRST_HALF,
    FOLLOWS,
    FREE,
    LINEAR_FIT,
    LONGER,
    ORDER,
    SUMS_ALONE,
    UNIT_SUMS,
    name_of,
)
from wherewhat.studies.row_sums.settings import ARMS


def verdicts(table: ResultTable) -> dict[str, str]:
    return {name: claim.test(table).verdict for name, claim in CLAIMS.items()}


def answer_of(table: ResultTable, name: str) -> str:
    return short_answer(CLAIMS[name], CLAIMS[name].test(table))["lead"]


def test_one_urpe_that_fails_is_named_and_does_not_speak_for_the_other() -> None:
    table = deviating(world(0.06, 1.0, 1.0), "urpe over toeplitz", ALL, 0.05)
    assert verdicts(table)["which slot"] == "in part" and verdicts(table)["even places"] == "agrees"
    assert answer_of(table, "which slot") == (
        "Of nets with URPE, only urpe over t5_bias solves the position task; urpe over toeplitz is not clearly above "
        "relative biases"
    )
    assert answer_of(deviating(table, "urpe over toeplitz", ALL, 0.88), "which slot") == (
        "Of nets with URPE, only urpe over t5_bias solves the position task; urpe over toeplitz is above relative "
        "biases without solving it"
    )


def test_only_if_no_urpe_is_above_the_biases_are_they_no_worse() -> None:
    table = deviating(world(0.06, 0.05, 1.0), "alibi", ALL, 1.0)
    assert verdicts(table)["which slot"] == "disagrees"
    assert answer_of(table, "which slot") == "Relative biases learn which slot it is no worse than URPE"
    assert verdicts(deviating(world(0.06, 0.05, 1.0), "urpe over t5_bias", ALL, 0.5))["which slot"] == "in part"


@pytest.mark.parametrize(("share", "verdict"), [(0.45, "agrees"), (0.6, "in part")])
def test_a_bias_that_has_most_of_it_right_has_not_failed_as_published(share: float, verdict: str) -> None:
    table = deviating(world(0.06, 1.0, 1.0), "alibi", ALL, share)
    table = deviating(table, "alibi", FIRST_HALF, share, task="even")
    assert (verdicts(table)["which slot"], verdicts(table)["even places"]) == (verdict, verdict)
    assert answer_of(table, "which slot") == (
        f"No relative bias solves the position task (the best, alibi, has {percent(share)} right), but URPE does"
    )
    assert answer_of(table, "even places").startswith("No relative bias solves the first half of the even task (the b")


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
    words = "URPE does better than relative biases, but their intervals over {} overlap"
    assert answer_of(overlapping, "which slot") == words.format("test sequences")
    other: list[Row] = [("slot", name_of("position", "rope"), "", 1.0, 1, "accuracy", 0.5, 0.4, 0.6)]
    assert answer_of(overlapping.extended(other), "which slot") == words.format("seeds")


def test_a_task_that_neither_biases_nor_urpe_solve_is_said_to_be_unsolved() -> None:
    table = world(0.2, 0.2, 1.0)
    assert answer_of(table, "which slot") == "Neither relative biases nor URPE solve the position task"
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
        "Right: urpe over t5_bias (100\xa0%) and sinusoidal (100\xa0%). Refused: urpe over toeplitz and learned"
    )


@pytest.mark.parametrize(
    ("order", "words"),
    [
        (0.97, "Wrong, but in the order of slots"),
        (0.3, "Wrong, not clearly in order"),
        (-0.9, "Wrong, not clearly in order"),
    ],
)
def test_answers_that_keep_the_order_of_slots_are_told_from_others(order: float, words: str) -> None:
    table = deviating(world(0.06, 1.0, 1.0), "urpe over t5_bias", LONGER, 0.03)
    table = deviating(table, "urpe over t5_bias", ORDER.item, order, what=ORDER.measure, part=ORDER.part)
    verdict = CLAIMS["longer"].test(table)
    assert verdict.verdict == "in part"
    written = f"{order:.2f}".replace("-", "−")
    assert verdict.ours == (
        f"Right: sinusoidal (100\xa0%). {words}: urpe over t5_bias (3\xa0% right, correlation with the slot {written})"
    )


def test_of_nearly_uniform_attention_slots_are_counted_as_by_hand() -> None:
    table = world(0.06, 1.0, 1.0)
    uniform = "attention of the first layer is nearly uniform"
    assert uniform in answer_of(table, "counted slots")
    other = deviating(table, "urpe over toeplitz", "L0H0", 0.8, what=ENTROPY)
    assert verdicts(other)["counted slots"] == "seen" and uniform not in answer_of(other, "counted slots")
    deeper: Row = ("row sums", name_of("position", "urpe over toeplitz"), "L1H0", None, 0, ENTROPY, 0.2, None, None)
    assert uniform in answer_of(table.extended([deeper]), "counted slots")


def test_a_single_relative_bias_is_no_best_of_several() -> None:
    table = world(0.03, 1.0, 1.0)
    table = replace(table, scale=replace(table.scale, encodings=("none", "t5_bias", "urpe over t5_bias")))
    assert answer_of(table, "which slot") == (
        "t5_bias, the only relative bias here, does not solve the position task (3\xa0% right), but URPE does"
    )


def test_both_halves_of_the_even_task_are_given_beside_the_first_as_published() -> None:
    table = deviating(world(0.4, 1.0, 1.0), "toeplitz", ALL, 0.7, task="even")
    table = replace(table, scale=replace(table.scale, encodings=("none", "toeplitz", "urpe over t5_bias")))
    verdict = CLAIMS["even places"].test(table)
    assert verdict.ours == (
        "First half: toeplitz 40\xa0%, urpe over t5_bias 100\xa0%; best guess of a net that knows which half it is "
        "in, and nothing else about positions, 20\xa0%. Both halves together: toeplitz 70\xa0%, urpe over t5_bias "
        "100\xa0%; published toeplitz 55\xa0%"
    )


def test_rows_of_nets_with_positions_in_their_tokens_sum_to_one_too_and_are_not_meant() -> None:
    claim, verdict = CLAIMS["equal tokens"], CLAIMS["equal tokens"].test(world(0.06, 1.0, 1.0))
    condition = "positions act only on attention whose rows sum to one"
    lead = short_answer(claim, verdict)["lead"]
    assert all(condition in words for words in (claim.text, verdict.ours, lead, claim.answers["disagrees"]))
    assert condition in CLAIMS["unequal tokens"].text


def test_biases_that_know_no_slot_are_named_as_such() -> None:
    nothing, between = (
        CLAIMS["ends"].test(table)
        for table in (
            world(0.06, 1.0, 1.0),
            deviating(world(0.06, 1.0, 1.0), "alibi", "", 0.1, what="inner"),
        )
    )
    assert (nothing.verdict, nothing.why) == ("unknown", "No relative bias clearly knows any slot.")
    assert nothing.answer == "In the position task, no relative bias clearly knows any slot"
    assert (between.verdict, between.why) == ("unknown", "")  # one knows slots, but not those near the ends


def test_what_is_known_between_the_ends_too_is_seen_in_part() -> None:
    table = world(0.06, 1.0, 1.0, end=0.1)
    assert verdicts(table)["ends"] == "seen"
    assert verdicts(deviating(table, "alibi", "", 0.1, what="inner"))["ends"] == "in part"


def test_a_bias_that_knows_nothing_is_no_evidence_about_the_ends() -> None:
    table = deviating(world(0.06, 1.0, 1.0, end=0.1), "alibi", "", 0.005, what="gap")
    assert verdicts(table)["ends"] == "seen"  # by the other biases


def test_slots_are_counted_in_part_where_answers_do_not_follow_mirrored_sums() -> None:
    table = world(0.06, 1.0, 1.0)
    here = (pl.col("subject") == name_of("position", "urpe over toeplitz")) & (pl.col("measure") == FOLLOWS.measure)
    rows = table.rows.with_columns(value=pl.when(here).then(0.7).otherwise(pl.col("value")))
    assert CLAIMS["counted slots"].test(replace(table, rows=rows)).verdict == "in part"
    assert answer_of(replace(table, rows=rows), "counted slots") == (
        "URPE counts slots only in part by the sums of its rows: answers of urpe over toeplitz do not follow mirrored "
        "sums closely"
    )


def test_one_net_that_does_not_count_at_all_leaves_the_other_that_does() -> None:
    table = deviating(world(0.06, 1.0, 1.0), "urpe over toeplitz", UNIT_SUMS, 1.0)
    table = deviating(table, "urpe over toeplitz", "L0H0", 0.3, what=LINEAR_FIT)
    table = deviating(table, "urpe over toeplitz", "", -1.0, what=FOLLOWS.measure, part=FOLLOWS.part)
    assert CLAIMS["counted slots"].test(table).verdict == "in part"


def test_the_sentence_on_counted_slots() -> None:
    table = world(0.06, 1.0, 1.0)
    table = replace(table, scale=replace(table.scale, encodings=("t5_bias", "urpe over t5_bias")))
    assert CLAIMS["counted slots"].test(table).ours == (
        "With the row sums of mirrored slots, the correlation of answers with the mirrored slot is 0.900 (urpe over "
        "t5_bias). On average they are 1.50 slots from it; 40\xa0% are exactly it. With row sums alone, the "
        "correlation of answers with the slot is 0.960 (urpe over t5_bias). On average they are 0.40 slots from it; "
        "100\xa0% are exactly it. With rows that sum to one again, 6\xa0% of answers are right (chance 6\xa0%). Mean "
        "entropy of attention in the first layer, before the factors: 0.980 (1 if uniform). R² of a linear fit of row "
        "sums, best head of the first layer: 0.990. With random factors, 97.5 % of draws stay below 0.900"
    )
    short = (
        "With the row sums of mirrored slots, 40\xa0% of answers are the mirrored slot, and the correlation with it is "
        "0.900. With row sums alone, 100\xa0% of answers are right; with rows that sum to one again, 6\xa0% (chance "
        "6\xa0%). The attention of the first layer has an entropy of 0.980 (1 if uniform), and R² of a linear fit of "
        "the row sums of its best head is 0.990; with random factors, 97.5 % of draws stay below 0.900."
    )
    assert CLAIMS["counted slots"].test(table).short == short
    both = CLAIMS["counted slots"].test(world(0.06, 1.0, 1.0)).short
    assert both == f"{short} Numbers are of urpe over toeplitz and urpe over t5_bias, in this order."


def test_values_of_two_encodings_are_told_apart_only_where_they_differ() -> None:
    table = deviating(world(0.06, 1.0, 1.0), "urpe over toeplitz", SUMS_ALONE, 0.6)
    sentences = CLAIMS["counted slots"].test(table).ours.split(". ")
    assert sentences[0].endswith("is 0.900 (urpe over toeplitz and urpe over t5_bias)")
    assert sentences[1] == "On average they are 1.50 slots from it; 40\xa0% are exactly it"
    assert sentences[3] == (
        "On average they are 0.40 slots from it; 60\xa0% (urpe over toeplitz) and 100\xa0% (urpe over t5_bias) are "
        "exactly it"
    )


def test_row_sums_are_compared_with_random_factors_of_their_own_kind() -> None:
    table = changed(world(0.06, 1.0, 1.0), "L0H0", 0.95)
    bucket = (pl.col("part") == "baseline") & (pl.col("item") == "bucket")
    rows = table.rows.with_columns(high=pl.when(bucket).then(0.96).otherwise(pl.col("high")))
    verdict = CLAIMS["counted slots"].test(replace(table, rows=rows))
    assert verdict.ours.endswith("stay below 0.900 (urpe over toeplitz) and 0.960 (urpe over t5_bias)")
    assert verdict.because == "row sums of urpe over t5_bias are no nearer to a line than those of random factors"
    unknown = replace(table, rows=table.rows.filter(~bucket))
    assert CLAIMS["counted slots"].test(unknown).verdict == "unknown"


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


def test_half_of_the_answers_on_equal_tokens_is_lost_in_the_even_task_and_is_not_in_the_other() -> None:
    table = changed(world(0.06, 1.0, 1.0, rope=1.0), EQUAL, 0.5)
    assert (
        answer_of(table, "unequal tokens")
        == "Where tokens differ, rope solves the even task although it acts only on attention whose rows sum to one"
    )
    table = deviating(table, "rope", EQUAL, 0.06)
    assert (
        answer_of(table, "unequal tokens")
        == "Where tokens differ, rope solves both tasks although it acts only on attention whose rows sum to one"
    )
    table = deviating(table, "rope", EQUAL, 0.8, task="even")
    assert answer_of(table, "unequal tokens") == (
        "Where tokens differ, rope solves the position task although it acts only on attention whose rows sum to one"
    )


@pytest.mark.parametrize(
    ("item", "value", "reason"),
    [
        (UNIT_SUMS, 1.0, "most answers of {} stay right with rows that sum to one"),
        ("L0H0", 0.3, "row sums of {} are no nearer to a line than those of random factors"),
    ],
)
def test_slots_are_counted_in_part_where_one_sign_of_it_is_missing(item: str, value: float, reason: str) -> None:
    table = changed(world(0.06, 1.0, 1.0), item, value)
    assert verdicts(table)["counted slots"] == "in part"
    assert answer_of(table, "counted slots").endswith(f": {reason.format('urpe over toeplitz and urpe over t5_bias')}")


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
