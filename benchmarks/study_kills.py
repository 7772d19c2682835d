"""A study under fire: its command, then its workers, are killed at random moments; the table must not change by a byte.

`python -m benchmarks.study_kills syntax --seeds 1` runs the study undisturbed, then once per experiment, each time with
`--resume` after a kill. It takes several times as long as the study, and needs /proc, as only Linux has it.
"""

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from wherewhat.jobs.folder import RESULT

LIFE = (6.0, 22.0)  # seconds from one kill to the next, the least and the most; starting takes about four
KILLS = 20
TABLE = "result.parquet"
Command = list[str]


def workers_of(parent: int) -> list[int]:
    """The processes that run jobs for a command, which is their parent."""
    pids = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            stat, line = (path / "stat").read_text(), (path / "cmdline").read_bytes()
        except OSError:
            continue
        if int(stat.rpartition(")")[2].split()[1]) == parent and b"spawn_main" in line:
            pids.append(int(path.name))
    return sorted(pids)


def finished(out: Path) -> dict[str, float]:
    """The finished runs, and when each was written."""
    return {str(path): path.stat().st_mtime for path in out.glob(f"runs/*/{RESULT}")}


def kill_commands(command: Command, out: Path, chance: random.Random) -> tuple[int, int]:
    """Kill the whole command again and again, and resume it; how many kills, and how many finished runs were lost.

    A study that ends before there were enough kills begins again.
    """
    kills, lost, kept, again = 0, 0, finished(out), False
    while True:
        process = subprocess.Popen([*command, "--out", str(out), "--overwrite" if again else "--resume"])
        again = False
        try:
            assert process.wait(chance.uniform(*LIFE) if kills < KILLS else None) == 0
            if kills == KILLS:
                return kills, lost
            kept, again = {}, True
            continue
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        now, kills = finished(out), kills + 1
        lost, kept = lost + sum(now.get(path) != written for path, written in kept.items()), now


def kill_workers(command: Command, out: Path, chance: random.Random) -> tuple[int, int]:
    """Kill single workers of a command that is not told; if a run dies three times the command ends, and is resumed."""
    kills, lost = 0, 0
    while True:
        process = subprocess.Popen([*command, "--out", str(out), "--resume"])
        kept = finished(out)
        while process.poll() is None:
            time.sleep(chance.uniform(*LIFE) / 2)
            if kills < KILLS and (victims := workers_of(process.pid)):
                os.kill(chance.choice(victims), signal.SIGKILL)
                kills += 1
            now = finished(out)
            lost, kept = lost + sum(now.get(path) != written for path, written in kept.items()), now
        if process.returncode == 0:
            return kills, lost


def main() -> None:
    """Both experiments, each against an undisturbed run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("study")
    known, more = parser.parse_known_args()
    command = [sys.executable, "-m", "wherewhat", "reproduce", known.study, *more, "--quiet"]
    experiments: tuple[Callable[..., tuple[int, int]], ...] = (kill_commands, kill_workers)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        began = time.perf_counter()
        subprocess.run([*command, "--out", str(folder / "undisturbed")], check=True)
        print(f"undisturbed: {time.perf_counter() - began:.0f} s", flush=True)
        expected = (folder / "undisturbed" / TABLE).read_bytes()
        for experiment in experiments:
            out, began = folder / experiment.__name__, time.perf_counter()
            kills, lost = experiment(command, out, random.Random(0))
            same = (out / TABLE).read_bytes() == expected
            seconds = time.perf_counter() - began
            print(
                f"{experiment.__name__}: {kills} kills, {lost} finished runs lost, {seconds:.0f} s, same table: {same}"
            )
            sys.stdout.flush()
            if lost or not same:
                sys.exit(1)


if __name__ == "__main__":
    main()
