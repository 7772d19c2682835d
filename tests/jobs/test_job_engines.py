"""Every engine gives the same results, keeps what is finished, and says what failed."""

import json
import math
import os
from pathlib import Path

import pytest
from job_works import job, local, starts

from wherewhat.errors import UserError
from wherewhat.jobs import local as local_engine
from wherewhat.jobs.engines import Engine
from wherewhat.jobs.job import JobError
from wherewhat.jobs.local import processors
from wherewhat.jobs.registry import ENGINES, engine
from wherewhat.jobs.run import run_jobs

LIGHT = [name for name in ENGINES if name != "ray"]  # which takes seconds to start, and has tests of its own


@pytest.fixture(params=[*LIGHT, "local, 1 worker"])
def each(request: pytest.FixtureRequest) -> Engine:
    """Every engine in turn that starts at once."""
    return local(1) if request.param == "local, 1 worker" else engine(request.param)


def test_results_come_back_in_order_and_as_json(each: Engine, tmp_path: Path) -> None:
    outcomes = run_jobs([job(f"n {x}", x=x) for x in (3, 1, 2)], tmp_path, engine=each)
    assert [outcome.result for outcome in outcomes] == [{"square": x * x, "pair": [x, None]} for x in (3, 1, 2)]
    assert all(outcome.attempts == 1 and 0 <= outcome.seconds < 60 for outcome in outcomes)


def test_a_work_gets_settings_and_a_folder_of_its_own(
    each: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path.parent)
    jobs = [job(f"n {x}", "echo", nested={"list": (1, x)}) for x in range(2)]
    outcomes = run_jobs(jobs, Path(tmp_path.name), engine=each)
    assert [outcome.result["settings"]["nested"]["list"] for outcome in outcomes] == [[1, 0, 4], [1, 1, 4]]
    assert [outcome.result["folder"] for outcome in outcomes] == [str(tmp_path / "n-0"), str(tmp_path / "n-1")]
    assert jobs[0].settings == {"nested": {"list": [1, 0]}}


def test_odd_results_survive(each: Engine) -> None:
    (outcome,) = run_jobs([job("odd", "strange")], None, engine=each)
    assert math.isnan(outcome.result["nan"])
    assert (outcome.result["surrogate"], outcome.result["deep"]) == ("\ud800", {"1": [2]})


def test_finished_jobs_are_not_run_again(each: Engine, tmp_path: Path) -> None:
    jobs = [job(f"n {x}", x=x) for x in range(3)]
    first = run_jobs(jobs[:2], tmp_path, engine=each)
    assert run_jobs(jobs, tmp_path, engine=each)[:2] == first
    assert [starts(tmp_path / f"n-{x}") for x in range(3)] == [1, 1, 1]


def test_everything_is_checked_before_the_first_job(each: Engine, tmp_path: Path) -> None:
    run_jobs([job("b", x=1)], tmp_path, engine=each)
    with pytest.raises(UserError, match="x was 1 and is 2"):
        run_jobs([job("a", x=1), job("b", x=2)], tmp_path, engine=each)
    assert not (tmp_path / "a").exists()


def test_progress_is_that_of_all_jobs_together(each: Engine, tmp_path: Path) -> None:
    jobs = [job(f"n {x}", x=x, steps=4, pause=0.3) for x in range(3)]
    run_jobs(jobs[:1], tmp_path, engine=each)
    reports: list[tuple[int, int, str]] = []
    run_jobs(jobs, tmp_path, engine=each, on_progress=lambda *report: reports.append(report))
    assert reports[0] == (4, 12, "n 1") and reports[-1] == (12, 12, "")
    assert {total for _, total, _ in reports} == {12}
    assert [done for done, _, _ in reports] == sorted(done for done, _, _ in reports)
    assert len({done for done, _, _ in reports}) > 3  # while they run, not only when they end
    assert {note for _, _, note in reports} <= {"n 1", "n 2", "n 1; n 2", ""}


