"""The study of counting: what its runs measure, checked by the net built by hand, and its page."""

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import torch
from micro_runs import page_without_torch, run_micro
from precision import rounding

from wherewhat.cli.main import main
from wherewhat.encodings.registry import ENCODINGS
from wherewhat.errors import UserError
from wherewhat.formatting import percent
from wherewhat.jobs.job import JobContext
from wherewhat.nets.build import build
from wherewhat.runs.registry import StudyRun
from wherewhat.studies.counting.by_hand import HandBuiltCounter
from wherewhat.studies.counting.chance import best_constant
from wherewhat.studies.counting.interventions import distinct_counts, swap_rows, with_states_of_others
from wherewhat.studies.counting.measures import (
    accuracy_rows,
    attention_rows_of,
    code_rows,
    count_rows,
    decoded_share,
    encoder_rows,
    inside_regions,
    slope,
)
from wherewhat.studies.counting.names import (
    BIDIRECTIONAL,
    BY_HAND,
    CAUSAL,
    CLOSING,
    ENCODER_QUERIES,
    FEWER,
    KEPT,
    MOVED,
    OPENING,
    OWN,
    SHORTER,
    SUBTRACTED,
    SWAPPED,
    TOP_1,
    TOP_5,
    TRAINED,
)
from wherewhat.studies.counting.number_tables import number_table
from wherewhat.studies.counting.page import answer, answer_rows, size_views
from wherewhat.studies.counting.page import code_rows as drawn_codes
from wherewhat.studies.counting.run import run, summary_rows
from wherewhat.studies.counting.settings import (
    HAND_BUILT,
    SCALES,
    CountingCondition,
    CountingScale,
    conditions,
    nets_with,
    prepare,
)
from wherewhat.studies.engine.attention import read_attention
from wherewhat.studies.engine.results import ResultTable, Row, table_of
from wherewhat.studies.engine.study import Request
from wherewhat.studies.pages import page_of_study
from wherewhat.tasks.counting import BIT_ONE, TOKENS, CountingTask
from wherewhat.training.counting_training import ranked_counts
from wherewhat.training.loop import train

MICRO = CountingScale(
    tokens=20,
    regions=2,
    shorter=14,
    fewer=1,
    nets=("causal rope, BOS", "causal alibi 0.1", "bidirectional rope, BOS", "bidirectional slow rope, BOS"),
    width=8,
    steps=3,
    batch=4,
    samples=30,
    texts=2,
    seeds=1,
)


def rows_of(condition: CountingCondition, tmp_path: Path) -> list[Row]:
    return run(condition, MICRO, 3, JobContext(tmp_path, lambda *_, **__: None))


def test_the_net_built_by_hand_is_right_everywhere(tmp_path: Path) -> None:
    rows = rows_of(HAND_BUILT, tmp_path)
    assert {row[2] for row in rows if row[0] == "accuracy"} == {TRAINED, SHORTER, FEWER}
    assert {row[6] for row in rows if row[0] in ("accuracy", "slope", "decode")} == {1.0}
    mass = {(row[2], row[3]): row[6] for row in rows if row[0] == "attention"}
    for region in (0.0, 1.0):
        assert mass["1", region] == mass[f"1{OWN}", region] > 0.4
        assert mass["1", region] + mass["BOS", region] == pytest.approx(1, abs=1e-9)
        assert mass["0", region] == mass["[", region] == mass["]", region] == mass[f"BOS{OWN}", region] == 0


