"""Measures of tables and of attention on a grid: against plain loops, and the levels that chance gives."""

import itertools
import math
from statistics import fmean

import numpy as np
import pytest
import torch

from wherewhat.nets.build import build
from wherewhat.studies.latin_square.attention import (
    UNIFORM,
    asks_elsewhere,
    attention_measures,
    line_cosine,
    links,
    read_attention,
)
from wherewhat.studies.latin_square.counting import best_guess, by_row_and_column
from wherewhat.studies.latin_square.measures import change_rows, puzzles, ratio_rows, tables_of, with_noise
from wherewhat.studies.latin_square.names import (
    CENTRED,
    CHANGE,
    CHANGE_BOUND,
    DISTANCE,
    GATHERS,
    LARGE_WIDE,
    LAYOUT,
    LINE_SHARE,
    LINES,
    MARKS,
    OUTSIDE,
    RATIO,
    RAW,
    READS,
    READS_LINES,
    REMOVED,
    SMALL,
    SMALL_NARROW,
)
from wherewhat.studies.latin_square.position_tables import (
    centred_procrustes,
    chance_measures,
    distance_correlation,
    layout_correlation,
    procrustes,
    shuffled_layouts,
    sinusoid_table,
    table_measures,
)
from wherewhat.studies.latin_square.settings import ARMS, SCALES
from wherewhat.tasks.latin import BLANK, HELD_OUT, QUERY, squares

EXACT = 1e-12  # two float64 computations of numbers of size 1
WIDTHS = {64: 0, 160: 1}  # and their place in the pairs of expected numbers


