"""Whoever dies, a worker or its parent: no finished job is lost or run twice, and nothing is left over."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from job_works import job, local, starts

from wherewhat.errors import UserError
from wherewhat.jobs.engines import JobEvent
from wherewhat.jobs.folder import JobFolder
from wherewhat.jobs.local import LocalEngine
from wherewhat.jobs.progress_log import ProgressLog, last_line
from wherewhat.jobs.run import run_jobs

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")])}


def test_a_worker_that_dies_is_replaced_and_its_job_goes_on(tmp_path: Path) -> None:
    jobs = [job("dies twice", "vanish", lives=3), *(job(f"n {x}", x=x) for x in range(4))]
    outcomes = run_jobs(jobs, tmp_path, engine=local())
    assert outcomes[0].result == [1, 2, 3] and outcomes[0].attempts == 3  # it found its checkpoint each time
    assert [outcome.attempts for outcome in outcomes[1:]] == [1] * 4
    assert [starts(tmp_path / f"n-{x}") for x in range(4)] == [1] * 4


@pytest.mark.parametrize(
    ("how", "named"), [({}, "SIGKILL"), ({"exit": 3}, "exit code 3"), ({"exit": 0}, "exit code 0")]
)
def test_a_job_that_dies_too_often_is_told_in_one_sentence(tmp_path: Path, how: dict[str, int], named: str) -> None:
    memory = r" with \d+\.\d GB of memory" if sys.platform == "linux" else ""
    sentence = f"the process of 'fatal' ended too early 3 times, the last time by {named}{memory}; check whether memory"
    with pytest.raises(UserError) as told:
        run_jobs(
            [job("fatal", "vanish", lives=9, pause=0.5, **how), job("slow", x=1, pause=1)], tmp_path, engine=local()
        )
    assert re.fullmatch(f"{sentence} ran out", str(told.value)) and starts(tmp_path / "fatal") == 3
    assert json.loads((tmp_path / "fatal" / "error.json").read_text())["sentence"] == str(told.value)
    (outcome,) = run_jobs([job("slow", x=1, pause=1)], tmp_path, engine=local())
    assert outcome.attempts == 1 and starts(tmp_path / "slow") == 1  # which was not disturbed


def test_a_job_that_failed_by_dying_is_tried_again(tmp_path: Path) -> None:
    jobs = [job("fatal", "vanish", lives=5)]
    with pytest.raises(UserError, match="'fatal' ended too early 3 times"):
        run_jobs(jobs, tmp_path, engine=local())
    (outcome,) = run_jobs(jobs, tmp_path, engine=local())
    assert outcome.attempts == 5 and outcome.result == [1, 2, 3, 4, 5]
    assert not (tmp_path / "fatal" / "error.json").exists()


def test_a_job_that_finished_before_its_worker_died_is_finished(tmp_path: Path) -> None:
    jobs = [job(f"n {x}", "die_when_finished") for x in range(4)]
    outcomes = run_jobs(jobs, tmp_path, engine=local(4))  # each in a worker of its own
    assert [(outcome.result, outcome.attempts) for outcome in outcomes] == [(1, 1)] * 4


def test_a_worker_that_dies_between_jobs_costs_none_of_them_an_attempt(tmp_path: Path) -> None:
    jobs, kinds = [job(f"n {x}", "die_when_finished") for x in range(5)], list[str]()

    def on_event(event: JobEvent) -> None:
        kinds.append(event.kind)
        if event.kind == "done":  # the worker dies before it is given the next job
            worker = int((tmp_path / event.job.folder_name / "starts.txt").read_text())
            wait_for(lambda: not alive(worker), seconds=60)

    LocalEngine(1).run(jobs, tmp_path, on_event)
    assert kinds == ["begun", "done"] * 5


def test_a_full_disk_is_told_and_leaves_no_half_file(tmp_path: Path) -> None:
    with pytest.raises(
        UserError, match=r"^the disk is full: \S+/a/result.json could not be written; free some space or"
    ):
        run_jobs([job("a", "fill")], tmp_path, engine=local())
    assert {path.name for path in (tmp_path / "a").iterdir()} == {"job.json", "progress.jsonl", "error.json"}


def test_memory_that_runs_out_is_told() -> None:
    with pytest.raises(UserError, match=r"^memory ran out in 'a'; give fewer --workers, or smaller settings$"):
        run_jobs([job("a", "swell")], None, engine=local())


def test_jobs_run_from_any_thread(tmp_path: Path) -> None:
    jobs = [job("dies once", "vanish", lives=2), job("n", x=2)]
    thread = threading.Thread(target=run_jobs, args=(jobs, tmp_path), kwargs={"engine": local()})
    thread.start()
    thread.join()
    assert [outcome.attempts for outcome in run_jobs(jobs, tmp_path, engine=local())] == [2, 1]


def test_half_files_are_gone_when_a_job_goes_on(tmp_path: Path) -> None:
    (outcome,) = run_jobs([job("a", "leave_half")], tmp_path, engine=local())
    assert outcome.result is False and outcome.attempts == 2


def test_attempts_and_seconds_are_those_of_all_lives(tmp_path: Path) -> None:
    path = tmp_path / "progress.jsonl"
    path.write_text('{"attempt": 1, "step": 7, "seconds": 100.0}\n{"attempt": 1, "st')  # cut by a kill
    assert last_line(path)["step"] == 7
    log = ProgressLog(path)
    assert log.attempt == 2 and 100 < log.seconds < 110
    lines = path.read_text().splitlines()
    assert len(lines) == 3 and json.loads(lines[2]) == {"attempt": 2, "step": 0, "seconds": pytest.approx(100, abs=5)}
    for step in range(100):
        log.step(step)  # all within a moment
    assert len(path.read_text().splitlines()) < 20


def start(folder: Path, told: Path, *more: str) -> "subprocess.Popen[str]":
    """A parent with two long jobs, both of which are running."""
    told.mkdir()
    script = "import sys, job_works; job_works.main(*sys.argv[1:])"
    process = subprocess.Popen(
        [sys.executable, "-c", script, str(folder), str(told), *more],
        env=ENVIRONMENT,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    wait_for(lambda: len(list(told.iterdir())) == 2 or process.poll() is not None, seconds=60)
    return process


def wait_for(what: Callable[[], bool], *, seconds: float) -> None:
    until = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < until, "it did not happen"
        time.sleep(0.01)


def alive(process: int) -> bool:
    """Whether a process, or any of its threads, is still there: its first thread may end before the others."""
    folder = Path(f"/proc/{process}")
    try:
        return "State:\tZ" not in (folder / "status").read_text() or len(list((folder / "task").iterdir())) > 1
    except OSError:
        return False


@pytest.mark.parametrize("selfish", ["", "selfish"])
def test_workers_end_with_their_parent(tmp_path: Path, selfish: str) -> None:
    process = start(tmp_path / "jobs", tmp_path / "told", "2", selfish)
    workers = [int(path.name) for path in (tmp_path / "told").iterdir()]
    assert len(workers) == 2 and all(map(alive, workers))
    process.kill()
    process.wait()
    wait_for(lambda: not any(map(alive, workers)), seconds=2)
    process.communicate()
    (outcome,) = run_jobs([job("quick", x=3)], tmp_path / "jobs", engine=local())  # its lock ended with it, too
    assert outcome.attempts == 1


def test_ctrl_c_reaches_the_parent_alone_and_loses_nothing(tmp_path: Path) -> None:
    process = start(tmp_path / "jobs", tmp_path / "told", "3")
    workers = [int(path.name) for path in (tmp_path / "told").iterdir()]
    blocked = [re.search(r"SigBlk:\t(\w+)", Path(f"/proc/{worker}/status").read_text()) for worker in workers]
    assert [int(mask[1], 16) >> signal.SIGINT - 1 & 1 for mask in blocked if mask] == [1, 1]
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does
    _, errors = process.communicate(timeout=30)
    assert (
        process.returncode == -signal.SIGINT and errors.count("Traceback") == errors.count("KeyboardInterrupt\n") == 1
    )
    assert not any(map(alive, workers))
    assert JobFolder(tmp_path / "jobs").count == 1 and not (tmp_path / "jobs" / ".lock").exists()


def test_workers_end_when_what_follows_them_stumbles(tmp_path: Path) -> None:
    told = tmp_path / "told"
    told.mkdir()

    def stumble(event: JobEvent) -> None:
        wait_for(lambda: any(told.iterdir()), seconds=60)
        raise ValueError("nobody listens")

    with pytest.raises(ValueError, match="nobody listens"):
        LocalEngine(1).run([job("a", "linger", told=str(told))], tmp_path / "jobs", stumble)
    assert not any(alive(int(path.name)) for path in told.iterdir())


def test_an_error_of_who_listens_is_not_taken_for_a_death(tmp_path: Path) -> None:
    kinds = list[str]()

    def stumble(event: JobEvent) -> None:
        kinds.append(event.kind)
        if kinds.count("done") == 1:
            raise BrokenPipeError("nobody listens")

    with pytest.raises(BrokenPipeError, match="nobody listens"):
        LocalEngine(1).run([job("a", x=1)], tmp_path, stumble)
    assert kinds == ["begun", "done"]


@pytest.mark.parametrize("folder", ["jobs", ""])
def test_a_script_that_starts_itself_again_is_told_what_to_do(tmp_path: Path, folder: str) -> None:
    lines = [
        "from pathlib import Path",
        "from job_works import job, local",
        "from wherewhat.jobs.run import run_jobs",
        f"run_jobs([job('a', x=1)], {f'Path({str(tmp_path / folder)!r})' if folder else None}, engine=local())",
    ]
    (tmp_path / "script.py").write_text("\n".join(lines))
    process = subprocess.run(
        [sys.executable, str(tmp_path / "script.py")],
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=60,
    )
    last = process.stderr.strip().splitlines()[-1]
    assert run_jobs([job("a", x=1)], tmp_path / folder if folder else None, engine=local())[0].attempts == 1
    assert "a worker process could not start; in a script of your own put the call under `if __name__ ==" in last


@pytest.mark.parametrize("experiment", ["kill_workers", "kill_parents"])
def test_kills_at_random_moments(experiment: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT))
    from benchmarks import kills

    report = getattr(kills, experiment)(tmp_path, kills.jobs_of(6, 10, 60_000), kills=3, seed=1)
    assert report.kills == 3 and report.clean, report.line()
