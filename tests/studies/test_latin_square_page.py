"""The page of Latin squares: which solution its sentence names, and the rows that its charts draw."""

from collections.abc import Mapping
from dataclasses import replace
from html import unescape

import pytest

from wherewhat.studies.engine.results import ResultTable, Row, table_of
from wherewhat.studies.latin_square.charts import (
    RATIO_ARMS,
    accuracy_rows,
    over_training,
    removed_rows,
)
from wherewhat.studies.latin_square.names import (
    CENTRED,
    ERROR,
    GATHERS,
    HEADINGS,
    LARGE,
    LAYOUT,
    LEARNED,
    LINE_SINUSOID,
    LINKS,
    NETWORK,
    NONE,
    READS,
    READS_LINES,
    SINUSOID,
    SMALL,
    SMALL_NARROW,
    SQUARES,
    TABLE_MEASURES,
    TEST,
    VARIANT,
    accuracy,
    label,
    name_of,
)
from wherewhat.studies.latin_square.number_tables import head_table, measure_table
from wherewhat.studies.latin_square.page import network_finding
from wherewhat.studies.latin_square.settings import ARMS
from wherewhat.studies.latin_square.solution import solution
from wherewhat.studies.latin_square.table_charts import cosine_cell, growth_rows, layout_rows, run_rows
from wherewhat.tables.manifest.study import LatinSquareSection

UNIFORM = {GATHERS: 0.375, READS: 0.0625, READS_LINES: 0.375}
Looks = Mapping[tuple[str, int], float]  # attention by link and block
GATHERING: Looks = {(GATHERS, 0): 0.9, (READS, 1): 0.8}
LOCATING: Looks = {(READS, 0): 0.7, (READS_LINES, 1): 0.85}
PER_CENT = "\N{NO-BREAK SPACE}%"


def looking(arms: Mapping[str, Looks], share: float = 0.9, removed: float = 0.3) -> ResultTable:
    """Nets whose blocks look so; without any link in any block they answer less."""
    rows: list[Row] = [("chance", "", "", None, None, link, level, None, None) for link, level in UNIFORM.items()]
    for arm, looks in arms.items():
        name = name_of(SQUARES, arm)
        rows.append(("accuracy", name, TEST, None, None, "accuracy", share, None, None))
        rows.append(("heads", name, "L0H0", None, None, "input.position_share", 0.97, None, None))
        for link in LINKS:
            rows.append(("removed", name, "", None, None, link, share, None, None))
            for block in (0, 1):
                without = removed if looks.get((link, block), 0.1) > 0.5 else share
                rows.append(("removed", name, f"block {block}", None, None, link, without, None, None))
                rows.append(
                    ("attention", name, f"block {block}", None, None, link, looks.get((link, block), 0.1), None, None)
                )
    return table_of(rows)


def sentence(arms: Mapping[str, Looks], **options: float) -> str:
    return solution(looking(arms, **options), LatinSquareSection(arms=tuple(arms), layers=2)).replace(PER_CENT, "%")


# How nets solve puzzles --------------------------------------------------------------------------------------------


def test_nets_that_gather_then_look_up() -> None:
    assert sentence({SMALL: GATHERING, LARGE: GATHERING}) == (
        "2 of 2 arms with a test accuracy of at least 80% read the row and column of the queried cell: "
        f"in {label(SMALL)} and {label(LARGE)} the queried cell gathers them (90% of its attention; uniform: 38%) and "
        "the last cell then looks the queried cell up (80%; 6%); without the first of these links accuracy falls from "
        "90% to 30%."
    )


def test_nets_that_locate_then_read() -> None:
    assert sentence({SMALL: LOCATING}) == (
        "1 of 1 arm with a test accuracy of at least 80% reads the row and column of the queried cell: "
        f"in {label(SMALL)} the last cell first locates the queried cell (70% of its attention; uniform: 6%) and then "
        "reads them itself (85%; 38%); without the second of these links accuracy falls from 90% to 30%."
    )


