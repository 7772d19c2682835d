"""What runs at this moment, as a table on a terminal: states, steps, the last value and the time that is left."""

import io

import pytest
from rich.console import Console

from wherewhat.cli import live_table
from wherewhat.cli.live_table import RunState, _table, _whole
from wherewhat.jobs.engines import JobEvent
from wherewhat.jobs.job import Job

JOB = Job("encoding=rope,seed=0", "job_works:square", {}, steps=100)


def heard(*events: tuple[str, int, dict[str, float]]) -> RunState:
    """The state of a run after some events, one second apart."""
    state = RunState(JOB.steps)
    for now, (kind, steps, measured) in enumerate(events):
        state.hear(JobEvent(JOB, kind, steps, measured), float(now))  # type: ignore[arg-type]
    return state


def test_the_time_left_follows_from_the_pace():
    state = heard(("begun", 0, {}), ("step", 10, {"loss": 2.0}), ("step", 20, {"loss": 1.5}))
    assert state.left(2.0) == pytest.approx(8.0)
    assert state.last == "loss 1.50"


def test_a_run_that_went_on_from_a_checkpoint_is_timed_from_there():
    state = heard(("begun", 0, {}), ("step", 60, {}), ("step", 80, {}))
    assert state.left(2.0) == pytest.approx(1.0)


def test_nothing_is_said_of_time_before_there_is_a_pace():
    assert heard(("begun", 0, {})).left(1.0) is None
    assert heard(("begun", 0, {}), ("step", 5, {})).left(1.0) is None
    assert heard(("begun", 0, {}), ("step", 5, {}), ("done", 100, {})).left(2.0) is None


def test_the_last_evaluation_stays_while_only_the_loss_is_measured():
    state = heard(("begun", 0, {}), ("step", 5, {"loss": 1.0, "accuracy": 0.5}), ("step", 6, {"loss": 0.9}))
    assert state.last == "accuracy 0.50"


def test_a_run_that_was_finished_before_counts_as_done():
    states = {"a": heard(("kept", 100, {})), "b": heard(("begun", 0, {}), ("step", 20, {}))}
    assert _whole(states) == (120, 200, "1 done, 1 running of 2 runs")


def shown(states: dict[str, RunState]) -> str:
    console = Console(width=120, record=True, file=io.StringIO())
    console.print(_table("tiny", states))
    return console.export_text()


def test_the_table_has_a_line_per_run():
    states = {
        "a": heard(("begun", 0, {}), ("step", 50, {"loss": 2.0})),
        "b": heard(("begun", 0, {}), ("done", 100, {})),
        "c": RunState(100),
    }
    text = shown(states)
    assert "tiny: 1 done, 1 running of 3 runs, 50 %" in text
    assert "50 of 100" in text and "100 of 100" in text and "waiting" in text


def test_of_many_runs_those_are_shown_that_run_or_failed(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(live_table, "MOST", 3)
    states = {f"run {number}": RunState(100) for number in range(8)}
    states["run 5"] = heard(("begun", 0, {}), ("step", 5, {}))
    states["run 6"] = heard(("begun", 0, {}), ("failed", 0, {}))
    text = shown(states)
    assert "run 5" in text and "run 6" in text and "run 1" not in text
    assert _whole(states) == (5, 800, "1 running, 1 failed of 8 runs")
