"""Let Ctrl-C and SIGTERM wait until what belongs together is done, and ask work to end."""

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def deferred_signals() -> Iterator[None]:
    """Finish this block first; a signal that arrives meanwhile takes effect afterwards.

    Blocking signals in this thread would not be enough: any other thread can receive one, and Python still runs its
    handler in the main thread.
    """
    if threading.current_thread() is not threading.main_thread():  # only the main thread runs handlers
        yield
        return
    waiting: list[int] = []
    before = {number: signal.getsignal(number) for number in SIGNALS}
    try:
        for number in SIGNALS:
            signal.signal(number, lambda number, frame: waiting.append(number))
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)  # None: set outside Python
        if waiting:
            signal.raise_signal(waiting[0])


@contextmanager
def stop_at_next_step(patience: float) -> Iterator[Callable[[], None]]:
    """Yield a function to call at every step, which raises `StopRequested` once a signal has arrived.

    The signal takes effect when the block has ended; at once if a second one arrives, or after so many seconds.
    """
    before = {number: signal.getsignal(number) for number in SIGNALS}
    handlers = {number: handler for number, handler in before.items() if handler not in (None, signal.SIG_IGN)}
    if threading.current_thread() is not threading.main_thread():  # only the main thread runs handlers
        handlers = {}
    waiting: list[int] = []
    again = threading.Timer(patience, lambda: os.kill(os.getpid(), waiting[0]))
    again.daemon = True

    def restore() -> None:
        for number, handler in handlers.items():
            signal.signal(number, handler)

    def hear(number: int, frame: FrameType | None) -> None:
        restore()
        waiting.append(number)
        again.start()

    def check() -> None:
        if waiting:
            raise StopRequested

    stopped: StopRequested | None = None
    for number in handlers:
        signal.signal(number, hear)
    try:
        yield check
    except StopRequested as request:
        stopped = request
    finally:
        again.cancel()
        restore()
    if waiting:
        signal.raise_signal(waiting[0])
    if stopped is not None:
        raise stopped


class StopRequested(BaseException):
    """Work is to end at its next safe moment. Whoever has a checkpoint to write does so and raises it again.

    Nothing on the way may take it for a failure of its own.
    """