def test_the_rows_of_a_trained_net_are_its_answers(tmp_path: Path) -> None:
    condition = CountingCondition(CAUSAL, "rope", True)
    rows = rows_of(condition, tmp_path)
    net = train(MICRO.training(condition, 3)).net
    for size, task in MICRO.tasks(True).items():
        target_NR, ranking_NRC = ranked_counts(net, task, seed=4, samples=30)
        for region in range(task.regions):
            here = {row[5]: row[6] for row in rows if row[:4] == ("accuracy", condition.name, size, float(region))}
            answers = ranking_NRC[:, region].tolist()
            right = [target == answer[0] for target, answer in zip(target_NR[:, region], answers, strict=True)]
            five = [target in answer[:5] for target, answer in zip(target_NR[:, region], answers, strict=True)]
            assert here == {TOP_1: pytest.approx(np.mean(right)), TOP_5: pytest.approx(np.mean(five))}
    assert {row[5] for row in rows if row[0] == "heads"} >= {"entropy", "input.position_share"}
    assert len([row for row in rows if row[0] == "encoder"]) == 2 * len(TOKENS)
    assert {row[3] for row in rows if row[0] == "frequencies"} == {0.0, 1.0, 2.0, 3.0}


def test_attention_is_summed_by_kind_of_token_and_by_region() -> None:
    task = CountingTask(tokens=20, regions=2)
    net = build(MICRO.training(CountingCondition(CAUSAL, "none", False), 0).net)
    batch = task.batch(1, "test", range(6))
    ids_BT = torch.from_numpy(batch.input_NT)
    assert net.readout is not None
    attention_NRT = net.readout.attention(net.hidden(ids_BT)).detach().double().numpy()
    rows = {(row[1], row[2]): row[4] for row in attention_rows_of(net, task, seed=1, samples=6)}
    for kind, name in enumerate("01[]"):
        for region in range(2):
            inside, all_of_them = [], []
            for n in range(6):
                first, last = batch.marks_NM[n, 2 * region : 2 * region + 2]
                slots = [slot for slot in range(20) if batch.input_NT[n, slot] == kind]
                all_of_them.append(sum(attention_NRT[n, region, slot] for slot in slots))
                inside.append(sum(attention_NRT[n, region, slot] for slot in slots if first <= slot <= last))
            assert rows[name, float(region)] == pytest.approx(np.mean(all_of_them), abs=rounding(torch.float32))
            assert rows[name + OWN, float(region)] == pytest.approx(np.mean(inside), abs=rounding(torch.float32))


@pytest.mark.parametrize("measure", ENCODER_QUERIES)
def test_what_ones_and_brackets_attend_to_in_the_encoder(measure: str) -> None:
    task = CountingTask(tokens=20, regions=2)
    net = build(MICRO.training(CountingCondition(CAUSAL, "rope", False), 0).net)
    plain = net.blocks[0].attention.attend  # type: ignore[union-attr]
    batch = task.batch(1, "test", range(5))
    attention_NTT = read_attention(net, torch.from_numpy(batch.input_NT))[0][:, 0].detach().numpy()
    assert net.blocks[0].attention.attend is plain  # type: ignore[union-attr]
    assert np.allclose(attention_NTT.sum(-1), 1, atol=1e-5) and not np.triu(attention_NTT, 1).any()
    inside_NT = inside_regions(batch, task).any(1)
    masses = [
        attention_NTT[n, slot, batch.input_NT[n] == 2].sum()
        for n in range(5)
        for slot in range(20)
        if inside_NT[n, slot] and TOKENS[batch.input_NT[n, slot]] in ENCODER_QUERIES[measure]
    ]
    rows = {row[1]: row[4] for row in encoder_rows(net, task, seed=1, samples=5) if row[3] == measure}
    exact = rounding(torch.float32)
    assert rows["["] == pytest.approx(np.mean(masses), abs=exact)
    assert sum(map(float, rows.values())) == pytest.approx(1, abs=exact)


