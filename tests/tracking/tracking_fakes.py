"""Runs to track, a tracker that remembers or misbehaves, and stand-ins for the four tools that record their calls."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

from wherewhat.jobs.engines import JobEvent
from wherewhat.jobs.job import Job
from wherewhat.tracking.base import Ending, RunLog, TrackedRun, Tracker
from wherewhat.tracking.listener import TrackingListener

SETTINGS = {"recipe": "tiny", "settings": {"net": {"width": 64, "heads": [1, 2]}, "seed": 0}}
CONFIG = {"recipe": "tiny", "settings.net.width": 64, "settings.net.heads": "[1, 2]", "settings.seed": 0}


def job(name: str = "encoding=rope,seed=0", **settings: Any) -> Job:
    return Job(name, "nothing:work", {**SETTINGS, **settings}, steps=10)


def measured(step: int) -> dict[str, float]:
    """The loss at every step, and an evaluation at every fifth."""
    return {"loss": 1 / step, **({"accuracy": step / 10} if step % 5 == 0 else {})}


def steps(job: Job, first: int, last: int) -> Iterator[JobEvent]:
    return (JobEvent(job, "step", step, measured(step)) for step in range(first, last + 1))


def write_curve(runs: Path, job: Job, *at: int) -> None:
    rows = [(step, measure, value) for step in at for measure, value in measured(step).items()]
    folder = runs / job.folder_name
    folder.mkdir(parents=True, exist_ok=True)
    pl.DataFrame(rows, ["step", "measure", "value"], orient="row").write_parquet(folder / "curve.parquet")


class MemoryTracker(Tracker):
    """Remembers what it gets; `on_log` and `on_begin` may raise or hang."""

    name = "memory"

    def __init__(
        self,
        on_log: Callable[[str, int], None] = lambda run, step: None,
        on_begin: Callable[[str], None] = lambda run: None,
        target: str = "memory",
    ) -> None:
        self.on_log, self.on_begin, self._target = on_log, on_begin, target
        self.begun: list[TrackedRun] = []
        self.points: list[tuple[str, int, Mapping[str, float]]] = []
        self.endings: list[tuple[str, Ending]] = []

    @property
    def target(self) -> str:
        return self._target

    def begin(self, run: TrackedRun) -> RunLog:
        self.on_begin(run.name)
        self.begun.append(run)
        return MemoryRun(self, run)

    def steps(self, name: str = "encoding=rope,seed=0") -> list[int]:
        return [step for run, step, _ in self.points if run == name]


class MemoryRun(RunLog):
    def __init__(self, tracker: MemoryTracker, run: TrackedRun) -> None:
        self.tracker, self.run = tracker, run

    @property
    def last(self) -> int | None:
        return self.run.last

    def log(self, step: int, measured: Mapping[str, float]) -> None:
        self.tracker.on_log(self.run.name, step)
        self.tracker.points.append((self.run.name, step, measured))

    def finish(self, ending: Ending) -> None:
        self.tracker.endings.append((self.run.name, ending))


class Warnings(list[str]):
    """The sentences that were said."""

    def __call__(self, sentence: str) -> None:
        self.append(sentence)


@contextmanager
def listening(tracker: Tracker, folder: Path, say: Callable[[str], None] | None = None) -> Iterator[TrackingListener]:
    """A listener that may say nothing, unless a test takes its warnings."""
    warnings = Warnings()
    with TrackingListener(tracker, folder, runs=folder / "runs", say=warnings if say is None else say) as listener:
        yield listener
    assert warnings == []


def wait_until(condition: Callable[[], bool], seconds: float = 5.0) -> None:
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "it never came true"
        time.sleep(0.005)


class Recorder:
    """Every call of a stand-in, in order: its name, and what it was given."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, dict[str, Any]]] = []

    def __call__(self, name: str, /, **given: Any) -> None:
        self.calls.append((name, given))

    def of(self, name: str) -> list[dict[str, Any]]:
        return [given for called, given in self.calls if called == name]


def fake_trackio(record: Recorder, *, has: int = 0) -> Any:
    """With `has`, trackio has so many steps of the run already."""

    class Run:
        _next_step = has + 1 if has else 0

        def log(self, metrics: dict[str, float], step: int) -> None:
            record("log", metrics=metrics, step=step)

        def finish(self) -> None:
            record("finish")

    current: ContextVar[Run | None] = ContextVar("current", default=None)

    def init(**given: Any) -> Run:
        record("init", **given)
        if current.get() is not None:
            record("ended another")
        current.set(Run())
        return Run()

    return SimpleNamespace(init=init)


