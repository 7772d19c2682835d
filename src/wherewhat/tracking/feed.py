"""Hand the events of runs to a tracker, one after the other, and note what it accepted. May be slow, and may raise."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from wherewhat.jobs.engines import JobEvent
from wherewhat.jobs.job import Job
from wherewhat.tables.parquet import read_parquet
from wherewhat.tracking.base import Ending, RunLog, TrackedRun, Tracker, flat
from wherewhat.tracking.notes import TRACKING, TrackingNotes

CURVE = "curve.parquet"  # of a training run: step, measure, value
NOTE_SECONDS = 0.2  # between two notes, unless there was an evaluation


def is_evaluation(measured: Mapping[str, float]) -> bool:
    """Whether this was measured at an evaluation, not only the loss of a step."""
    return len(measured) > 1


@dataclass
class OpenRun:
    """A run that a tool has open."""

    name: str
    key: str
    log: RunLog
    last: int  # step that the tool has


class TrackerFeed:
    """All runs of a sweep in one tracker."""

    def __init__(self, tracker: Tracker, folder: Path, runs: Path, *, anew: bool = False) -> None:
        self._tracker, self._runs, self._group = tracker, runs, folder.absolute().name
        self._notes = TrackingNotes(folder / TRACKING, tracker.target, anew=anew)
        self._open: dict[str, OpenRun] = {}
        self._keys: dict[str, str] = {}  # by name: to compute one takes a while where settings are long
        self._written = 0.0

    def take(self, event: JobEvent) -> None:
        """Log what an event tells."""
        job = event.job
        if event.kind == "begun":
            self._opened(job)
        elif event.kind == "step":
            self._log(job, event.steps, event.measured)
        elif event.kind == "done":
            if self._opened(job) is not None:
                for step, measured in read_curve(self._runs / job.folder_name / CURVE).items():
                    self._log(job, step, measured)
                self._finish(job, "done")
        elif event.kind == "failed":
            self._finish(job, "failed")

    def stop(self) -> None:
        """Close all runs that are still open."""
        self._notes.write()
        for run in self._open.values():
            run.log.finish("stopped")

    def forget(self, job: Job) -> None:
        """Leave a run as it is, after an error."""
        self._open.pop(job.name, None)

    def _opened(self, job: Job) -> OpenRun | None:
        """The run in the tool; None if that has all of it."""
        if job.name in self._open:
            return self._open[job.name]
        key = self._keys[job.name] = self._keys.get(job.name) or job.key
        if self._notes.finished(key):
            return None
        tracked = TrackedRun(job.name, key, self._group, flat(job.settings), self._notes.last(key))
        log = self._tracker.begin(tracked)
        self._open[job.name] = OpenRun(job.name, key, log, -1 if log.last is None else log.last)
        return self._open[job.name]

    def _log(self, job: Job, step: int, measured: Mapping[str, float]) -> None:
        """Log a step unless the tool has it. At most one step of a run is logged and not noted."""
        run = self._opened(job)
        if run is None or step <= run.last:
            return
        if self._notes.unwritten(run.key):
            self._notes.write()
        run.log.log(step, measured)
        run.last = step
        self._notes.note(run.key, run.name, step)
        if is_evaluation(measured) or time.monotonic() - self._written >= NOTE_SECONDS:
            self._notes.write()
            self._written = time.monotonic()

    def _finish(self, job: Job, ending: Ending) -> None:
        if (run := self._opened(job)) is None:
            return
        del self._open[job.name]
        run.log.finish(ending)
        self._notes.note(run.key, run.name, run.last if run.last >= 0 else None, finished=ending == "done")
        self._notes.write()


def read_curve(path: Path) -> dict[int, dict[str, float]]:
    """By step, what was measured; nothing where a job has no curve."""
    steps: dict[int, dict[str, float]] = {}
    if path.exists():
        for step, measure, value in read_parquet(path).select("step", "measure", "value").sort("step").iter_rows():
            steps.setdefault(step, {})[measure] = value
    return steps