def table_of_normals(width: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((16, width))


def pearson(a: list[float], b: list[float]) -> float:
    away = [[value - fmean(values) for value in values] for values in (a, b)]
    product = sum(x * y for x, y in zip(*away, strict=True))
    return product / math.sqrt(math.prod(sum(x * x for x in values) for values in away))


def ranks(values: list[float]) -> list[float]:
    """The mean rank of each value, by counting: distances of the same size are equal only up to rounding."""
    near = 1e-9
    below = [sum(other < value - near for other in values) for value in values]
    equal = [sum(abs(other - value) <= near for other in values) for value in values]
    return [less + (same + 1) / 2 for less, same in zip(below, equal, strict=True)]


def test_the_layout_correlation_by_a_double_loop() -> None:
    table_SD = table_of_normals(8)
    cosines, shared = [], []
    for a, b in itertools.combinations(range(16), 2):
        norms = math.sqrt(sum(v * v for v in table_SD[a])) * math.sqrt(sum(v * v for v in table_SD[b]))
        cosines.append(sum(v * w for v, w in zip(table_SD[a], table_SD[b], strict=True)) / norms)
        shared.append(float(a // 4 == b // 4) + float(a % 4 == b % 4))
    assert len(cosines) == 120
    assert layout_correlation(table_SD) == pytest.approx(pearson(cosines, shared), abs=EXACT)


def test_the_distance_correlation_by_a_double_loop() -> None:
    table_SD = table_of_normals(8)
    apart, plane = [], []
    for a, b in itertools.combinations(range(16), 2):
        apart.append(math.dist(table_SD[a], table_SD[b]))
        plane.append(math.hypot(a // 4 - b // 4, a % 4 - b % 4))
    assert distance_correlation(table_SD) == pytest.approx(pearson(ranks(apart), ranks(plane)), abs=EXACT)


def test_procrustes_is_the_best_rotation() -> None:
    table_SD, other_SD = table_of_normals(6), table_of_normals(6, seed=1)
    u, _, v = np.linalg.svd(table_SD.T @ other_SD)
    aligned = float((table_SD @ u @ v * other_SD).sum() / np.linalg.norm(table_SD) / np.linalg.norm(other_SD))
    assert procrustes(table_SD, other_SD) == pytest.approx(aligned, abs=EXACT)
    turn, _ = np.linalg.qr(np.random.default_rng(2).standard_normal((6, 6)))
    rotated = float((table_SD @ turn * other_SD).sum() / np.linalg.norm(table_SD) / np.linalg.norm(other_SD))
    assert rotated < aligned
    shifted_SD = table_SD + 5.0
    assert centred_procrustes(shifted_SD, other_SD) == pytest.approx(centred_procrustes(table_SD, other_SD), abs=EXACT)
    assert procrustes(shifted_SD, other_SD) != pytest.approx(procrustes(table_SD, other_SD), abs=0.01)
    nuclear = np.linalg.norm(table_SD.T @ other_SD, ord="nuc") / np.linalg.norm(table_SD) / np.linalg.norm(other_SD)
    assert procrustes(table_SD, other_SD) == pytest.approx(nuclear, abs=EXACT)


def test_a_table_of_rows_and_columns_has_a_layout_of_one() -> None:
    table_SD = np.zeros((16, 8))
    for cell in range(16):
        table_SD[cell, cell // 4] = table_SD[cell, 4 + cell % 4] = 1.0
    assert layout_correlation(table_SD) == pytest.approx(1.0, abs=EXACT)


def test_shuffled_layouts_are_those_of_shuffled_tables() -> None:
    table_SD, generator = table_of_normals(3), np.random.default_rng(4)
    theirs = [layout_correlation(generator.permutation(table_SD)) for _ in range(2000)]
    ours = shuffled_layouts(table_SD, times=2000, seed=0)
    assert np.std(ours) == pytest.approx(np.std(theirs), rel=0.1)
    assert np.quantile(ours, 0.975) == pytest.approx(np.quantile(theirs, 0.975), abs=0.03)
    assert abs(np.mean(ours)) < 0.02 and ours.shape == (2000,)


@torch.no_grad()
def test_a_small_change_can_show_the_layout_that_its_table_hides() -> None:
    start, net = (build(SCALES["tiny"].net(ARMS["sigma 1"], 6), seed=0) for _ in range(2))
    grid_SD, random_SD = np.zeros((16, 64)), table_of_normals(64, seed=5)
    for cell in range(16):
        grid_SD[cell, cell // 4] = grid_SD[cell, 4 + cell % 4] = 1.0
    turn_DD, _ = np.linalg.qr(np.random.default_rng(6).standard_normal((64, 64)))
    for block, change_SD in enumerate((grid_SD @ turn_DD, random_SD)):
        table_SD = net.encoding(block).table_SD
        size = 0.058 * float(table_SD.norm()) / np.linalg.norm(change_SD)
        table_SD += torch.from_numpy(size * change_SD).to(table_SD)
    rows = {(row[1], row[3]): row[4] for row in change_rows(start, net)}
    assert len(rows) == 4 and rows["block 0", CHANGE] == pytest.approx(1.0, abs=1e-3)
    assert 0.05 < rows["block 0", CHANGE_BOUND] < 0.4 and rows["block 1", CHANGE] < rows["block 1", CHANGE_BOUND]
    before, after = (layout_correlation(tables_of(each)[0]) for each in (start, net))
    assert abs(after - before) < 0.03  # of the whole table, nearly nothing


@pytest.mark.parametrize("width", WIDTHS)
def test_random_tables_have_the_expected_levels(width: int) -> None:
    drawn, place = chance_measures(width, tables=300, seed=0), WIDTHS[width]
    expected = {LAYOUT: (0.0, 0.0), DISTANCE: (0.0, 0.0), RAW: (0.373, 0.358), CENTRED: (0.490, 0.481)}
    for measure, levels in expected.items():
        error = drawn[measure].std(ddof=1) / math.sqrt(len(drawn[measure]))
        assert abs(drawn[measure].mean() - levels[place]) < 4 * error + 0.002, measure
    assert drawn[LAYOUT].std() == pytest.approx(0.09, abs=0.015)


@pytest.mark.parametrize("width", WIDTHS)
def test_the_sinusoid_itself_and_its_rows_in_another_order(width: int) -> None:
    sinusoid_SD, place = sinusoid_table(width), WIDTHS[width]
    own = table_measures(sinusoid_SD, sinusoid_SD)
    assert own[LAYOUT] == pytest.approx((0.504, 0.483)[place], abs=0.0006)
    # Ties count as ties: ranks of distances that differ only by rounding would give 0.983 and 0.995.
    assert own[DISTANCE] == pytest.approx((0.984, 0.996)[place], abs=0.0006)
    assert (own[RAW], own[CENTRED]) == pytest.approx((1.0, 1.0), abs=EXACT)
    generator = np.random.default_rng(0)
    mixed = [table_measures(generator.permutation(sinusoid_SD), sinusoid_SD) for _ in range(300)]
    raw, centred = (fmean(each[name] for each in mixed) for name in (RAW, CENTRED))
    assert raw == pytest.approx((0.951, 0.960)[place], abs=0.004)  # as good as the true order: it says nothing
    assert centred == pytest.approx(0.38, abs=0.03)  # below random tables: the true order is what counts


# Attention ---------------------------------------------------------------------------------------------------------


def test_uniform_attention_has_the_levels_of_chance() -> None:
    batch = puzzles(1, "test", 192)
    input_NT = torch.from_numpy(batch.input_NT)
    measures = attention_measures(torch.full((192, 16, 16), 1 / 16), input_NT)
    for name, value_N in measures.items():
        assert value_N.tolist() == pytest.approx([UNIFORM[name]] * len(value_N), abs=1e-7), name
    assert UNIFORM[LINES] == pytest.approx(0.6614, abs=1e-4)
    elsewhere = 192 * 9 // 16  # puzzles that ask for a cell outside the row and the column of the last one
    assert {name: len(value_N) for name, value_N in measures.items()} == {
        **dict.fromkeys(REMOVED, elsewhere),
        **dict.fromkeys((LINES, LINE_SHARE), 192),
    }
    assert UNIFORM[READS_LINES] == 6 / 16 and UNIFORM[LINE_SHARE] == 7 / 16 and UNIFORM[OUTSIDE] == 9 / 16


def test_attention_measures_by_loops() -> None:
    batch = puzzles(1, "test", 16)  # one for each queried cell
    input_NT = torch.from_numpy(batch.input_NT)
    attention_NQK = torch.rand(16, 16, 16, generator=torch.Generator().manual_seed(0), dtype=torch.float64).softmax(-1)
    measures = attention_measures(attention_NQK, input_NT)
    theirs: dict[str, list[float]] = {name: [] for name in (LINES, LINE_SHARE, *REMOVED)}
    for attention_QK, cells in zip(attention_NQK.tolist(), batch.input_NT.tolist(), strict=True):
        query, product, own, mask, inside = cells.index(QUERY), 0.0, 0.0, 0.0, 0.0
        for q, k in itertools.product(range(16), repeat=2):
            weight = (q // 4 == k // 4 or q % 4 == k % 4) / 7
            product, own = product + weight * attention_QK[q][k], own + attention_QK[q][k] ** 2
            mask += weight**2
            inside += attention_QK[q][k] / 16 if weight else 0.0
        theirs[LINES].append(product / math.sqrt(own * mask))
        theirs[LINE_SHARE].append(inside)
        if query // 4 == 3 or query % 4 == 3:
            continue
        near = [k for k in range(16) if k != query and (k // 4 == query // 4 or k % 4 == query % 4)]
        theirs[GATHERS].append(sum(attention_QK[query][k] for k in near))
        theirs[MARKS].append(fmean(attention_QK[k][query] for k in near))
        theirs[READS].append(attention_QK[15][query])
        theirs[READS_LINES].append(sum(attention_QK[15][k] for k in near))
        theirs[OUTSIDE].append(sum(attention_QK[query][k] for k in range(16) if k != query and k not in near))
    for name, values in theirs.items():
        assert measures[name].tolist() == pytest.approx(values, abs=EXACT), name
    # Attention to few cells of the own row and column has the whole share, but a lower cosine than to all of them.
    own_QK = torch.eye(16)
    assert attention_measures(own_QK[None], input_NT[:1])[LINE_SHARE].item() == 1.0 > line_cosine(own_QK[None]).item()
    in_line_QK = torch.tensor([[float(q // 4 == k // 4 or q % 4 == k % 4) / 7 for k in range(16)] for q in range(16)])
    assert line_cosine(in_line_QK[None]).item() == pytest.approx(1.0, abs=1e-6)


def test_links_do_not_overlap_where_they_are_measured() -> None:
    input_NT = torch.from_numpy(puzzles(1, "test", 96).input_NT)
    overlaps_N = sum(link_NQK.int() for link_NQK in links(input_NT).values()).amax((1, 2)) > 1
    elsewhere_N = asks_elsewhere(input_NT)
    assert not overlaps_N[elsewhere_N].any() and overlaps_N[~elsewhere_N & (input_NT[:, -1] != QUERY)].all()
    assert not links(input_NT)[READS_LINES][elsewhere_N, -1, -1].any()  # the last cell does not read itself


def test_attention_is_that_of_the_net() -> None:
    scale = SCALES["tiny"]
    net = build(scale.net(ARMS[SMALL], 6), seed=3).eval()
    input_NT = torch.from_numpy(puzzles(1, "test", 200).input_NT)
    ours_LNQK = read_attention(net, input_NT)
    assert ours_LNQK.shape == (2, 200, 16, 16)
    with torch.no_grad():
        x_NTD = net.tokens(input_NT) + net.encoding(0).table_SD
        q_NTD, k_NTD, _ = net.blocks[0].attention.qkv(x_NTD).chunk(3, dim=-1)
        theirs_NQK = (q_NTD @ k_NTD.mT / 8).softmax(-1)
    torch.testing.assert_close(ours_LNQK[0], theirs_NQK, atol=1e-5, rtol=0)


# Puzzles -----------------------------------------------------------------------------------------------------------


def test_noise_replaces_given_cells_alone() -> None:
    input_NC = puzzles(1, "test", 960).input_NT
    noisy_NC = with_noise(input_NC, 0.2, np.random.default_rng(0))
    given_NC = (input_NC != BLANK) & (input_NC != QUERY)
    assert (noisy_NC[~given_NC] == input_NC[~given_NC]).all() and set(np.unique(noisy_NC[noisy_NC != input_NC])) == {
        1,
        2,
        3,
        4,
    }
    changed, cells = float((noisy_NC != input_NC)[given_NC].mean()), int(given_NC.sum())
    assert abs(changed - 0.2 * 3 / 4) < 4 * math.sqrt(0.15 * 0.85 / cells)  # a quarter is replaced by itself
    assert (with_noise(input_NC, 0.0, np.random.default_rng(0)) == input_NC).all()
    less_NC = with_noise(input_NC, 0.05, np.random.default_rng(0))
    assert (noisy_NC != input_NC)[less_NC != input_NC].all()


def test_some_test_puzzles_also_fit_a_square_of_training() -> None:
    trained_SC = squares()[np.arange(len(squares())) % HELD_OUT != 0]
    input_NC = puzzles(1, "test", 1920).input_NT
    fits = []
    for puzzle_C in input_NC:
        given_C = (puzzle_C != BLANK) & (puzzle_C != QUERY)
        fits.append((trained_SC[:, given_C] == puzzle_C[given_C]).all(1).any())
    assert np.mean(fits) == pytest.approx(0.16, abs=0.03)  # the figure of the page and of its notes


def test_counts_of_symbols_tell_few_answers() -> None:
    batch = puzzles(1, "test", 4800)
    assert best_guess(puzzles(1, "train", 19_200), batch).mean() == pytest.approx(0.41, abs=0.015)


def test_row_and_column_and_then_counts_tell_most_answers() -> None:
    scored = puzzles(1, "test", 4800)
    right_N = best_guess(puzzles(1, "train", 19_200), scored, by_row_and_column)
    binary, ternary, quaternary = (right_N[scored.group_N == number].mean() for number in range(3))
    assert binary == ternary == 1.0
    assert quaternary == pytest.approx(0.754, abs=0.02)


def test_a_guess_is_one_of_the_symbols_that_row_and_column_leave() -> None:
    batch = puzzles(1, "test", 192)
    for input_C, target in zip(batch.input_NT.tolist(), batch.target_N.tolist(), strict=True):
        query, (kinds, _) = input_C.index(QUERY), by_row_and_column(input_C)
        for symbol in (1, 2, 3, 4):
            places = [cell for cell in range(16) if input_C[cell] == symbol]
            meets = any(cell // 4 == query // 4 or cell % 4 == query % 4 for cell in places)
            assert kinds[symbol - 1] == (0 if meets else len(places), meets)
        assert not kinds[target - 1][1]


@torch.no_grad()
def test_only_nets_with_positions_see_the_order_of_cells() -> None:
    input_NC = puzzles(1, "test", 96).input_NT
    mixed_NC = np.concatenate(
        [np.random.default_rng(0).permuted(input_NC[:, :-1], axis=1), input_NC[:, -1:]], axis=1
    )  # the last cell stays, as the answer is read from it
    apart = {}
    for arm in ("none", "rope", "t5_bias", SMALL):
        net = build(SCALES["tiny"].net(ARMS[arm], 6), seed=0).eval()
        ours, theirs = (net(torch.from_numpy(each))[:, -1] for each in (input_NC, mixed_NC))
        apart[arm] = float((ours - theirs).abs().max() / ours.abs().max())
    assert apart["none"] < 1e-5  # rounding alone
    assert min(apart[arm] for arm in ("rope", "t5_bias", SMALL)) > 1e-3


def test_tables_are_those_of_blocks() -> None:
    scale = SCALES["tiny"]
    net = build(scale.net(ARMS[SMALL], 6), seed=0)
    tables = tables_of(net)
    assert list(tables) == [0, 1] and all(table.shape == (16, 64) for table in tables.values())
    assert not np.allclose(tables[0], tables[1])
    assert tables_of(build(scale.net(ARMS["2-D sinusoid"], 6), seed=0)) == {}


def test_the_ratio_of_a_table_to_the_tokens_by_a_loop() -> None:
    scale = SCALES["tiny"]
    for arm, start in ((SMALL, 0.2 / 0.2357), (SMALL_NARROW, 2 / 0.2357), (LARGE_WIDE, 0.2 / 0.2357)):
        net = build(scale.net(ARMS[arm], 6), seed=0)
        sizes = []
        for rows in (tables_of(net)[0].tolist(), net.tokens.weight.tolist()):
            sizes.append(math.sqrt(fmean(value * value for row in rows for value in row)))
        measured = list(ratio_rows(net, 5.0))
        assert measured == [("ratio", "block 0", 5.0, RATIO, pytest.approx(sizes[0] / sizes[1]), None, None)]
        assert sizes[0] / sizes[1] == pytest.approx(start, rel=0.15)  # as the arm says
    assert list(ratio_rows(build(scale.net(ARMS["none"], 6), seed=0))) == []