def fake_wandb(record: Recorder) -> Any:
    class Settings:
        model_fields = {"silent": ..., "console": ..., "disable_git": ...}  # noqa: RUF012

        def __init__(self, **given: Any) -> None:
            assert set(given) <= set(self.model_fields)
            self.given = given

    class Run:
        def log(self, data: dict[str, float], step: int, commit: bool) -> None:
            record("log", metrics=data, step=step, commit=commit)

        def finish(self, exit_code: int) -> None:
            record("finish", exit_code=exit_code)

    def init(settings: Settings, **given: Any) -> Run:
        record("init", settings=settings.given, **given)
        return Run()

    return SimpleNamespace(init=init, Settings=Settings)


def fake_mlflow(record: Recorder, *, runs: dict[str, str]) -> Any:
    """`runs` are those of its database: by the filter that finds one, its number."""

    def plain(things: Any) -> list[tuple[Any, ...]]:
        return [tuple(vars(thing).values()) for thing in things]

    class Client:
        def __init__(self, tracking_uri: str) -> None:
            record("client", tracking_uri=tracking_uri)

        def get_experiment_by_name(self, name: str) -> Any:
            return None

        def create_experiment(self, name: str, artifact_location: str | None) -> str:
            record("experiment", name=name, artifact_location=artifact_location)
            return "7"

        def search_runs(self, experiments: list[str], filter_string: str, max_results: int) -> list[Any]:
            assert experiments == ["7"]
            number = runs.get(filter_string)
            return [] if number is None else [SimpleNamespace(info=SimpleNamespace(run_id=number))]

        def create_run(self, experiment: str, tags: dict[str, str], run_name: str) -> Any:
            record("create", tags=tags, run_name=run_name)
            number = f"run {len(runs)}"
            runs[f"tags.`wherewhat.key` = '{tags['wherewhat.key']}'"] = number
            return SimpleNamespace(info=SimpleNamespace(run_id=number))

        def update_run(self, number: str, status: str) -> None:
            record("update", number=number, status=status)

        def log_batch(self, number: str, metrics: Any = (), params: Any = (), *, synchronous: bool) -> None:
            assert synchronous and len(params) <= 100
            record("log", number=number, metrics=plain(metrics), params=plain(params))

        def set_terminated(self, number: str, status: str) -> None:
            record("finish", number=number, status=status)

    def metric(key: str, value: float, timestamp: int, step: int) -> Any:
        return SimpleNamespace(key=key, value=value, step=step)

    def parameter(key: str, value: str) -> Any:
        return SimpleNamespace(key=key, value=value)

    return SimpleNamespace(MlflowClient=Client, entities=SimpleNamespace(Metric=metric, Param=parameter))


def fake_tensorboard(record: Recorder) -> dict[str, Any]:
    """By name, the modules of tensorboard that write event files."""

    class File:
        def __init__(self, folder: str) -> None:
            record("open", folder=folder)

        def add_event(self, event: dict[str, Any]) -> None:
            record("event", **{name: value for name, value in event.items() if name != "wall_time"})

        def flush(self) -> None:
            record("flush")

        def close(self) -> None:
            record("finish")

    class SessionLog(dict[str, Any]):
        START = 1

    protocol = "tensorboard.compat.proto"
    return {
        "tensorboard.summary.writer.event_file_writer": SimpleNamespace(EventFileWriter=File),
        f"{protocol}.event_pb2": SimpleNamespace(Event=dict, SessionLog=SessionLog),
        f"{protocol}.summary_pb2": SimpleNamespace(Summary=dict),
        f"{protocol}.tensor_pb2": SimpleNamespace(TensorProto=dict),
        "tensorboard.plugins.text.metadata": SimpleNamespace(create_summary_metadata=dict),
    }


def install(monkeypatch: pytest.MonkeyPatch, modules: Mapping[str, Any]) -> None:
    """Put stand-ins, or None for what is not installed, in the place of modules."""
    import sys

    for name, module in modules.items():
        monkeypatch.setitem(sys.modules, name, module)