def test_codes_of_regions_separate_where_they_differ() -> None:
    task = CountingTask(tokens=30, regions=3, bos=True)
    rows = list(code_rows(HandBuiltCounter(task), task, seed=1, samples=20))
    points = {(row[1], row[2]) for row in rows if row[0] == "code"}
    assert {at for _, at in points} == {0.0, 1.0, 2.0}
    assert [row[4] for row in rows if row[0] == "decode"] == [1.0]
    places = {
        row[2]: row[4] for row in rows if row[3] == "x"
    }  # of the net built by hand 1, 2/3 and 3/5, but for the mean
    assert (places[0] - places[1]) / (places[1] - places[2]) == pytest.approx((1 / 3) / (1 / 15))
    noise_ND, region_N = np.random.default_rng(0).normal(size=(600, 4)), np.arange(600) % 3
    assert abs(decoded_share(noise_ND, region_N, np.arange(600) < 300) - 1 / 3) < 0.12
    wide_ND = np.random.default_rng(0).normal(size=(120, 200))  # fitted ones can be learnt by heart, others cannot
    assert decoded_share(wide_ND, np.arange(120) % 4, np.arange(120) < 60) < 0.6


def test_regions_that_lie_on_a_line_are_decoded() -> None:
    region_N = np.arange(400) % 4
    line_ND = np.array([1, 2 / 3, 3 / 5, 4 / 7])[region_N, None] + np.random.default_rng(1).normal(size=(400, 1)) * 1e-3
    assert decoded_share(line_ND, region_N, np.arange(400) < 200) == 1.0


def test_codes_are_drawn_in_the_plane_of_most_variance() -> None:
    task = CountingTask(tokens=20, regions=2)
    net = build(MICRO.training(CountingCondition(CAUSAL, "rope", False), 0).net)
    rows = [row for row in code_rows(net, task, seed=1, samples=6) if row[0] == "code"]
    batch = task.batch(1, "test", range(6))
    states_NTD = net.hidden(torch.from_numpy(batch.input_NT)).detach().double().numpy()
    ones = [
        (region, states_NTD[n, slot])
        for n in range(6)
        for region in range(2)
        for slot in range(*batch.marks_NM[n, 2 * region : 2 * region + 2])
        if batch.input_NT[n, slot] == BIT_ONE
    ]
    centred_ND = np.stack([state for _, state in ones]) - np.mean([state for _, state in ones], 0)
    variances = np.linalg.eigvalsh(centred_ND.T @ centred_ND)[::-1]
    drawn = {axis: np.array([row[4] for row in rows if row[3] == axis]) for axis in "xy"}
    for axis, variance in zip("xy", variances, strict=False):
        assert (drawn[axis] ** 2).sum() == pytest.approx(variance, rel=1e-4)
    assert [row[2] for row in rows if row[3] == "x"].count(1.0) == [region for region, _ in ones].count(1)


def swaps(net: Any, task: CountingTask) -> dict[tuple[str, float, str], float]:
    return {(row[1], row[2], row[3]): row[4] for row in swap_rows(net, task, seed=1, samples=40)}  # type: ignore[misc]


def test_states_of_other_sequences_change_nothing_in_the_net_built_by_hand() -> None:
    rows = swaps(HandBuiltCounter(task := CountingTask(tokens=30, regions=2, bos=True)), task)
    subtracted = {(kind, SUBTRACTED) for kind in (OPENING, CLOSING)}
    assert {(kind, measure, value) for (kind, _, measure), value in rows.items()} == {
        (kind, measure, float(measure == KEPT)) for kind, measure in {*product(SWAPPED, (KEPT, MOVED)), *subtracted}
    }


