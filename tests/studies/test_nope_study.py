"""The whole experiment, as small as it can be: its rows are what the nets do."""

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import torch
from precision import rounding

from wherewhat.errors import UserError
from wherewhat.jobs.job import JobContext
from wherewhat.recipes.length import LengthRun
from wherewhat.stats.verdict import VERDICTS
from wherewhat.studies.engine.results import Cell, Row, table_of
from wherewhat.studies.engine.study import Request, StudyResult
from wherewhat.studies.nope import run as running
from wherewhat.studies.nope.claims import CLAIMS
from wherewhat.studies.nope.measures import (
    DIVERGENCES,
    distance_rows,
    divergence_rows,
    entropy_rows,
    place_rows,
    resampled_closest,
)
from wherewhat.studies.nope.notes import notes_of
from wherewhat.studies.nope.published import BINS, HEIGHTS, LENGTHS, MASSES, MEANS, ORDER
from wherewhat.studies.nope.reading import SampleReading, SampleText, read_samples, sample_texts
from wherewhat.studies.nope.results import AGAIN, ARMS, LONGER, NOPE, RELEASED, TRAINED, TRUE, UNIFORM
from wherewhat.studies.nope.run import STUDY
from wherewhat.studies.nope.settings import SCALES, NopeScale, NopeTask
from wherewhat.tables.schema import RESULT
from wherewhat.training.loop import train
from wherewhat.training.run_folder import TrainingResult
from wherewhat.training.task_training import TaskSettings

NET = LengthRun(layers=2, width=16, heads=2, steps=4, batch=4, warmup=1, samples=30)
MICRO = NopeScale(tasks=("copy_repeat",), seeds=2, net=NET, texts=60)


@pytest.fixture(scope="module")
def study_result() -> StudyResult:
    return STUDY.reproduce(Request(scale=MICRO, seed=5, engine="inline"))


@pytest.fixture(scope="module")
def texts() -> list[SampleText]:
    return sample_texts(MICRO.task("copy_repeat"), 6, 60)


def read(arm: str, texts: list[SampleText]) -> list[SampleReading]:
    return read_samples(train(MICRO.training("copy_repeat", arm, 5)).net, texts)


def values(rows: Any, part: str, at: float | None) -> dict[str, float]:
    return {measure: value for its, where, measure, value, _, _ in rows if (its, where) == (part, at)}


# Reading ----------------------------------------------------------------------------------------------------------


def test_samples_are_all_different_and_know_their_output(texts: list[SampleText]) -> None:
    assert len({tuple(text.ids_T.tolist()) for text in texts}) == len(texts) <= 120
    assert {text.lengths for text in texts} == {TRAINED, LONGER}
    for text in texts:
        assert (text.length <= 10) == (text.lengths == TRAINED)
        assert len(text.ids_T) == 2 * text.length + 2 and text.prompt == text.length + 2
        assert text.output_Q.tolist() == list(range(text.length + 1, 2 * text.length + 2))


def test_what_is_read_is_what_the_net_computes(texts: list[SampleText]) -> None:
    net = train(MICRO.training("copy_repeat", "alibi", 5)).net
    readings = read_samples(net, texts)
    for number in (0, 7, len(texts) - 1):
        ids_T, reading = texts[number].ids_T, readings[number]
        assert reading.attention_LHTT.shape == (2, 2, len(ids_T), len(ids_T))
        assert reading.stream_LTD.shape == (3, len(ids_T), 16)
        with torch.no_grad():
            hidden_TD = net.hidden(ids_T[None])[0]
            torch.testing.assert_close(net.norm(reading.stream_LTD[-1]), hidden_TD, rtol=0, atol=2e-5)
            torch.testing.assert_close(reading.stream_LTD[0], net.tokens(ids_T))
        sums = reading.attention_LHTT.sum(-1)
        torch.testing.assert_close(sums, torch.ones_like(sums), rtol=0, atol=rounding(torch.float32))
        assert not reading.attention_LHTT.triu(1).any()


# Measures, against plain loops ------------------------------------------------------------------------------------


