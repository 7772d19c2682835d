"""Log to Weights & Biases, into offline files unless WANDB_MODE says otherwise. The only file that knows wandb."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

from wherewhat.names import look_up
from wherewhat.tracking.base import PROJECT, Ending, RunLog, TrackedRun, Tracker, target_of

KEYS = {
    "project": f"the project of its runs (default: {PROJECT})",
    "entity": "the user or team that the project belongs to",
    "mode": "offline or online (default: WANDB_MODE, else offline)",
    "dir": "where its files are written (default: WANDB_DIR, else the folder of the runs)",
}
# Nothing but the numbers: no output, source, packages, machine. Versions differ in which of these they have.
SETTINGS = {
    "silent": True,
    "console": "off",
    "disable_code": True,
    "disable_git": True,
    "x_disable_meta": True,
    "x_disable_stats": True,
    "x_disable_machine_info": True,
    "x_save_requirements": False,
}
MODES = ("disabled", "offline", "online", "shared")
EXIT_CODES: Mapping[Ending, int] = {"done": 0, "failed": 1, "stopped": 255}  # the last as after Ctrl-C


@dataclass(frozen=True)
class WandbTracker(Tracker):
    """Runs in a project of Weights & Biases."""

    package: Any
    folder: Path
    project: str = PROJECT
    entity: str | None = None
    mode: str | None = None
    dir: str | None = None
    name: str = field(default="wandb", init=False)

    @property
    def target(self) -> str:
        """Weights & Biases, with the project if the user named one; offline files are merged into it later."""
        return target_of(self.name, project=None if self.project == PROJECT else self.project, entity=self.entity)

    def begin(self, run: TrackedRun) -> RunLog:
        """Open a run by its key; offline, what belongs to one key is merged by `wandb sync`."""
        place = Path(self.dir or os.environ.get("WANDB_DIR") or self.folder)
        place.mkdir(parents=True, exist_ok=True)
        known = getattr(self.package.Settings, "model_fields", SETTINGS)
        opened = self.package.init(
            project=self.project,
            entity=self.entity,
            id=run.key,
            name=run.name,
            group=run.group,
            config=dict(run.config),
            resume="allow",
            mode=self.mode or os.environ.get("WANDB_MODE") or "offline",
            dir=str(place.absolute()),
            reinit="create_new",  # others are open at the same time
            settings=self.package.Settings(**{name: value for name, value in SETTINGS.items() if name in known}),
        )
        return WandbRun(opened, run.last)


@dataclass(frozen=True)
class WandbRun(RunLog):
    """A run of Weights & Biases."""

    run: Any
    noted: int | None

    @property
    def last(self) -> int | None:
        """What was noted: an offline run does not know what earlier files have."""
        return self.noted

    def log(self, step: int, measured: Mapping[str, float]) -> None:
        """Log at once; otherwise a step is written when the next one comes."""
        self.run.log(dict(measured), step=step, commit=True)

    def finish(self, ending: Ending) -> None:
        """Close the run."""
        self.run.finish(exit_code=EXIT_CODES[ending])


def wandb_tracker(options: Mapping[str, str], folder: Path) -> Tracker:
    """Load wandb, which reports its own errors to its makers unless it is told not to."""
    look_up("mode of wandb", options.get("mode", "offline"), dict.fromkeys(MODES))
    os.environ.setdefault("WANDB_ERROR_REPORTING", "false")
    return WandbTracker(import_module("wandb"), folder, **options)
