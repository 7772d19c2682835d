"""What runs at this moment: a table on a terminal, plain lines elsewhere, nothing when quiet. All on stderr."""

import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from wherewhat.formatting import duration, short
from wherewhat.progress import progress

if TYPE_CHECKING:
    from wherewhat.jobs.engines import JobEvent
    from wherewhat.jobs.job import Job

MOST = 12  # lines of the table; of more runs, only those that run and those that failed
EVERY = 4  # times per second that the table is drawn again
STATES = {"kept": "done", "begun": "running", "step": "running", "done": "done", "failed": "failed"}
STATES |= {"died": "waiting again"}


@dataclass
class RunState:
    """How far one run is."""

    steps: int  # of the whole run
    state: str = "waiting"
    step: int = 0
    began: tuple[float, int] | None = None  # when this process first heard of it, and at which step
    measured: Mapping[str, float] = field(default_factory=dict)  # by measure, the last value

    def hear(self, event: "JobEvent", now: float) -> None:
        """Take in what happened."""
        self.state = STATES[event.kind]
        self.step = event.steps if event.kind in ("kept", "step", "done") else self.step
        self.measured = {**self.measured, **event.measured}
        if event.kind == "begun":
            self.began = None
        elif event.kind == "step" and self.began is None and event.steps:
            self.began = (now, event.steps)

    def left(self, now: float) -> float | None:
        """Seconds until it is finished, at its present pace; None while that is not known."""
        if self.state != "running" or self.began is None or self.step <= self.began[1]:
            return None
        return (self.steps - self.step) * (now - self.began[0]) / (self.step - self.began[1])

    @property
    def last(self) -> str:
        """The last number, the accuracy if there is one."""
        name = next((name for name in ("exact", "accuracy", "loss") if name in self.measured), None)
        return "" if name is None else f"{name} {short(self.measured[name])}"


@contextmanager
def live_table(what: str, jobs: Sequence["Job"], *, quiet: bool) -> Iterator[Callable[["JobEvent"], None]]:
    """Yield a function that takes events of these jobs and shows how far all of them are."""
    states = {job.name: RunState(job.steps) for job in jobs}

    def hear(event: "JobEvent") -> None:
        states[event.job.name].hear(event, time.monotonic())

    if quiet or not sys.stderr.isatty():
        with progress(what, quiet=quiet, announced=True) as step:

            def tell(event: "JobEvent") -> None:
                hear(event)
                step(*_whole(states))

            yield tell
        return
    from rich.console import Console
    from rich.live import Live

    with Live(console=Console(stderr=True), refresh_per_second=EVERY, get_renderable=lambda: _table(what, states)):
        yield hear


def _whole(states: Mapping[str, RunState]) -> tuple[int, int, str]:
    """Steps done, of how many, and how many runs are in which state."""
    counts = Counter(state.state for state in states.values())
    done = sum(state.steps if state.state == "done" else state.step for state in states.values())
    words = ", ".join(f"{counts[name]} {name}" for name in ("done", "running", "failed") if counts[name])
    return done, sum(state.steps for state in states.values()), f"{words} of {len(states)} runs"


def _table(what: str, states: Mapping[str, RunState]) -> Any:
    from rich.table import Table

    now, whole = time.monotonic(), _whole(states)
    shown = dict(states)
    if len(shown) > MOST:
        shown = {name: state for name, state in states.items() if state.state in ("running", "failed")}
    table = Table(title=f"{what}: {whole[2]}, {100 * whole[0] // max(1, whole[1])} %", title_justify="left")
    for heading in ("run", "state", "step", "last value", "time left"):
        table.add_column(heading, justify="right" if heading in ("step", "time left") else "left")
    for name, state in list(shown.items())[: 2 * MOST]:
        left = state.left(now)
        place = f"{state.steps if state.state == 'done' else state.step:,} of {state.steps:,}"
        table.add_row(name, state.state, place, state.last, "" if left is None else duration(left))
    return table