@pytest.mark.parametrize("bos", [False, True])
def test_running_counts_are_told_from_counts(bos: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A net whose brackets hold the ones before them, and whose read-out takes differences."""
    task = CountingTask(tokens=20, regions=2, bos=bos)
    net = build(MICRO.training(CountingCondition(CAUSAL, "none", bos), 0).net)
    states_NTD = torch.zeros(40, task.length, 2)
    for n, ids_T in enumerate(task.batch(1, "test", range(40)).input_NT):
        number = -1
        for slot, id in enumerate(ids_T):
            number += TOKENS[id] == "["
            if TOKENS[id] in "[]":
                states_NTD[n, slot, number] = (1 if TOKENS[id] == "]" else -1) * (ids_T[:slot] == BIT_ONE).sum()
    monkeypatch.setattr(net, "hidden", lambda ids_BT: states_NTD)
    monkeypatch.setattr(net.readout, "forward", lambda x_BTD: -((x_BTD.sum(1)[..., None] - torch.arange(17)) ** 2))
    ours = {(kind, measure): share for (kind, _, measure), share in swaps(net, task).items()}
    moves = {("brackets", MOVED), (OPENING, SUBTRACTED), (CLOSING, SUBTRACTED), ("zeros", KEPT), ("BOS", KEPT)}
    assert ours == {key: float(key in moves) for key in ours} and len(ours) == 10 + 2 * bos


@pytest.mark.parametrize("kind", ["[", "]", "0"])
def test_the_count_moves_with_the_tokens_that_hold_it(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    task = CountingTask(tokens=20, regions=2)
    net = build(MICRO.training(CountingCondition(CAUSAL, "none", False), 0).net)
    batch = task.batch(1, "test", range(40))
    states_NTD = torch.zeros(40, 20, 2)
    for n, ids_T in enumerate(batch.input_NT):  # the first token of its kind has all counts, which the read-out takes
        slots = (ids_T == TOKENS.index(kind)).nonzero()[0]
        states_NTD[n, slots[0]] = torch.from_numpy(batch.target_NR[n]).float()
    monkeypatch.setattr(net, "hidden", lambda ids_BT: states_NTD)
    monkeypatch.setattr(net.readout, "forward", lambda x_BTD: -((x_BTD.amax(1)[..., None] - torch.arange(17)) ** 2))
    for (swapped, _, measure), value in swaps(net, task).items():
        answer = MOVED if kind in SWAPPED[swapped] else KEPT
        assert value == float(measure == answer), (swapped, measure)


def test_only_right_answers_can_stay_right(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a net that is right in some sequences, whatever brackets are, all right answers stay right."""
    task = CountingTask(tokens=20, regions=2, bos=True)
    net = HandBuiltCounter(task)
    plain = net.counts_of
    monkeypatch.setattr(net, "counts_of", lambda x_BTD: plain(x_BTD) + (torch.arange(40) % 4 == 0)[:, None])
    assert {value for (_, _, measure), value in swaps(net, task).items() if measure == KEPT} == {1.0}
    monkeypatch.setattr(net, "counts_of", lambda x_BTD: plain(x_BTD) + 1)
    assert not swaps(net, task)


def test_states_are_exchanged_in_order() -> None:
    input_NT = np.array([[0, 2, 0, 3], [0, 0, 0, 2], [1, 1, 1, 1]])
    states_NTD = torch.arange(12.0).reshape(3, 4, 1)
    swapped_NTD = with_states_of_others(states_NTD, input_NT, [0])
    assert swapped_NTD[..., 0].tolist() == [[0, 1, 2, 3], [0, 2, 0, 7], [8, 9, 10, 11]]  # the last one has none


def test_the_most_frequent_count_is_what_sampling_gives() -> None:
    for tokens, regions in ((40, 4), (64, 3)):
        target_NR = CountingTask(tokens=tokens, regions=regions).batch(1, "test", range(4000)).target_NR
        share = np.bincount(target_NR.ravel()).max() / target_NR.size
        assert abs(best_constant(tokens, regions) - share) < 0.015


def test_slopes_and_bins_of_counts() -> None:
    target_N, answer_N = np.array([0, 2, 4, 20]), np.array([1, 2, 6, 19])
    assert slope(target_N, answer_N) == pytest.approx((2 * 2 + 4 * 6 + 20 * 19) / (4 + 16 + 400))
    assert slope(np.zeros(3, np.int64), np.ones(3, np.int64)) == 0
    target_N, answer_N = (
        np.repeat([0, 3, 4, 15, 16], [40, 20, 30, 30, 49]),
        np.repeat([0, 3, 4, 0, 16], [40, 20, 30, 30, 49]),
    )
    rows = list(count_rows(2, target_N, answer_N))
    # Both ends of a bin are in it, and a bin with fewer than 50 sequences is left out.
    assert [(row[1], row[2], row[4]) for row in rows] == [("0 to 3", 2.0, 1.0), ("4 to 15", 2.0, 0.5)]
    assert all(row[5] < row[4] <= row[6] + 1e-9 for row in rows)


def test_slopes_are_over_counts_that_are_common_in_training() -> None:
    net = HandBuiltCounter(CountingTask(tokens=20, regions=2, bos=True))
    task = CountingTask(tokens=20, regions=2, bos=True)
    most = np.quantile(task.batch(1, "test", range(200)).target_NR, 0.9)

    class Flat(torch.nn.Module):
        """Right up to the count that 90 % of regions do not exceed, and 0 above it."""

        def readout_logits(self, ids_BT: torch.Tensor) -> torch.Tensor:
            logits_BRC = net.readout_logits(ids_BT)
            rare_BR = logits_BRC.argmax(-1) > most
            logits_BRC[rare_BR] = -torch.arange(logits_BRC.shape[-1], dtype=logits_BRC.dtype)
            return logits_BRC

    flat: Any = Flat()
    rows = list(accuracy_rows(flat, {TRAINED: task}, seed=1, samples=200))
    assert {row[4] for row in rows if row[0] == "slope"} == {1.0}
    assert all(row[4] < 1 for row in rows if row[0] == "accuracy" and row[3] == TOP_1)


def test_slopes_leave_out_counts_that_a_bias_token_makes_rare() -> None:
    """A net that compares ones with zeros predicts more in shorter sequences, but nothing that was rare in training."""
    task = CountingTask(tokens=40, regions=2, bos=True)
    tasks = {TRAINED: task, SHORTER: CountingTask(tokens=22, regions=2, bos=True)}
    most = np.quantile(task.batch(1, "test", range(200)).target_NR, 0.9)
    net = HandBuiltCounter(task)

    class AgainstZeros(torch.nn.Module):
        """Twice the count in the shorter sequences, but at most what is common in training."""

        def readout_logits(self, ids_BT: torch.Tensor) -> torch.Tensor:
            count_BR = (net.counts(ids_BT) * (36 / (ids_BT.shape[1] - 5))).clamp(max=most)
            return -((count_BR[..., None] - torch.arange(task.classes)) ** 2)

    zeros: Any = AgainstZeros()
    slopes = {row[1]: row[4] for row in accuracy_rows(zeros, tasks, seed=1, samples=200) if row[0] == "slope"}
    assert slopes == {TRAINED: 1.0, SHORTER: 2.0}


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory) -> StudyRun:
    return run_micro("counting", SCALES, MICRO, tmp_path_factory.mktemp("study"))


