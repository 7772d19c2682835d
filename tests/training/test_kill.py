"""Killed at any moment and resumed, a run ends with the same bytes as an unbroken one."""

import os
import random
import signal
import stat
import time
from collections.abc import Mapping
from dataclasses import replace
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from wherewhat.training.loop import train
from wherewhat.training.run_folder import CHECKPOINT
from wherewhat.training.settings import TrainingSettings
from wherewhat.training.task_training import TaskSettings

RUNS = get_context("forkserver")  # imports the heavy things once; every run is a fresh process forked from there
RUNS.set_forkserver_preload(
    ["wherewhat.training.loop", "torch._dynamo"]
)  # an optimiser's first step imports the latter


def run(settings: TrainingSettings, out: Path, dies_at: int, steps: Connection | None) -> None:
    """Train, or go on training. With a connection, tell of every step and wait to be told to go on.

    At the sync numbered `dies_at` the file on its way to the disk is cut in half and the process kills itself.
    """
    sync, syncs = os.fsync, 0

    def fsync(handle: int) -> None:
        nonlocal syncs
        syncs += 1
        if syncs == dies_at:
            if stat.S_ISREG(os.fstat(handle).st_mode):
                os.ftruncate(handle, os.fstat(handle).st_size // 2)
            os.kill(os.getpid(), signal.SIGKILL)
        sync(handle)

    def on_step(step: int, measured: Mapping[str, float]) -> None:
        if steps is not None:
            steps.send(step)
            steps.recv()

    os.fsync = fsync
    train(settings, out=out, resume=True, on_step=on_step)


def files(out: Path) -> dict[str, bytes]:
    return {str(path.relative_to(out)): path.read_bytes() for path in sorted(out.rglob("*")) if path.is_file()}


@pytest.fixture
def unbroken(brief: TaskSettings, tmp_path: Path) -> dict[str, bytes]:
    train(brief, out=tmp_path / "unbroken")
    return files(tmp_path / "unbroken")


def test_killed_while_files_are_written(brief: TaskSettings, tmp_path: Path, unbroken: dict[str, bytes]) -> None:
    out = tmp_path / "run"
    # A checkpoint takes two syncs, its own and its folder's. A life writes the one that it starts from, then one at
    # steps 3, 6 and 9. Then curve, weights and config are written hidden, with a note of what they replace and a sync
    # of their folder, and take their places together.
    lives = [
        (1, set()),  # in the very first checkpoint
        (3, {CHECKPOINT}),  # in the one of step 3
        (6, {CHECKPOINT}),  # right after the one of step 6 got its name
        (3, {CHECKPOINT}),  # from step 6 on: in the checkpoint of step 9
        (5, {CHECKPOINT}),  # from step 6 on: in the curve
        (4, {CHECKPOINT}),  # from step 9 on: in the weights
        (5, {CHECKPOINT}),  # from step 9 on: in the config
        (7, {CHECKPOINT}),  # from step 9 on: with everything written and nothing in its place
        (8, {CHECKPOINT, *unbroken}),  # from step 9 on: with everything there, and the checkpoint still beside it
    ]
    for dies_at, left in lives:
        process = RUNS.Process(target=run, args=(brief, out, dies_at, None))
        process.start()
        process.join(timeout=300)
        assert process.exitcode == -signal.SIGKILL
        assert {name for name in files(out) if not name.startswith(".")} == left
    train(brief, out=out, resume=True)
    assert files(out) == unbroken
    assert {path.name for path in tmp_path.iterdir()} == {"run", "unbroken"}


@pytest.mark.parametrize(("kind", "seed"), [("brief", 0), ("brief", 1), ("reader", 2), ("copier", 3)])
def test_killed_at_random_moments(request: pytest.FixtureRequest, tmp_path: Path, kind: str, seed: int) -> None:
    settings: TrainingSettings = request.getfixturevalue(kind)
    chance, settings = random.Random(seed), replace(settings, steps=20, checkpoint_every=1, keep_every=5)
    for _ in range(3):
        steps, theirs = RUNS.Pipe()
        process = RUNS.Process(target=run, args=(settings, tmp_path / "run", 0, theirs))
        process.start()
        theirs.close()
        for _ in range(chance.randrange(1, 5)):
            steps.recv()
            steps.send("go on")
        time.sleep(chance.random() * 0.01)  # into the next step: learning, measuring, or writing its checkpoint
        process.kill()
        process.join(timeout=300)
        assert process.exitcode == -signal.SIGKILL
    train(settings, out=tmp_path / "run", resume=True)
    train(settings, out=tmp_path / "unbroken")
    assert files(tmp_path / "run") == files(tmp_path / "unbroken")
