"""Finished jobs come back as they were, other ones are refused, and deleting or locking a folder survives kills."""

import json
import os
import shutil
from pathlib import Path

import pytest
from job_works import job, local, starts

from wherewhat.errors import UserError
from wherewhat.jobs import locks
from wherewhat.jobs.folder import JobFolder
from wherewhat.jobs.job import Job
from wherewhat.jobs.locks import only_parent, only_worker
from wherewhat.jobs.perform import perform
from wherewhat.jobs.registry import engine
from wherewhat.jobs.run import run_jobs

SETTINGS = {"x": 3, "sizes": (1, 2)}


@pytest.fixture
def one() -> Job:
    return job("a, seed 0", code="now", **SETTINGS)


@pytest.fixture
def kept(tmp_path: Path, one: Job) -> JobFolder:
    """A folder with one finished job."""
    assert JobFolder(tmp_path / "done").outcome(one) is None
    assert perform(one, tmp_path / "done") is None
    return JobFolder(tmp_path / "done")


def test_a_finished_job_comes_back_as_it_was(kept: JobFolder, one: Job) -> None:
    outcome = kept.outcome(one)
    assert outcome is not None and outcome.result == {"square": 9, "pair": [3, None]} and outcome.attempts == 1
    assert kept.count == 1 and kept.begun == 0
    entry = json.loads((kept.of(one) / "job.json").read_text())
    assert entry["settings"] == {"x": 3, "sizes": [1, 2]} and entry["code"] == "now" and entry["key"] == one.key
    assert {path.name for path in kept.of(one).iterdir()} == {"job.json", "progress.jsonl", "result.json", "starts.txt"}


def test_a_finished_job_is_not_run_again_by_anyone(kept: JobFolder, one: Job) -> None:
    before = kept.outcome(one)
    assert perform(one, kept.folder) is None  # as a worker that waited for another one would
    assert kept.outcome(one) == before and starts(kept.of(one)) == 1


def test_a_finished_job_of_other_settings_or_code_is_refused(kept: JobFolder) -> None:
    other = job("a, seed 0", code="now", **{**SETTINGS, "x": 4})
    with pytest.raises(
        UserError, match=r"a-seed-0 was made with other settings: x was 3 and is 4; resume with the set"
    ):
        kept.outcome(other)
    with pytest.raises(UserError, match=r"a-seed-0 was made by another version of the code; start again with --overwr"):
        kept.outcome(job("a, seed 0", code="later", **SETTINGS))
    (kept.of(other) / "result.json").unlink()  # one that has begun may have a checkpoint: it is refused as well
    with pytest.raises(UserError, match="made with other settings"):
        kept.outcome(other)


def test_a_number_may_be_written_in_another_way(tmp_path: Path) -> None:
    assert perform(job("a", x=3, nothing=float("nan")), tmp_path) is None
    assert JobFolder(tmp_path).outcome(job("a", x=3, nothing=float("nan")))
    assert perform(job("b", x=3), tmp_path) is None
    assert JobFolder(tmp_path).outcome(job("b", x=3.0))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"result": 1', "Expecting"),
        ("[]", "list indices"),
        ("{}", "it has no 'result'"),
        ('{"result": 1, "seconds": "long", "attempts": 1}', "its seconds is 'long'"),
        ("\0\0\0", "Expecting value"),
    ],
)
def test_a_damaged_result_is_told_with_what_to_do(kept: JobFolder, one: Job, text: str, reason: str) -> None:
    path = kept.of(one) / "result.json"
    path.write_text(text)
    with pytest.raises(UserError) as refused:
        kept.outcome(one)
    assert str(refused.value).startswith(f"{path} is damaged ({reason}")
    assert str(refused.value).endswith(f"; delete {path}, and that run is repeated")
    path.unlink()
    assert perform(one, kept.folder) is None and kept.outcome(one)


def test_a_damaged_job_is_told_with_what_to_do(kept: JobFolder, one: Job) -> None:
    (kept.of(one) / "job.json").write_text('{"settings": [], "code": ""}')
    with pytest.raises(
        UserError, match=r"job.json is damaged \(its settings is \[\]\); delete \S+/a-seed-0, and that "
    ):
        kept.outcome(one)
    shutil.rmtree(kept.of(one))
    assert perform(one, kept.folder) is None and kept.outcome(one)


def test_a_folder_of_something_else_is_not_touched(tmp_path: Path, one: Job) -> None:
    (tmp_path / "a-seed-0").mkdir()
    (tmp_path / "a-seed-0" / "thesis.tex").write_text("dear")
    with pytest.raises(
        UserError, match=r"a-seed-0 is not the folder of a run, as it has no job.json; choose another --"
    ):
        run_jobs([one], tmp_path, engine=engine("inline"))
    JobFolder(tmp_path).forget()
    assert (tmp_path / "a-seed-0" / "thesis.tex").read_text() == "dear"


