"""The page of Latin squares: which solution its sentence names, and the rows that its charts draw."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from html import unescape

import pytest

from wherewhat.studies.engine.results import ResultTable, Row, table_of
from wherewhat.studies.latin_square.charts import (
    NORM_TINTS,
    RATIO_ARMS,
    RATIO_DASHES,
    accuracy_rows,
    over_training,
    pair_chart,
    ratio_chart,
    removed_rows,
)
from wherewhat.studies.latin_square.names import (
    CENTRED,
    CHANGE,
    CHANGE_BOUND,
    ERROR,
    GATHERS,
    HEADINGS,
    LARGE,
    LAYOUT,
    LEARNED,
    LINE_SHARE,
    LINE_SINUSOID,
    MODULES,
    NETWORK,
    NONE,
    RATIO,
    READS,
    READS_LINES,
    REMOVED,
    SINUSOID,
    SMALL,
    SMALL_NARROW,
    SQUARES,
    TABLE_MEASURES,
    TEST,
    VARIANT,
    WHOLE,
    accuracy,
    label,
    name_of,
)
from wherewhat.studies.latin_square.number_tables import head_table, measure_table
from wherewhat.studies.latin_square.page import network_finding
from wherewhat.studies.latin_square.settings import ARMS
from wherewhat.studies.latin_square.solution import solution
from wherewhat.studies.latin_square.summary import mean_rows
from wherewhat.studies.latin_square.table_charts import cosine_cell, growth_chart, growth_rows, layout_rows, run_rows
from wherewhat.tables.manifest.study import LatinSquareSection, LongAnswer

UNIFORM = {GATHERS: 0.375, READS: 0.0625, READS_LINES: 0.375}
Looks = Mapping[tuple[str, int], tuple[float, float]]  # attention and accuracy without it, by link and block
GATHERING: Looks = {(GATHERS, 0): (0.9, 0.3), (READS, 1): (0.4, 0.5)}
GATHERING_LINES: Looks = {(GATHERS, 0): (0.7, 0.5), (READS_LINES, 1): (0.8, 0.4)}
LOCATING: Looks = {(READS, 0): (0.7, 0.6), (READS_LINES, 1): (0.85, 0.3)}
PER_CENT = "\N{NO-BREAK SPACE}%"
REACH = 0.02  # of every interval, to each side


def looking(nets: Mapping[str, Sequence[Looks]], *shares: float) -> ResultTable:
    """Nets of several seeds whose blocks look so; without any other link they answer as much as with it."""
    rows: list[Row] = [("chance", "", "", None, None, link, level, None, None) for link, level in UNIFORM.items()]
    for arm, by_seed in nets.items():
        name = name_of(SQUARES, arm)
        for seed, looks in enumerate(by_seed):
            share = shares[seed] if shares else 0.9
            rows.append(("accuracy", name, TEST, None, seed, "accuracy", share, share - REACH, share + REACH))
            rows.append(("removed", name, "", None, seed, WHOLE, share, share - REACH, share + REACH))
            for link in REMOVED:
                for block in (0, 1):
                    attention, without = looks.get((link, block), (0.1, share))
                    ends = without - REACH, without + REACH
                    rows.append(("removed", name, f"block {block}", None, seed, link, without, *ends))
                    rows.append(("attention", name, f"block {block}", None, seed, link, attention, None, None))
    table = table_of(rows)
    return table.extended(mean_rows(table))


def answer(nets: Mapping[str, Sequence[Looks]], *shares: float) -> LongAnswer:
    return solution(looking(nets, *shares), LatinSquareSection(arms=tuple(nets), layers=2))


def sentence(nets: Mapping[str, Sequence[Looks]], *shares: float) -> str:
    return answer(nets, *shares).rest.replace(PER_CENT, "%")


# How nets solve puzzles --------------------------------------------------------------------------------------------


def test_one_sentence_says_what_the_solution_is() -> None:
    gathers = "the queried cell gathers its row and column, and the last cell then reads them"
    reads = "the last cell needs its link to the queried cell, and then reads the row and column of that cell"
    learnt = "that have learnt the task"
    for nets, words in (
        ({SMALL: [GATHERING], LARGE: [GATHERING_LINES]}, f"In all nets {learnt}, {gathers}"),
        ({SMALL: [GATHERING], LARGE: [GATHERING], NONE: [{}]}, f"In most nets {learnt}, {gathers}"),
        ({SMALL: [LOCATING], LARGE: [LOCATING], NONE: [GATHERING]}, f"In most nets {learnt}, {reads}"),
        ({SMALL: [LOCATING]}, f"In the net that has learnt the task, {reads}"),
        ({SMALL: [GATHERING], LARGE: [LOCATING]}, f"Nets {learnt} do not mostly share one clear solution"),
        ({SMALL: [GATHERING], LARGE: [{}]}, f"Nets {learnt} do not mostly share one clear solution"),
        (
            {SMALL: [{}]},
            "No net that has learnt the task clearly needs two steps to read the row and column of the queried cell",
        ),
    ):
        assert answer(nets).lead == words


def test_nets_that_gather_then_look_up() -> None:
    assert sentence({SMALL: [GATHERING], LARGE: [GATHERING]}) == (
        "2 of 2 nets that answer at least 60% of the test puzzles clearly need two links of attention, the second in a "
        f"later block. With {label(SMALL)} and {label(LARGE)}, the queried cell first needs its link to its own row "
        "and column, then the last cell its link to the queried cell. Without the first link, accuracy falls from 90% "
        "to 30%; it has 90% of the attention (uniform: 38%). Without the link to the queried cell, accuracy falls from "
        "90% to 50%; it has 40% of the attention (uniform: 6%)."
    )


def test_nets_that_gather_then_read_the_same_cells() -> None:
    words, lines = sentence({SMALL: [GATHERING_LINES]}), "the row and column of the queried cell"
    assert f"its own row and column, then the last cell its link to {lines}. Without the first" in words
    assert f"from 90% to 50%; it has 70% of the attention (uniform: 38%). Without the link to {lines}, " in words
    both = sentence({SMALL: [{**GATHERING_LINES, (READS, 1): (0.4, 0.5)}]})
    assert f"then the last cell its link to the queried cell and {lines}. " in both
    assert f"Without the link to {lines}, accuracy falls from 90% to 40%" in both  # what costs more
    either = sentence({SMALL: [GATHERING], LARGE: [GATHERING_LINES]})
    assert f"then the last cell its link to the queried cell or {lines}. " in either


def test_nets_that_locate_then_read() -> None:
    assert sentence({SMALL: [LOCATING]}) == (
        "One net answers at least 60% of the test puzzles, and clearly needs two links of attention, the second in a "
        f"later block. With {label(SMALL)}, the last cell first needs its link to the queried cell, then its link to "
        "the row and column of the queried cell. Without the first link, accuracy falls from 90% to 60%; it has 70% of "
        "the attention (uniform: 6%). Without the link to the row and column of the queried cell, accuracy falls from "
        "90% to 30%; it has 85% of the attention (uniform: 38%)."
    )


def test_nets_that_are_not_all_alike() -> None:
    words = sentence({SMALL: [GATHERING], LARGE: [LOCATING], NONE: [{}]})
    assert words.startswith("2 of 3 nets")
    assert words.endswith("With no positions, no two such links are clear.")
    assert words.index(f"With {label(SMALL)}, the queried cell") < words.index(f"With {label(LARGE)}, the last cell")


def test_seeds_may_find_different_solutions() -> None:
    words = sentence({SMALL: [GATHERING, LOCATING, {}], LARGE: [GATHERING] * 3})
    assert words.startswith("5 of 6 nets")
    gathers = f"With {label(SMALL)} in 1 of 3 seeds and {label(LARGE)} in 3 of 3 seeds, the queried cell first needs"
    assert gathers in words
    assert f"With {label(SMALL)} in 1 of 3 seeds, the last cell first needs its link to the queried cell" in words
    assert words.endswith(f"With {label(SMALL)} in 1 of 3 seeds, no two such links are clear.")


@pytest.mark.parametrize(
    "looks",
    [
        {},
        {(GATHERS, 1): (0.9, 0.3), (READS, 0): (0.8, 0.3)},  # in the wrong order
        {(GATHERS, 0): (0.9, 0.3), (READS, 0): (0.8, 0.3)},  # in the same block
        {(GATHERS, 0): (0.9, 0.87), (READS, 1): (0.8, 0.3)},  # attended to, but not clearly needed
        {(READS, 0): (0.5, 0.3), (READS_LINES, 1): (0.85, 0.9)},
        {(READS, 0): (0.5, 0.3), (READS, 1): (0.5, 0.3)},  # nothing reads the row and the column
    ],
)
def test_nets_without_both_steps(looks: Looks) -> None:
    assert sentence({SMALL: [looks], LARGE: [{}]}) == (
        "None of 2 nets that answer at least 60% of the test puzzles clearly needs two links of attention, the second "
        "in a later block."
    )


def test_the_links_that_cost_most_are_named() -> None:
    assert "the queried cell first needs" in sentence({SMALL: [{**GATHERING_LINES, (READS, 0): (0.9, 0.7)}]})
    assert "the last cell first needs" in sentence({SMALL: [{**GATHERING_LINES, (READS, 0): (0.05, 0.3)}]})


def test_no_solution_without_a_net_that_has_learnt() -> None:
    poor = answer({SMALL: [GATHERING]}, 0.59)
    assert poor.lead.startswith(f"No net answers 60{PER_CENT} of the test puzzles") and poor.rest == ""
    assert sentence({SMALL: [GATHERING]}, 0.6).startswith("One net answers")
    assert sentence({SMALL: [{}]}).startswith("One net answers at least 60% of the test puzzles, and clearly does not")
    assert sentence({SMALL: [GATHERING, GATHERING]}, 0.5, 0.9).startswith("One net answers")  # not by the mean of seeds


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


def test_a_large_table_that_helps_without_modules_is_told() -> None:
    name, known = name_of(NETWORK, LARGE), errors(none=0.892, line=0.748, small=0.61)
    rows: list[Row] = [("chance", "", "", None, None, MODULES, 0.0, -0.03, 0.03)]
    rows.append(("network", name, "", None, None, ERROR, 0.65, None, None))
    for contrast, told in ((-0.006, True), (0.1, False)):
        table = known.extended([*rows, ("network", name, "block 0", None, None, MODULES, contrast, None, None)])
        words = network_finding(table).replace(PER_CENT, "%")
        sentence = f" With one from {label(LARGE)} it is 65%, although that table shows no modules."
        assert words.endswith(sentence) == told and ("shows no modules" in words) == told
    for contrast, high, told in ((0.01, 0.02, True), (0.01, 0.2, False), (0.1, None, False)):
        row: Row = ("network", name, "block 0", None, None, MODULES, contrast, None, high)
        assert ("shows no modules" in network_finding(known.extended([*rows, row]))) == told  # clearly none
        assert "shows no modules" not in network_finding(known.extended([*rows[1:], row]))  # without random tables


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


def test_growth_is_that_of_every_block() -> None:
    table = tables_over_training()
    grown = [[(row["at"], row["value"]) for row in growth_rows(table, [SMALL], LAYOUT, block)] for block in (0, 1)]
    assert grown == [[(0.0, 0.1), (5.0, 0.2)], [(0.0, 0.0)]]
    titles = [view.title for view in growth_chart(table, ABOUT).views]
    assert titles[:3] == ["Layout, block 0", "Distance, block 0", "Centred Procrustes, block 0"]
    assert titles[3:] == ["Layout, block 1", "Distance, block 1", "Centred Procrustes, block 1"]
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


def test_pairs_stand_beside_both_guesses() -> None:
    counted: Row = ("chance", NONE, "", None, None, "accuracy", 0.41, None, None)
    drawn = pair_chart(tables_over_training().extended([counted]), "ratio", RATIO_ARMS, "Norm or ratio?")
    assert drawn.views[0].tables["guesses"]["value"] == [0.25, 0.41]


def test_ratios_are_drawn_over_training_where_they_were_measured() -> None:
    table = tables_over_training()
    assert ratio_chart(table, ABOUT) is None
    rows: list[Row] = [
        ("ratio", name_of(SQUARES, SMALL_NARROW), "block 0", step, None, RATIO, value, None, None)
        for step, value in ((5.0, 1.7), (0.0, 9.4), (None, 1.7))
    ]
    drawn = ratio_chart(table.extended(rows), ABOUT)
    assert drawn is not None and drawn.views[0].tables["rows"]["value"] == [9.4, 1.7]
    assert ratio_chart(table.extended(rows), replace(ABOUT, seeds=3)) is not None  # also without intervals


def test_lines_of_ratios_differ_by_norm_in_colour_and_by_ratio_in_dashes() -> None:
    looks = {arm: (NORM_TINTS[start], tuple(RATIO_DASHES[size])) for arm, (start, size) in RATIO_ARMS.items()}
    assert len(set(looks.values())) == 4 and len({tint for tint, _ in looks.values()}) == 2


def test_what_is_removed_stands_beside_the_whole_net() -> None:
    table = looking({SMALL: [GATHERING]})
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
    random: Row = ("chance", "", "", None, None, LAYOUT, 0.0, -0.18, 0.18)
    written = str(measure_table(tables_over_training().extended([random]), ABOUT))
    assert "0.00 (−0.18 to 0.18)" in written
    assert all(HEADINGS[measure] in written for measure in TABLE_MEASURES)
    assert "change since start / initial norm" in written
    name = name_of(SQUARES, SMALL)
    added: list[Row] = [("change", name, "block 1", None, None, CHANGE, 0.37, None, None)]
    added.append(("change", name, "block 1", None, None, CHANGE_BOUND, 0.19, None, None))
    changed = str(measure_table(tables_over_training().extended(added), ABOUT))
    assert "0.37" in changed and "0.19" in changed and HEADINGS[CHANGE] in changed and HEADINGS[CHANGE_BOUND] in changed
    heads = unescape(str(head_table(looking({SMALL: [{}]}), ABOUT)))
    assert all(link in heads for link in (LINE_SHARE, *REMOVED))
