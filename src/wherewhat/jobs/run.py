"""Run every job once: a finished one is read from its folder, any other is run by an engine."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from wherewhat.errors import InternalError, UserError
from wherewhat.jobs.engines import Engine, JobEvent, OnEvent
from wherewhat.jobs.folder import JobFolder
from wherewhat.jobs.job import Job, JobFailure, JobOutcome
from wherewhat.jobs.locks import only_parent
from wherewhat.jobs.perform import STOP

OnProgress = Callable[[int, int, str], None]  # steps done, of how many, the names of the running jobs


def run_jobs(
    jobs: Sequence[Job], folder: Path | None, *, engine: Engine, on_progress: OnProgress | None = None
) -> list[JobOutcome]:
    """The outcome of every job, in order; the first failure is raised.

    Without a folder a temporary one is used, and removed afterwards.
    """
    refuse_same_folder(jobs)
    with _held(folder) as place:
        kept = JobFolder(place)
        failures = run_unfinished(jobs, place, engine=engine, on_event=_progress(jobs, on_progress))
        if failures:
            raise failures[0].error()
        return [_finished(kept, job) for job in jobs]


def run_unfinished(
    jobs: Sequence[Job], folder: Path, *, engine: Engine, on_event: OnEvent, fail_fast: bool = True
) -> Sequence[JobFailure]:
    """Run the jobs that are not finished, in a folder that this process holds, and return why some failed."""
    refuse_same_folder(jobs)
    kept = JobFolder(folder)
    kept.clear_partial()
    (folder / STOP).unlink(missing_ok=True)  # of a parent that was killed while it stopped
    left = [job for job in jobs if kept.outcome(job) is None]
    unfinished = {job.name for job in left}
    for job in jobs:
        if job.name not in unfinished:
            on_event(JobEvent(job, "kept", job.steps))
    return engine.run(left, folder, on_event, fail_fast=fail_fast) if left else ()


@contextmanager
def _held(folder: Path | None) -> Iterator[Path]:
    """The folder of all jobs, which no other process may use meanwhile."""
    if folder is None:
        with TemporaryDirectory(prefix="wherewhat-jobs-") as temporary:
            yield Path(temporary)
    else:
        with only_parent(folder):
            yield folder


def _finished(kept: JobFolder, job: Job) -> JobOutcome:
    if (outcome := kept.outcome(job)) is None:
        raise InternalError(f"job '{job.name}' ended without a result")
    return outcome


def _progress(jobs: Sequence[Job], on_progress: OnProgress | None) -> OnEvent:
    """Report the progress of all jobs together, and which are running."""
    done = dict.fromkeys((job.name for job in jobs), 0)
    total, running = sum(job.steps for job in jobs), dict[str, None]()

    def on_event(event: JobEvent) -> None:
        done[event.job.name] = min(event.steps, event.job.steps)
        if event.kind == "kept":
            return
        if event.kind in ("begun", "step"):
            running[event.job.name] = None
        else:
            running.pop(event.job.name, None)
        if on_progress is not None:
            on_progress(sum(done.values()), total, "; ".join(running))

    return on_event


def refuse_same_folder(jobs: Sequence[Job]) -> None:
    """Every job needs a folder of its own."""
    names = Counter(job.folder_name for job in jobs)
    for job in jobs:
        if not job.folder_name or names[job.folder_name] > 1:
            raise UserError(f"the name '{job.name}' does not give a run a folder of its own; give every run another")
