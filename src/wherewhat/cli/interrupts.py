"""Ctrl-C, or a kill that can be heard: one sentence says what was kept and how to go on."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from wherewhat.signals import SIGNALS

NOTHING = "nothing was written; run it again"


class Interrupted(BaseException):
    """Somebody wants the command to stop. Nothing on the way may take that for a failure of its own."""

    def __init__(self, number: int, kept: str = NOTHING) -> None:
        super().__init__(number, kept)
        self.number, self.kept = number, kept

    def __str__(self) -> str:
        return f"interrupted; {self.kept}"

    @property
    def code(self) -> int:
        """What the process ends with, as a shell expects it: 130 after Ctrl-C."""
        return 128 + self.number


@contextmanager
def interruptible() -> Iterator[None]:
    """Turn the signals that ask for an end into `Interrupted`."""
    if threading.current_thread() is not threading.main_thread():  # only the main thread hears signals
        yield
        return
    before = {number: signal.signal(number, _stop) for number in SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _stop(number: int, frame: FrameType | None) -> None:
    signal.signal(number, signal.SIG_DFL)  # who asks twice does not wait for anything to be tidied up
    raise Interrupted(number)


@contextmanager
def interrupt_message(sentence: Callable[[], str]) -> Iterator[None]:
    """Give an interruption of this block a message about what was kept, unless an inner block already did."""
    try:
        yield
    except Interrupted as stop:
        if stop.kept != NOTHING:
            raise
        raise Interrupted(stop.number, sentence()) from None


def going_on(*, overwrite: bool) -> str:
    """How to go on after an interruption, with a command that refuses --overwrite and --resume together.

    >>> going_on(overwrite=True)
    'the same command with --resume in place of --overwrite goes on from there'
    """
    return f"the same command with --resume{' in place of --overwrite' if overwrite else ''} goes on from there"
