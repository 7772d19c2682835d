"""Run one job in its folder: what every engine does, in this process or in another, with plain JSON only."""

import json
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict
from importlib import import_module
from pathlib import Path

from wherewhat.errors import UserError
from wherewhat.jobs.folder import ERROR, JOB, PARTIAL, PROGRESS, RESULT, JobFolder
from wherewhat.jobs.job import Job, JobContext, JobFailure, JobOutcome, Work
from wherewhat.jobs.keys import as_json
from wherewhat.jobs.locks import only_worker
from wherewhat.jobs.progress_log import ProgressLog
from wherewhat.signals import StopRequested
from wherewhat.tables.files import write_whole

OnStep = Callable[[int, Mapping[str, float]], None]
STOP = ".stop"  # a file in the folder of all jobs while those that run are to stop


def order_of(job: Job, folder: Path) -> bytes:
    """A job as a message to another process."""
    return _json({"job": asdict(job), "folder": str(folder.absolute())})


def perform_order(order: bytes) -> bytes:
    """Run the job of a message; the answer has its failure, or nothing if it is finished or was stopped."""
    entry = json.loads(order)
    try:
        failure = perform(Job(**entry["job"]), Path(entry["folder"]))
    except StopRequested:
        return _json(None)
    return _json(failure and failure.plain())


def read_answer(answer: bytes) -> JobFailure | None:
    """What the process says that ran a job: why it failed, or nothing."""
    entry = json.loads(answer)
    return None if entry is None else JobFailure(**entry)


def perform(job: Job, folder: Path, on_step: OnStep = lambda steps, measured: None) -> JobFailure | None:
    """Run a job unless it is finished. Afterwards its folder has the result, or why there is none.

    Raises `StopRequested` at its next step once the jobs are to stop; what it has written stays.
    """
    jobs = JobFolder(folder)
    place = jobs.of(job)
    try:
        place.mkdir(parents=True, exist_ok=True)
        with only_worker(place):
            if jobs.outcome(job) is None:
                _run(job, place, on_step)
        return None
    except Exception as error:
        failure = JobFailure.of(job, error, traceback.format_exc())
        write_failure(failure, place)
        return failure


def _run(job: Job, place: Path, on_step: OnStep) -> None:
    for path in [*place.rglob(PARTIAL), place / ERROR]:
        if path.is_file():
            path.unlink()
    if not (place / JOB).exists():
        write_job(job, place)
    log = ProgressLog(place / PROGRESS)

    def step(steps: int, measured: Mapping[str, float] = {}, *, keep: bool = False) -> None:
        log.step(steps, measured, keep=keep)
        on_step(steps, measured)
        if (place.parent / STOP).exists():
            raise StopRequested

    result = _work(job.work)(as_json(job.settings), JobContext(place.absolute(), step))
    write_outcome(JobOutcome(result, log.seconds, log.attempt), place)


def write_job(job: Job, place: Path) -> None:
    """Note that a folder is that of a job."""
    write_whole(place / JOB, _json({**asdict(job), "key": job.key}))


def write_outcome(outcome: JobOutcome, place: Path) -> None:
    """Note that a job is finished."""
    write_whole(place / RESULT, _json(asdict(outcome)))


@contextmanager
def stopping(folder: Path) -> Iterator[None]:
    """Let all jobs that run in a folder stop at their next step."""
    with suppress(OSError):
        (folder / STOP).touch()
    try:
        yield
    finally:
        (folder / STOP).unlink(missing_ok=True)


def _work(name: str) -> Work:
    module, _, function = name.partition(":")
    work: Work = getattr(import_module(module), function)
    return work


def write_failure(failure: JobFailure, place: Path) -> None:
    """Keep why a job failed, if its folder can be written at all."""
    with suppress(UserError):
        write_whole(place / ERROR, _json(failure.plain()))


def _json(entry: object) -> bytes:
    return json.dumps(entry).encode() + b"\n"
