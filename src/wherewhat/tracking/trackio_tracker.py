"""Log to trackio, on this machine unless the user names a Space or a server. The only file that knows trackio."""

import os
import sys
import warnings
from collections.abc import Mapping
from contextvars import Context
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

from wherewhat.tracking.base import PROJECT, Ending, RunLog, TrackedRun, Tracker, target_of

KEYS = {
    "project": f"the project of its runs (default: {PROJECT})",
    "space_id": "a Hugging Face Space to log to, instead of this machine",
    "server_url": "a trackio server to log to, instead of this machine",
}
# Each of these makes trackio send data out, whoever set it and for whatever.
SENDS_OUT = ("TRACKIO_SPACE_ID", "TRACKIO_SERVER_URL", "TRACKIO_BUCKET_ID", "TRACKIO_DATASET_ID")


@dataclass(frozen=True)
class TrackioTracker(Tracker):
    """Runs in a project of trackio."""

    package: Any
    project: str = PROJECT
    space_id: str | None = None
    server_url: str | None = None
    name: str = field(default="trackio", init=False)

    @property
    def target(self) -> str:
        """Trackio, with the project or the address if the user named one."""
        project = None if self.project == PROJECT else self.project
        return target_of(self.name, project=project, space_id=self.space_id, server_url=self.server_url)

    def begin(self, run: TrackedRun) -> RunLog:
        """Open a run, which trackio knows by its name only."""
        opened = Context().run(  # trackio ends the run of its context before it opens another: each needs its own
            self.package.init,
            project=self.project,
            name=run.label,
            group=run.group,
            config=dict(run.config),
            resume="allow",
            space_id=self.space_id,
            server_url=self.server_url,
            embed=False,
            auto_log_gpu=False,
            auto_log_cpu=False,
        )
        return TrackioRun(opened, run.last)


class TrackioRun(RunLog):
    """A run of trackio, which writes twice a second in a thread of its own, and only warns where it cannot."""

    def __init__(self, run: Any, noted: int | None) -> None:
        self._run, self._noted, self._problems = run, noted, list[str]()
        self._next = getattr(run, "_next_step", 0)  # after the last one that was really written
        self._is_sure = getattr(run, "_is_local", False) and getattr(run, "_storage_mode", "") == "sqlite"
        run._warn_once = lambda _, problem: self._problems.append(problem)

    @property
    def last(self) -> int | None:
        """What trackio has, as a kill may take steps with it that it had accepted; else what was noted."""
        return self._next - 1 if self._next or self._is_sure else self._noted

    def log(self, step: int, measured: Mapping[str, float]) -> None:
        """Log to the queue of trackio."""
        self._run.log(dict(measured), step=step)
        self._raise_problem()

    def finish(self, ending: Ending) -> None:
        """Wait until all is written."""
        self._run.finish()
        self._raise_problem()

    def _raise_problem(self) -> None:
        if self._problems:
            raise RuntimeError(self._problems[0])


def trackio_tracker(options: Mapping[str, str], folder: Path) -> Tracker:
    """Load trackio, and keep to this machine unless the options name another."""
    for variable in SENDS_OUT:
        os.environ.pop(variable, None)
    tracker = TrackioTracker(import_module("trackio"), **options)
    if tracker.space_id is None and (module := sys.modules.get("trackio.run")) is not None:
        vars(module)["_get_default_namespace"] = _nobody  # would ask Hugging Face who this is, with the user's token
    warnings.filterwarnings("ignore", module=r"trackio(\.|$)")
    for name, module in [*sys.modules.items()]:
        if name.partition(".")[0] == "trackio" and module is not None:
            vars(module)["print"] = _nothing  # it has no switch, and to catch stdout would catch that of all threads
    return tracker


def _nothing(*_: object, **__: object) -> None:
    """Print nothing."""


def _nobody() -> None:
    """The user's name, which nobody needs to know."""
