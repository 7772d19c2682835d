"""A tracker can neither stop a run nor slow it, and gets every step once, whoever is killed when."""

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from tracking_fakes import MemoryTracker, Warnings, job, listening, measured, steps, wait_until, write_curve

from wherewhat.errors import UserError
from wherewhat.jobs.engines import InlineEngine, JobEvent
from wherewhat.jobs.folder import JobFolder
from wherewhat.jobs.job import Job, JobContext
from wherewhat.jobs.run import run_jobs
from wherewhat.tracking.base import flat
from wherewhat.tracking.listener import BURST, TrackingListener, tracking

HERE = Path(__file__).parent
NAME = job().name


def notes(folder: Path, target: str = "memory") -> dict[str, object]:
    return json.loads((folder / "tracking.json").read_text())[target]


def test_a_run_is_logged_under_its_identity(tmp_path: Path) -> None:
    tracker = MemoryTracker()
    with listening(tracker, tmp_path / "sweep") as listener:
        listener(JobEvent(job(), "begun"))
        for event in steps(job(), 1, 6):
            listener(event)
        listener(JobEvent(job(), "died"))
        listener(JobEvent(job(), "begun"))
        for event in steps(job(), 5, 8):
            listener(event)
        listener(JobEvent(job(), "done", 8))
    (run,) = tracker.begun
    assert (run.name, run.key, run.group, run.config) == (NAME, job().key, "sweep", flat(job().settings))
    assert tracker.points == [(NAME, step, measured(step)) for step in range(1, 9)]
    assert tracker.endings == [(NAME, "done")]
    assert notes(tmp_path / "sweep") == {job().key: {"run": NAME, "step": 8, "finished": True}}


def test_a_resumed_run_goes_on_without_repeated_steps(tmp_path: Path) -> None:
    first, second, third = MemoryTracker(), MemoryTracker(), MemoryTracker()
    for tracker, (begin, end), ending in ((first, (1, 6), None), (second, (4, 9), "done"), (third, (1, 9), "done")):
        with listening(tracker, tmp_path) as listener:
            listener(JobEvent(job(), "begun"))
            for event in steps(job(), begin, end):
                listener(event)
            if ending:
                listener(JobEvent(job(), ending, end))
    assert first.steps() == [1, 2, 3, 4, 5, 6] and first.endings == [(NAME, "stopped")]
    assert second.steps() == [7, 8, 9] and second.begun[0].last == 6
    assert second.begun[0].key == first.begun[0].key
    assert not third.begun  # it is finished there


def test_the_end_of_the_curve_is_logged_too(tmp_path: Path) -> None:
    tracker = MemoryTracker()
    write_curve(tmp_path / "runs", job(), 5, 10)
    with listening(tracker, tmp_path) as listener:
        for event in steps(job(), 1, 6):
            listener(event)
        listener(JobEvent(job(), "done", 10))
    assert tracker.steps() == [1, 2, 3, 4, 5, 6, 10] and tracker.points[-1][2] == measured(10)


def square(settings: dict[str, int], context: JobContext) -> int:
    for step in range(1, settings["steps"] + 1):
        context.step(step, measured(step))
    write_curve(context.folder.parent, job(context.folder.name), settings["steps"])
    return settings["steps"]


def work(name: str, number: int) -> Job:
    return Job(name, "test_tracking_listener:square", {"steps": number}, steps=number)


def test_runs_that_finished_before_are_logged_at_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tracker = MemoryTracker()
    monkeypatch.setattr("wherewhat.tracking.listener.tracker", lambda text, folder: tracker)
    runs, warnings = tmp_path / "runs", Warnings()
    run_jobs([work("a", 10)], runs, engine=InlineEngine())
    with tracking("memory", tmp_path, [work("a", 10), work("b", 5)], runs=runs, say=warnings) as on_event:
        InlineEngine().run([work("b", 5)], runs, on_event)
    assert tracker.steps("b") == [1, 2, 3, 4, 5] and tracker.steps("a") == [10]
    assert tracker.endings == [("b", "done"), ("a", "done")] and not warnings


def test_without_an_option_nothing_is_tracked(tmp_path: Path) -> None:
    with tracking(None, tmp_path, [work("a", 5)], runs=tmp_path / "runs", say=Warnings()) as on_event:
        on_event(JobEvent(job(), "begun"))
    assert not [*tmp_path.iterdir()]


