"""Whatever happens to single points of a sweep, the others finish, nothing is lost, and nothing half done is left."""

import json
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

SMALL = [f"--set={each}" for each in ("layers=1", "heads=2", "batch=4", "evaluate_samples=8")]
QUICK = [*SMALL, "--set=steps=12", "--set=evaluate_every=4", "--set=checkpoint_every=4"]
MARK = "WHEREWHAT_SWEEP"  # in the environment of a command and of all processes that come from it


def arguments(out: Path, *more: object) -> list[str]:
    return ["sweep", "tiny", *QUICK, "--workers", "2", "--quiet", "--out", str(out), *map(str, more)]


def command(out: Path, *more: object, limit: Callable[[], None] | None = None) -> "subprocess.CompletedProcess[str]":
    """The command in a process of its own, under a limit that its workers inherit."""
    return subprocess.run(
        [sys.executable, "-m", "wherewhat", *arguments(out, *more)],
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
