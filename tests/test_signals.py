"""A signal that arrives while it must wait takes effect afterwards, whichever thread receives it."""

import os
import signal
import threading
from collections.abc import Iterator

import pytest

from wherewhat.jobs.local import _signals_wait
from wherewhat.signals import SIGNALS, deferred_signals


@pytest.fixture(autouse=True)
def interruptible() -> Iterator[None]:
    """Ctrl-C raises KeyboardInterrupt, also where the suite runs in the background of a shell."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("deferred", [deferred_signals, _signals_wait])
def test_what_was_begun_is_finished_first(deferred):
    send, finished = threading.Event(), []

    def interrupt() -> None:
        send.wait()
        os.kill(os.getpid(), signal.SIGINT)

    other = threading.Thread(target=interrupt)  # started first, so that it does not inherit a blocked signal
    other.start()
    with pytest.raises(KeyboardInterrupt), deferred():
        send.set()
        other.join()
        finished.append("all")
    assert finished == ["all"]


def test_handlers_and_the_mask_are_as_before_afterwards():
    before = [signal.getsignal(number) for number in SIGNALS], signal.pthread_sigmask(signal.SIG_BLOCK, ())
    with _signals_wait():
        assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) >= set(SIGNALS)
    after = [signal.getsignal(number) for number in SIGNALS], signal.pthread_sigmask(signal.SIG_BLOCK, ())
    assert after == before


def test_a_thread_that_runs_no_handlers_is_left_alone():
    done = []

    def work() -> None:
        with deferred_signals():
            done.append(threading.current_thread().name)

    thread = threading.Thread(target=work, name="other")
    thread.start()
    thread.join()
    assert done == ["other"]
