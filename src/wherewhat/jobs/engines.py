"""What an engine is: it runs jobs somewhere, each in its folder, and reports events. And the plainest of them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Literal, Protocol

from wherewhat.jobs.job import Job, JobFailure
from wherewhat.jobs.perform import perform
from wherewhat.signals import stop_at_next_step

STOP_SECONDS = 10.0  # for jobs to reach their next step after an interruption


@dataclass(frozen=True)
class JobEvent:
    """Something that happened to a job."""

    job: Job
    kind: Literal["kept", "begun", "step", "done", "died", "failed"]  # kept: it was finished before
    steps: int = 0  # done so far
    measured: Mapping[str, float] = field(default_factory=dict)  # at this step, by measure


OnEvent = Callable[[JobEvent], None]  # called in the process that started the jobs


def ended(job: Job, failure: JobFailure | None) -> JobEvent:
    """The last event of a job."""
    return JobEvent(job, "done", job.steps) if failure is None else JobEvent(job, "failed")


class Engine(Protocol):
    """Runs jobs, in any order. What is finished afterwards is in their folders.

    Where it is interrupted, no further job begins, those that run stop at their next step, and what they have written
    stays.
    """

    @property
    def workers(self) -> int:
        """How many jobs it runs at once, at most."""

    def run(
        self, jobs: Sequence[Job], folder: Path, on_event: OnEvent, *, fail_fast: bool = True
    ) -> Sequence[JobFailure]:
        """Run all jobs, each in its own folder inside `folder`, and return why some failed.

        With `fail_fast`, no further job begins after the first failure, and those that run are let finish.
        """


@dataclass(frozen=True)
class InlineEngine:
    """Runs jobs in this process, one after the other."""

    workers: ClassVar[int] = 1

    def run(
        self, jobs: Sequence[Job], folder: Path, on_event: OnEvent, *, fail_fast: bool = True
    ) -> Sequence[JobFailure]:
        """Run all jobs in order."""
        failures: list[JobFailure] = []
        with stop_at_next_step(STOP_SECONDS) as check:
            for job in jobs:
                check()
                on_event(JobEvent(job, "begun"))

                def on_step(steps: int, measured: Mapping[str, float], job: Job = job) -> None:
                    on_event(JobEvent(job, "step", steps, measured))
                    check()

                failure = perform(job, folder, on_step)
                on_event(ended(job, failure))
                failures += [] if failure is None else [failure]
                if failures and fail_fast:
                    break
        return failures