def test_every_evaluation_is_logged_and_not_every_other_step(tmp_path: Path) -> None:
    tracker = MemoryTracker()
    with listening(tracker, tmp_path) as listener:
        for event in steps(job(), 1, 2000):
            listener(event)
    evaluations = [step for _, step, numbers in tracker.points if len(numbers) > 1]
    assert evaluations == [*range(5, 2001, 5)]
    assert BURST <= len(tracker.points) - len(evaluations) < 3 * BURST


def test_only_numbers_are_logged(tmp_path: Path) -> None:
    tracker = MemoryTracker()
    with listening(tracker, tmp_path) as listener:
        listener(JobEvent(job(), "step", 1, {"loss": 1, "text": "x", "none": None}))  # type: ignore[dict-item]
        listener(JobEvent(job(), "step", 2, {"text": "x"}))  # type: ignore[dict-item]
        listener(JobEvent(job(), "step", 3))
    assert tracker.points == [(NAME, 1, {"loss": 1.0})]


@pytest.mark.parametrize("error", [ValueError("no room\nsecond line"), SystemExit(3), KeyboardInterrupt()])
def test_a_tracker_that_raises_gets_no_more_of_that_run(tmp_path: Path, error: BaseException) -> None:
    def on_log(run: str, step: int) -> None:
        if run == NAME and step == 3:
            raise error

    tracker, warnings, other = MemoryTracker(on_log), Warnings(), job("other", other=1)
    with listening(tracker, tmp_path, warnings) as listener:
        for mine, others in zip(steps(job(), 1, 9), steps(other, 1, 9), strict=True):
            listener(mine)
            listener(others)
        listener(JobEvent(job(), "done", 9))
        listener(JobEvent(other, "done", 9))
    assert tracker.steps() == [1, 2] and tracker.steps("other") == [*range(1, 10)]
    assert tracker.endings == [("other", "done")]
    assert len(warnings) == 1 and "second line" not in warnings[0]
    assert warnings[0].startswith(f"memory does not get all of '{NAME}' ({type(error).__name__}: ")
    assert warnings[0].endswith(
        "; training is not affected, all numbers are in curve.parquet, and --resume logs what is missing"
    )
    assert notes(tmp_path)[job().key] == {"run": NAME, "step": 2, "finished": False}


def test_one_warning_for_a_tracker_that_never_works(tmp_path: Path) -> None:
    def on_begin(run: str) -> None:
        raise OSError("no database")

    warnings, threads = Warnings(), set[int]()

    def say(sentence: str) -> None:
        warnings(sentence)
        threads.add(threading.get_ident())
        raise BrokenPipeError  # nobody reads it

    with listening(MemoryTracker(on_begin=on_begin), tmp_path, say) as listener:
        for name in "abc":
            listener(JobEvent(job(name), "begun"))
            wait_until(lambda name=name: name in listener._broken)  # type: ignore[misc]
            listener(JobEvent(job(name), "done", 1))
    assert len(warnings) == 1 and threads == {threading.get_ident()}


def test_a_tracker_that_hangs_holds_up_neither_the_run_nor_the_end(tmp_path: Path) -> None:
    wake = threading.Event()
    tracker, warnings = MemoryTracker(lambda run, step: wake.wait(60) and None), Warnings()
    listener = TrackingListener(tracker, tmp_path, runs=tmp_path / "runs", say=warnings)
    began = time.monotonic()
    for event in steps(job(), 1, 2000):
        listener(event)
    listener(JobEvent(job(), "done", 2000))
    assert time.monotonic() - began < 5.0
    began = time.monotonic()
    listener.close(seconds=0.3)
    assert 0.2 < time.monotonic() - began < 5.0
    assert warnings == [
        "memory does not get all of the runs (it needed more than 0.3 s to finish); training is not affected, all "
        "numbers are in curve.parquet, and --resume logs what is missing"
    ]
    wake.set()  # what was left behind ends by itself, after the point that it was at
    wait_until(lambda: not [thread for thread in threading.enumerate() if thread.name == "tracking memory"])
    assert tracker.steps() == [1] and not tracker.endings


def test_a_process_ends_though_its_tracker_hangs(tmp_path: Path) -> None:
    code = (
        "import sys, time; from pathlib import Path; from tracking_fakes import *\n"
        "listener = TrackingListener(MemoryTracker(lambda run, step: time.sleep(60)), Path(sys.argv[1]), "
        "runs=Path(sys.argv[1]), say=print)\n"
        "[listener(event) for event in steps(job(), 1, 9)]\nlistener.close(0.1)"
    )
    began = time.monotonic()
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], cwd=HERE, check=True, timeout=20, capture_output=True)
    assert time.monotonic() - began < 15


