"""Log to TensorBoard: event files in a folder per run. The only file that knows tensorboard."""

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

from wherewhat.jobs.keys import file_name
from wherewhat.tracking.base import Ending, RunLog, TrackedRun, Tracker, target_of

KEYS = {"log_dir": "where its files are written (default: tensorboard/ in the folder of the runs)"}


@dataclass(frozen=True)
class EventFormat:
    """What of tensorboard it takes to write an event file."""

    file: Any  # opens one in a folder
    event: Any
    summary: Any
    session: Any
    tensor: Any
    text: Any  # makes the metadata of a text

    @classmethod
    def load(cls) -> "EventFormat":
        """Import it, without PyTorch or TensorFlow."""
        protocol = "tensorboard.compat.proto"
        events = import_module(f"{protocol}.event_pb2")
        return cls(
            import_module("tensorboard.summary.writer.event_file_writer").EventFileWriter,
            events.Event,
            import_module(f"{protocol}.summary_pb2").Summary,
            events.SessionLog,
            import_module(f"{protocol}.tensor_pb2").TensorProto,
            import_module("tensorboard.plugins.text.metadata").create_summary_metadata,
        )


@dataclass(frozen=True)
class TensorboardTracker(Tracker):
    """Runs in a folder that TensorBoard shows."""

    format: EventFormat
    folder: Path
    log_dir: str | None = None
    name: str = field(default="tensorboard", init=False)

    @property
    def target(self) -> str:
        """TensorBoard, with the folder if the user named one."""
        return target_of(self.name, log_dir=None if self.log_dir is None else str(Path(self.log_dir).absolute()))

    def begin(self, run: TrackedRun) -> RunLog:
        """Add a file to the run's folder; steps that were logged but not noted are hidden, and come again."""
        place = self.folder / "tensorboard" if self.log_dir is None else Path(self.log_dir)
        place /= file_name(run.label)
        known = run.last is not None or any(place.glob("*tfevents*"))  # of a sweep that is begun again
        opened = TensorboardRun(self.format, self.format.file(str(place)), run.last)
        if known:
            opened.purge(0 if run.last is None else run.last + 1)
        if run.last is None:
            opened.configure(run.config)
        return opened


@dataclass(frozen=True)
class TensorboardRun(RunLog):
    """An event file."""

    format: EventFormat
    file: Any
    noted: int | None

    @property
    def last(self) -> int | None:
        """What was noted."""
        return self.noted

    def configure(self, config: Mapping[str, Any]) -> None:
        """Show the settings as a text."""
        text = f"```json\n{json.dumps(dict(config), indent=2)}\n```".encode()
        tensor = self.format.tensor(dtype="DT_STRING", string_val=[text], tensor_shape={})
        metadata = self.format.text(display_name="settings", description="")
        self._add(0, summary=self.format.summary(value=[{"tag": "settings", "metadata": metadata, "tensor": tensor}]))

    def purge(self, step: int) -> None:
        """Hide what earlier files have from this step on."""
        self._add(step, file_version="brain.Event:2")
        self._add(step, session_log=self.format.session(status=self.format.session.START))

    def log(self, step: int, measured: Mapping[str, float]) -> None:
        """Write to the file at once."""
        values = [{"tag": measure, "simple_value": value} for measure, value in measured.items()]
        self._add(step, summary=self.format.summary(value=values))
        self.file.flush()

    def finish(self, ending: Ending) -> None:
        """Close the file."""
        self.file.close()

    def _add(self, step: int, **content: Any) -> None:
        self.file.add_event(self.format.event(step=step, wall_time=time.time(), **content))


def tensorboard_tracker(options: Mapping[str, str], folder: Path) -> Tracker:
    """Load what writes event files."""
    return TensorboardTracker(EventFormat.load(), folder, **options)
