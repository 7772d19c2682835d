"""Jobs under fire: workers, then parents, are killed at random moments, and nothing may be lost, repeated or left over.

`python -m benchmarks.kills` prints one line per experiment. It needs /proc, as only Linux has it.
"""

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from multiprocessing import active_children, resource_tracker
from pathlib import Path
from typing import Any
from uuid import uuid4

from wherewhat.jobs.engines import JobEvent, OnEvent
from wherewhat.jobs.folder import RESULT
from wherewhat.jobs.job import Job, JobContext, JobFailure
from wherewhat.jobs.local import MOST_DEATHS, LocalEngine
from wherewhat.jobs.registry import engine
from wherewhat.jobs.run import run_jobs
from wherewhat.tables.files import write_whole

ROOT = Path(__file__).resolve().parents[1]
KILLS, JOBS, STEPS, ROUNDS, WORKERS = 20, 12, 20, 150_000, 2
CHECKPOINT, NOTES = "checkpoint.json", "notes.txt"
MARK = "WHEREWHAT_KILLS"  # in the environment of every process of an experiment, by which orphans are found
WORKER_LIFE, PARENT_LIFE = (0.02, 0.5), (0.05, 1.0)  # seconds from one kill to the next, the least and the most


def add_up(settings: dict[str, Any], context: JobContext) -> list[int]:
    """The work: a chain of numbers, with a checkpoint after every step. Every start and every checkpoint is noted."""
    path = context.folder / CHECKPOINT
    chain = json.loads(path.read_bytes()) if path.exists() else [settings["seed"]]
    note(context.folder, "again" if (context.folder / RESULT).exists() else "start", len(chain) - 1)
    for step in range(len(chain), settings["steps"] + 1):
        state = chain[-1]
        for _ in range(settings["rounds"]):
            state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        chain.append(state)
        write_whole(path, json.dumps(chain).encode())
        note(context.folder, "checkpoint", step)
        context.step(step)
    return list(chain)


def note(folder: Path, what: str, step: int) -> None:
    """Add a line to what is known of a job."""
    with (folder / NOTES).open("a") as file:
        file.write(f"{what} {step}\n")


@dataclass
class KillReport:
    """What an experiment counted; everything from `lost` on must be 0."""

    name: str
    kills: int = 0
    runs: int = 0  # of all jobs: a new one begins if the last ended before there were enough kills
    attempts: int = 0
    jobs: int = 0
    seconds: float = 0.0
    undisturbed: float = 0.0  # seconds of a run without kills
    lost: int = 0  # finished jobs that were no longer so, or checkpoints that were not gone on from
    repeated: int = 0  # finished jobs that were begun again
    different: int = 0  # results with other bytes than those of an undisturbed run
    orphans: int = 0
    partial: int = 0  # half files
    slowest_end: float = 0.0  # seconds until the workers of a killed parent were gone

    @property
    def clean(self) -> bool:
        """Whether nothing was lost, repeated or left over."""
        return not any((self.lost, self.repeated, self.different, self.orphans, self.partial))

    def line(self) -> str:
        """The line on the screen."""
        return (
            f"{self.name}: {self.kills} kills, {self.runs} run(s) of {self.jobs // max(self.runs, 1)} jobs, "
            f"{self.attempts} attempts at {self.jobs} jobs, {self.seconds:.1f} s "
            f"(undisturbed {self.undisturbed:.1f} s a run); lost = {self.lost}, repeated = {self.repeated}, "
            f"different = {self.different}, orphans = {self.orphans}, half files = {self.partial}"
            f"{f'; workers gone {1000 * self.slowest_end:.0f} ms after their parent' if self.slowest_end else ''}"
        )

    def check(self, jobs: Sequence[Job], folder: Path, expected: dict[str, bytes]) -> None:
        """Count what is wrong after a run of all jobs."""
        self.runs, self.jobs = self.runs + 1, self.jobs + len(jobs)
        for job in jobs:
            place = folder / job.folder_name
            notes = [(what, int(step)) for what, step in map(str.split, (place / NOTES).read_text().splitlines())]
            self.attempts += json.loads((place / RESULT).read_bytes())["attempts"]
            self.lost += sum(what == "start" and step < before for (_, before), (what, step) in pairwise(notes))
            self.repeated += sum(what == "again" for what, _ in notes)
        self.different += sum(expected[name] != data for name, data in results(jobs, folder).items())
        self.partial += sum(1 for _ in folder.rglob(".*.partial"))
        until_gone()
        self.orphans += len(lingering())


def jobs_of(count: int = JOBS, steps: int = STEPS, rounds: int = ROUNDS) -> list[Job]:
    """So many jobs of about half a second."""
    return [
        Job(f"chain {seed}", "benchmarks.kills:add_up", {"seed": seed, "steps": steps, "rounds": rounds}, steps=steps)
        for seed in range(count)
    ]


def results(jobs: Sequence[Job], folder: Path) -> dict[str, bytes]:
    """The results of those that are finished, byte for byte, and their checkpoints."""
    finished = [job for job in jobs if (folder / job.folder_name / RESULT).exists()]
    return {
        job.name: json.dumps(json.loads((folder / job.folder_name / RESULT).read_bytes())["result"]).encode()
        + (folder / job.folder_name / CHECKPOINT).read_bytes()
        for job in finished
    }


def undisturbed(jobs: Sequence[Job], folder: Path, report: KillReport) -> dict[str, bytes]:
    """What every job should come to."""
    began = time.perf_counter()
    run_jobs(jobs, folder, engine=engine("local", WORKERS))
    report.undisturbed = time.perf_counter() - began
    return results(jobs, folder)


