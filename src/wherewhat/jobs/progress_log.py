"""The `progress.jsonl` of a job: written where it runs, read where it was started."""

import json
import os
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

EVERY = 0.2  # seconds between two lines, unless something was measured that is not measured at every step
NOTHING = {"attempt": 0, "step": 0, "seconds": 0.0}


class ProgressLog:
    """One line per moment: the attempt, the steps done, the seconds of all attempts so far, and what was measured."""

    def __init__(self, path: Path) -> None:
        last = last_line(path)
        self.attempt = last["attempt"] + 1
        self._path, self._began = path, time.perf_counter() - float(last["seconds"])
        self._append(0, {}, before="" if _tail(path).endswith(b"\n") else "\n")  # a kill may have cut the last line

    @property
    def seconds(self) -> float:
        """The seconds of all attempts so far."""
        return time.perf_counter() - self._began

    def step(self, steps: int, measured: Mapping[str, float] = {}, *, keep: bool = False) -> None:
        """Note how many steps are done, unless the last note is fresh and this one need not be kept."""
        if keep or self.seconds - self._written >= EVERY:
            self._append(steps, measured)

    def _append(self, steps: int, measured: Mapping[str, float], before: str = "") -> None:
        self._written = self.seconds
        line: dict[str, Any] = {"attempt": self.attempt, "step": steps, "seconds": round(self._written, 3)}
        line |= {"measured": {**measured}} if measured else {}
        with suppress(OSError), self._path.open("a", encoding="utf-8") as file:  # progress is not worth a failure
            file.write(f"{before}{json.dumps(line)}\n")


class ProgressReader:
    """Reads a `progress.jsonl` as it grows, from its present end on."""

    def __init__(self, path: Path) -> None:
        self._path = path
        with suppress(OSError):
            self._place = path.stat().st_size
            return
        self._place = 0

    def lines(self) -> list[dict[str, Any]]:
        """The whole lines that have been added since the last call."""
        with suppress(OSError), self._path.open("rb") as file:
            file.seek(self._place)
            whole = file.read().rpartition(b"\n")[0]
            self._place += len(whole) + 1 if whole else 0
            return [entry for line in whole.splitlines() if (entry := _entry(line)) is not None]
        return []


def last_line(path: Path) -> dict[str, Any]:
    """The last whole line of a `progress.jsonl`."""
    entries = (_entry(line) for line in reversed(_tail(path).splitlines()))
    return next((entry for entry in entries if entry is not None), {**NOTHING})


def _entry(line: bytes) -> dict[str, Any] | None:
    """A line with all its fields; None if a kill has cut it."""
    with suppress(ValueError, TypeError):
        return {**NOTHING, **json.loads(line)}
    return None


def _tail(path: Path) -> bytes:
    """The end of a file; a line break if there is none."""
    with suppress(OSError), path.open("rb") as file:
        file.seek(max(0, os.fstat(file.fileno()).st_size - 4000))
        return file.read()
    return b"\n"
