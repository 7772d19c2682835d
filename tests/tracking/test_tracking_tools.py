"""What each tool is called with: its identity, its numbers, and nothing that sends data out unless asked."""

import os
import sys
from pathlib import Path
from typing import Any

import pytest
from tracking_fakes import (
    CONFIG,
    Recorder,
    fake_mlflow,
    fake_tensorboard,
    fake_trackio,
    fake_wandb,
    install,
    job,
    listening,
    measured,
    steps,
)

from wherewhat.jobs.engines import JobEvent
from wherewhat.tracking.registry import tracker

KEY = job().key
LABEL = f"encoding=rope,seed=0-{KEY[:8]}"


@pytest.fixture
def record(monkeypatch: pytest.MonkeyPatch) -> Recorder:
    record = Recorder()
    for name in ("WANDB_MODE", "WANDB_DIR", "MLFLOW_TRACKING_URI"):
        monkeypatch.delenv(name, raising=False)
    for name in ("WANDB_ERROR_REPORTING", "MLFLOW_DISABLE_TELEMETRY", "MLFLOW_LOGGING_LEVEL"):
        monkeypatch.setenv(name, "")  # so that it is restored afterwards
        monkeypatch.delenv(name)
    tools = {"trackio": fake_trackio(record), "wandb": fake_wandb(record), "mlflow": fake_mlflow(record, runs={})}
    install(monkeypatch, {**tools, **fake_tensorboard(record)})
    return record


def run(text: str, folder: Path, first: int = 1, last: int = 5, ending: str = "done") -> None:
    with listening(tracker(text, folder), folder) as listener:
        listener(JobEvent(job(), "begun"))
        for event in steps(job(), first, last):
            listener(event)
        if ending != "stopped":
            listener(JobEvent(job(), ending, last))


def test_trackio(record: Recorder, tmp_path: Path) -> None:
    run("trackio", tmp_path / "sweep")
    (given,) = record.of("init")
    assert given == {
        "project": "wherewhat",
        "name": LABEL,
        "group": "sweep",
        "config": CONFIG,
        "resume": "allow",
        "space_id": None,
        "server_url": None,
        "embed": False,
        "auto_log_gpu": False,
        "auto_log_cpu": False,
    }
    assert record.of("log") == [{"metrics": measured(step), "step": step} for step in range(1, 6)]
    assert record.calls[-1] == ("finish", {})