def kill_workers(folder: Path, jobs: Sequence[Job], *, kills: int = KILLS, seed: int = 0) -> KillReport:
    """Kill workers at random moments, while this process runs the jobs; it is not told."""
    report, chance = KillReport("killed workers"), random.Random(seed)
    with marked():
        expected = undisturbed(jobs, folder / "undisturbed", report)
        began = time.perf_counter()
        while report.kills < kills:
            target = ShootingRange(WORKERS, chance, kills - report.kills)
            run_jobs(jobs, folder / f"{report.runs}", engine=target)
            report.kills += target.hits
            report.check(jobs, folder / f"{report.runs}", expected)
    report.seconds = time.perf_counter() - began
    return report


@dataclass
class ShootingRange:
    """The engine `local`, and a thread that kills its workers, but none whose job has almost died too often."""

    workers: int
    chance: random.Random
    kills: int
    hits: int = 0
    noticed: int = 0
    deaths: Counter[str] = field(default_factory=Counter)  # of the jobs that are running
    over: threading.Event = field(default_factory=threading.Event)

    def run(
        self, jobs: Sequence[Job], folder: Path, on_event: OnEvent, *, fail_fast: bool = True
    ) -> Sequence[JobFailure]:
        """Run all jobs, and kill until they are done."""

        def heard(event: JobEvent) -> None:
            self.deaths[event.job.name] += event.kind == "died"
            self.noticed += event.kind == "died"
            if event.kind == "done":
                del self.deaths[event.job.name]
            on_event(event)

        killer = threading.Thread(target=self._kill)
        killer.start()
        try:
            return LocalEngine(self.workers).run(jobs, folder, heard, fail_fast=fail_fast)
        finally:
            self.over.set()
            killer.join()

    def _kill(self) -> None:
        while self.hits < self.kills and not self.over.wait(self.chance.uniform(*WORKER_LIFE)):
            victims = sorted(process.pid or 0 for process in active_children())
            worst = max([*self.deaths.values()], default=0) + self.hits - self.noticed
            if victims and worst < MOST_DEATHS - 1:
                os.kill(self.chance.choice(victims), signal.SIGKILL)
                self.hits += 1


def kill_parents(folder: Path, jobs: Sequence[Job], *, kills: int = KILLS, seed: int = 0) -> KillReport:
    """Kill the process that runs the jobs at random moments, and resume each time."""
    report, chance = KillReport("killed parents"), random.Random(seed)
    with marked():
        expected = undisturbed(jobs, folder / "undisturbed", report)
        write_whole(folder / "jobs.json", json.dumps([len(jobs), *list(jobs[0].settings.values())[1:]]).encode())
        began = time.perf_counter()
        while report.kills < kills:
            out, kept = folder / f"{report.runs}", dict[str, float]()
            while not one_life(folder / "jobs.json", out, chance, report, kills):
                finished = {str(path): path.stat().st_mtime for path in out.glob(f"*/{RESULT}")}
                report.lost += sum(finished.get(path) != written for path, written in kept.items())
                kept = finished
            report.check(jobs, out, expected)
    report.seconds = time.perf_counter() - began
    return report


def one_life(jobs: Path, out: Path, chance: random.Random, report: KillReport, kills: int) -> bool:
    """Run the jobs until they are done, which is told, or until a kill. Half of the kills wait for the workers' end."""
    process = subprocess.Popen([sys.executable, "-m", "benchmarks.kills", str(jobs), str(out)], cwd=ROOT)
    try:
        code = process.wait(None if report.kills >= kills else chance.uniform(*PARENT_LIFE))
        if code:
            raise RuntimeError(f"the parent ended with {code}")
        return True
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        report.kills += 1
        if chance.random() < 0.5:
            report.slowest_end = max(report.slowest_end, until_gone())
        return False


@contextmanager
def marked() -> Iterator[None]:
    """Mark all processes that are started in this block."""
    resource_tracker.ensure_running()  # which stays as long as this process, and is no orphan
    os.environ[MARK] = uuid4().hex
    try:
        yield
    finally:
        del os.environ[MARK]


def lingering() -> list[int]:
    """Marked processes that are alive. This one is not marked: it was started before."""
    mark, processes = f"{MARK}={os.environ[MARK]}".encode(), []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            is_marked = mark in (path / "environ").read_bytes().split(b"\0")  # of one that has ended it is empty
        except OSError:
            continue
        processes += [int(path.name)] if is_marked else []
    return processes


def until_gone(patience: float = 10.0) -> float:
    """Seconds until no marked process is left."""
    began = time.perf_counter()
    while lingering() and time.perf_counter() - began < patience:
        time.sleep(0.002)
    return time.perf_counter() - began


def main(arguments: Sequence[str]) -> None:
    """Both experiments; or, as a parent that will be killed, one run of all jobs."""
    if arguments:
        count, steps, rounds = json.loads(Path(arguments[0]).read_bytes())
        run_jobs(jobs_of(count, steps, rounds), Path(arguments[1]), engine=engine("local", WORKERS))
        return
    for experiment in (kill_workers, kill_parents):
        with tempfile.TemporaryDirectory() as folder:
            report = experiment(Path(folder), jobs_of())
        print(report.line(), flush=True)
        if not report.clean:
            sys.exit(1)


if __name__ == "__main__":
    main(sys.argv[1:])
