"""What a tracker is: it opens a log per run, under the same identity whenever the run goes on, and takes numbers."""

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

PROJECT = "wherewhat"  # where tools put runs together, unless the user names another place
LONGEST = 500  # characters of a setting; a list of words can have millions

Ending = Literal["done", "failed", "stopped"]  # a run that was stopped may go on later
Setting = str | int | float | bool | None


@dataclass(frozen=True)
class TrackedRun:
    """A run as a tool gets to know it."""

    name: str
    key: str  # what identifies it, also after a kill
    group: str
    config: Mapping[str, Setting]
    last: int | None = None  # the last step that the tool accepted, as far as was noted

    @property
    def label(self) -> str:
        """A name that no other run has, for tools that know a run only by its name."""
        return f"{self.name}-{self.key[:8]}"


class RunLog(ABC):
    """A run that is open in a tool."""

    @property
    @abstractmethod
    def last(self) -> int | None:
        """The last step that the tool has already, as far as is known."""

    @abstractmethod
    def log(self, step: int, measured: Mapping[str, float]) -> None:
        """Log what was measured at a step above the last."""

    @abstractmethod
    def finish(self, ending: Ending) -> None:
        """Let the tool write what it still holds, and close the run."""


class Tracker(ABC):
    """A tool that runs are logged to. Its methods may be slow and may raise."""

    name: str

    @property
    @abstractmethod
    def target(self) -> str:
        """The tool and where in it runs are logged: what was noted of one target says nothing about another."""

    @abstractmethod
    def begin(self, run: TrackedRun) -> RunLog:
        """Open a run, or go on with it if the tool knows it."""


def target_of(tool: str, **where: str | None) -> str:
    """A target whose name gives away no address, which may hold a password.

    >>> target_of("trackio"), target_of("trackio", server_url="http://127.0.0.1:7860?write_token=abc")
    ('trackio', 'trackio-1bf13e7d')
    """
    given = {name: value for name, value in where.items() if value is not None}
    digest = hashlib.sha256(json.dumps(given, sort_keys=True).encode()).hexdigest()
    return f"{tool}-{digest[:8]}" if given else tool


def flat(settings: Mapping[str, Any], before: str = "") -> dict[str, Setting]:
    """Nested settings as plain values by their whole names; a list becomes text, and a long text is cut.

    >>> flat({"recipe": "tiny", "net": {"width": 64, "heads": [1, 2]}})
    {'recipe': 'tiny', 'net.width': 64, 'net.heads': '[1, 2]'}
    """
    values: dict[str, Setting] = {}
    for name, value in settings.items():
        if isinstance(value, Mapping):
            values |= flat(value, f"{before}{name}.")
        else:
            values[f"{before}{name}"] = _plain(value)
    return values


def _plain(value: Any) -> Setting:
    if isinstance(value, int | float) or value is None:
        return value
    text = value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
