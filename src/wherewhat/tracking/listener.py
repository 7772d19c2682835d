"""Listen to the events of runs for a tracker, in a thread of its own: it can neither stop a run nor slow it."""

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from math import inf
from pathlib import Path
from queue import SimpleQueue

from wherewhat.errors import UserError
from wherewhat.jobs.engines import JobEvent, OnEvent
from wherewhat.jobs.folder import JobFolder
from wherewhat.jobs.job import Job
from wherewhat.jobs.progress_log import EVERY
from wherewhat.progress import Say
from wherewhat.tracking.base import Tracker
from wherewhat.tracking.feed import TrackerFeed, is_evaluation
from wherewhat.tracking.registry import tracker

MOST_WAITING = 10_000  # events
CLOSE_SECONDS = 10.0  # for the tracker to take what still waits
BURST = 50  # steps without an evaluation at once; an engine that was busy reports several seconds together


@contextmanager
def tracking(
    text: str | None, folder: Path, jobs: Sequence[Job], *, runs: Path, say: Say, anew: bool = False
) -> Iterator[OnEvent]:
    """Log all jobs to the tracker of an option such as `trackio`; without one, to none.

    `folder` is that of the whole sweep, `runs` the one with a folder per job. Runs that finished earlier are logged too
    where the tracker lacks them, at the end. With `anew` all runs begin again.
    """
    if text is None:
        yield lambda event: None
        return
    with TrackingListener(tracker(text, folder), folder, runs=runs, say=say, anew=anew) as listener:
        yield listener
        listener.catch_up(jobs)


class TrackingListener:
    """Takes events where the runs were started, and returns at once; whatever the tracker does, at most one warning.

    `say` is called only in the thread that the events come from.
    """

    def __init__(
        self,
        tracker: Tracker,
        folder: Path,
        *,
        runs: Path,
        say: Say,
        most_waiting: int = MOST_WAITING,
        anew: bool = False,
    ) -> None:
        self._feed = TrackerFeed(tracker, folder, runs, anew=anew)  # used only by the thread
        self._name, self._runs, self._say, self._most = tracker.name, runs, say, most_waiting
        self._queue: SimpleQueue[JobEvent | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._work, name=f"tracking {tracker.name}", daemon=True)
        self._budgets: dict[str, PointBudget] = {}
        self._refused: set[str] = set()  # runs whose events the queue had no room for
        self._broken: set[str] = set()  # runs that the tracker raised an error for
        self._problem, self._warned, self._abandoned = "", False, False

    def __call__(self, event: JobEvent) -> None:
        """Take an event."""
        name, event = event.job.name, replace(event, measured=_numbers(event.measured))
        if name not in self._refused | self._broken and self._is_due(event):
            if self._queue.qsize() < self._most:
                self._put(event)
            else:
                self._refused.add(name)
                self._problem = self._problem or f"'{name}' (it is too slow)"
        self._warn()

    def catch_up(self, jobs: Sequence[Job]) -> None:
        """Log what the tracker lacks of finished runs, once no run can be held up."""
        self._refused.clear()
        for job in jobs:
            with suppress(UserError):  # a run with other settings
                if JobFolder(self._runs).outcome(job) is not None:
                    self(JobEvent(job, "done", job.steps))

    def close(self, seconds: float = CLOSE_SECONDS) -> None:
        """Wait so long for the tracker, then leave it behind."""
        if self._thread.ident is not None:
            self._queue.put(None)
            self._thread.join(seconds)
            if self._thread.is_alive():
                self._abandoned = True
                self._problem = self._problem or f"the runs (it needed more than {seconds:g} s to finish)"
        self._warn()

    def __enter__(self) -> "TrackingListener":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _is_due(self, event: JobEvent) -> bool:
        """Whether to log an event: every evaluation, and about as many other steps as `progress.jsonl` has."""
        if event.kind != "step":
            return event.kind not in ("died", "kept")  # it goes on in another process, or is caught up with at the end
        budget = self._budgets.setdefault(event.job.name, PointBudget())
        return is_evaluation(event.measured) or (bool(event.measured) and budget.spend(time.monotonic()))

    def _put(self, event: JobEvent) -> None:
        if self._thread.ident is None:
            self._thread.start()
        self._queue.put(event)

    def _work(self) -> None:
        while (event := self._queue.get()) is not None and not self._abandoned:
            name = event.job.name
            if name not in self._broken and not self._succeeds(f"'{name}'", partial(self._feed.take, event)):
                self._broken.add(name)
                self._feed.forget(event.job)
        if not self._abandoned:
            self._succeeds("the runs", self._feed.stop)

    def _succeeds(self, what: str, action: Callable[[], None]) -> bool:
        try:
            action()
        except BaseException as error:  # a tool may even call sys.exit
            first_line = (str(error).strip().splitlines() or ["no reason"])[0][:200]
            self._problem = self._problem or f"{what} ({type(error).__name__}: {first_line})"
            return False
        return True

    def _warn(self) -> None:
        """Say once that something is not tracked."""
        if self._problem and not self._warned:
            self._warned = True
            with suppress(Exception):
                self._say(
                    f"{self._name} does not get all of {self._problem}; training is not affected, all numbers are in "
                    "curve.parquet, and --resume logs what is missing"
                )


@dataclass
class PointBudget:
    """How many points a run may log: so many per second in the long run, and some more at once."""

    left: float = BURST
    at: float = inf  # of the last point

    def spend(self, now: float) -> bool:
        """Take one point, if there is any."""
        self.left = min(BURST, self.left + max(0.0, now - self.at) / EVERY)
        self.at = now
        if self.left < 1:
            return False
        self.left -= 1
        return True


def _numbers(measured: Mapping[str, float]) -> dict[str, float]:
    """Only what is a number."""
    return {name: float(value) for name, value in measured.items() if isinstance(value, int | float)}
