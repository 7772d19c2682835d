"""Whatever happens to single points of a sweep, the others finish, nothing is lost, and nothing half done is left."""

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from wherewhat.cli.main import main
from wherewhat.training.loop import train

SMALL = [f"--set={each}" for each in ("layers=1", "heads=2", "batch=4", "evaluate_samples=8")]
QUICK = [*SMALL, "--set=steps=12", "--set=evaluate_every=4", "--set=checkpoint_every=4"]
MARK = "WHEREWHAT_SWEEP"  # in the environment of a command and of all processes that come from it


def arguments(out: Path, *more: object, workers: int = 2) -> list[str]:
    return ["sweep", "tiny", *QUICK, "--workers", str(workers), "--quiet", "--out", str(out), *map(str, more)]


def command(out: Path, *more: object, limit: Callable[[], None] | None = None) -> "subprocess.CompletedProcess[str]":
    """The command in a process of its own, under a limit that its workers inherit."""
    return subprocess.run(
        [sys.executable, "-m", "wherewhat", *arguments(out, *more, workers=1)],
        env={**os.environ, MARK: str(out)},
        preexec_fn=limit,
        capture_output=True,
        text=True,
        timeout=120,
    )


def left_over(out: Path) -> list[str]:
    """Processes of a sweep that are still there, and half files."""
    processes = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            if f"{MARK}={out}".encode() in (path / "environ").read_bytes().split(b"\0"):
                processes.append((path / "cmdline").read_bytes().replace(b"\0", b" ").decode())
        except OSError:
            continue
    return [*processes, *(str(path) for path in out.rglob(".*") if path.name != ".lock")]


def status(out: Path) -> dict[str, str]:
    return dict(pl.read_parquet(out / "sweep.parquet").select("run", "status").unique().rows())


def weights(out: Path) -> dict[str, bytes]:
    return {path.parts[-3]: path.read_bytes() for path in sorted(out.glob("runs/*/model/*.safetensors"))}


@pytest.mark.skipif(sys.platform != "linux", reason="limits of memory hold on Linux only")
def test_a_point_that_runs_out_of_memory_fails_alone(tmp_path: Path):
    out = tmp_path / "sweep"

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (12 * 2**30, resource.RLIM_INFINITY))

    process = command(out, "--over", "width=60000,16", "--seeds", "0", limit=limit)
    assert process.returncode == 2, process.stderr
    sentence = "memory ran out in 'width=60000,seed=0'; give fewer --workers, or smaller settings"
    assert f"wherewhat: width=60000,seed=0 failed: {sentence}" in process.stderr
    assert "Traceback" not in process.stderr
    assert status(out) == {"width=60000,seed=0": "failed", "width=16,seed=0": "done"}
    error = json.loads((out / "runs" / "width-60000-seed-0" / "error.json").read_text())
    assert error["sentence"] == sentence and "Traceback" in error["traceback"]
    assert left_over(out) == []


def test_a_point_that_raises_fails_alone_and_is_tried_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    from wherewhat.sweeping import work

    def stumble(settings: Any, **options: Any) -> Any:
        if settings.seed == 0:
            raise ZeroDivisionError("nobody thought of this")
        return train(settings, **options)

    out, alone = tmp_path / "sweep", ("--engine", "inline", "--seeds", "0,1", "--set=width=16")
    with monkeypatch.context() as patch:
        patch.setattr(work, "train", stumble)
        assert main([*arguments(out, workers=1), *alone]) == 1  # not the user's to mend
    printed = capsys.readouterr().err
    assert "wherewhat: seed=0 failed: ZeroDivisionError: nobody thought of this\n" in printed and "Trace" not in printed
    assert (
        status(out) == {"seed=0": "failed", "seed=1": "done"} and "nobody thought" in (out / "report.html").read_text()
    )
    assert "in stumble" in json.loads((out / "runs" / "seed-0" / "error.json").read_text())["traceback"]
    assert main([*arguments(out, workers=1), *alone, "--resume"]) == 0
    assert status(out) == {"seed=0": "done", "seed=1": "done"} and not list(out.rglob("error.json"))
    assert left_over(out) == []


MOMENTS = {  # and what is replaced by a kill
    "the last checkpoint is there, and nothing of the run": "wherewhat.training.loop.write_outcome",
    "the run is there, and its checkpoint": "wherewhat.training.run_folder.clear_checkpoint",
    "the run is there, and its job is not finished": "wherewhat.jobs.perform.write_outcome",
    "all runs are there, and not their table": "wherewhat.cli.sweep.write_run",
}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    out = tmp_path_factory.mktemp("undisturbed") / "sweep"
    assert main([*arguments(out, workers=1), "--engine", "inline", "--seeds", "0,1", "--set=width=16"]) == 0
    return weights(out)


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_kill_between_two_files_of_a_run_loses_nothing(moment: str, undisturbed: dict[str, bytes], tmp_path: Path):
    out, (module, _, function) = tmp_path / "sweep", MOMENTS[moment].rpartition(".")
    options = [*arguments(out, workers=1), "--engine", "inline", "--seeds", "0,1", "--set=width=16"]
    script = (
        f"import os, signal, sys, {module} as module\n"
        f"module.{function} = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)\n"
        "from wherewhat.cli.main import main\n"
        "main(sys.argv[1:])"
    )
    process = subprocess.run([sys.executable, "-c", script, *options], timeout=120)
    assert process.returncode == -signal.SIGKILL
    assert main([*options, "--resume"]) == 0
    assert weights(out) == undisturbed and set(status(out).values()) == {"done"}
    logs = {path.parent.name: path.read_text().splitlines() for path in out.glob("runs/*/progress.jsonl")}
    steps = [[json.loads(line)["step"] for line in log if json.loads(line)["step"]] for log in logs.values()]
    assert all(its == sorted(set(its)) for its in steps)  # none was repeated
    assert left_over(out) == [] and not list(out.rglob("checkpoint.safetensors"))


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system with room for 1 MB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)]
    if not shutil.which("mount") or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("a small file system may not be mounted here")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


def test_a_full_disk_fails_what_has_no_room_and_resuming_with_room_does_the_rest(
    small_disk: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    out, grid = small_disk / "sweep", ("--engine", "inline", "--seeds", "0", "--over", "width=256,16")
    assert main([*arguments(out, workers=1), *grid]) == 2
    first, last = capsys.readouterr().err.splitlines()
    place = out / "runs" / "width-256-seed-0"
    assert first.startswith(
        f"wherewhat: width=256,seed=0 failed: the disk is full: {place}/checkpoint.safetensors could"
    )
    assert last.startswith(
        f"wherewhat: the disk is full: {out} could not be written; free some space"
    )  # no room for a page
    assert "the disk is full" in json.loads((place / "error.json").read_text())["sentence"]
    assert (out / "runs" / "width-16-seed-0" / "result.json").exists() and left_over(out) == []
    subprocess.run(["mount", "-o", "remount,size=64m", str(small_disk)], check=True)
    assert main([*arguments(out, workers=1), *grid, "--resume"]) == 0
    assert main([*arguments(tmp_path / "whole", workers=1), *grid]) == 0
    assert weights(out) == weights(tmp_path / "whole") and left_over(out) == []
    attempts = pl.read_parquet(out / "sweep.parquet").select("run", "attempts").unique()
    assert dict(attempts.rows()) == {"width=256,seed=0": 2, "width=16,seed=0": 1}