def test_the_page_is_drawn_without_torch(outcome: StudyRun, tmp_path: Path) -> None:
    text = page_without_torch(outcome, tmp_path)
    for words in ("Counting in context", "built by hand", "bidirectional slow rope, BOS", "No net has learnt a region"):
        assert words in text


def test_medians_and_maxima_are_over_seeds_and_regions(outcome: StudyRun) -> None:
    rows = outcome.result.filter(part="maximum", subject=BY_HAND)
    assert rows["value"].to_list() == [1.0] * 6  # three sizes, top-1 and top-5
    points = outcome.result.filter(part="accuracy", subject="causal rope, BOS", item=TRAINED, measure=TOP_1)
    middle = outcome.result.filter(part="median", subject="causal rope, BOS", item=TRAINED, measure=TOP_1)
    assert middle["value"].item() == pytest.approx(points.drop_nulls("seed")["value"].median())


def test_sizes_of_tests_differ_in_one_thing_each() -> None:
    for bos in (False, True):
        assert MICRO.tasks(bos) == {
            TRAINED: CountingTask(tokens=20, regions=2, bos=bos),
            SHORTER: CountingTask(tokens=14, regions=2, bos=bos),
            FEWER: CountingTask(tokens=20, regions=1, bos=bos),
        }


def test_an_answer_that_no_class_stands_for_is_not_scored() -> None:
    count_XNR = np.array([[[0], [3], [4], [1]], [[1], [2], [3], [1]]])
    assert distinct_counts(count_XNR, classes=4)[:, 0].tolist() == [True, True, False, False]
    assert not distinct_counts(-count_XNR[:, :1], classes=4).any()


