"""Run every job of a study once: a finished run is read from its file, any other runs in a process of its own."""

from collections.abc import Callable, Sequence
from functools import partial
from time import perf_counter
from typing import Any, Protocol, TypeVar

from wherewhat.studies.base import Request
from wherewhat.studies.finished_runs import Row, RunOutcome, finished_runs_in
from wherewhat.studies.parallel import Work, run_parallel


class Runnable(Protocol):
    """One run of a study: a condition from a seed."""

    @property
    def name(self) -> str:
        """The name under which its outcome is kept."""

    @property
    def steps(self) -> int:
        """Its length in steps."""

    def plain(self) -> dict[str, Any]:
        """Everything that determines its outcome, ready for JSON."""


Job = TypeVar("Job", bound=Runnable)
Timed = tuple[list[Row], float]  # the rows of a run, and how many seconds it took


def run_jobs(
    work: Work[Job, list[Row]], jobs: Sequence[Job], request: Request, *, code: str, workers: int | None = None
) -> list[RunOutcome]:
    """The outcome of every job. `code` is a hash of the code that determines it; runs from other code are refused."""
    finished = finished_runs_in(request.folder, code)
    finished.begin(overwrite=request.overwrite, resume=request.resume)
    settings = [job.plain() for job in jobs]
    outcomes = {
        number: outcome
        for number, (job, plain) in enumerate(zip(jobs, settings, strict=True))
        if (outcome := finished.outcome(job.name, plain)) is not None
    }
    left = [number for number in range(len(jobs)) if number not in outcomes]

    def on_done(place: int, timed: Timed) -> None:
        outcome = outcomes[left[place]] = RunOutcome(*timed)
        finished.keep(jobs[left[place]].name, settings[left[place]], outcome)

    to_do = [jobs[number] for number in left]
    steps_before = sum(jobs[number].steps for number in outcomes)
    on_progress = _progress(to_do, steps_before, request)
    run_parallel(partial(_timed, work), to_do, on_progress=on_progress, on_done=on_done, workers=workers)
    return [outcomes[number] for number in range(len(jobs))]


def _timed(work: Work[Job, list[Row]], job: Job, on_steps: Callable[[int], None]) -> Timed:
    """The rows of a run, and how many seconds it took."""
    began = perf_counter()
    return work(job, on_steps), perf_counter() - began


def _progress(jobs: Sequence[Runnable], steps_before: int, request: Request) -> Callable[[int, int], None]:
    """Report the progress of all runs together, and which are running."""
    done, total = [0] * len(jobs), steps_before + sum(job.steps for job in jobs)

    def on_progress(place: int, step: int) -> None:
        done[place] = step
        running = [job.name for job, steps in zip(jobs, done, strict=True) if 0 < steps < job.steps]
        request.step(steps_before + sum(done), total, "; ".join(running))

    return on_progress