def test_nets_that_are_not_all_alike() -> None:
    words = sentence({SMALL: GATHERING, LARGE: LOCATING, NONE: {}})
    assert words.startswith("2 of 3 arms") and "queried cell, but not all alike: in" in words
    assert (
        f"In no positions attention shows no such steps; the first block goes by position alone in {label(NONE)}"
        in words
    )
    assert words.index(f"in {label(SMALL)} the queried cell") < words.index(f"in {label(LARGE)} the last cell")


@pytest.mark.parametrize(
    "looks",
    [
        {},
        {(GATHERS, 1): 0.9, (READS, 0): 0.8},  # in the wrong order
        {(GATHERS, 0): 0.9, (READS, 0): 0.8},  # in the same block
        {(GATHERS, 0): 0.59, (READS, 1): 0.8},
        {(READS, 0): 0.49, (READS_LINES, 1): 0.85},
    ],
)
def test_nets_without_both_steps(looks: Looks) -> None:
    words = sentence({SMALL: looks})
    assert words.startswith(
        "None of 1 arm with a test accuracy of at least 80% reads the row and column of the queried cell in two steps. "
        f"In {label(SMALL)} attention shows no such steps"
    )


def test_no_solution_without_a_net_that_solves() -> None:
    assert sentence({SMALL: GATHERING}, share=0.79).startswith("No net answers 80% of the test puzzles")
    unharmed = sentence({SMALL: GATHERING}, removed=0.9)
    assert "without the first of these links accuracy goes from 90% to 90%" in unharmed


# The simulated network ---------------------------------------------------------------------------------------------


def errors(**by_arm: float) -> ResultTable:
    arms = {"none": NONE, "line": LINE_SINUSOID, "small": SMALL}
    return table_of(
        [
            ("network", name_of(NETWORK, arms[key]), "", None, None, ERROR, value, None, None)
            for key, value in by_arm.items()
        ]
    )


def test_whether_a_fixed_sinusoid_helps_in_the_network() -> None:
    helps = network_finding(errors(none=0.892, line=0.748, small=0.61)).replace(PER_CENT, "%")
    assert helps == (
        "A fixed sinusoid of the random order helps too: 75% of the variance of hidden nodes stays unexplained with "
        f"it, 89% without positions, and 61% with a learned table from {label(SMALL)}."
    )
    assert "does not help" in network_finding(errors(none=0.75, line=0.74, small=0.61))
    assert "random order helps: " in network_finding(errors(none=0.75, line=0.6, small=0.74))
    assert network_finding(errors(none=0.75, small=0.61)) == ""


# Rows of charts ----------------------------------------------------------------------------------------------------

ABOUT = LatinSquareSection(
    arms=(SMALL, SMALL_NARROW),
    kinds={SMALL: LEARNED, SMALL_NARROW: VARIANT},
    sigmas={SMALL: 0.2, SMALL_NARROW: 0.2},
    layers=2,
)


def tables_over_training() -> ResultTable:
    """Two seeds of one arm: block 1 ends higher than block 0, and accuracy rises."""
    name, rows = name_of(SQUARES, SMALL), []
    for seed in (0, 1, None):
        off = 0.1 * (seed or 0)
        for block, step, value in ((0, 0.0, 0.1), (0, 5.0, 0.2), (0, None, 0.2), (1, 0.0, 0.0), (1, None, 0.4)):
            rows += [
                ("table", name, f"block {block}", step, seed, what, value + off, None, None)
                for what in (LAYOUT, CENTRED)
            ]
        for step, value in ((5.0, 0.7), (0.0, 0.3), (None, 0.8)):
            rows.append(("accuracy", name, TEST, step, seed, "accuracy", value + off, None, None))
    return table_of(rows)


