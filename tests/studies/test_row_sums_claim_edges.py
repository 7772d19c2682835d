"""Claims of row sums where encodings are missing, where none solves a task, and where some only come near."""

from dataclasses import replace

import pytest
from row_sums_worlds import deviating, world

from wherewhat.studies.engine.claims import short_answer
from wherewhat.studies.engine.results import ResultTable
from wherewhat.studies.row_sums.claims import CLAIMS
from wherewhat.studies.row_sums.names import ALL, BOUND, EQUAL, FIRST_HALF
from wherewhat.studies.row_sums.settings import ARMS


def verdict_of(table: ResultTable, name: str) -> str:
    return CLAIMS[name].test(table).verdict


def answer_of(table: ResultTable, name: str) -> str:
    return short_answer(CLAIMS[name], CLAIMS[name].test(table))["lead"]


def test_biases_that_solve_what_urpe_and_positions_in_tokens_do_not_were_trained_for_long_enough() -> None:
    table = world(1.0, 0.2, 0.2)
    assert (verdict_of(table, "which slot"), verdict_of(table, "even places")) == ("disagrees", "disagrees")
    assert answer_of(table, "which slot") == "Relative biases learn which slot it is no worse than URPE"


def test_where_no_encoding_solves_a_task_all_of_them_are_named() -> None:
    verdict = CLAIMS["which slot"].test(world(0.06, 0.2, 0.3))
    assert verdict.verdict == "unknown"
    assert verdict.ours.startswith("No encoding solves it at this scale: none 6\xa0%")
    assert all(f"{name} " in verdict.ours for name in ARMS)


@pytest.mark.parametrize(
    ("task", "item", "share", "verdict"),
    [
        ("position", ALL, 0.9, "in part"),
        ("position", ALL, 0.08, "in part"),  # chance is 6.25 %
        ("position", ALL, 0.07, "not seen"),  # no more above it than is negligible
        ("even", FIRST_HALF, 0.3, "in part"),
        ("even", FIRST_HALF, 0.2, "not seen"),  # the best guess of a net that knows the half
    ],
)
def test_a_net_above_chance_tells_in_part_where_different_tokens_stand(
    task: str, item: str, share: float, verdict: str
) -> None:
    table = deviating(world(0.06, 1.0, 1.0), "rope", item, share, task=task)
    assert verdict_of(table, "unequal tokens") == verdict
    if verdict == "in part":
        assert answer_of(table, "unequal tokens") == (
            "Where tokens differ, rope does better than the best guess without solving a task although it acts only on "
            "attention whose rows sum to one"
        )
    assert "best guess 6\xa0%; even none" in CLAIMS["unequal tokens"].test(table).ours


def test_all_nets_above_chance_are_named_once_though_nothing_solves_a_task() -> None:
    table = deviating(world(0.06, 0.06, 0.06), "rope", ALL, 0.9)
    for task, item in (("position", ALL), ("even", FIRST_HALF)):
        table = deviating(table, "alibi", item, 0.4, task=task)
    assert verdict_of(table, "unequal tokens") == "in part"
    assert "rope and alibi do better than the best guess without" in answer_of(table, "unequal tokens")


def test_what_is_right_on_equal_tokens_too_is_not_told_from_tokens_that_differ() -> None:
    table = deviating(world(0.06, 1.0, 1.0), "rope", ALL, 0.9)
    assert verdict_of(deviating(table, "rope", EQUAL, 0.9), "unequal tokens") == "not seen"


def test_without_other_encodings_nothing_is_said_of_what_they_do_with_equal_tokens() -> None:
    table = world(0.06, 1.0, 1.0)
    assert answer_of(table, "equal tokens").endswith("rows sum to one, and nowhere else")
    bound = tuple(name for name in table.scale.encodings if ARMS[name].kind == BOUND)
    table = replace(table, scale=replace(table.scale, encodings=bound))
    assert verdict_of(table, "equal tokens") == "agrees"
    assert answer_of(table, "equal tokens").endswith("positions act only on attention whose rows sum to one")
    assert "otherwise" not in CLAIMS["equal tokens"].test(table).ours


@pytest.mark.parametrize(("spread", "verdict"), [(2.5e-6, "agrees"), (2.5e-5, "disagrees")])
def test_only_what_rounding_explains_is_no_difference_between_slots(spread: float, verdict: str) -> None:
    ours = CLAIMS["equal tokens"].test(world(0.06, 1.0, 1.0, spread=spread))
    assert ours.verdict == verdict
    most = "less than 0.00001" if verdict == "agrees" else "up to 2.5e-05"
    assert f"differ between slots by {most} of their size" in ours.ours


def test_chance_in_the_position_task_is_one_of_its_slots() -> None:
    table = world(0.06, 1.0, 1.0)
    table = replace(table, scale=replace(table.scale, position=replace(table.scale.position, tokens=16, n_tok=50)))
    assert CLAIMS["which slot"].test(table).ours.endswith("; chance 6\xa0%")
