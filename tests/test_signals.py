"""A signal that arrives while it must wait takes effect afterwards, whichever thread receives it."""

import os
import signal
import threading
import time
from collections.abc import Iterator

import pytest

from wherewhat.jobs.local import _signals_wait
from wherewhat.signals import SIGNALS, StopRequested, deferred_signals, stop_at_next_step


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


def test_work_is_asked_to_stop_at_its_next_step_and_the_signal_takes_effect_afterwards():
    steps = []
    with pytest.raises(KeyboardInterrupt), stop_at_next_step(patience=60) as check:
        for step in range(9):
            steps.append(step)
            if step == 2:
                os.kill(os.getpid(), signal.SIGINT)
            try:
                check()
            except StopRequested:
                steps.append("checkpoint")
                raise
    assert steps == [0, 1, 2, "checkpoint"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_work_that_makes_no_further_step_ends_with_the_signal():
    with pytest.raises(KeyboardInterrupt), stop_at_next_step(patience=60):
        os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.parametrize("patience", [60, 0.1])
def test_who_asks_twice_or_waits_too_long_does_not_wait_for_a_step(patience: float):
    with pytest.raises(KeyboardInterrupt), stop_at_next_step(patience):
        os.kill(os.getpid(), signal.SIGINT)
        if patience > 1:
            os.kill(os.getpid(), signal.SIGINT)
        time.sleep(20)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_signal_that_is_ignored_asks_for_nothing():
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with stop_at_next_step(patience=60) as check:
        os.kill(os.getpid(), signal.SIGINT)
        check()


def test_without_a_signal_nothing_changes_in_any_thread():
    def work() -> None:
        with stop_at_next_step(patience=60) as check:
            check()

    work()
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
