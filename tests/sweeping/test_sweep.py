"""A sweep: run folders are the truth, the table is a view of them, and a run that fails does not stop the others."""

import json
import shutil
from contextlib import suppress
from pathlib import Path

import polars as pl
import pytest

from wherewhat.errors import UserError
from wherewhat.jobs.engines import Engine, JobEvent
from wherewhat.jobs.keys import file_name
from wherewhat.jobs.locks import only_parent
from wherewhat.jobs.registry import engine
from wherewhat.recipes.registry import recipe
from wherewhat.runs.registry import SweepRun, load
from wherewhat.signals import StopRequested
from wherewhat.sweeping.grid import Grid, parse_over
from wherewhat.sweeping.sweep import SweepRequest, SweepResult, run_sweep
from wherewhat.training.loop import train
from wherewhat.training.settings import changed

SMALL = ("steps=12", "width=16", "layers=1", "heads=2", "batch=4", "evaluate_every=4", "evaluate_samples=8")
TIMES = ("seconds", "attempts")  # columns that differ from one sweep to the next


def grid(*over: str, seeds: tuple[int, ...] = (0, 1), base: tuple[str, ...] = SMALL) -> Grid:
    return Grid.of("tiny", changed(recipe("tiny"), base), parse_over(over), seeds)


def run(folder: Path, *over: str, inside: Engine | None = None, **options: bool) -> SweepResult:
    request = SweepRequest(grid(*(over or ("encoding=rope,none",))), folder, **options)
    return run_sweep(request, engine=inside or engine("inline"))


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a finished sweep; tests that change it take a copy."""
    folder = tmp_path_factory.mktemp("sweeps") / "whole"
    run(folder).run.save(folder)
    return folder


def numbers(table: pl.DataFrame) -> pl.DataFrame:
    return table.drop(TIMES)


def weights(folder: Path) -> dict[str, bytes]:
    return {path.parts[-3]: path.read_bytes() for path in sorted(folder.glob("runs/*/model/*.safetensors"))}


def test_every_run_is_a_training_run_and_the_table_has_all_their_curves(whole: Path):
    table = pl.read_parquet(whole / "sweep.parquet")
    assert table.columns[:4] == ["run", "key", "encoding", "seed"]
    assert table["run"].unique(maintain_order=True).to_list() == [
        f"encoding={encoding},seed={seed}" for encoding in ("rope", "none") for seed in (0, 1)
    ]
    one = table.filter(pl.col("run") == "encoding=none,seed=1")
    curve = pl.read_parquet(whole / "runs" / "encoding-none-seed-1" / "curve.parquet")
    assert one.select("step", "measure", "value").equals(curve)
    assert set(one["status"]) == {"done"}
    manifest = json.loads((whole / "runs" / "encoding-none-seed-1" / "manifest.json").read_text())
    assert manifest["kind"] == "train" and manifest["settings"]["net"]["encoding"] == "none"


def test_the_plan_is_written_with_the_key_of_every_point(whole: Path):
    plan = json.loads((whole / "sweep.json").read_text())
    keys = pl.read_parquet(whole / "sweep.parquet").group_by("run", maintain_order=True).first()
    assert [(point["run"], point["key"]) for point in plan["points"]] == keys.select("run", "key").rows()


def test_engines_give_the_same_table_and_the_same_weights(whole: Path, tmp_path: Path):
    result = run(tmp_path, inside=engine("local", 2))
    assert numbers(result.run.sweep).equals(numbers(pl.read_parquet(whole / "sweep.parquet")))
    assert weights(tmp_path) == weights(whole)


def test_a_saved_sweep_can_be_loaded_and_drawn_again(whole: Path):
    loaded = load(whole)
    assert isinstance(loaded, SweepRun) and loaded.manifest.status == {"done": 4}
    assert [section.name for section in loaded.page.sections] == ["points", "curves", "made"]


def test_resuming_runs_nothing_again_and_a_grid_may_grow(whole: Path, tmp_path: Path):
    shutil.copytree(whole, tmp_path / "sweep")
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "sweep").glob("runs/*/result.json")}
    result = run(tmp_path / "sweep", "encoding=rope,none,alibi", resume=True)
    assert {path: path.stat().st_mtime_ns for path in before} == before
    assert result.run.manifest.status == {"done": 6} and result.run.sweep["run"].n_unique() == 6


def test_runs_that_were_finished_before_are_reported_as_kept(whole: Path, tmp_path: Path):
    shutil.copytree(whole, tmp_path / "sweep")
    heard: list[JobEvent] = []
    request = SweepRequest(grid("encoding=rope,none,alibi"), tmp_path / "sweep", resume=True)
    run_sweep(request, engine=engine("inline"), on_event=heard.append)
    kept = [event for event in heard if event.kind == "kept"]
    assert heard[:4] == kept and {event.steps for event in kept} == {12}


def test_a_sweep_can_be_moved_and_resumed(whole: Path, tmp_path: Path):
    shutil.copytree(whole, tmp_path / "elsewhere")
    assert run(tmp_path / "elsewhere", resume=True).run.manifest.status == {"done": 4}


def test_a_finished_or_begun_sweep_is_not_begun_again_unasked(whole: Path, tmp_path: Path):
    with pytest.raises(UserError, match="holds 4 finished runs; add --resume to go on from there, or --overwrite"):
        run(whole)
    shutil.copytree(whole / "runs", tmp_path / "runs")
    with pytest.raises(UserError, match="holds 4 finished runs; add --resume to go on from there"):
        run(tmp_path)
    assert set(run(tmp_path, overwrite=True).run.sweep["attempts"]) == {1}


def test_other_settings_are_refused_with_the_first_difference(whole: Path):
    request = SweepRequest(grid("encoding=rope,none", base=(*SMALL, "warmup=7")), whole, resume=True)
    with pytest.raises(UserError, match="was made with other settings: settings.warmup was 200 and is 7"):
        run_sweep(request, engine=engine("inline"))


def test_another_grid_is_refused(whole: Path):
    with pytest.raises(UserError, match="holds encoding=none,seed=0 and 1 more, which this grid lacks"):
        run(whole, "encoding=rope,alibi", resume=True)
    other = Grid.of("nli_tiny", recipe("nli_tiny"), {}, [0])
    with pytest.raises(UserError, match="holds a sweep of the recipe tiny, not of nli_tiny"):
        run_sweep(SweepRequest(other, whole, resume=True), engine=engine("inline"))


def test_runs_of_another_command_are_neither_used_nor_deleted(whole: Path, tmp_path: Path):
    shutil.copytree(whole / "runs", tmp_path / "runs")
    path = next(tmp_path.glob("runs/*/job.json"))
    path.write_text(path.read_text().replace("sweeping.work:work", "profiling.profile_job:work"))
    for options in ({"resume": True}, {"overwrite": True}, {}):
        with pytest.raises(UserError, match=r"holds runs of another command \(encoding-\w+-seed-\d\)"):
            run(tmp_path, **options)
    assert len(list(tmp_path.glob("runs/*/result.json"))) == 4


@pytest.fixture
def alone(whole: Path, tmp_path: Path) -> Path:
    """A folder of which two runs were trained by `wherewhat train`, as another scheduler does: one is not finished."""
    settings = {point.name: point.settings for point in grid("encoding=rope,none").points}
    for name in ("encoding=rope,seed=0", "encoding=rope,seed=1"):
        out = tmp_path / "alone" / "runs" / file_name(name)

        def stop(step: int, measured: object, last: bool = name.endswith("1")) -> None:
            if last and step == 7:
                raise StopRequested

        with suppress(StopRequested):
            train(settings[name], out=out, on_step=stop)
    return tmp_path / "alone"


def test_runs_that_were_trained_alone_are_taken_over(alone: Path, whole: Path):
    with pytest.raises(
        UserError, match=r"holds training runs \(encoding=rope,seed=0\); add --resume to take them over"
    ):
        run(alone)
    with pytest.raises(UserError, match=r"encoding-rope-seed-0 is not the folder of a run"):
        run(alone, overwrite=True)
    before = (alone / "runs" / "encoding-rope-seed-0" / "model" / "model.safetensors").stat().st_mtime_ns
    result = run(alone, resume=True)
    assert result.run.manifest.status == {"done": 4} and weights(alone) == weights(whole)
    assert numbers(result.run.sweep).equals(numbers(pl.read_parquet(whole / "sweep.parquet")))
    assert (alone / "runs" / "encoding-rope-seed-0" / "model" / "model.safetensors").stat().st_mtime_ns == before
    log = (alone / "runs" / "encoding-rope-seed-1" / "progress.jsonl").read_text().splitlines()
    assert min(json.loads(line)["step"] for line in log[1:]) == 8  # it went on


def test_runs_that_were_trained_alone_with_other_settings_are_refused(alone: Path):
    request = SweepRequest(grid("encoding=rope,none", base=(*SMALL, "warmup=7")), alone, resume=True)
    with pytest.raises(
        UserError, match="encoding-rope-seed-0/model belongs to a run with other settings: warmup was 200"
    ):
        run_sweep(request, engine=engine("inline"))
    assert not list(alone.glob("runs/*/job.json"))


def test_a_folder_that_another_sweep_holds_is_refused(whole: Path):
    with only_parent(whole / "runs"), pytest.raises(UserError, match="is in use by process"):
        run(whole, resume=True)


@pytest.mark.parametrize("fail_fast", [False, True])
def test_a_run_that_fails_does_not_stop_the_others_unless_asked_to(fail_fast: bool, tmp_path: Path):
    result = run(tmp_path, "learning_rate=1e30,0.001", fail_fast=fail_fast)
    status = {"failed": 1, "waiting": 3} if fail_fast else {"failed": 2, "done": 2}
    assert result.run.manifest.status == status
    assert "the loss became" in result.run.manifest.failures[0].sentence
    failed = result.run.sweep.filter(pl.col("status") == "failed")
    assert failed["measure"].null_count() == len(failed) == status["failed"]
    assert "failures" in [section.name for section in result.run.page.sections]


def test_failed_runs_are_tried_again(tmp_path: Path):
    run(tmp_path, "learning_rate=1e30,0.001")
    again = run(tmp_path, "learning_rate=1e30,0.001", resume=True)
    attempts = dict(again.run.sweep.select("run", "attempts").unique().rows())
    assert attempts["learning_rate=1e30,seed=0"] == 2 and attempts["learning_rate=0.001,seed=0"] == 1


def test_events_tell_what_was_measured(tmp_path: Path):
    heard: list[JobEvent] = []
    request = SweepRequest(grid("encoding=rope", seeds=(0,)), tmp_path)
    run_sweep(request, engine=engine("local", 1), on_event=heard.append)
    evaluations = [event for event in heard if "accuracy" in event.measured]
    assert [event.steps for event in evaluations] == [4, 8, 12]
    assert (heard[0].kind, heard[-1].kind) == ("begun", "done")


def test_text_that_changes_changes_the_key(tmp_path: Path):
    from dataclasses import replace

    from wherewhat.corpora.registry import corpus
    from wherewhat.sweeping.work import data_digest

    file = tmp_path / "a.txt"
    file.write_text("one two three\n")
    settings = replace(recipe("bert_tiny"), corpus=corpus("text", files=[str(file)]))
    before = data_digest(settings)
    file.write_text("one two four\n")
    assert before and data_digest(settings) != before
    assert data_digest(recipe("tiny")) == ""


def test_overwriting_forgets_what_trackers_have(whole: Path, tmp_path: Path):
    shutil.copytree(whole, tmp_path / "sweep")
    notes = tmp_path / "sweep" / "tracking.json"
    notes.write_text("{}")
    run(tmp_path / "sweep", resume=True)
    assert notes.exists()
    run(tmp_path / "sweep", overwrite=True)
    assert not notes.exists()


def test_from_python_values_are_given_as_they_are(whole: Path, tmp_path: Path):
    import wherewhat as ww

    changes = {name: int(value) for name, value in (each.split("=") for each in SMALL)}
    run = ww.sweep(
        "tiny", tmp_path, over={"encoding": ["rope", "none"]}, seeds=[0, 1], changes=changes, engine="inline"
    )
    assert numbers(run.sweep).equals(numbers(pl.read_parquet(whole / "sweep.parquet")))
    assert (tmp_path / "report.html").exists() and weights(tmp_path) == weights(whole)
    with pytest.raises(
        ww.UserError, match="holds 4 finished runs; add resume=True to go on from there, or overwrite=T"
    ):
        ww.sweep("tiny", tmp_path, over={"encoding": ["rope", "none"]}, seeds=[0, 1], changes=changes)
    for wrong in ({"betas": []}, {"betas": [(0.9, 0.99), [0.9, 0.99]]}, {"seed": [1, 2]}, {"width": [15]}):
        with pytest.raises(ww.UserError):
            ww.sweep("tiny", tmp_path / "other", over=wrong, engine="inline")
    assert not (tmp_path / "other").exists()