def test_the_place_is_explained_as_by_a_plain_solver(texts: list[SampleText]) -> None:
    readings = read(NOPE, texts)
    rows = list(place_rows(texts, readings, seed=3))
    trained = [n for n, text in enumerate(texts) if text.lengths == TRAINED]
    longer = [n for n, text in enumerate(texts) if text.lengths == LONGER]

    def tokens(numbers: list[int], inverse: bool) -> tuple[np.ndarray, np.ndarray]:
        x, y = [], []
        for n in numbers:
            for i in range(1, len(texts[n].ids_T)):
                x.append([*readings[n].stream_LTD[2, i].double().tolist(), 1.0])
                y.append(1 / (i + 1) if inverse else float(i))
        return np.array(x), np.array(y)

    for inverse in (False, True):
        x, y = tokens(trained[::2], inverse)
        scatter = sum(float(((column - column.mean()) ** 2).sum()) for column in x.T[:-1])
        root = math.sqrt(1e-3 * scatter / 16)
        centred = x[:, :-1] - x[:, :-1].mean(0)
        stacked = np.concatenate([centred, root * np.eye(16)]), np.concatenate([y - y.mean(), np.zeros(16)])
        weights = np.linalg.lstsq(*stacked, rcond=None)[0]
        for numbers, lengths in ((trained[1::2], TRAINED), (longer, LONGER)):
            x_held, y_held = tokens(numbers, inverse)
            predicted = (x_held[:, :-1] - x[:, :-1].mean(0)) @ weights + y.mean()
            expected = 1 - ((y_held - predicted) ** 2).sum() / ((y_held - y_held.mean()) ** 2).sum()
            target = "inverse" if inverse else "place"
            assert values(rows, "place", 2)[f"{target} {lengths}"] == pytest.approx(expected, abs=1e-7)
    shuffled = values(rows, "place", 2)["shuffled place trained"]
    assert abs(shuffled) < 0.3 and shuffled != values(rows, "place", 2)["place trained"]


def test_a_stream_that_holds_the_place_is_read_exactly_and_noise_is_not(texts: list[SampleText]) -> None:
    generator = torch.Generator().manual_seed(0)
    readings = []
    for text in texts:
        tokens = len(text.ids_T)
        stream_LTD = torch.randn(2, tokens, 4, generator=generator).double()
        stream_LTD[1, :, 2] = 100 * torch.arange(tokens)
        readings.append(SampleReading(torch.zeros(1, 1, tokens, tokens), stream_LTD))
    rows = list(place_rows(texts, readings, seed=0))
    noise, place = values(rows, "place", 0), values(rows, "place", 1)
    assert abs(noise["place trained"]) < 0.1 and abs(noise["shuffled place trained"]) < 0.1
    assert place["place trained"] > 0.999 and place["place longer"] > 0.99
    assert place["inverse trained"] < place["place trained"] and abs(place["shuffled place trained"]) < 0.1
    predicted = {at: value for part, at, measure, value, _, _ in rows if (part, measure) == ("predicted", "block 1")}
    assert predicted[41.0] == pytest.approx(41, abs=0.5) and set(predicted) == set(map(float, range(1, 42)))


def divergence_of_rows(p: list[float], q: list[float], kind: str) -> float:
    m = [(a + b) / 2 for a, b in zip(p, q, strict=True)]
    if kind == RELEASED:
        return sum(c * (math.log(c / a) + math.log(c / b)) / 2 for a, b, c in zip(p, q, m, strict=True))
    return sum((a * math.log2(a / c) + b * math.log2(b / c)) / 2 for a, b, c in zip(p, q, m, strict=True))


def test_the_divergence_is_the_closest_pair_of_the_mean_over_rows_then_samples(texts: list[SampleText]) -> None:
    some = [text for text in texts if text.length in (3, 12)]
    own, other = read(AGAIN, some), read(NOPE, some)
    rows = list(divergence_rows(some, own, other, seed=0))
    by_kind: dict[str, list[float]] = {}
    for kind in DIVERGENCES:
        first_row = 0 if kind == RELEASED else 1  # the true one leaves out the row that sees a single key
        for length in (3, 12):
            numbers = [n for n, text in enumerate(some) if text.length == length]
            closest = []
            for layer in range(2):
                means = {}
                for a in range(2):
                    for b in range(2):
                        if kind == RELEASED and a >= b:
                            continue
                        samples = []
                        for n in numbers:
                            ours, theirs = (each[n].attention_LHTT[layer].double() for each in (own, other))
                            divergences = [
                                divergence_of_rows(ours[a, i, : i + 1].tolist(), theirs[b, i, : i + 1].tolist(), kind)
                                for i in range(first_row, len(some[n].ids_T))
                            ]
                            samples.append(sum(divergences) / len(divergences))
                        means[a, b] = sum(samples) / len(samples)
                closest.append(min(means.values()))
            by_kind.setdefault(kind, []).append(sum(closest) / 2)
            assert values(rows, "divergence", length)[kind] == pytest.approx(by_kind[kind][-1], rel=1e-4)
        whole = values(rows, "divergence", None)
        assert whole[f"{kind} trained"] == pytest.approx(by_kind[kind][0], rel=1e-4)
        assert whole[f"{kind} all"] == pytest.approx(sum(by_kind[kind]) / 2, rel=1e-4)
    lows = [(low, value, high) for *_, value, low, high in rows if low is not None]
    assert lows and all(low <= high and low <= value * 1.001 for low, value, high in lows)