def test_what_is_there_is_neither_overwritten_nor_resumed_unless_that_is_said(kept: JobFolder, one: Job) -> None:
    with pytest.raises(UserError, match="done holds 1 finished run; add --resume to go on from there, or --overwrite"):
        kept.begin(overwrite=False, resume=False)
    kept.begin(overwrite=False, resume=True)
    assert kept.count == 1
    kept.begin(overwrite=True, resume=False)
    assert kept.count == 0 and list(kept.folder.iterdir()) == []
    kept.begin(overwrite=False, resume=False)


def test_a_checkpoint_is_not_given_up_unless_that_is_said(tmp_path: Path, one: Job) -> None:
    kept = JobFolder(tmp_path)
    for number in range(2):
        perform(job(f"b {number}", "refuse"), tmp_path)
    kept.refuse_any()  # they have begun, but there is nothing to go on from
    for number in range(2):
        (tmp_path / f"b-{number}" / "checkpoint").write_text("half way")
    perform(one, tmp_path)
    with pytest.raises(UserError, match="holds 1 finished run and 2 unfinished runs; add --resume to go on from there"):
        kept.begin(overwrite=False, resume=False)
    assert kept.count == 1 and kept.begun == 2


def test_what_only_failed_is_begun_again(tmp_path: Path) -> None:
    perform(job("b", "refuse"), tmp_path)
    JobFolder(tmp_path).begin(overwrite=False, resume=False)
    assert not (tmp_path / "b").exists()


def test_a_folder_that_does_not_exist_is_as_good_as_an_empty_one(tmp_path: Path) -> None:
    nowhere = JobFolder(tmp_path / "no" / "where")
    nowhere.begin(overwrite=True, resume=False)
    nowhere.refuse_any()
    assert nowhere.count == 0 and list(tmp_path.iterdir()) == []


def test_a_job_that_was_half_deleted_is_gone(kept: JobFolder, one: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    def killed(path: Path) -> None:
        (path / "job.json").unlink()
        raise SystemExit("killed while deleting")

    with monkeypatch.context() as broken, pytest.raises(SystemExit):
        broken.setattr(shutil, "rmtree", killed)
        kept.forget()
    assert kept.count == 0 and kept.outcome(one) is None
    run_jobs([one], kept.folder, engine=engine("inline"))
    assert [path.name for path in kept.folder.iterdir()] == ["a-seed-0"]


def test_a_job_killed_in_its_first_moment_can_be_run_and_forgotten(tmp_path: Path, one: Job) -> None:
    for name in ("a-seed-0", "of-another-request"):
        (tmp_path / name).mkdir()
        (tmp_path / name / ".job.json.abcdefgh.partial").write_text('{"na')
    JobFolder(tmp_path).refuse_any()
    assert run_jobs([one], tmp_path, engine=engine("inline"))
    assert not list((tmp_path / "a-seed-0").glob(".*"))
    JobFolder(tmp_path).forget()
    assert list(tmp_path.iterdir()) == []


def test_a_second_process_is_told_who_holds_the_folder(kept: JobFolder, one: Job) -> None:
    sentence = rf"done is in use by process {os.getpid()} on \S+; wait until it ends, or choose another --out"
    with only_parent(kept.folder):
        for second in (lambda: run_jobs([one], kept.folder, engine=engine("inline")), kept.forget):
            with pytest.raises(UserError, match=sentence):
                second()
    assert run_jobs([one], kept.folder, engine=engine("inline"))
    assert [path.name for path in kept.folder.iterdir()] == ["a-seed-0"]


def test_the_lock_of_a_dead_process_is_taken_over(kept: JobFolder, one: Job) -> None:
    (kept.folder / ".lock").write_text("process 1 on this very machine")  # which lives, but does not hold it
    assert run_jobs([one], kept.folder, engine=engine("inline"))


def test_a_lock_that_its_holder_removes_is_not_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lock, removed = locks._lock, []

    def slow(handle: int) -> bool:
        if not removed:  # between opening and locking, the last holder ends
            removed.append((tmp_path / ".lock").unlink())
        return lock(handle)

    monkeypatch.setattr(locks, "_lock", slow)
    with only_parent(tmp_path), pytest.raises(UserError, match="is in use by process"), only_parent(tmp_path):
        pass


def test_a_job_waits_for_the_worker_of_a_killed_parent(
    tmp_path: Path, one: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a-seed-0").mkdir()
    monkeypatch.setattr(locks, "PATIENCE", 0.1)
    with only_worker(tmp_path / "a-seed-0"):
        failure = perform(one, tmp_path)
    assert failure is not None
    assert failure.sentence.endswith("a-seed-0 is in use by another process; wait until it ends, or end it")
    assert perform(one, tmp_path) is None


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path, one: Job) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match=r"file/jobs could not be written \(Not a directory\); choose another --out"):
        run_jobs([one], tmp_path / "file" / "jobs", engine=local())
