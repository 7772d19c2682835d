"""A process of the engine `local`: it runs one job after the other, as long as its parent lives."""

import ctypes
import os
import signal
import sys
from contextlib import suppress
from multiprocessing import parent_process
from multiprocessing.connection import Connection
from threading import Thread

from wherewhat.jobs.perform import perform_order

PR_SET_PDEATHSIG = 1  # of prctl on Linux


def serve(pipe: Connection) -> None:
    """Run every job that comes through a pipe and answer it, until the pipe is closed."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})  # Ctrl-C stays blocked: it is the parent's
    Thread(target=_end_with_parent, daemon=True).start()
    if sys.platform == "linux":  # that thread would have to wait for work that lets no other thread run
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    with suppress(EOFError, ConnectionError):  # the parent has closed it, maybe without reading the last answer
        while True:
            pipe.send_bytes(perform_order(pipe.recv_bytes()))


def _end_with_parent() -> None:
    parent = parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)
