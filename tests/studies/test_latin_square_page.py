"""The page of Latin squares: which solution its sentence names, and the rows that its charts draw."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from html import unescape

import pytest

from wherewhat.studies.engine.results import ResultTable, Row, table_of
from wherewhat.studies.latin_square.attention_charts import removed_rows
from wherewhat.studies.latin_square.charts import (
    NORM_TINTS,
    RATIO_ARMS,
    RATIO_DASHES,
    accuracy_rows,
    group_chart,
    over_training,
    pair_chart,
    ratio_chart,
)
from wherewhat.studies.latin_square.names import (
    ADDED,
    ADDED_BOUND,
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
    MARKS,
    MODULES,
    MOVED,
    NETWORK,
    NONE,
    OUTSIDE,
    RATIO,
    READS,
    READS_LINES,
    REMOVED,
    ROPE,
    RULED_OUT,
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
    together_cell,
)
from wherewhat.studies.latin_square.number_tables import head_table, measure_table
from wherewhat.studies.latin_square.page import TEXTS, head_finding, moved_words, network, network_finding
from wherewhat.studies.latin_square.settings import ARMS, SCALES
from wherewhat.studies.latin_square.solution import solution
from wherewhat.studies.latin_square.summary import mean_rows
from wherewhat.studies.latin_square.table_charts import cosine_cell, growth_chart, growth_rows, layout_rows, run_rows
from wherewhat.tables.manifest.study import LatinSquareSection, LongAnswer

UNIFORM = {GATHERS: 0.375, MARKS: 0.0625, READS: 0.0625, READS_LINES: 0.375, OUTSIDE: 0.5625}
Looks = Mapping[tuple[str, int], tuple[float, float]]  # attention and accuracy without it, by link and block
MARKING: Looks = {(MARKS, 0): (0.2, 0.6), (READS_LINES, 1): (0.8, 0.5)}
GATHERING: Looks = {(GATHERS, 0): (0.9, 0.3), (READS, 1): (0.4, 0.5)}
LOCATING: Looks = {(READS, 0): (0.7, 0.6), (READS_LINES, 1): (0.85, 0.3)}
PER_CENT = "\N{NO-BREAK SPACE}%"
REACH = 0.02  # of every interval, to each side


def looking(nets: Mapping[str, Sequence[Looks]], *shares: float, together: float | None = None) -> ResultTable:
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
            if together is not None:
                cell = together_cell(0, 1)
                rows.append((cell.part, name, cell.item, None, seed, cell.measure, together, None, None))
    table = table_of(rows)
    return table.extended(mean_rows(table))


def answer(nets: Mapping[str, Sequence[Looks]], *shares: float, together: float | None = None) -> LongAnswer:
    return solution(looking(nets, *shares, together=together), LatinSquareSection(arms=tuple(nets), layers=2))


def sentence(nets: Mapping[str, Sequence[Looks]], *shares: float, together: float | None = None) -> str:
    return answer(nets, *shares, together=together).rest.replace(PER_CENT, "%")


# How nets solve puzzles --------------------------------------------------------------------------------------------

MARKED = "the cells in the row and column of the queried cell attend to it, and the last cell then attends to them"
GATHERED = "the queried cell attends to its row and column, and the last cell then attends to the queried cell"
LOCATED = "the last cell attends to the queried cell, and then to the row and column of that cell"


def test_one_sentence_says_what_the_solution_is() -> None:
    least, along = "at least 60% of the test puzzles", "solve them along rows and columns"
    worlds: Sequence[tuple[Mapping[str, Sequence[Looks]], str]] = (
        ({SMALL: [MARKING], LARGE: [MARKING]}, f"All nets that answer {least} {along}: {MARKED}"),
        ({SMALL: [GATHERING], LARGE: [GATHERING], NONE: [{}]}, f"Most nets that answer {least} {along}: {GATHERED}"),
        ({SMALL: [LOCATING], LARGE: [LOCATING], NONE: [MARKING]}, f"Most nets that answer {least} {along}: {LOCATED}"),
        ({SMALL: [MARKING]}, f"The net that answers {least} solves them along rows and columns: {MARKED}"),
        (
            {SMALL: [GATHERING], LARGE: [LOCATING]},
            f"All nets that answer {least} {along}, but not mostly by the same route",
        ),
        (
            {SMALL: [GATHERING], LARGE: [LOCATING], NONE: [{}]},
            f"Most nets that answer {least} {along}, but not mostly by the same route",
        ),
        ({SMALL: [GATHERING], LARGE: [{}]}, f"Nets that answer {least} do not mostly share one clear solution"),
        (
            {SMALL: [{}]},
            f"The net that answers {least} does not clearly need both links of a route along rows and columns",
        ),
        (
            {SMALL: [{}], LARGE: [{}]},
            f"None of the nets that answer {least} clearly needs both links of a route along rows and columns",
        ),
    )
    for nets, words in worlds:
        assert answer(nets).lead.replace(PER_CENT, "%") == words


def test_nets_whose_row_and_column_read_the_queried_cell() -> None:
    assert sentence({SMALL: [MARKING], LARGE: [MARKING]}) == (
        "2 of these 2 nets clearly need both links of a route. None needs the attention of the queried cell to cells "
        "outside its row and column: without it in any one block, no net loses accuracy. "
        f"With {label(SMALL)} and {label(LARGE)}, the route that costs most to cut is this: {MARKED}. Accuracy falls "
        "from 90% to 60% without the first of these links, to 50% without the second. They have 20% and 80% of the "
        "attention (uniform: 6% and 38%)."
    )


def test_the_main_route_is_the_one_whose_both_links_cost_most() -> None:
    # What the queried cell gathers costs most of all, but what reads it later costs little: it is not the solution.
    both = {**MARKING, **GATHERING, (READS, 1): (0.2, 0.8)}
    result = answer({SMALL: [both]}, together=0.2)
    assert result.lead.endswith(MARKED)
    words = result.rest.replace(PER_CENT, "%")
    assert f"With {label(SMALL)}, a second route costs less: {GATHERED}. " in words
    assert "from 90% to 30% without the first of these links, to 80% without the second." in words
    assert words.endswith(
        "1 net needs both the route over the row and column and the one over the queried cell: with one link of each "
        "removed, accuracy falls from 90% to 20%."
    )
    assert answer({SMALL: [{**both, (READS, 1): (0.2, 0.4)}]}).lead.endswith(GATHERED)  # 50 points beside 30
    assert "with one link of each" not in sentence({SMALL: [both]})  # not measured
    assert "with one link of each" not in sentence({SMALL: [GATHERING], LARGE: [MARKING]}, together=0.2)


def test_nets_that_need_cells_outside_the_row_and_column() -> None:
    other, this = ({**MARKING, (OUTSIDE, block): (0.5, without)} for block, without in ((1, 0.91), (0, 0.893)))
    assert "no net loses more than 0.7 points" in sentence({SMALL: [other], LARGE: [this]})
    name, parts = (
        name_of(SQUARES, SMALL),
        {"quaternary": 0.75, "block 0, quaternary": 0.71, "block 1, quaternary": 0.76},
    )
    rows: list[Row] = [
        ("removed", name, item, None, 0, WHOLE if item == "quaternary" else OUTSIDE, value, None, None)
        for item, value in parts.items()
    ]
    known = solution(looking({SMALL: [other]}).extended(rows), LatinSquareSection(arms=(SMALL,), layers=2))
    assert (
        "in any one block, no net loses accuracy. Of quaternary puzzles alone, none loses more than 4.0 points."
        in known.rest
    )
    of_hard = [(*row[:6], row[6], row[6] - 0.01, row[6] + 0.01) for row in rows]
    hard = solution(looking({SMALL: [other]}).extended(of_hard), LatinSquareSection(arms=(SMALL,), layers=2)).rest
    assert "the queried cell also needs cells outside its row and column in quaternary puzzles." in hard
    assert "None needs" not in hard
    needed = sentence({SMALL: [{**MARKING, (OUTSIDE, 0): (0.5, 0.8)}], LARGE: [MARKING]})
    assert f"With {label(SMALL)}, the queried cell also needs cells outside its row and column." in needed
    assert "None needs" not in needed


def test_nets_that_are_not_all_alike() -> None:
    words = sentence({SMALL: [MARKING], LARGE: [LOCATING], ROPE: [{}]})
    assert words.startswith("2 of these 3 nets clearly need both")
    assert words.endswith("With RoPE, no route is clear.")
    assert words.index(f"With {label(SMALL)}, the route") < words.index(f"With {label(LARGE)}, the route")


def test_seeds_may_find_different_solutions() -> None:
    words = sentence({SMALL: [GATHERING, LOCATING, {}], LARGE: [GATHERING] * 3})
    assert words.startswith("5 of these 6 nets")
    assert f"With {label(SMALL)} in 1 of 3 seeds and {label(LARGE)} in 3 of 3 seeds, the route that costs most" in words
    assert f"With {label(SMALL)} in 1 of 3 seeds, the route that costs most to cut is this: {LOCATED}" in words
    assert words.endswith(f"With {label(SMALL)} in 1 of 3 seeds, no route is clear.")


@pytest.mark.parametrize(
    "looks",
    [
        {},
        {(GATHERS, 1): (0.9, 0.3), (READS, 0): (0.8, 0.3)},  # in the wrong order
        {(GATHERS, 0): (0.9, 0.3), (READS, 0): (0.8, 0.3)},  # in the same block
        {(GATHERS, 0): (0.9, 0.87), (READS, 1): (0.8, 0.3)},  # attended to, but not clearly needed
        {(GATHERS, 0): (0.7, 0.5), (READS_LINES, 1): (0.8, 0.4)},  # what is gathered is not read
        {(MARKS, 0): (0.2, 0.5), (READS, 1): (0.8, 0.4)},
        {(READS, 0): (0.5, 0.3), (READS_LINES, 1): (0.85, 0.9)},
        {(READS, 0): (0.5, 0.3), (READS, 1): (0.5, 0.3)},  # nothing reads the row and the column
    ],
)
def test_nets_without_both_links_of_a_route(looks: Looks) -> None:
    assert sentence({SMALL: [looks], LARGE: [{}]}).startswith("None of these 2 nets clearly needs both links")


def test_no_solution_without_a_net_that_has_learnt() -> None:
    poor = answer({SMALL: [GATHERING]}, 0.59)
    assert poor.lead.startswith(f"No net answers 60{PER_CENT} of the test puzzles") and poor.rest == ""
    assert answer({SMALL: [GATHERING]}, 0.6).lead.startswith("The net that answers")
    assert answer({SMALL: [GATHERING, GATHERING]}, 0.5, 0.9).lead.startswith("The net")  # not by the mean of seeds


def quaternary(*by_arm: tuple[float, float], high: float | None = 0.77) -> ResultTable:
    """Two kinds of nets that have learnt the task, each with an accuracy on quaternary puzzles and its lower end.

    The upper end is as far from it.
    """
    rows: list[Row] = [("chance", RULED_OUT, "quaternary", None, None, "accuracy", 0.75, 0.73, high)]
    for arm, (value, low) in zip((SMALL, LARGE), by_arm, strict=False):
        end = 2 * value - low
        rows.append(("accuracy", name_of(SQUARES, arm), "quaternary", None, None, "accuracy", value, low, end))
    return looking({SMALL: [{}], LARGE: [{}]}).extended(rows)


@pytest.mark.parametrize(
    ("table", "better", "value"),
    [
        (quaternary((0.72, 0.70), (0.5, 0.4)), "no better than", 72),
        (quaternary((0.74, 0.70), (0.5, 0.4)), "not clearly better than", 74),
        (quaternary((0.76, 0.72)), "not clearly better than", 76),
        (quaternary((0.80, 0.76)), "not clearly better than", 80),  # the guess has an interval too
        (quaternary((0.80, 0.76), high=None), "clearly better than", 80),
        (quaternary((0.5, 0.4), (0.86, 0.82)), "clearly better than", 86),
    ],
)
def test_quaternary_puzzles_stand_beside_the_guess_from_row_and_column_and_counts(
    table: ResultTable, better: str, value: int
) -> None:
    words = solution(table, LatinSquareSection(arms=(SMALL, LARGE), layers=2)).rest.replace(PER_CENT, "%")
    best = LARGE if value == 86 else SMALL
    assert words.endswith(
        f"On quaternary puzzles, nets are {better} a guess that rules out the symbols of the row and column and counts "
        f"the others over the grid: it is right in 75% of them, and the best kind of nets there, {label(best)}, in "
        f"{value}%."
    )


def test_nothing_is_said_of_quaternary_puzzles_where_they_or_the_guess_are_unknown() -> None:
    assert "On quaternary" not in sentence({SMALL: [MARKING]})
    about = LatinSquareSection(arms=(SMALL, LARGE), layers=2)
    assert "On quaternary" not in solution(quaternary(), about).rest
    of_hard: list[Row] = [row for row in quaternary((0.74, 0.70)).rows.rows() if row[2] == "quaternary"]
    two = {SMALL: [{}, {}]}
    assert "On quaternary" in solution(looking(two).extended(of_hard), about).rest
    assert "On quaternary" not in solution(looking(two, 0.9, 0.4).extended(of_hard), about).rest  # one has not learnt


def test_the_guess_from_row_and_column_and_counts_is_drawn() -> None:
    drawn = group_chart(quaternary((0.74, 0.70)), LatinSquareSection(arms=(SMALL, LARGE), layers=2))
    assert drawn.views[0].tables["guesses"]["value"] == [0.25, 0.75]
    assert "ruled out" in TEXTS["groups"]


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


def test_the_table_of_the_network_has_what_was_added() -> None:
    measures = {MODULES: -0.006, ADDED: 0.061, ADDED_BOUND: 0.056}
    rows: list[Row] = [
        ("network", name_of(NETWORK, LARGE), "block 0", None, None, measure, value, None, None)
        for measure, value in measures.items()
    ]
    about = LatinSquareSection(network_arms=(LARGE,), sigmas={LARGE: 2.0})
    written = str(network(table_of(rows), about).body)
    assert all(words in written for words in ("0.061", "0.056", "of the change alone", HEADINGS[CHANGE_BOUND]))


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


def test_how_much_less_a_large_table_has_moved() -> None:
    about = replace(ABOUT, arms=(SMALL, LARGE))
    for large, words in (((0.014, 0.01), "moved 29 to 32 times less"), ((0.04, 0.032), "moved 10 times less")):
        rows: list[Row] = [
            ("moved", name_of(SQUARES, arm), f"block {block}", None, None, MOVED, value, None, None)
            for arm, values in ((SMALL, (0.4, 0.32)), (LARGE, large))
            for block, value in enumerate(values)
        ]
        text = moved_words(table_of(rows), about)
        assert f"Tables from {label(LARGE)} {words} than those from {label(SMALL)} in the same blocks" in text
        assert text.endswith("more than the size of steps is at work.") == (large[0] < 0.02)
        assert moved_words(table_of(rows[:3]), about) == ""


def test_scores_of_heads_are_explained_and_rest_on_as_many_puzzles_as_said() -> None:
    assert {scale.texts for scale in SCALES.values()} == {8} and "rest on 8 test puzzles" in TEXTS["numbers"]
    rows: list[Row] = [
        ("heads", name_of(SQUARES, SMALL), f"L{block}H0", None, None, "input.position_share", value, None, None)
        for block, value in enumerate((0.98, 0.13))
    ]
    words = head_finding(table_of(rows), ABOUT).replace(PER_CENT, "%")
    assert words.startswith("Positions alone decide 98% of where the last cell attends in the first block of nets from")
    assert words.endswith("and 13% in the last block.") and head_finding(table_of(rows[:1]), ABOUT) == ""


def test_the_page_has_no_private_words_and_claims_no_more_than_was_tried() -> None:
    assert not [text for text in TEXTS.values() if " lines" in text or "learnt the task" in text]


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
