"""The study of Latin squares: what its runs measure, also after an interruption, and its page."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import altair as alt
import numpy as np
import pytest
import torch
from micro_runs import page_without_torch, run_micro

from wherewhat.encodings.t5_bias import bucket
from wherewhat.errors import UserError
from wherewhat.jobs.job import JobContext
from wherewhat.nets.build import build
from wherewhat.published.latin_square import BY_TABLE, SIGMAS
from wherewhat.report.core.page import Chart
from wherewhat.runs.registry import StudyRun
from wherewhat.signals import StopRequested
from wherewhat.studies.engine.results import ResultTable, Row, table_of
from wherewhat.studies.latin_square.attention import asks_elsewhere, attention_measures, read_attention
from wherewhat.studies.latin_square.measures import puzzles, right_answers, tables_of, with_noise
from wherewhat.studies.latin_square.names import (
    CHANGE,
    CHANGE_BOUND,
    GROUPS,
    LARGE,
    LARGE_SLOW,
    LARGE_WIDE,
    LAYOUT,
    LINE_SINUSOID,
    NETWORK,
    NONE,
    RATIO,
    REMOVED,
    RULED_OUT,
    SINUSOID,
    SMALL,
    SMALL_NARROW,
    SMALL_SLOW,
    SQUARES,
    T5,
    TEST,
    TRAIN,
    WHOLE,
    guess_cell,
    label,
)
from wherewhat.studies.latin_square.network import ModularNetwork, NetworkTraining
from wherewhat.studies.latin_square.position_tables import layout_correlation, sinusoid_table
from wherewhat.studies.latin_square.run import run
from wherewhat.studies.latin_square.settings import ARMS, SCALES, LatinCondition, LatinScale, conditions
from wherewhat.studies.latin_square.summary import mean_rows
from wherewhat.studies.pages import page_of_study
from wherewhat.tasks.latin import CELLS, QUERY
from wherewhat.training.loop import threads, train
from wherewhat.training.task_training import TaskSettings

MICRO = LatinScale(
    arms=(SMALL, LARGE, SINUSOID, NONE, LARGE_WIDE, SMALL_NARROW, SMALL_SLOW),
    network_arms=(SMALL, LARGE, LINE_SINUSOID, NONE),
    layers=2,
    width=8,
    steps=6,
    batch=8,
    learning_rate=1e-2,
    puzzles=24,
    samples=48,
    snapshots=3,
    attended=6,
    texts=2,
    network=NetworkTraining(network=ModularNetwork(settling=20), steps=2, batch=4, warmup=1, samples=8, tested=8),
    seeds=1,
)


CHARTS = ("accuracy", "layout", "growth", "ratio", "rate", "attention", "groups", "noise", "network")


def rows_of(condition: LatinCondition, folder: Path, scale: LatinScale = MICRO) -> list[Row]:
    return run(condition, scale, 3, JobContext(folder, lambda *_, **__: None))


def values(rows: list[Row], part: str, measure: str) -> Mapping[tuple[str, float | None], float | None]:
    return {(row[2], row[3]): row[6] for row in rows if row[0] == part and row[5] == measure}


def test_the_rows_are_those_of_the_trained_net(tmp_path: Path) -> None:
    condition = LatinCondition(SQUARES, SMALL)
    rows, settings = rows_of(condition, tmp_path), MICRO.training(condition, 3)
    with threads(1):  # as many as runs have, so that both nets are the same but for rounding
        check_rows(rows, settings)


def one_puzzle(value: float, puzzles: int) -> Any:
    """An accuracy but for one puzzle, whose two best answers can be as good as each other but for rounding."""
    return pytest.approx(value, abs=1.01 / puzzles)


def check_rows(rows: list[Row], settings: TaskSettings) -> None:
    """The rows of a run on puzzles, against a net that is trained here."""
    net, test = train(settings).net, puzzles(4, "test", 48)
    right_N = right_answers(net, test.input_NT, test.target_N)
    answered = values(rows, "accuracy", "accuracy")
    assert answered[TEST, None] == one_puzzle(right_N.mean(), 48)
    for number, group in enumerate(("binary", "ternary", "quaternary")):
        assert answered[group, None] == one_puzzle(right_N[test.group_N == number].mean(), 16)
    learnt = puzzles(4, "train", 24)
    assert answered[TRAIN, None] == one_puzzle(right_answers(net, learnt.input_NT, learnt.target_N).mean(), 24)
    noisy_NC = with_noise(test.input_NT, 0.1, np.random.default_rng(3))
    expected = right_answers(net, noisy_NC, test.target_N).mean()
    assert values(rows, "noise", "accuracy")["", 0.1] == one_puzzle(expected, 48)
    layouts = values(rows, "table", LAYOUT)
    tables = tables_of(net)
    for block in (0, 1):
        assert layouts[f"block {block}", None] == pytest.approx(layout_correlation(tables[block]), abs=1e-5)
        assert {at for item, at in layouts if item == f"block {block}"} == {0.0, 2.0, 4.0, 6.0, None}
    start = tables_of(settings.initial_net())
    assert layouts["block 0", 0.0] == pytest.approx(layout_correlation(start[0]), abs=1e-5)
    ratios = values(rows, "ratio", RATIO)
    assert {at for _, at in ratios} == {0.0, 2.0, 4.0, 6.0, None}
    token_VD = net.tokens.weight.detach().numpy()
    expected = np.sqrt(np.square(tables[0]).mean() / np.square(token_VD).mean())
    assert ratios["block 0", None] == pytest.approx(expected, rel=1e-4)
    assert ratios["block 0", None] == ratios["block 0", 6.0]
    away = np.linalg.norm(tables[1] - start[1]) / np.linalg.norm(start[1])
    assert values(rows, "moved", "moved")["block 1", None] == pytest.approx(away, rel=1e-4)
    changes = values(rows, "change", CHANGE)
    expected = [layout_correlation(tables[block] - start[block]) for block in (0, 1)]
    assert [changes[f"block {block}", None] for block in (0, 1)] == pytest.approx(expected, abs=1e-3)
    assert set(values(rows, "change", CHANGE_BOUND)) == set(changes)
    assert {row[5] for row in rows if row[0] == "heads"} >= {"entropy", "input.position_share"}
    query_N = (test.input_NT == QUERY).argmax(1)
    elsewhere_N = (query_N // 4 < 3) & (query_N % 4 < 3)
    assert values(rows, "removed", WHOLE)["", None] == one_puzzle(right_N[elsewhere_N].mean(), elsewhere_N.sum())
    assert len([row for row in rows if row[0] == "removed"]) == (1 + 2 * len(REMOVED) + 1) * (1 + len(GROUPS))
    hard_N = elsewhere_N & (test.group_N == 2)
    assert values(rows, "removed", WHOLE)["quaternary", None] == one_puzzle(right_N[hard_N].mean(), hard_N.sum())
    assert len([row for row in rows if row[0] == "cosine"]) == 2 * 256
    input_NT = torch.from_numpy(test.input_NT[:6])  # the attended ones
    for block, attention_NQK in enumerate(read_attention(net, input_NT)):
        for measure, value_N in attention_measures(attention_NQK, input_NT).items():
            mean = values(rows, "attention", measure)[f"block {block}", None]
            assert mean == pytest.approx(value_N.mean().item(), abs=1e-5)


def test_an_interrupted_run_has_all_rows(tmp_path: Path) -> None:
    condition = LatinCondition(SQUARES, LARGE)
    whole = rows_of(condition, tmp_path / "whole")

    def stop(step: int, *_: object, **__: object) -> None:
        if step == 3:
            raise StopRequested

    with pytest.raises(StopRequested):
        run(condition, MICRO, 3, JobContext(tmp_path / "parts", stop))
    steps: list[int] = []
    again = run(condition, MICRO, 3, JobContext(tmp_path / "parts", lambda step, *_, **__: steps.append(step)))
    assert steps == [4, 5, 6]
    assert [row[:6] for row in again] == [row[:6] for row in whole]
    test = puzzles(MICRO.training(condition, 3).data_seed, "test", MICRO.samples)
    elsewhere_N = asks_elsewhere(torch.from_numpy(test.input_NT)).numpy()
    fewest = {"accuracy": np.bincount(test.group_N).min(), "removed": np.bincount(test.group_N[elsewhere_N]).min()}
    for ours, theirs in zip(again, whole, strict=True):
        if ours[5] == "accuracy" or ours[0] == "removed":
            size = fewest["removed" if ours[0] == "removed" else "accuracy"]  # of a class
            assert ours[6] == one_puzzle(theirs[6] or 0.0, size), ours
        else:
            assert ours[6] == pytest.approx(theirs[6], rel=1e-4, abs=1e-4), ours


def test_the_network_arm_has_errors_and_modules(tmp_path: Path) -> None:
    rows = rows_of(LatinCondition(NETWORK, SMALL), tmp_path)
    assert [(row[0], row[1], row[2], row[5]) for row in rows] == [
        ("network", "network, sigma 0.2", "", "error"),
        ("network", "network, sigma 0.2", "block 0", "inside minus across"),
        ("network", "network, sigma 0.2", "block 0", "inside minus across of the change"),
        ("network", "network, sigma 0.2", "block 0", "97.5 % of shuffled modules"),
    ]


def test_arms_differ_in_what_they_say() -> None:
    small, narrow, wide = (MICRO.training(LatinCondition(SQUARES, arm), 0) for arm in (SMALL, SMALL_NARROW, LARGE_WIDE))
    assert small.net.token_sigma == pytest.approx(18**-0.5)  # of a linear layer that reads six symbols
    assert narrow.net.token_sigma == pytest.approx(small.net.token_sigma / 10)
    assert wide.net.token_sigma / 2.0 == pytest.approx(small.net.token_sigma / 0.2)  # the same ratio of table to tokens
    drawn = torch.nn.Linear(6, 4096, bias=False).weight.std().item()
    assert drawn == pytest.approx(small.net.token_sigma, rel=0.02)
    assert MICRO.training(LatinCondition(SQUARES, "sigma 0.2 (pre-norm)"), 0).net.block == "pre_norm"
    slower = MICRO.training(LatinCondition(SQUARES, "sigma 2 (slower)"), 0)
    assert slower.learning_rate == pytest.approx(MICRO.learning_rate / 3)
    assert small.train_samples == 24 and small.weight_decay == 0.0


def test_the_bias_tells_all_distances_apart() -> None:
    encoding = build(MICRO.net(ARMS[T5], 6)).encoding(0)
    lags = torch.arange(1 - CELLS, CELLS)
    bounds = {"buckets": encoding.buckets, "max_distance": encoding.max_distance}
    assert len(set(bucket(lags, causal=False, **bounds).tolist())) == 31 == len(lags)


def test_every_scale_has_what_claims_need() -> None:
    for scale in SCALES.values():
        assert scale.network_arms == (SMALL, LARGE, LINE_SINUSOID, NONE)
        assert {SMALL, LARGE, SINUSOID, NONE, LARGE_WIDE, SMALL_NARROW} <= set(scale.arms)
        assert scale.steps % scale.snapshots == 0 or scale is SCALES["paper"]
        assert all(condition.arm in ARMS for condition in conditions(scale))
        scale.training(conditions(scale)[0], 0)
    assert {SMALL_SLOW, LARGE_SLOW, "sigma 0.5"} <= set(SCALES["tiny"].arms)
    swept = {f"sigma {sigma:g}" for sigma in (0.2, 0.5, 1.0, 1.5, 2.0)}
    assert swept <= set(SCALES["small"].arms) and "sigma 1.5" not in SCALES["tiny"].arms
    assert {f"sigma {sigma:g}" for sigma in SIGMAS} <= set(SCALES["paper"].arms)


def test_the_paper_scale_is_as_published() -> None:
    scale = SCALES["paper"]
    assert (scale.layers, scale.width, scale.batch, scale.learning_rate, scale.seeds) == (4, 160, 128, 1e-4, 15)
    assert scale.puzzles == 9000 and scale.steps == 4000 * 9000 / 128
    net = scale.training(LatinCondition(SQUARES, SMALL), 0).net
    assert (net.layers, net.width, net.heads, net.block, net.kind) == (4, 160, 1, "post_norm", "encoder")


def test_the_published_table_is_whole() -> None:
    expected = {  # means and deviations of held-out puzzles, then of the original ones
        "2-D sinusoid": (98.5, 3.1, 97.7, 7.3),
        0.1: (97.0, 4.0, 92.5, 8.3),
        0.2: (98.6, 1.0, 95.6, 3.9),
        0.3: (98.7, 0.6, 94.6, 2.2),
        0.5: (98.6, 0.6, 94.6, 2.5),
        1.0: (98.1, 0.7, 89.4, 4.3),
        1.2: (95.3, 2.9, 75.6, 14.1),
        1.5: (91.6, 5.8, 61.6, 20.8),
        2.0: (84.7, 7.1, 37.7, 17.1),
    }
    assert {key: tuple(each) for key, each in BY_TABLE.items()} == expected
    assert tuple(key for key in expected if isinstance(key, float)) == SIGMAS


def test_the_fixed_sinusoid_is_added_in_every_block() -> None:
    net = build(MICRO.net(ARMS[SINUSOID], 6))
    x_NTD, positions_NT = torch.zeros(1, 16, 8), torch.arange(16)[None]
    for block in (0, 1):
        added_NTD = net.encoding(block).on_tokens(x_NTD, positions_NT, block)
        torch.testing.assert_close(added_NTD[0].double(), torch.from_numpy(sinusoid_table(8)), atol=1e-6, rtol=0)
    seen: list[torch.Tensor] = []
    before: list[torch.Tensor] = []
    net.blocks[1].register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0]))
    net.blocks[0].register_forward_hook(lambda *its: before.append(its[2]))
    net(torch.from_numpy(puzzles(1, "test", 2).input_NT))
    added_TD = (seen[0] - before[0])[0].detach().double()
    torch.testing.assert_close(added_TD, torch.from_numpy(sinusoid_table(8)), atol=1e-5, rtol=0)


def test_cosines_are_not_averaged_over_seeds() -> None:
    both = [
        (part, "a", "block 0", 1.0, seed, "x", value, None, None)
        for part in ("cosine", "table")
        for seed, value in ((0, -0.5), (1, 0.1))
    ]
    means = list(mean_rows(table_of(both)))
    assert [row[0] for row in means] == ["table"] and means[0][6] == pytest.approx(-0.2)
    assert means[0][7] == -1.0 and means[0][8] == 1.0  # cut off at the range of correlations


# Page --------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory) -> StudyRun:
    return run_micro("latin-square", SCALES, MICRO, tmp_path_factory.mktemp("study"))


def test_the_page_is_drawn_without_torch(outcome: StudyRun, tmp_path: Path) -> None:
    text = page_without_torch(outcome, tmp_path)
    for words in (
        "Do learned tables find the true layout?",
        label(SMALL),
        "are trained on the task",
        "84.7 (7.1)",
        "No net answers",
        "0.236",
        "A fixed sinusoid",
        "With a single seed",
        "no verdict goes beyond “in part”",
        "Ratio to tokens over training",
    ):
        assert words in text


def test_every_chart_is_valid(outcome: StudyRun) -> None:
    page = page_of_study(outcome.result, outcome.manifest)
    assert {*CHARTS, "tables", "curves", "removed", "ratios"} <= {
        placed.name for placed in page.placed if isinstance(placed, Chart)
    }
    for spec in page.charts.values():
        alt.Chart.from_dict(spec)  # raises where it is not
    maps = [name for name in page.figures if name.startswith("cosines")]
    assert len(maps) == 3  # both tables, and the sinusoid


def test_chance_is_in_the_table(outcome: StudyRun) -> None:
    table = ResultTable(outcome.result)
    levels = dict(table.where(part="chance", subject="").select("measure", "value").iter_rows())
    assert levels["rows and columns"] == pytest.approx((7 / 16) ** 0.5)
    assert table.where(part="chance", subject="", measure=LAYOUT)["high"][0] > 0.1
    assert len(table.where(part="cosine", subject=SINUSOID)) == 256
    binary, ternary, quaternary = (table.estimate(RULED_OUT, guess_cell(group)) for group in GROUPS)
    assert binary.value == ternary.value == binary.low == 1.0
    assert quaternary.low < quaternary.value < quaternary.high < quaternary.low + 0.06
    assert 0.7 < quaternary.value < 0.8


def test_a_table_without_tests_is_refused(outcome: StudyRun) -> None:
    sentence = "the table has no net that was tested; run `wherewhat reproduce latin-square` again"
    with pytest.raises(UserError, match=sentence):
        page_of_study(outcome.result.clear(), outcome.manifest)