def test_dots_rings_and_lines_are_the_numbers_of_the_table(outcome: StudyRun) -> None:
    net, about = "causal rope, BOS", outcome.manifest.about
    table = ResultTable(outcome.result, scale=about)
    rows = [(row["mark"], row["value"]) for row in answer_rows(table, about) if row["net"] == net]
    own = outcome.result.filter(part="accuracy", subject=net, item=TRAINED, measure=TOP_1).drop_nulls("seed")
    assert rows[:2] == [("median", pytest.approx(0.309)), ("maximum", pytest.approx(0.954))]
    assert rows[2:] == [("ours", value) for value in own["value"]]
    assert own.height == 2
    constant = percent(best_constant(20, 2))
    assert f"always answering the most frequent count gives, {constant}." in str(answer(table, about, []).body)


def test_top_1_and_top_5_are_drawn_apart(outcome: StudyRun) -> None:
    net, about = "causal rope, BOS", outcome.manifest.about
    marked = pl.col("part").eq("accuracy") & pl.col("subject").eq(net)
    for_measure = pl.when(marked).then(pl.col("measure").replace_strict({TOP_1: 0.3125, TOP_5: 0.6875}, default=0.0))
    table = ResultTable(outcome.result.with_columns(value=for_measure.otherwise(pl.col("value"))), scale=about)
    drawn = {
        measure: {row["value"] for row in its if row["net"] == net} for measure, its in size_views(table, about).items()
    }
    assert drawn == {TOP_1: {0.3125}, TOP_5: {0.6875}}


def test_the_table_of_numbers_tells_the_median_from_the_best(outcome: StudyRun) -> None:
    places = (("median", 0.125), ("maximum", 0.875))
    result = outcome.result
    for part, value in places:
        of_net = (pl.col("part") == part) & (pl.col("subject") == "causal rope, BOS") & (pl.col("measure") == TOP_1)
        result = result.with_columns(value=pl.when(of_net).then(value).otherwise(pl.col("value")))
    assert "12.5 (87.5)" in str(number_table(ResultTable(result, scale=outcome.manifest.about), outcome.manifest.about))


def test_a_table_without_tests_is_refused(outcome: StudyRun) -> None:
    with pytest.raises(UserError, match="the table has no net that was tested; run `wherewhat reproduce counting`"):
        page_of_study(outcome.result.clear(), outcome.manifest)


def test_every_net_of_every_scale_can_be_built() -> None:
    for scale in SCALES.values():
        names = [condition.name for condition in conditions(scale)]
        assert names[0] == BY_HAND and len(set(names)) == len(names)
        for condition in conditions(scale)[1:]:
            scale.training(condition, 0)
    assert len(conditions(SCALES["paper"])) == 26


def test_a_bidirectional_net_sees_both_ways_and_every_seed_has_its_own_data() -> None:
    settings = MICRO.training(CountingCondition(BIDIRECTIONAL, "slow rope", True), 2)
    assert settings.net.kind == "encoder" and not settings.net.causal and settings.net.token_sigma == 1.0
    assert MICRO.training(CountingCondition(CAUSAL, "none", True), 2).net.causal
    assert (settings.seed, settings.data_seed, settings.steps) == (2, 3, MICRO.steps)
    assert settings.net.encoding_options["angle"] * (settings.net.length - 1) < np.pi / 2  # sides stay apart


