"""Jobs in processes side by side, one for each processor. What they give does not depend on how many there are."""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from multiprocessing.queues import SimpleQueue
from typing import Any, TypeVar

from wherewhat.errors import UserError

One = TypeVar("One")
Given = TypeVar("Given")
Work = Callable[[One, Callable[[int], None]], Given]  # takes a job, and what hears how far it has come
OnProgress = Callable[[int, int], None]  # which job, how far
PATIENCE = 0.25  # seconds from one look at the jobs to the next

_told: "SimpleQueue[tuple[int, int]] | None" = None  # in a process of the pool: where progress is told


def side_by_side(
    work: Work[One, Given], jobs: Sequence[One], *, on_progress: OnProgress, workers: int | None = None
) -> list[Given]:
    """Do all jobs and give back what each gave, in their order; `work` must be a function that can be imported."""
    workers = min(len(jobs), workers or os.cpu_count() or 1)
    if workers == 1:
        return [work(job, lambda far, number=number: on_progress(number, far)) for number, job in enumerate(jobs)]  # type: ignore[misc]
    context = get_context("spawn")  # a fork would take PyTorch's threads along half alive
    told = context.SimpleQueue()
    try:
        with ProcessPoolExecutor(workers, mp_context=context, initializer=_begin, initargs=(told,)) as pool:
            futures = [pool.submit(_work, work, number, job) for number, job in enumerate(jobs)]
            _follow(futures, told, on_progress)
            return [future.result() for future in futures]
    except BrokenProcessPool as error:
        raise UserError(
            "a process that trained a net ended too early; see whether memory ran out, and in a script of your own "
            "put the call under `if __name__ == '__main__':`"
        ) from error


def _follow(futures: Sequence["Future[Any]"], told: "SimpleQueue[tuple[int, int]]", on_progress: OnProgress) -> None:
    """Pass on what the jobs tell until all are done or one has failed, which stops those that wait."""
    waiting = set(futures)
    while waiting:
        done, waiting = wait(waiting, timeout=PATIENCE, return_when=FIRST_COMPLETED)
        while not told.empty():
            on_progress(*told.get())
        if any(future.exception() for future in done):
            for future in waiting:
                future.cancel()
            return


def _begin(told: "SimpleQueue[tuple[int, int]]") -> None:
    global _told
    _told = told


def _work(work: Work[One, Given], number: int, job: One) -> Given:
    told = _told
    assert told is not None
    return work(job, lambda far: told.put((number, far)))
