"""Let Ctrl-C and SIGTERM wait until what belongs together is done, and ask work to end."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

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


class StopRequested(BaseException):
    """Work is to end at its next safe moment. Whoever has a checkpoint to write does so and raises it again.

    Nothing on the way may take it for a failure of its own.
    """