def test_a_net_is_at_0_from_itself_but_not_as_released(texts: list[SampleText]) -> None:
    readings = read("t5_bias", texts)
    whole = values(divergence_rows(texts, readings, readings, seed=0), "divergence", None)
    assert whole[f"{TRUE} all"] == pytest.approx(0, abs=1e-6) and whole[f"{RELEASED} all"] > 1e-5


def test_nets_of_one_head_have_no_released_divergence() -> None:
    apart_NLHH = torch.full((3, 2, 1, 1), torch.nan)
    assert np.isnan(resampled_closest(apart_NLHH, 0)).all()


def test_uniform_attention_has_entropy_1_and_the_distances_of_chance(texts: list[SampleText]) -> None:
    readings = []
    for text in texts:
        uniform_TT = torch.ones(len(text.ids_T), len(text.ids_T)).tril()
        attention_LHTT = (uniform_TT / uniform_TT.sum(-1, keepdim=True)).expand(2, 3, -1, -1)
        readings.append(SampleReading(attention_LHTT, torch.zeros(3, len(text.ids_T), 4)))
    entropies = [value for *_, value, _, _ in entropy_rows(texts, readings)]
    assert entropies == pytest.approx([1.0] * len(entropies), abs=1e-6)
    ours, chance = list(distance_rows(texts, readings)), list(distance_rows(texts))
    assert [row[3] for row in ours] == pytest.approx([row[3] for row in chance])
    shares = [value for part, at, measure, value, *_ in chance if measure == "longer" and at is not None]
    assert sum(shares) == pytest.approx(1) and len(shares) == 21
    assert values(chance, "distance", None)["near all"] == pytest.approx(0.15, abs=0.03)


def test_a_head_that_looks_at_itself_is_near_and_one_that_looks_at_the_first_token_far(texts: list[SampleText]) -> None:
    for near in (True, False):
        readings = []
        for text in texts:
            tokens = len(text.ids_T)
            attention_TT = (
                torch.eye(tokens) if near else torch.nn.functional.one_hot(torch.zeros(tokens).long(), tokens)
            )
            readings.append(SampleReading(attention_TT.float()[None, None], torch.zeros(2, tokens, 4)))
        whole = values(distance_rows(texts, readings), "distance", None)
        assert whole["near longer"] == float(near)
        assert whole["far longer"] == pytest.approx(1.0 - near)


# The study --------------------------------------------------------------------------------------------------------


def test_the_result_has_every_part_for_every_net(study_result: StudyResult) -> None:
    result = study_result.result
    assert result.schema == pl.Schema(RESULT) and set(result["seed"].drop_nulls()) == {5, 6}
    one = result.filter(subject="copy_repeat", seed=5)
    for part, arms in {
        "accuracy": set(ARMS),
        "place": set(ARMS),
        "predicted": set(ARMS),
        "entropy": set(ARMS),
        "distance": {*ARMS, UNIFORM},
        "divergence": set(ARMS) - {NOPE},
        "divergence by layer": set(ARMS) - {NOPE},
        "shared start": set(ARMS) - {NOPE, AGAIN},
    }.items():
        assert set(one.filter(part=part)["item"]) == arms, part
    assert one.filter(part="place", item=NOPE).height == 3 * 8
    assert sorted(one.filter(part="divergence", item=AGAIN, measure=TRUE)["at"].drop_nulls()) == list(range(2, 21))


def test_all_nets_but_the_first_start_from_the_same_weights_and_read_the_same_samples() -> None:
    first, again, rope = (MICRO.training("copy_repeat", arm, 5) for arm in (NOPE, AGAIN, "rope"))
    assert (first.seed, first.data_seed) == (5, 6) and again.seed == rope.seed != 5
    assert again.data_seed == rope.data_seed != 6
    assert first.net == again.net and rope.net.encoding == "rope"
    weights = [settings.initial_net().blocks[0].attention.qkv.weight for settings in (first, again, rope)]
    assert torch.equal(weights[1], weights[2]) and not torch.equal(weights[0], weights[1])


def test_the_means_are_means_of_the_runs(study_result: StudyResult) -> None:
    keys = ["part", "subject", "item", "at", "measure"]
    runs = study_result.result.filter(pl.col("seed").is_not_null())
    means = study_result.result.filter(pl.col("seed").is_null())
    both = runs.group_by(keys).agg(pl.col("value").mean().alias("mean")).join(means, on=keys, nulls_equal=True)
    assert both.height == means.height
    assert both.select((pl.col("mean") - pl.col("value")).abs().max()).item() < 1e-12