def test_layouts_have_a_start_and_an_end() -> None:
    drawn = [(row["block"], row["when"], row["value"]) for row in layout_rows(tables_over_training(), [SMALL], ABOUT)]
    assert drawn == [
        ("block 0", "start", 0.1),
        ("block 0", "end", 0.2),
        ("block 1", "start", 0.0),
        ("block 1", "end", 0.4),
    ]


def test_growth_is_that_of_the_first_block() -> None:
    table = tables_over_training()
    grown = [(row["at"], row["value"]) for row in growth_rows(table, [SMALL], LAYOUT)]
    assert grown == [(0.0, 0.1), (5.0, 0.2)]
    curve = over_training(table, SMALL, accuracy()).select("at", "value").rows()
    assert curve == [(0.0, 0.3), (5.0, 0.7)]


def test_every_net_is_a_dot_by_its_best_table() -> None:
    dots = list(run_rows(tables_over_training(), [SMALL, LARGE], CENTRED, 2))
    assert [(row["seed"], row["value"], row["accuracy"]) for row in dots] == [
        (0, 0.4, 0.8),
        (1, pytest.approx(0.5), pytest.approx(0.9)),
    ]


def test_accuracies_have_a_published_dot_unless_they_are_of_a_variant() -> None:
    rows = list(accuracy_rows(tables_over_training(), replace(ABOUT, arms=(SMALL, SMALL_NARROW, SINUSOID))))
    published = {row["name"]: row["value"] for row in rows if row["mark"] == "published"}
    assert published == pytest.approx({label(SMALL): 0.986})
    fixed = replace(ABOUT, arms=(SINUSOID,), kinds={SINUSOID: "fixed sinusoid"})
    assert [row["value"] for row in accuracy_rows(tables_over_training(), fixed)] == pytest.approx([0.985])


def test_ratios_are_those_of_the_arms() -> None:
    ratios = {arm: ARMS[arm].options["sigma"] / ARMS[arm].tokens for arm in RATIO_ARMS}
    words = {arm: (label(f"sigma {ARMS[arm].options['sigma']:g}"), ratios[arm]) for arm in RATIO_ARMS}
    sizes = {"small ratio": 0.2, "large ratio": 2.0}
    assert {arm: (start, sizes[choice]) for arm, (start, choice) in RATIO_ARMS.items()} == {
        arm: (start, pytest.approx(size)) for arm, (start, size) in words.items()
    }
    assert len(set(RATIO_ARMS.values())) == 4


def test_what_is_removed_stands_beside_the_whole_net() -> None:
    table = looking({SMALL: GATHERING})
    rows = list(removed_rows(table, LatinSquareSection(arms=(SMALL,), layers=2), GATHERS))
    assert [(row["block"], row["whole"], row["value"]) for row in rows] == [
        ("nothing removed", True, 0.9),
        ("block 0", False, 0.3),
        ("block 1", False, 0.9),
    ]


def test_cells_share_a_line_by_a_loop() -> None:
    for number in range(256):
        here, there = number // 16, number % 16
        shared = here != there and (here // 4 == there // 4 or here % 4 == there % 4)
        cell = cosine_cell(number, 0.5)
        assert (cell["here"], cell["there"], cell["shared"]) == (here, there, shared)
    assert sum(cosine_cell(number, 0.0)["shared"] for number in range(256)) == 16 * 6
    assert cosine_cell(16 + 4, 0.0) | {"shared": False} == {
        "here": 1,
        "there": 4,
        "value": 0.0,
        "from": "row 1 column 2",
        "to": "row 2 column 1",
        "shared": False,
    }


def test_tables_name_all_measures() -> None:
    written = str(measure_table(tables_over_training(), ABOUT))
    assert all(HEADINGS[measure] in written for measure in TABLE_MEASURES)
    assert "change since start / initial norm" in written
    heads = unescape(str(head_table(looking({SMALL: {}}), ABOUT)))
    assert all(link in heads for link in LINKS)
