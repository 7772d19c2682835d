"""How far work has come: a bar on a terminal, plain lines elsewhere, nothing when quiet. All on stderr.

Work reports its progress to an `OnStep`. Work in several phases is reported as one whole by `Phases`.
"""

import functools
import re
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ParamSpec, TypeVar

EVERY = 10.0  # seconds between plain lines
LOADING = "loading"  # the phase that comes first

OnStep = Callable[[int, int, str], None]  # done, of how many (0: not known yet), what is being done
OnText = Callable[[int, int], None]  # done, of how many, within one phase
Say = Callable[[str], None]  # takes a sentence for whoever waits
Given = ParamSpec("Given")
Result = TypeVar("Result")


class Phases:
    """A whole of named phases, each with its amount of work.

    >>> phases = Phases(lambda done, of, note: print(done, of, note))
    >>> phases.plan({"reading texts": 100, "moving tokens": 300})
    >>> phases.begin("moving tokens")(1, 2)
    100 400 moving tokens
    250 400 moving tokens
    """

    def __init__(self, on_step: OnStep | None = None) -> None:
        self._on_step = on_step
        self._work: Mapping[str, int] = {}
        self._done = 0

    def plan(self, work: Mapping[str, int]) -> None:
        """Set the amount of work of every phase, in order and in the same unit, as soon as it is known."""
        self._work = work

    def begin(self, name: str) -> OnText:
        """Begin a phase, and return the function that reports its progress; earlier phases count as done."""

        def on_text(done: int, of: int) -> None:
            if self._on_step is not None:
                if name in self._work:
                    names = list(self._work)
                    before = sum(self._work[phase] for phase in names[: names.index(name)])
                    self._done = before + self._work[name] * done // max(of, 1)
                self._on_step(self._done, sum(self._work.values()), name)

        on_text(0, 1)
        return on_text


def first_part(on_step: OnStep, *, of_whole: float) -> OnStep:
    """Report work that is only the first part of a whole."""
    return lambda done, of, note: on_step(done, round(of / of_whole), note)


def announce(what: str, *, quiet: bool) -> None:
    """Say that something is being loaded, before the libraries are that this takes."""
    if not quiet:
        _write(f"{what}: {LOADING} …")


@contextmanager
def progress(what: str, *, quiet: bool, announced: bool = False) -> Iterator[OnStep]:
    """Yield a function that shows progress; what was `announced` is not repeated."""
    if quiet:
        yield lambda done, of, note: None
    elif sys.stderr.isatty():
        with _bar(what) as step:
            yield step
    else:
        yield _lines(what, {LOADING} if announced else set())


def shows_progress(function: Callable[Given, Result]) -> Callable[Given, Result]:
    """Let `progress=True` show what a function reports to its `on_step`."""

    @functools.wraps(function)
    def called(*args: Given.args, **kwargs: Given.kwargs) -> Result:
        given: dict[str, Any] = kwargs
        if not given.pop("progress", False):
            return function(*args, **kwargs)
        with progress(function.__name__, quiet=False) as step:
            given["on_step"] = step
            return function(*args, **kwargs)

    return called


@contextmanager
def _bar(what: str) -> Iterator[OnStep]:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (TextColumn(what), BarColumn(), TaskProgressColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    with Progress(*columns, TextColumn("{task.fields[note]}"), console=Console(stderr=True)) as bar:
        task = bar.add_task(what, total=None, note="")
        yield lambda done, of, note: bar.update(task, completed=done, total=of or None, note=note)


def _lines(what: str, named: set[str]) -> OnStep:
    """Show new phases, those not yet `named`, at once, and the rest at intervals."""
    last = time.monotonic()

    def step(done: int, of: int, note: str) -> None:
        nonlocal last
        kind = re.sub(r"[\d.,]+", "", note)
        if kind in named and (not of or done < of) and time.monotonic() - last < EVERY:
            return
        last = time.monotonic()
        named.add(kind)
        far = f"{100 * done // of} %" if of else ""
        _write(f"{what}: {', '.join(part for part in (far, note) if part)}")

    return step


def _write(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()
