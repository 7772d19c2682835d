"""What an engine is: it runs jobs somewhere, each in its folder, and reports events. And the plainest of them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import ClassVar, Literal, Protocol

from wherewhat.jobs.job import Job, JobFailure
from wherewhat.jobs.perform import perform


@dataclass(frozen=True)
class JobEvent:
    """Something that happened to a job."""

    job: Job
    kind: Literal["begun", "step", "done", "died", "failed"]
    steps: int = 0  # done so far


OnEvent = Callable[[JobEvent], None]  # called in the process that started the jobs


def ended(job: Job, failure: JobFailure | None) -> JobEvent:
    """The last event of a job."""
    return JobEvent(job, "done", job.steps) if failure is None else JobEvent(job, "failed")


class Engine(Protocol):
    """Runs jobs, in any order. What is finished afterwards is in their folders.

    After a failure no further job begins, those that run are let finish, and the first failure is raised.
    """

    @property
    def workers(self) -> int:
        """How many jobs it runs at once, at most."""

    def run(self, jobs: Sequence[Job], folder: Path, on_event: OnEvent) -> None:
        """Run all jobs, each in its own folder inside `folder`."""


@dataclass(frozen=True)
class InlineEngine:
    """Runs jobs in this process, one after the other."""

    workers: ClassVar[int] = 1

    def run(self, jobs: Sequence[Job], folder: Path, on_event: OnEvent) -> None:
        """Run all jobs in order."""
        for job in jobs:
            on_event(JobEvent(job, "begun"))
            failure = perform(job, folder, partial(_report_step, job, on_event))
            on_event(ended(job, failure))
            if failure is not None:
                raise failure.error()


def _report_step(job: Job, on_event: OnEvent, steps: int) -> None:
    on_event(JobEvent(job, "step", steps))
