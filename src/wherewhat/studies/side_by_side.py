"""Jobs in processes side by side, one for each processor. What they give does not depend on how many there are."""

import os
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import active_children, get_context, parent_process
from multiprocessing.queues import SimpleQueue
from threading import Thread
from typing import Any, TypeVar

from wherewhat.errors import UserError

One = TypeVar("One")
Given = TypeVar("Given")
Work = Callable[[One, Callable[[int], None]], Given]  # takes a job, and what hears how far it has come
OnProgress = Callable[[int, int], None]  # which job, how far
OnDone = Callable[[int, Any], None]  # which job, what it gave
PATIENCE = 0.25  # seconds from one look at the jobs to the next

_told: "SimpleQueue[tuple[int, int]] | None" = None  # in a process of the pool: where progress is told


def processors() -> int:
    """How many this process may use, which can be fewer than the machine has."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def side_by_side(
    work: Work[One, Given],
    jobs: Sequence[One],
    *,
    on_progress: OnProgress,
    on_done: OnDone | None = None,
    workers: int | None = None,
) -> list[Given]:
    """Do all jobs and give back what each gave, in their order; `work` must be a function that can be imported.

    `on_done` is handed what each job gave as soon as it is there, here and not in the job's own process.
    """
    hear = on_done or (lambda number, given: None)
    workers = min(len(jobs), workers or processors())
    if workers <= 1:
        return [_alone(work, number, job, on_progress, hear) for number, job in enumerate(jobs)]
    context = get_context("spawn")  # a fork would take PyTorch's threads along half alive
    told = context.SimpleQueue()
    try:
        with (
            ProcessPoolExecutor(workers, mp_context=context, initializer=_begin, initargs=(told,)) as pool,
            _ending_with_us(),
        ):
            with _deaf_to_interrupts():
                futures = {pool.submit(_work, work, number, job): number for number, job in enumerate(jobs)}
            _follow(futures, told, on_progress, hear)
            return [future.result() for future in _failed_first(futures)]
    except BrokenProcessPool as error:
        raise UserError(
            "a process that trained a net ended too early; see whether memory ran out, and in a script of your own "
            "put the call under `if __name__ == '__main__':`"
        ) from error


@contextmanager
def _ending_with_us() -> Iterator[None]:
    """If this process is interrupted, end those of the pool instead of waiting for their jobs."""
    others = set(active_children())
    try:
        yield
    except Exception:
        raise
    except BaseException:
        for process in set(active_children()) - others:
            process.terminate()
        raise


@contextmanager
def _deaf_to_interrupts() -> Iterator[None]:
    """Processes that begin in here do not hear Ctrl-C, which a terminal sends to all: this one ends them."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _alone(work: Work[One, Given], number: int, job: One, on_progress: OnProgress, on_done: OnDone) -> Given:
    given = work(job, lambda far: on_progress(number, far))
    on_done(number, given)
    return given


def _follow(
    futures: dict["Future[Any]", int], told: "SimpleQueue[tuple[int, int]]", on_progress: OnProgress, on_done: OnDone
) -> None:
    """Pass on what the jobs tell and give until all are done. One that fails stops those that have not begun."""
    waiting = set(futures)
    while waiting:
        done, waiting = wait(waiting, timeout=PATIENCE, return_when=FIRST_COMPLETED)
        while not told.empty():
            on_progress(*told.get())
        for future in done:
            if future.cancelled():
                continue
            if future.exception() is None:
                on_done(futures[future], future.result())
            else:
                for other in waiting:
                    other.cancel()


def _failed_first(futures: dict["Future[Any]", int]) -> list["Future[Any]"]:
    """In their order, unless one failed: what it stopped can say nothing."""
    failed = [future for future in futures if not future.cancelled() and future.exception() is not None]
    return failed or list(futures)


def _begin(told: "SimpleQueue[tuple[int, int]]") -> None:
    global _told
    _told = told
    Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """A process whose parent was killed would wait for jobs for ever, and first do those that lie ready."""
    parent = parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _work(work: Work[One, Given], number: int, job: One) -> Given:
    told = _told
    assert told is not None
    return work(job, lambda far: told.put((number, far)))
