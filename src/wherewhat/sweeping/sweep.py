"""From a grid to a finished sweep: check the folder, run what is not finished, and read the table off the folders."""

import json
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from wherewhat.errors import UserError
from wherewhat.jobs.engines import Engine, OnEvent
from wherewhat.jobs.folder import JobFolder
from wherewhat.jobs.job import Job, JobFailure
from wherewhat.jobs.locks import only_parent
from wherewhat.jobs.registry import engine as engine_called
from wherewhat.jobs.run import refuse_same_folder, run_unfinished
from wherewhat.recipes.registry import recipe as recipe_called
from wherewhat.runs.registry import SweepRun
from wherewhat.sweeping.evaluation import evaluation_of
from wherewhat.sweeping.grid import Grid, check_over
from wherewhat.sweeping.table import failures_of, status_of, sweep_table
from wherewhat.sweeping.work import WORK, job_of, take_over, was_trained_alone
from wherewhat.tables.files import refuse_to_overwrite, write_whole
from wherewhat.tables.manifest.provenance import peak_memory, provenance
from wherewhat.tables.manifest.sweep import SweepManifest
from wherewhat.tracking.notes import TRACKING
from wherewhat.training.settings import changed

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


def sweep(
    recipe: str,
    folder: str | Path,
    *,
    over: Mapping[str, Sequence[object]] | None = None,
    seeds: Sequence[int] = (),
    changes: Mapping[str, object] | None = None,
    engine: str = "local",
    workers: int | None = None,
    address: str | None = None,
    shared: bool = False,
    resume: bool = False,
    overwrite: bool = False,
    fail_fast: bool = False,
    on_event: OnEvent = lambda event: None,
) -> SweepRun:
    """Train a recipe at every combination of settings, from every seed, and write runs, table and page into `folder`.

    `over` has a list of values per field, `changes` one value per field for all runs. `engine` is local (as many
    processes as `workers`), ray (the same by Ray, also on the cluster at `address` if `folder` is on storage that is
    `shared` by its nodes) or inline (in this process); the result is the same. A run that fails does not stop the
    others unless `fail_fast`: `manifest.failures` of the result says why it did. `resume` keeps what is finished.
    """
    values = {field: [_typed(value) for value in its] for field, its in (over or {}).items()}
    base = changed(recipe_called(recipe), [f"{field}={_typed(value)}" for field, value in (changes or {}).items()])
    grid = Grid.of(recipe, base, check_over(values), seeds)
    request = SweepRequest(grid, Path(folder), resume=resume, overwrite=overwrite, fail_fast=fail_fast)
    runner = engine_called(engine, workers, address, shared=shared)
    run = run_sweep(request, engine=runner, on_event=on_event).run
    run.save(request.folder, overwrite=True)
    return run


def _typed(value: object) -> str:
    """A value as it would be typed.

    >>> [_typed(value) for value in ("rope", 1e-3, True, (0.9, 0.99), {"base": 500})]
    ['rope', '0.001', 'true', '0.9,0.99', '{"base": 500}']
    """
    if isinstance(value, str):
        return value
    if isinstance(value, list | tuple):
        return ",".join(map(_typed, value))
    return json.dumps(value)


def run_sweep(request: SweepRequest, *, engine: Engine, on_event: OnEvent = lambda event: None) -> SweepResult:
    """Train the net of every point that is not finished. A run that fails does not stop the others."""
    began, grid, jobs = time.perf_counter(), request.grid, request.jobs
    kept = JobFolder(request.runs)
    _refuse_folder(request, kept)
    kept.begin(overwrite=request.overwrite, resume=request.resume)
    with only_parent(request.runs):
        if request.overwrite:
            (request.folder / TRACKING).unlink(missing_ok=True)  # what trackers have of runs that are gone
        for point, job in zip(grid.points, jobs, strict=True):
            if request.resume and was_trained_alone(kept.of(job)):
                take_over(point, job, kept.of(job))
            kept.outcome(job)  # refuses runs of other settings before the first one begins
        write_whole(request.folder / PLAN, _plan(grid, jobs))
        failures = run_unfinished(jobs, request.runs, engine=engine, on_event=on_event, fail_fast=request.fail_fast)
        status = Counter(status_of(kept.of(job)) for job in jobs)
        evaluation = evaluation_of(point.settings for point in grid.points)
        manifest = SweepManifest(
            **provenance(),
            recipe=grid.recipe,
            over=grid.over,
            seeds=grid.seeds,
            measure=next(iter(grid.base.ends.values())),
            status=status,
            failures=failures_of(jobs, request.runs),
            samples=evaluation.samples,
            chance=evaluation.chance,
            workers=min(engine.workers, len(jobs)),
            settings=grid.base.to_dict(),
            seconds=round(time.perf_counter() - began, 3),
            peak_memory_bytes=peak_memory(),
        )
        return SweepResult(SweepRun(sweep_table(grid, jobs, request.runs), manifest), failures)


def _refuse_folder(request: SweepRequest, kept: JobFolder) -> None:
    """Stop, before anything is written, if the folder holds something that this sweep would neither use nor replace."""
    refuse_same_folder(request.jobs)
    refuse_to_overwrite(request.folder, kind=SweepRun.kind, overwrite=True)  # another kind of run
    kept.refuse_other_work(WORK)
    if request.overwrite:
        return
    if not request.resume:
        kept.refuse_any()  # mentions --resume, which the next refusal does not
        refuse_to_overwrite(request.folder, kind=SweepRun.kind, overwrite=False)
        if alone := [job.name for job in request.jobs if was_trained_alone(kept.of(job))]:
            raise UserError(f"{request.runs} holds training runs ({alone[0]}); add --resume to take them over")
    _refuse_other_grid(request)


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