@pytest.mark.parametrize("name", ["TRACKIO_SPACE_ID", "TRACKIO_SERVER_URL", "TRACKIO_BUCKET_ID", "TRACKIO_DATASET_ID"])
def test_trackio_sends_nothing_out_because_of_the_environment(
    record: Recorder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv(name, "someone/somewhere")
    tracker("trackio", tmp_path)
    assert name not in os.environ


def test_trackio_has_several_runs_open_at_once(record: Recorder, tmp_path: Path) -> None:
    with listening(tracker("trackio", tmp_path), tmp_path) as listener:
        listener(JobEvent(job(), "begun"))
        listener(JobEvent(job("other", other=1), "begun"))
    assert len(record.of("init")) == len(record.of("finish")) == 2 and not record.of("ended another")


def test_trackio_sends_out_what_the_user_asks_for(record: Recorder, tmp_path: Path) -> None:
    run("trackio:space_id=me/mine,project=p", tmp_path)
    (given,) = record.of("init")
    assert (given["space_id"], given["server_url"], given["project"]) == ("me/mine", None, "p")


@pytest.mark.parametrize(
    ("has", "expected"),
    [(3, [4, 5, 6, 7, 8]), (7, [8]), (0, [6, 7, 8])],  # a kill took 4 and 5 with it, or the notes on 6 and 7
)
def test_trackio_knows_best_what_it_has(
    record: Recorder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has: int, expected: list[int]
) -> None:
    run("trackio", tmp_path, 1, 5, "stopped")
    again = Recorder()
    install(monkeypatch, {"trackio": fake_trackio(again, has=has)})
    run("trackio", tmp_path, 2, 8, "stopped")
    assert [given["step"] for given in again.of("log")] == expected


def test_what_trackio_could_not_write_is_a_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs: list[Any] = []

    class Run:
        def __init__(self) -> None:
            runs.append(self)

        def log(self, metrics: Any, step: int) -> None:
            self._warn_once("write-logs-to-sqlite", "trackio failed to flush: disk is full")

        def _warn_once(self, key: str, message: str) -> None:
            raise AssertionError("printed as a warning")

    from types import SimpleNamespace

    install(monkeypatch, {"trackio": SimpleNamespace(init=lambda **_: Run())})
    warnings: list[str] = []
    with listening(tracker("trackio", tmp_path), tmp_path, warnings.append) as listener:
        for event in steps(job(), 1, 3):
            listener(event)
    assert len(warnings) == 1 and "trackio failed to flush: disk is full" in warnings[0]


def test_wandb(record: Recorder, tmp_path: Path) -> None:
    run("wandb", tmp_path / "sweep", ending="failed")
    (given,) = record.of("init")
    assert given == {
        "settings": {"silent": True, "console": "off", "disable_git": True},  # those that this version has
        "project": "wherewhat",
        "entity": None,
        "id": KEY,
        "name": "encoding=rope,seed=0",
        "group": "sweep",
        "config": CONFIG,
        "resume": "allow",
        "mode": "offline",
        "dir": str(tmp_path / "sweep"),
        "reinit": "create_new",
    }
    assert record.of("log")[-1] == {"metrics": measured(5), "step": 5, "commit": True}
    assert record.of("finish") == [{"exit_code": 1}]
    assert os.environ["WANDB_ERROR_REPORTING"] == "false"


def test_wandb_follows_the_mode_that_the_user_set(
    record: Recorder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WANDB_MODE", "online")
    run("wandb", tmp_path)
    run("wandb:mode=disabled,project=p", tmp_path)
    assert [given["mode"] for given in record.of("init")] == ["online", "disabled"]


def test_mlflow(record: Recorder, tmp_path: Path) -> None:
    folder = tmp_path / "sweep"
    run("mlflow", folder, 1, 3, "stopped")
    run("mlflow", folder, 2, 5, "done")
    assert [given["tracking_uri"] for given in record.of("client")] == [f"sqlite:///{folder}/mlflow.db"] * 2
    assert record.of("experiment")[0] == {"name": "wherewhat", "artifact_location": f"file://{folder}/mlartifacts"}
    tags = {"wherewhat.key": KEY, "group": "sweep"}
    assert record.of("create") == [{"tags": tags, "run_name": "encoding=rope,seed=0"}]  # once
    assert record.of("update") == [{"number": "run 0", "status": "RUNNING"}]
    logged = [metric for given in record.of("log") for metric in given["metrics"]]
    assert logged == [(name, value, step) for step in range(1, 6) for name, value in measured(step).items()]
    assert record.of("log")[0]["params"] == [(name, str(value)) for name, value in CONFIG.items()]
    assert [given["status"] for given in record.of("finish")] == ["KILLED", "FINISHED"]
    assert os.environ["MLFLOW_DISABLE_TELEMETRY"] == "true"


def test_mlflow_uses_the_server_that_the_user_set(
    record: Recorder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://127.0.0.1:5000")
    run("mlflow", tmp_path / "a")
    run("mlflow:tracking_uri=sqlite:///x.db", tmp_path / "b")
    assert [given["tracking_uri"] for given in record.of("client")] == ["http://127.0.0.1:5000", "sqlite:///x.db"]
    assert record.of("experiment")[0]["artifact_location"] is None
    assert "5000" not in (tmp_path / "a" / "tracking.json").read_text()  # an address may hold a password


def test_tensorboard(record: Recorder, tmp_path: Path) -> None:
    run("tensorboard:log_dir=" + str(tmp_path / "tb"), tmp_path, 1, 2, "stopped")
    run("tensorboard:log_dir=" + str(tmp_path / "tb"), tmp_path, 2, 3, "done")
    place = str(tmp_path / "tb" / f"encoding-rope-seed-0-{KEY[:8]}")
    assert record.of("open") == [{"folder": place}] * 2
    events = record.of("event")
    assert [event["step"] for event in events] == [0, 1, 2, 3, 3, 3]  # settings, two steps, a purge, one step
    assert events[3:5] == [{"step": 3, "file_version": "brain.Event:2"}, {"step": 3, "session_log": {"status": 1}}]
    assert events[5]["summary"]["value"] == [{"tag": "loss", "simple_value": 1 / 3}]
    after = [name for name, _ in record.calls]
    assert after.count("flush") == 3 and after[-1] == "finish"


def test_notes_of_one_place_say_nothing_about_another(record: Recorder, tmp_path: Path) -> None:
    run("tensorboard", tmp_path, 1, 3)
    run(f"tensorboard:log_dir={tmp_path / 'tb'}", tmp_path, 1, 3)
    assert len(record.of("open")) == 2
    assert [event["step"] for event in record.of("event")] == [0, 1, 2, 3] * 2


def test_what_trackio_prints_is_not_shown(
    record: Recorder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    from types import ModuleType

    module = ModuleType("trackio")
    exec("def init(**_):\n    print('* Trackio project initialized')\n    raise ValueError('no')", module.__dict__)
    monkeypatch.setitem(sys.modules, "trackio", module)
    warnings: list[str] = []
    with listening(tracker("trackio", tmp_path), tmp_path, warnings.append) as listener:
        listener(JobEvent(job(), "begun"))
        sys.stdout.write("ours\n")
    assert capfd.readouterr() == ("ours\n", "") and len(warnings) == 1
