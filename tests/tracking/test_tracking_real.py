"""Real trackio and TensorBoard, on a temporary folder with the network off: what is read back is what was logged."""

import importlib.util
import json
import os
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from tracking_fakes import CONFIG, job, measured

HERE = Path(__file__).parent
JOBS = [job(), job("encoding=alibi,seed=0", other=1)]
LABELS = [f"{each.name}-{each.key[:8]}" for each in JOBS]
EXPECTED = {step: measured(step) for step in range(1, 11)}


def needs(package: str) -> pytest.MarkDecorator:
    missing = importlib.util.find_spec(package) is None
    return pytest.mark.skipif(missing, reason=f"{package} is not installed: pip install 'wherewhat[{package}]'")


def log(text: str, folder: Path, first: int, last: int, ending: str = "done") -> None:
    """Log steps in a process of its own, which must print nothing and reach nobody."""
    sends_out = {
        "TRACKIO_SPACE_ID": "someone/space",
        "TRACKIO_SERVER_URL": "http://127.0.0.1:9/?write_token=x",
        "HF_TOKEN": "hf_none",
        "HF_HUB_OFFLINE": "0",
    }
    environment = {**os.environ, **sends_out, "TRACKIO_DIR": str(folder / "trackio"), "PYTHONWARNINGS": "default"}
    command = [sys.executable, str(HERE / "real_tools.py"), text, str(folder), str(first), str(last), ending]
    began = time.monotonic()
    process = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert (process.returncode, process.stdout, process.stderr) == (9 if ending == "killed" else 0, "", "")
    assert time.monotonic() - began < 20


def trackio_rows(folder: Path) -> list[tuple[str, str, int, dict[str, float]]]:
    with sqlite3.connect(folder / "trackio" / "wherewhat.db") as database:
        rows = database.execute("SELECT run_name, run_id, step, metrics FROM metrics ORDER BY id").fetchall()
    database.close()
    return [(name, number, step, json.loads(metrics)) for name, number, step, metrics in rows]


@needs("trackio")
@pytest.mark.parametrize("ending", ["killed", "done"])
def test_trackio_has_every_step_once_under_one_identity(tmp_path: Path, ending: str) -> None:
    if ending == "killed":
        log("trackio", tmp_path, 1, 6, "killed")  # before trackio wrote what it had accepted
        log("trackio", tmp_path, 1, 6, "killed")
        log("trackio", tmp_path, 1, 10)
    else:
        log("trackio", tmp_path, 1, 10)
        log("trackio", tmp_path, 1, 10)
    rows = trackio_rows(tmp_path)
    for label in LABELS:
        mine = [(number, step, numbers) for name, number, step, numbers in rows if name == label]
        assert len({number for number, _, _ in mine}) == 1
        steps = [step for _, step, _ in mine]
        assert steps == [*EXPECTED], "a step was lost or repeated"
        assert all(numbers == EXPECTED[step] for _, step, numbers in mine)


@needs("trackio")
def test_trackio_knows_settings_and_group(tmp_path: Path) -> None:
    log("trackio", tmp_path / "sweep", 1, 2)
    with sqlite3.connect(tmp_path / "sweep" / "trackio" / "wherewhat.db") as database:
        stored = dict(database.execute("SELECT run_name, config FROM configs").fetchall())
    database.close()
    config = json.loads(stored[LABELS[0]])
    assert config["_Group"] == "sweep" and config["_Username"] is None
    assert {name: value for name, value in config.items() if not name.startswith("_")} == CONFIG


@needs("tensorboard")
@pytest.mark.parametrize("ending", ["killed", "done", "begun again"])
def test_tensorboard_has_every_step_once(tmp_path: Path, ending: str) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    log("tensorboard", tmp_path, 1, 6, "killed" if ending == "killed" else "done")
    notes = tmp_path / "tracking.json"
    kept = json.loads(notes.read_text())
    for run in kept["tensorboard"].values():
        assert run["step"] == 6 or (ending, run["step"]) == ("killed", 5)
        run |= {"step": 5, "finished": False}  # as if it was killed before the last note
    notes.unlink() if ending == "begun again" else notes.write_text(json.dumps(kept))
    time.sleep(1.1)  # its files are read in the order of their names, which have the second
    log("tensorboard", tmp_path, 1 if ending == "begun again" else 4, 10)
    for each in JOBS:
        (folder,) = (tmp_path / "tensorboard").glob(f"*{each.key[:8]}")
        events = EventAccumulator(str(folder))
        events.Reload()
        for measure in ("loss", "accuracy"):
            expected = [(step, np.float32(EXPECTED[step][measure])) for step in EXPECTED if measure in EXPECTED[step]]
            assert [(event.step, event.value) for event in events.Scalars(measure)] == expected
        settings = events.Tensors("settings")[-1]
        assert '"settings.net.width": 64' in settings.tensor_proto.string_val[0].decode()
