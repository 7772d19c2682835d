"""The table of a sweep: a view of its run folders, which are the truth."""

import json
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import polars as pl

from wherewhat.jobs.folder import ERROR, PROGRESS, RESULT, JobFolder
from wherewhat.jobs.job import Job
from wherewhat.jobs.progress_log import last_line
from wherewhat.sweeping.grid import Grid
from wherewhat.tables.manifest.sweep import FailureSection
from wherewhat.tables.parquet import read_parquet
from wherewhat.tables.schema import SWEEP, frame
from wherewhat.training.run_folder import CHECKPOINT, CURVE

DONE, BEGUN, FAILED, WAITING = "done", "begun", "failed", "waiting"


def status_of(folder: Path) -> str:
    """The state of the run in a folder."""
    if (folder / RESULT).exists():
        return DONE
    if (folder / ERROR).exists():
        return FAILED
    return BEGUN if (folder / CHECKPOINT).exists() else WAITING


def sweep_table(grid: Grid, jobs: Sequence[Job], runs: Path) -> pl.DataFrame:
    """One row per number of every finished run, and one without a number for every other."""
    rows: list[tuple[Any, ...]] = []
    for point, job in zip(grid.points, jobs, strict=True):
        folder = JobFolder(runs).of(job)
        status, last = status_of(folder), last_line(folder / PROGRESS)
        front = (point.name, job.key, *point.values.values(), point.seed)
        if status != DONE:
            rows.append((*front, None, None, last["step"], status, last["seconds"], last["attempt"]))
            continue
        outcome = JobFolder(runs).outcome(job)
        assert outcome is not None
        ending = (status, outcome.seconds, outcome.attempts)
        curve = read_parquet(folder / CURVE)
        rows += [(*front, measure, value, step, *ending) for step, measure, value in curve.iter_rows()]
    names = list(SWEEP)
    after_key, kinds = names.index("key") + 1, dict.fromkeys(grid.over, pl.String)
    table = frame(rows, {**_some(names[:after_key]), **kinds, **_some(names[after_key:])})
    return table.with_columns(_typed(table[field]) for field in grid.over)


def _some(names: Sequence[str]) -> dict[str, Any]:
    return {name: SWEEP[name] for name in names}


def _typed(column: pl.Series) -> pl.Series:
    """Values as numbers where all of them are."""
    for kind in (pl.Int64, pl.Float64):
        with suppress(pl.exceptions.PolarsError):
            return column.cast(kind)
    return column


def failures_of(jobs: Sequence[Job], runs: Path) -> list[FailureSection]:
    """Every run that failed, with the sentence that says why."""
    failures = []
    for job in jobs:
        folder = JobFolder(runs).of(job)
        if status_of(folder) == FAILED:
            sentence = "its error.json cannot be read"
            with suppress(OSError, ValueError, KeyError, TypeError):
                sentence = str(json.loads((folder / ERROR).read_bytes())["sentence"])
            failures.append(FailureSection(run=job.name, sentence=sentence))
    return failures
