"""A sweep under fire: its command, then its workers, are killed at random moments, and no weight may change by a bit.

`python -m benchmarks.sweep_kills local` (or `ray`) trains six nets undisturbed, then once per experiment, each time
with `--resume` after a kill. It needs /proc, as only Linux has it.
"""

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

KILLS = 20
PATIENCE = {"local": 20.0, "ray": 90.0}  # seconds to notice that a command was killed; starting agents of Ray take 60
LIFE = {"local": (2.5, 6.0), "ray": (5.0, 12.0)}  # seconds from one kill to the next; starting takes about two and four
MARK = "WHEREWHAT_SWEEP_KILLS"  # in the environment of every process of an experiment, by which orphans are found
SETTINGS = ("steps=60", "evaluate_every=20", "checkpoint_every=5", "batch=512")
WORKERS = {"local": b"spawn_main", "ray": b"ray::perform"}  # in the command lines of processes that run jobs


def command(engine: str, out: Path, *more: str) -> list[str]:
    """Three encodings from two seeds, on two workers."""
    settings = [part for each in SETTINGS for part in ("--set", each)]
    grid = ["--over", "encoding=rope,alibi,none", "--seeds", "0,1", "--engine", engine, "--workers", "2"]
    return [sys.executable, "-m", "wherewhat", "sweep", "tiny", *settings, *grid, "--out", str(out), "--quiet", *more]


def processes(mark: str, words: bytes = b"") -> list[int]:
    """The living processes of an experiment whose command lines hold these words."""
    pids = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            marked = f"{MARK}={mark}".encode() in (path / "environ").read_bytes().split(b"\0")
            dead = (path / "stat").read_text().rpartition(")")[2].split()[0] == "Z"
            if marked and not dead and words in (path / "cmdline").read_bytes():
                pids.append(int(path.name))
        except OSError:
            continue
    return sorted(pids)


def start(engine: str, out: Path, *more: str) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(command(engine, out, *more), env={**os.environ, MARK: str(out)})


def kill_commands(engine: str, out: Path, chance: random.Random) -> int:
    """Kill the whole command again and again, and resume it; a sweep that ends before enough kills begins again."""
    kills, option = 0, "--resume"
    while True:
        process = start(engine, out, option)
        option = "--resume"
        try:
            assert process.wait(chance.uniform(*LIFE[engine]) if kills < KILLS else None) == 0
            if kills == KILLS:
                return kills
            option = "--overwrite"
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            kills += 1


def kill_workers(engine: str, out: Path, chance: random.Random) -> int:
    """Kill single workers of a command that is not told; if a run dies three times the command ends, and is resumed."""
    kills, option = 0, "--resume"
    while True:
        process = start(engine, out, option)
        option = "--resume"
        while process.poll() is None:
            time.sleep(chance.uniform(*LIFE[engine]) / 2)
            if kills < KILLS and (victims := processes(str(out), WORKERS[engine])):
                os.kill(chance.choice(victims), signal.SIGKILL)
                kills += 1
        if process.returncode == 0 and kills == KILLS:
            return kills
        option = "--overwrite" if process.returncode == 0 else "--resume"


def left_over(engine: str, mark: str) -> list[int]:
    """The processes of an experiment that do not end by themselves in time."""
    until = time.monotonic() + PATIENCE[engine]
    while (pids := processes(mark)) and time.monotonic() < until:
        time.sleep(0.2)
    return pids


def weights(out: Path) -> dict[str, bytes]:
    return {path.parts[-3]: path.read_bytes() for path in out.glob("runs/*/model/*.safetensors")}


def restarts(out: Path) -> int:
    """How many runs were begun from their first step again after a checkpoint: their log has a step 1 to 5 twice."""
    count = 0
    for path in out.glob("runs/*/progress.jsonl"):
        last = 0
        for line in path.read_text().splitlines():
            step = json.loads(line)["step"] if line.startswith("{") and line.endswith("}") else 0
            count += bool(0 < step <= 5 < last)
            last = max(last, step)
    return count


def main() -> None:
    """Both experiments, against an undisturbed sweep."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("engine", choices=sorted(LIFE))
    engine = parser.parse_args().engine
    experiments: tuple[Callable[..., int], ...] = (kill_commands, kill_workers)
    failed = False
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        subprocess.run(command(engine, folder / "undisturbed"), check=True)
        expected = weights(folder / "undisturbed")
        for experiment in experiments:
            out, began = folder / experiment.__name__, time.perf_counter()
            kills = experiment(engine, out, random.Random(0))
            orphans = left_over(engine, str(out))
            same, halves = weights(out) == expected, list(out.rglob(".*.partial"))
            figures = {
                "kills": kills,
                "seconds": round(time.perf_counter() - began),
                "same weights": same,
                "runs begun again from the first step": restarts(out),
                "orphans": len(orphans),
                "half files": len(halves),
            }
            print(f"{engine}, {experiment.__name__}: {json.dumps(figures)}", flush=True)
            failed |= not same or bool(orphans or halves or restarts(out))
    sys.exit(failed)


if __name__ == "__main__":
    main()
