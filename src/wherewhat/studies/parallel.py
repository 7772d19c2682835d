"""Jobs in parallel processes, one per processor. Their results do not depend on the number of processes."""

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

Task = TypeVar("Task")
Result = TypeVar("Result")
Work = Callable[[Task, Callable[[int], None]], Result]  # takes a job, and a callback for steps done
OnProgress = Callable[[int, int], None]  # number of the job, steps done
OnDone = Callable[[int, Any], None]  # number of the job, its result
POLL_SECONDS = 0.25

_progress_queue: "SimpleQueue[tuple[int, int]] | None" = None  # set in every process of the pool


def processors() -> int:
    """How many processors this process may use, which can be fewer than the machine has."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def run_parallel(
    work: Work[Task, Result],
    jobs: Sequence[Task],
    *,
    on_progress: OnProgress,
    on_done: OnDone | None = None,
    workers: int | None = None,
) -> list[Result]:
    """Run all jobs and return their results in order; `work` must be a function that can be imported.

    `on_done` is called with each result as soon as it exists, in this process and not in the one of the job.
    """
    on_done = on_done or (lambda number, result: None)
    workers = min(len(jobs), workers or processors())
    if workers <= 1:
        return [_alone(work, number, job, on_progress, on_done) for number, job in enumerate(jobs)]
    context = get_context("spawn")  # a fork would copy PyTorch's threads in a broken state
    queue = context.SimpleQueue()
    try:
        with (
            ProcessPoolExecutor(workers, mp_context=context, initializer=_begin, initargs=(queue,)) as pool,
            _terminated_on_interrupt(),
        ):
            with _ignoring_interrupts():
                futures = {pool.submit(_work, work, number, job): number for number, job in enumerate(jobs)}
            _follow(futures, queue, on_progress, on_done)
            return [future.result() for future in _failed_first(futures)]
    except BrokenProcessPool as error:
        raise UserError(
            "a process that trained a net ended too early; check whether memory ran out, and in a script of your own "
            "put the call under `if __name__ == '__main__':`"
        ) from error


@contextmanager
def _terminated_on_interrupt() -> Iterator[None]:
    """If this process is interrupted, terminate those of the pool instead of waiting for their jobs."""
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
def _ignoring_interrupts() -> Iterator[None]:
    """Processes started in here ignore Ctrl-C, which a terminal sends to all: this process terminates them."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _alone(work: Work[Task, Result], number: int, job: Task, on_progress: OnProgress, on_done: OnDone) -> Result:
    result = work(job, lambda steps: on_progress(number, steps))
    on_done(number, result)
    return result


def _follow(
    futures: dict["Future[Any]", int], queue: "SimpleQueue[tuple[int, int]]", on_progress: OnProgress, on_done: OnDone
) -> None:
    """Pass on progress and results until all jobs are done. One that fails cancels those that have not started."""
    waiting = set(futures)
    while waiting:
        done, waiting = wait(waiting, timeout=POLL_SECONDS, return_when=FIRST_COMPLETED)
        while not queue.empty():
            on_progress(*queue.get())
        for future in done:
            if future.cancelled():
                continue
            if future.exception() is None:
                on_done(futures[future], future.result())
            else:
                for other in waiting:
                    other.cancel()


def _failed_first(futures: dict["Future[Any]", int]) -> list["Future[Any]"]:
    """All in order, or only the failed ones if any failed: cancelled jobs have no result."""
    failed = [future for future in futures if not future.cancelled() and future.exception() is not None]
    return failed or list(futures)


def _begin(queue: "SimpleQueue[tuple[int, int]]") -> None:
    global _progress_queue
    _progress_queue = queue
    Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """End with the parent: otherwise a process whose parent was killed would finish its queue and wait forever."""
    parent = parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _work(work: Work[Task, Result], number: int, job: Task) -> Result:
    queue = _progress_queue
    assert queue is not None
    return work(job, lambda steps: queue.put((number, steps)))
