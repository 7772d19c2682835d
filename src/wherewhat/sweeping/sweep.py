"""From a grid to a finished sweep: check the folder, run what is not finished, and read the table off the folders."""

import json
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from wherewhat.errors import UserError
from wherewhat.jobs.engines import Engine, OnEvent
from wherewhat.jobs.folder import JobFolder
from wherewhat.jobs.job import Job, JobFailure
from wherewhat.jobs.locks import only_parent
from wherewhat.jobs.run import refuse_same_folder, run_unfinished
from wherewhat.runs.registry import SweepRun
from wherewhat.sweeping.grid import Grid
from wherewhat.sweeping.table import failures_of, status_of, sweep_table
from wherewhat.sweeping.work import job_of
from wherewhat.tables.files import refuse_to_overwrite, write_whole
from wherewhat.tables.manifest.provenance import peak_memory, provenance
from wherewhat.tables.manifest.sweep import SweepManifest

RUNS, PLAN = "runs", "sweep.json"


@dataclass(frozen=True)
class SweepRequest:
    """What to run, where, and what to do with what is there."""

    grid: Grid
    folder: Path
    resume: bool = False
    overwrite: bool = False
    fail_fast: bool = False

    @cached_property
    def jobs(self) -> list[Job]:
        """One job per point."""
        return [job_of(point, self.grid.recipe) for point in self.grid.points]

    @property
    def runs(self) -> Path:
        """The folder of all runs."""
        return self.folder / RUNS


@dataclass(frozen=True)
class SweepResult:
    """A sweep to save, and why some of its runs failed."""

    run: SweepRun
    failures: Sequence[JobFailure]


def sweep(request: SweepRequest, *, engine: Engine, on_event: OnEvent = lambda event: None) -> SweepResult:
    """Train the net of every point that is not finished. A run that fails does not stop the others."""
    began, grid, jobs = time.perf_counter(), request.grid, request.jobs
    refuse_same_folder(jobs)
    refuse_to_overwrite(request.folder, kind=SweepRun.kind, overwrite=request.overwrite or request.resume)
    if not request.overwrite:
        _refuse_other_grid(request)
    JobFolder(request.runs).begin(overwrite=request.overwrite, resume=request.resume)
    with only_parent(request.runs):
        for job in jobs:
            JobFolder(request.runs).outcome(job)  # refuses runs of other settings before the first one begins
        write_whole(request.folder / PLAN, _plan(grid, jobs))
        failures = run_unfinished(jobs, request.runs, engine=engine, on_event=on_event, fail_fast=request.fail_fast)
        status = Counter(status_of(JobFolder(request.runs).of(job)) for job in jobs)
        manifest = SweepManifest(
            **provenance(),
            recipe=grid.recipe,
            over=grid.over,
            seeds=grid.seeds,
            measure=next(iter(grid.base.ends.values())),
            status=status,
            failures=failures_of(jobs, request.runs),
            workers=min(engine.workers, len(jobs)),
            settings=grid.base.to_dict(),
            seconds=round(time.perf_counter() - began, 3),
            peak_memory_bytes=peak_memory(),
        )
        return SweepResult(SweepRun(sweep_table(grid, jobs, request.runs), manifest), failures)


def _plan(grid: Grid, jobs: Sequence[Job]) -> bytes:
    points = [{"run": job.name, "key": job.key} for job in jobs]
    plan = {"recipe": grid.recipe, "over": grid.over, "seeds": list(grid.seeds), "points": points}
    return (json.dumps(plan, indent=2, ensure_ascii=False) + "\n").encode()


def _refuse_other_grid(request: SweepRequest) -> None:
    """Stop if the folder holds runs of another recipe, or points that this grid does not have."""
    path = request.folder / PLAN
    if not path.exists():
        return
    try:
        plan: dict[str, Any] = json.loads(path.read_bytes())
        recipe, known = plan["recipe"], [point["run"] for point in plan["points"]]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(f"{path} is damaged ({error}); delete it, and the runs beside it are kept") from error
    if recipe != request.grid.recipe:
        raise UserError(
            f"{request.folder} holds a sweep of the recipe {recipe}, not of {request.grid.recipe}; choose another --out"
        )
    missing = [name for name in known if name not in {point.name for point in request.grid.points}]
    if missing:
        raise UserError(
            f"{request.folder} holds {missing[0]}{f' and {len(missing) - 1} more' if missing[1:] else ''}, which this "
            "grid lacks; add its values and seeds (a grid may grow), or choose another --out"
        )
