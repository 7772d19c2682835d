"""The `tracking.json` of a sweep: which steps a tracker has accepted, so that none is logged twice after a kill."""

import json
import threading
from pathlib import Path
from typing import Any

from wherewhat.errors import UserError
from wherewhat.tables.files import write_whole

TRACKING = "tracking.json"
_WRITING = threading.Lock()  # two trackers may note in one file


class TrackingNotes:
    """By the key of a run, the last step that a target accepted, and whether the run is finished there.

    With `anew` all runs begin again, and what the file says of them is not read.
    """

    def __init__(self, path: Path, target: str, *, anew: bool = False) -> None:
        self._path, self._target = path, target
        self._runs: dict[str, dict[str, Any]] = {} if anew else _read(path).get(target, {})
        self._unwritten: set[str] = set()

    def last(self, key: str) -> int | None:
        """The last step that was accepted, if any."""
        step = self._runs.get(key, {}).get("step")
        return None if step is None else int(step)

    def finished(self, key: str) -> bool:
        """Whether the target has the whole run."""
        return bool(self._runs.get(key, {}).get("finished"))

    def unwritten(self, key: str) -> bool:
        """Whether a kill at this moment would lose a note on this run."""
        return key in self._unwritten

    def note(self, key: str, name: str, step: int | None, *, finished: bool = False) -> None:
        """Remember what was accepted, until it is written."""
        self._runs[key] = {"run": name, "step": step, "finished": finished}
        self._unwritten.add(key)

    def write(self) -> None:
        """Write all notes, beside those of other targets."""
        with _WRITING:
            targets = {**_read(self._path), self._target: self._runs}
            write_whole(self._path, (json.dumps(targets, indent=1, ensure_ascii=False) + "\n").encode())
        self._unwritten.clear()


def _read(path: Path) -> dict[str, dict[str, dict[str, Any]]]:
    """The notes of all targets."""
    try:
        targets = json.loads(path.read_bytes())
        for runs in targets.values():
            for run in runs.values():
                if not isinstance(run["step"], int | None):
                    raise ValueError(f"a step is {run['step']!r}")
        return dict(targets)
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise UserError(
            f"{path} is damaged ({error}); restore it, or delete it, and trackers get unfinished runs once more"
        ) from error
