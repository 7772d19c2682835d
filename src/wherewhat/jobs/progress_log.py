"""The `progress.jsonl` of a job: written where it runs, read where it was started."""

import json
import os
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

EVERY = 0.2  # seconds between two lines
NOTHING = {"attempt": 0, "step": 0, "seconds": 0.0}


class ProgressLog:
    """One line per moment: the attempt, the steps done, and the seconds of all attempts so far."""

    def __init__(self, path: Path) -> None:
        last = last_line(path)
        self.attempt = last["attempt"] + 1
        self._path, self._began = path, time.perf_counter() - float(last["seconds"])
        self._append(0, before="" if _tail(path).endswith(b"\n") else "\n")  # a kill may have cut the last line

    @property
    def seconds(self) -> float:
        """The seconds of all attempts so far."""
        return time.perf_counter() - self._began

    def step(self, steps: int) -> None:
        """Note how many steps are done, unless the last note is fresh."""
        if self.seconds - self._written >= EVERY:
            self._append(steps)

    def _append(self, steps: int, before: str = "") -> None:
        self._written = self.seconds
        line = {"attempt": self.attempt, "step": steps, "seconds": round(self._written, 3)}
        with suppress(OSError), self._path.open("a", encoding="utf-8") as file:  # progress is not worth a failure
            file.write(f"{before}{json.dumps(line)}\n")


def last_line(path: Path) -> dict[str, Any]:
    """The last whole line of a `progress.jsonl`."""
    for line in reversed(_tail(path).splitlines()):
        with suppress(ValueError, TypeError):
            return {**NOTHING, **json.loads(line)}
    return {**NOTHING}


def _tail(path: Path) -> bytes:
    """The end of a file; a line break if there is none."""
    with suppress(OSError), path.open("rb") as file:
        file.seek(max(0, os.fstat(file.fileno()).st_size - 1000))
        return file.read()
    return b"\n"
