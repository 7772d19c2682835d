"""The whole experiment, as small as it can be: its rows are what the net does."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import torch
from dynamics_worlds import rows_of
from precision import rounding

from wherewhat.errors import UserError
from wherewhat.jobs.job import JobContext
from wherewhat.nets.trunk import Trunk
from wherewhat.profiling.profile import profile
from wherewhat.stats.verdict import VERDICTS
from wherewhat.studies.dynamics import run as watching
from wherewhat.studies.dynamics.claims import CLAIMS
from wherewhat.studies.dynamics.notes import notes_of
from wherewhat.studies.dynamics.run import SCORES, STUDY
from wherewhat.studies.dynamics.settings import SCALES, DynamicsScale, TaskCondition
from wherewhat.studies.engine.results import Row
from wherewhat.studies.engine.study import Request, StudyResult
from wherewhat.tables.schema import RESULT
from wherewhat.tasks.base import Task
from wherewhat.tasks.letter import LetterTask
from wherewhat.tasks.number import NumberTask
from wherewhat.training.loop import train
from wherewhat.training.run_folder import TrainingResult
from wherewhat.training.task_training import TaskSettings, evaluate

SIZES = {"window": 3, "pre": 3, "hops": (1, 2)}
MICRO = DynamicsScale(
    number=NumberTask(n_letters=5, **SIZES),  # type: ignore[arg-type]
    letter=LetterTask(n_letters=4, n_int=3, **SIZES),  # type: ignore[arg-type]
    layers=2,
    width=8,
    steps=20,
    batch=8,
    learning_rate=1e-2,
    warmup=2,
    seeds=2,
    every=20,
    answers=60,
    texts=4,
    lengths=(9, 14),
    longer=40,
)


@pytest.fixture(scope="module")
def study_result() -> StudyResult:
    return STUDY.reproduce(Request(scale=MICRO, seed=5, engine="inline"))


def one_run(task: str, tmp_path: Path) -> list[Row]:
    return list(watching.run(TaskCondition(task), MICRO, 5, JobContext(tmp_path, lambda step: None)))


def test_the_rows_tell_what_the_net_does(tmp_path: Path) -> None:
    rows = one_run("number", tmp_path)
    assert {(row[1], row[4]) for row in rows} == {("number", 5)}
    run = train(MICRO.training("number", 5))
    measured = evaluate(run.net, MICRO.number, seed=1, samples=60)
    ours = {item: value for part, _, item, at, _, _, value, _, _ in rows if part == "accuracy" and at == 20}
    assert ours == {
        "all": measured["accuracy"],
        "1 hop": measured["accuracy number 1 hop"],
        "2 hops": measured["accuracy number 2 hops"],
    }
    longer = evaluate(run.net, replace(MICRO.number, before=7), seed=1, samples=40)["accuracy"]
    assert longer in [value for part, _, item, at, *_, value, _, _ in rows if (part, item, at) == ("length", "all", 14)]
    texts = MICRO.sequences("number", 7)
    scores = profile(run.net, texts, queries="last", first=0, scores=("positional",)).heads["value"].to_list()
    watched = [row[6] for row in rows if row[0] == "heads" and row[3] == 20 and row[5] == "positional"]
    assert watched == pytest.approx(scores, abs=rounding(torch.float32))


def test_no_look_asks_for_the_same_answers_twice(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked: list[int] = []

    def counted(net: Trunk, task: Task, *, seed: int, samples: int) -> dict[str, float]:
        asked.append(samples)
        return evaluate(net, task, seed=seed, samples=samples)

    monkeypatch.setattr(watching, "evaluate", counted)
    rows = one_run("letter", tmp_path)
    assert asked == [60, 40, 40, 40]  # before training and for three lengths; the run itself asks for the rest
    assert [row[3] for row in rows if row[0] == "accuracy" and row[2] == "1 hop"] == [0, 20]


def test_the_result_has_every_part_for_every_run(study_result: StudyResult) -> None:
    assert study_result.result.schema == pl.Schema(RESULT)
    heads = rows_of(study_result.result, "heads", subject="letter", seed=6)
    assert heads.height == 2 * 2 * len(SCORES)
    assert sorted(heads["at"].unique()) == [0, 20]
    assert sorted(rows_of(study_result.result, "accuracy", seed=5)["at"].unique()) == [0, 20]
    assert sorted(rows_of(study_result.result, "loss", seed=5)["at"].unique()) == [20]
    assert sorted(rows_of(study_result.result, "length", seed=None)["at"].unique()) == [7, 9, 14]
    assert sorted(rows_of(study_result.result, "gap", seed=5, measure="gap")["at"].unique()) == [7, 9, 14]
    assert set(study_result.result["seed"].drop_nulls()) == {5, 6}
    assert rows_of(study_result.result, "purity", seed=None, item="all").height == 2 * 2 * 8


def test_the_means_are_means_of_the_runs(study_result: StudyResult) -> None:
    keys = ["part", "subject", "item", "at", "measure"]
    runs = study_result.result.filter(pl.col("seed").is_not_null() & (pl.col("part") != "gap"))
    means = study_result.result.filter(pl.col("seed").is_null() & (pl.col("part") != "gap"))
    both = runs.group_by(keys).agg(pl.col("value").mean().alias("mean")).join(means, on=keys)
    assert both.height == means.height
    assert both.select((pl.col("mean") - pl.col("value")).abs().max()).item() < 1e-12


def test_every_claim_has_a_verdict(study_result: StudyResult) -> None:
    assert len(study_result.claims) == len(CLAIMS)
    assert {claim.verdict for claim in study_result.claims} <= set(VERDICTS)
    assert all(claim.claim.endswith(".") and claim.published and claim.ours for claim in study_result.claims)


def test_everything_beside_the_rows_is_plain(study_result: StudyResult) -> None:
    json.dumps([dict(study_result.settings), dict(study_result.about), list(study_result.notes)], allow_nan=False)
    assert study_result.settings["seeds"] == [5, 6]
    assert study_result.settings["number"]["n_letters"] == 5
    assert (study_result.settings["base"], study_result.settings["gamma"]) == (10_000.0, [0.1, 0.05])


def test_the_same_seed_gives_the_same_rows_and_progress_goes_from_nothing_to_all(study_result: StudyResult) -> None:
    steps: list[tuple[int, int, str]] = []
    request = Request(scale=MICRO, seed=6, seeds=1, engine="inline", on_step=lambda *report: steps.append(report))
    one = STUDY.reproduce(request)
    runs = study_result.result.filter(pl.col("seed") == 6)
    assert one.result.filter(pl.col("seed") == 6).equals(runs)
    assert steps[-1][:2] == (40, 40)
    assert [done for done, _, _ in steps] == sorted(done for done, _, _ in steps)
    assert {note for _, _, note in steps} == {"number, seed 6", "letter, seed 6", ""}


def test_finished_runs_are_kept_and_a_larger_study_goes_on_from_them(
    study_result: StudyResult, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[tuple[str, int]] = []

    def counted(settings: TaskSettings, **options: Any) -> TrainingResult:
        begun.append((settings.tasks[0].name, settings.seed))
        if settings.seed == 6 and fails:
            raise UserError("the machine is out of memory")
        return train(settings, **options)

    monkeypatch.setattr(watching, "train", counted)
    fails, first = True, Request(scale=MICRO, seed=5, folder=tmp_path, engine="inline")
    with pytest.raises(UserError, match="out of memory"):
        STUDY.reproduce(first)
    assert begun == [("number", 5), ("letter", 5), ("number", 6)]
    with pytest.raises(UserError, match=r"holds 2 finished runs; add --resume to go on from there, or --overwrite"):
        STUDY.reproduce(first)
    fails = False
    begun.clear()
    resumed = STUDY.reproduce(replace(first, resume=True))
    assert begun == [("number", 6), ("letter", 6)]  # what was finished is not trained again
    assert resumed.result.equals(study_result.result, null_equal=True) and resumed.claims == study_result.claims
    begun.clear()
    larger = STUDY.reproduce(replace(first, seeds=3, resume=True))
    assert begun == [("number", 7), ("letter", 7)] and set(larger.result["seed"].drop_nulls()) == {5, 6, 7}
    with pytest.raises(UserError, match="was made with other settings: scale.steps was 20 and is 10"):
        STUDY.reproduce(replace(first, scale=replace(MICRO, steps=10, every=10), resume=True))


def test_jobs_side_by_side_give_what_they_give_alone(study_result: StudyResult) -> None:
    both = STUDY.reproduce(Request(scale=MICRO, seed=5, workers=2))
    assert both.result.equals(study_result.result, null_equal=True)


def test_an_unknown_scale() -> None:
    with pytest.raises(UserError, match="unknown scale 'smal'; did you mean 'small'"):
        STUDY.reproduce(Request(scale="smal"))
    assert set(SCALES) == {"tiny", "small", "paper"}


def test_notes_tell_how_a_scale_differs_from_the_publication() -> None:
    tiny = notes_of(SCALES["tiny"])[0]
    assert tiny.startswith(
        "This scale differs from the publication, whose values are in brackets: window and tokens after it 4 + 4 (8"
    )
    for part in (
        "hops 1 to 2 (1 to 4)",
        "letters in the number task 16 (120)",
        "batch 128 (64)",
        "rate 0.001 (0.0001)",
    ):
        assert part in tiny
    small = notes_of(SCALES["small"])[0]
    assert "letters in the number task 26 (120)" in small and "hops" not in small and "batch" not in small
    assert notes_of(SCALES["paper"])[0] == "Tasks, depth, width and optimiser are as published."
