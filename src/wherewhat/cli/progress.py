"""A progress bar on a terminal, plain lines elsewhere, nothing when quiet. All on stderr: stdout is for results."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

EVERY = 10.0  # seconds between plain lines

Step = Callable[[int, int, str], None]  # done, of how many, what to say beside it


@contextmanager
def progress(what: str, *, quiet: bool) -> Iterator[Step]:
    """Give a function that shows how far the work has come."""
    if quiet:
        yield lambda done, of, note: None
    elif sys.stderr.isatty():
        with _bar(what) as step:
            yield step
    else:
        yield _lines(what)


@contextmanager
def _bar(what: str) -> Iterator[Step]:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    with Progress(*columns, TextColumn("{task.fields[note]}"), console=Console(stderr=True)) as bar:
        task = bar.add_task(what, total=None, note="")
        yield lambda done, of, note: bar.update(task, completed=done, total=of, note=note)


def _lines(what: str) -> Step:
    last = time.monotonic()

    def step(done: int, of: int, note: str) -> None:
        nonlocal last
        if done < of and time.monotonic() - last < EVERY:
            return
        last = time.monotonic()
        print(f"{what}: {done} of {of}{'  ' + note if note else ''}", file=sys.stderr, flush=True)

    return step