def test_every_claim_has_a_verdict_and_untrained_nets_decide_nothing(study_result: StudyResult) -> None:
    assert len(study_result.claims) == len(CLAIMS)
    assert {claim.verdict for claim in study_result.claims} == {"unknown"} <= set(VERDICTS)
    assert all(claim.claim.endswith(".") and claim.published and claim.ours for claim in study_result.claims)


def test_everything_beside_the_rows_is_plain(study_result: StudyResult) -> None:
    json.dumps([dict(study_result.settings), dict(study_result.about), list(study_result.notes)], allow_nan=False)
    assert study_result.about["lengths"] == {"copy_repeat": 10} and study_result.about["places"] == {"copy_repeat": 21}
    assert study_result.settings["net"]["layers"] == 2 and study_result.settings["seeds"] == [5, 6]


def test_the_same_seed_gives_the_same_rows_and_progress_goes_to_all(study_result: StudyResult) -> None:
    steps: list[tuple[int, int, str]] = []
    request = Request(scale=MICRO, seed=6, seeds=1, engine="inline", on_step=lambda *report: steps.append(report))
    one = STUDY.reproduce(request).result.filter(pl.col("seed") == 6)
    assert one.equals(study_result.result.filter(pl.col("seed") == 6), null_equal=True)
    assert steps[-1][:2] == (7 * 4, 7 * 4)
    assert [done for done, _, _ in steps] == sorted(done for done, _, _ in steps)


def test_finished_runs_are_kept(study_result: StudyResult, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[int] = []

    def counted(settings: TaskSettings, **options: Any) -> TrainingResult:
        begun.append(settings.seed)
        return train(settings, **options)

    monkeypatch.setattr(running, "train", counted)
    first = Request(scale=replace(MICRO, seeds=1), seed=5, folder=tmp_path, engine="inline")
    STUDY.reproduce(first)
    assert begun == [5, *[10_005] * 6]
    begun.clear()
    both = STUDY.reproduce(replace(first, scale=MICRO, resume=True))
    assert begun == [6, *[10_006] * 6]
    assert both.result.equals(study_result.result, null_equal=True)


def test_a_task_whose_samples_have_two_lengths_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="samples of addition have several lengths each; choose a task whose samples"):
        list(running.run(NopeTask("addition"), MICRO, 0, JobContext(tmp_path, lambda step: None)))
    with pytest.raises(UserError, match="unknown scale 'tinny'; did you mean 'tiny'"):
        STUDY.reproduce(Request(scale="tinny"))
    with pytest.raises(UserError, match="unknown task of the suite 'copy_repeet'; did you mean 'copy_repeat'"):
        MICRO.task("copy_repeet")


def test_notes_say_how_a_scale_differs() -> None:
    tiny, paper = notes_of(SCALES["tiny"]), notes_of(SCALES["paper"])
    assert tiny[0].startswith("The tasks are copy_repeat and sort_single with shorter inputs than published")
    assert "layers 3 (12), width 64 (768)" in tiny[1] and len(paper) == len(tiny) - 1
    assert any("the publication counts the first" in note.replace("\n", " ") for note in paper)


def test_published_numbers_fit_together() -> None:
    for bins in BINS.values():
        assert sum(bins) == pytest.approx(1, abs=0.0025)
    assert MASSES[NOPE] == {"near": 0.59, "far": 0.225}
    for arm, heights in HEIGHTS.items():
        assert len(heights) == len(LENGTHS)
        assert min(heights) <= MEANS[arm][TRAINED] <= MEANS[arm][LONGER] <= max(heights)
    assert sorted(ORDER, key=lambda arm: MEANS[arm][LONGER]) == list(ORDER)


def test_single_runs_keep_their_intervals() -> None:
    row: Row = ("distance", "scan", NOPE, None, 0, "near all", 0.4, 0.3, 0.5)
    means = STUDY.summarise(table_of([row]))
    assert list(means) == [("distance", "scan", NOPE, None, None, "near all", 0.4, 0.3, 0.5)]
    two = table_of([row, (*row[:4], 1, *row[5:6], 0.6, None, None)])
    mean = table_of(STUDY.summarise(two)).estimate("scan", Cell("distance", "near all", NOPE))
    assert mean.value == pytest.approx(0.5) and (mean.low, mean.high) == (0.0, 1.0)


def test_every_scale_can_train_all_its_nets() -> None:
    for scale in SCALES.values():
        settings = [scale.training(task, arm, 0) for task in scale.tasks for arm in ARMS]
        assert len({(each.tasks[0].name, each.net.encoding, str(each.net.encoding_options)) for each in settings}) == (
            len(scale.tasks) * (len(ARMS) - 1)
        )
    assert SCALES["paper"].task("scan").lengths("test")[-1] == 48