def test_a_full_queue_stops_the_tracking_of_a_run_and_nothing_that_fits_is_lost(tmp_path: Path) -> None:
    wake = threading.Event()
    tracker, warnings = MemoryTracker(lambda run, step: wake.wait(10) and None), Warnings()
    listener = TrackingListener(tracker, tmp_path, runs=tmp_path / "runs", say=warnings, most_waiting=5)
    listener(JobEvent(job(), "step", 1, measured(1)))
    wait_until(lambda: bool(tracker.begun))
    time.sleep(0.05)  # the thread is in the first step, and the queue is empty
    for event in steps(job(), 2, 20):
        listener(event)
    assert len(warnings) == 1 and warnings[0].startswith(f"memory does not get all of '{NAME}' (it is too slow); ")
    wake.set()
    wait_until(lambda: len(tracker.points) == 6)
    write_curve(tmp_path / "runs", job(), 5, 10, 20)
    listener(JobEvent(job(), "done", 20))  # is no longer tracked
    listener.close()
    assert tracker.steps() == [1, 2, 3, 4, 5, 6] and tracker.endings == [(NAME, "stopped")]


def test_what_did_not_fit_is_logged_at_the_end(tmp_path: Path) -> None:
    wake = threading.Event()
    tracker, warnings, runs = MemoryTracker(lambda run, step: wake.wait(10) and None), Warnings(), tmp_path / "runs"
    a = work("a", 20)
    listener = TrackingListener(tracker, tmp_path, runs=runs, say=warnings, most_waiting=5)
    InlineEngine().run([a], runs, listener)
    wake.set()
    wait_until(lambda: len(tracker.points) >= 4)
    listener.catch_up([a])
    listener.close()
    assert tracker.steps("a")[-1] == 20 and tracker.endings == [("a", "done")]
    assert len(warnings) == 1 and JobFolder(runs).outcome(a) is not None


def main(folder: str, kill_at: str) -> None:
    """Log steps 1 to 9 to a file, and be killed between the logging of a step and the note on it."""
    log = Path(folder) / "log.txt"

    def on_log(run: str, step: int) -> None:
        with log.open("a") as file:
            file.write(f"{step}\n")

    tracker = MemoryTracker(on_log)
    listener = TrackingListener(tracker, Path(folder), runs=Path(folder) / "runs", say=print)
    notes = listener._feed._notes
    write = notes.write

    def killed() -> None:
        if int(kill_at) in tracker.steps():
            os._exit(9)
        write()

    notes.write = killed  # type: ignore[method-assign]
    for event in steps(job(), 1, 9):
        listener(event)
    listener(JobEvent(job(), "done", 9))
    listener.close()


@pytest.mark.parametrize("kill_at", [1, 4, 5, 9])
def test_a_kill_between_log_and_note_repeats_at_most_one_point(tmp_path: Path, kill_at: int) -> None:
    code = "import sys, test_tracking_listener; test_tracking_listener.main(*sys.argv[1:])"
    for kill in (kill_at, 0):
        process = subprocess.run([sys.executable, "-c", code, str(tmp_path), str(kill)], cwd=HERE)
        assert process.returncode == (9 if kill else 0)
    logged = [int(line) for line in (tmp_path / "log.txt").read_text().split()]
    assert sorted(set(logged)) == [*range(1, 10)] and len(logged) <= 10, logged
    assert not [*tmp_path.glob(".*.partial")]


def test_two_trackers_note_in_one_file(tmp_path: Path) -> None:
    trackers = MemoryTracker(target="a"), MemoryTracker(target="b")
    with listening(trackers[0], tmp_path) as first, listening(trackers[1], tmp_path) as second:
        for event in steps(job(), 1, 100):
            first(event)
            second(event)
    assert notes(tmp_path, "a") == notes(tmp_path, "b") != {}


@pytest.mark.parametrize("text", ["{", "[]", '{"memory": {"key": {}}}', '{"memory": {"key": {"step": "x"}}}'])
def test_damaged_notes_are_refused_before_the_first_run(tmp_path: Path, text: str) -> None:
    (tmp_path / "tracking.json").write_text(text)
    with pytest.raises(UserError, match=r"tracking.json is damaged \(.*\); restore it, or delete it"):
        TrackingListener(MemoryTracker(), tmp_path, runs=tmp_path, say=print)