def test_a_job_that_stumbles_says_why_and_is_tried_again(each: Engine, tmp_path: Path) -> None:
    folder, mended = tmp_path / "jobs", tmp_path / "mended"
    jobs = [job("a", x=1), job("b", "stumble", until=str(mended)), *(job(f"n {x}", x=x, pause=0.3) for x in range(9))]
    with pytest.raises(JobError, match=r"(?s)^job 'b' failed: ValueError: job stumbled\n.*Traceback.*in stumble\n"):
        run_jobs(jobs, folder, engine=each)
    error = json.loads((folder / "b" / "error.json").read_text())
    assert error["sentence"] == "ValueError: job stumbled" and "in stumble" in error["traceback"]
    assert (folder / "a" / "result.json").exists()  # what ran beside it was let finish
    assert not (folder / "n-8").exists()  # and nothing else was begun
    mended.touch()
    outcomes = run_jobs(jobs[:2], folder, engine=each)
    assert outcomes[1].result == "well" and outcomes[1].attempts == 2 and starts(folder / "b") == 2
    assert not list(folder.rglob("error.json")) and starts(folder / "a") == 1


def test_an_error_that_users_can_fix_stays_one(each: Engine) -> None:
    with pytest.raises(UserError, match=r"^--width is 3; give an even number$"):
        run_jobs([job("a", "refuse")], None, engine=each)


@pytest.mark.parametrize(
    ("work", "sentence"),
    [
        ("not_plain", "job 'a' failed: TypeError: Object of type PosixPath is not JSON serializable"),
        ("nothing_of_this_name", "job 'a' failed: AttributeError: module 'job_works' has no attribute"),
    ],
)
def test_work_that_is_none_is_told(each: Engine, tmp_path: Path, work: str, sentence: str) -> None:
    with pytest.raises(JobError, match=sentence):
        run_jobs([job("a", work)], tmp_path, engine=each)
    assert not (tmp_path / "a" / "result.json").exists()


def test_without_a_folder_nothing_is_left(each: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert run_jobs([job("a", x=2)], None, engine=each)[0].result["square"] == 4
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("names", [("a b", "a-b"), ("a", "a"), ("a", "...")])
def test_names_must_give_every_job_a_folder(names: tuple[str, str], tmp_path: Path) -> None:
    with pytest.raises(
        UserError, match=r"the name '.+' does not give a run a folder of its own; give every run another"
    ):
        run_jobs([job(name, x=1) for name in names], tmp_path, engine=engine("inline"))
    assert list(tmp_path.iterdir()) == []


def test_engines_are_chosen_by_name() -> None:
    with pytest.raises(UserError, match="unknown engine 'lokal'; did you mean 'local'\\? known: inline, local"):
        engine("lokal")
    with pytest.raises(UserError, match=r"--workers is 0; give at least 1"):
        engine("local", 0)
    with pytest.raises(
        UserError, match=r"engine 'inline' has 1 worker, not 2; leave --workers out or choose --engine l"
    ):
        engine("inline", 2)
    assert engine("inline", 1) == engine("inline")


@pytest.mark.parametrize("name", LIGHT)
def test_an_engine_of_this_machine_joins_no_cluster(name: str) -> None:
    told = f"engine '{name}' runs on this machine only; leave --address out or choose --engine ray"
    with pytest.raises(UserError, match=told):
        engine(name, address="10.0.0.1:6379", shared=True)
    with pytest.raises(UserError, match=told.replace("address", "shared")):
        engine(name, shared=True)


def test_jobs_take_no_more_processors_than_they_may(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {3}, raising=False)
    assert processors() == 1
    monkeypatch.delattr(os, "sched_getaffinity")
    assert processors() == (os.cpu_count() or 1)


@pytest.mark.parametrize("count", [1, 4])
def test_a_worker_is_another_process_and_remembers(count: int) -> None:
    outcomes = run_jobs([job(f"n {x}", "remember") for x in range(count)], None, engine=local(1))
    assert len({tuple(outcome.result) for outcome in outcomes}) == 1
    assert outcomes[0].result[0] != os.getpid()


@pytest.mark.parametrize(("workers", "started"), [(5, 3), (2, 2), (None, 1)])
def test_there_are_no_more_workers_than_jobs_or_than_said(
    monkeypatch: pytest.MonkeyPatch, workers: int | None, started: int
) -> None:
    begun, start = list[int](), local_engine.Worker.start
    monkeypatch.setattr(local_engine.Worker, "start", lambda: begun.append(1) or start())
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {3}, raising=False)
    run_jobs([job(f"n {x}", x=x) for x in range(3)], None, engine=engine("local", workers))
    assert len(begun) == started