def test_encodings_that_the_user_names_are_tried_both_ways_where_possible() -> None:
    scale = prepare(MICRO, Request(encodings=("cope", "alibi 0.1"), seeds=2))
    assert scale.nets == ("causal cope, BOS", "causal cope", *nets_with("alibi 0.1")) and scale.seeds == 2
    assert nets_with("alibi 0.1") == tuple(
        f"{way} alibi 0.1{bos}" for way in ("causal", "bidirectional") for bos in (", BOS", "")
    )
    every = prepare(MICRO, Request(encodings=("all",)))
    assert {each.encoding for each in conditions(every)[1:]} == set(ENCODINGS)
    with pytest.raises(UserError, match="unknown encoding 'alibo'; did you mean 'alibi'"):
        prepare(MICRO, Request(encodings=("alibo",)))


@pytest.mark.parametrize(("part", "measure"), [("slope", "slope"), ("heads", "mean_frequency")])
def test_what_is_no_share_keeps_its_size_in_means_over_seeds(part: str, measure: str) -> None:
    rows: list[Row] = [(part, "causal rope", SHORTER, 0.0, s, measure, 1.6 + 0.1 * s, None, None) for s in range(3)]
    table = table_of(rows, conditions=conditions(MICRO), scale=MICRO)
    (mean,) = [row for row in summary_rows(table) if row[0] == part]
    assert mean[6] == pytest.approx(1.7) and mean[7] < 1.6 and mean[8] > 1.8


def test_the_page_tells_how_learnt_regions_are_counted(outcome: StudyRun) -> None:
    """A run whose nets were trained for three steps becomes one in which a net has learnt to count."""
    net = "causal rope, BOS"
    of_net = pl.col("subject") == net
    values = {("accuracy", ""): 0.9, ("median", ""): 0.9, ("attention", "1"): 0.5, ("attention", "BOS"): 0.45}
    values |= {("attention", f"1{OWN}"): 0.48, ("slope", ""): 0.5}
    values |= {("attention", kind): 0.0 for kind in "0[]"}
    result = outcome.result.filter(~(of_net & (pl.col("part") == "swap")))
    for (part, item), value in values.items():
        chosen = of_net & (pl.col("part") == part) & (pl.col("item") == item if item else True)
        result = result.with_columns(value=pl.when(chosen).then(value).otherwise(pl.col("value")))
    more: list[Row] = [("count", net, "0 to 3", 0.0, 0, TOP_1, 0.93, 0.9, 0.95)]
    for region in (0.0, 1.0):
        more += [
            ("swap", net, "BOS", region, 0, what, value, None, None) for what, value in ((KEPT, 0.97), (MOVED, 0.02))
        ]
    result = ResultTable(result).extended(more).rows
    text = "".join(str(section.body) for section in page_of_study(result, outcome.manifest).sections)
    for words in (
        "The best net, causal rope, BOS, is right in 90\N{NO-BREAK SPACE}% of cases: in regions 0 and 1, ones are "
        "compared with BOS, a bias token. In regions 0 and 1, 48\N{NO-BREAK SPACE}% of attention is on the ones of the "
        "region and 45\N{NO-BREAK SPACE}% on tokens other than ones; with the state that BOS has in another sequence",
        "causal rope, BOS, region 1",
        "97\N{NO-BREAK SPACE}%",
        "2\N{NO-BREAK SPACE}%",
        "30.9 (95.4)",
    ):
        assert words in text, words


def test_the_page_draws_the_codes_of_one_seed() -> None:
    rows: list[Row] = [
        ("code", "causal rope", "0", 1.0, seed, axis, value + seed, None, None)
        for seed in (0, 1)
        for axis, value in (("x", 0.25), ("y", 0.5))
    ]
    for seed in (0, 1):
        drawn = {"region": "region 1", "x": 0.25 + seed, "y": 0.5 + seed}
        assert list(drawn_codes(table_of(rows), "causal rope", seed)) == [drawn]
    assert not list(drawn_codes(table_of(rows), "causal rope", 2))


def test_a_study_that_compares_no_encodings_names_those_that_do(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "latin-square", "--encodings", "rope", "--quiet"]) == 2
    assert "latin-square has its own conditions; leave --encodings out (length and counting take it)" in (
        capsys.readouterr().err
    )
