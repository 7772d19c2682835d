"""The engine `local`: jobs in processes of this machine. A process that dies is replaced, and its job goes on."""

import os
import signal
import time
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing import get_context, resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from pathlib import Path

from wherewhat.jobs.engines import STOP_SECONDS, JobEvent, OnEvent, ended
from wherewhat.jobs.folder import PROGRESS, RESULT, JobFolder
from wherewhat.jobs.job import Job, JobFailure
from wherewhat.jobs.perform import order_of, read_answer, stopping, write_failure
from wherewhat.jobs.progress_log import ProgressReader, last_line
from wherewhat.jobs.worker import serve
from wherewhat.signals import SIGNALS, deferred_signals

POLL_SECONDS = 0.1
GRACE_SECONDS = 5.0  # for a process that is ending by itself
MOST_DEATHS = 3  # of one job
NOT_STARTED = (
    "a worker process could not start; in a script of your own put the call under `if __name__ == '__main__':`, as the "
    "processes import the script, or choose the engine inline"
)
SPAWN = get_context("spawn")  # a fork would copy PyTorch's threads in a broken state


def processors() -> int:
    """How many processors this process may use, which can be fewer than the machine has."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@dataclass(frozen=True)
class LocalEngine:
    """Runs jobs in several processes, each one job at a time."""

    workers: int = field(default_factory=processors)

    def run(
        self, jobs: Sequence[Job], folder: Path, on_event: OnEvent, *, fail_fast: bool = True
    ) -> Sequence[JobFailure]:
        """Run all jobs; successive jobs in a process may share what their work caches."""
        resource_tracker.ensure_running()  # which unblocks signals: not while a worker is started
        pool = WorkerPool(jobs, folder, on_event, size=self.workers, fail_fast=fail_fast)
        try:
            pool.run()
            pool.stop(GRACE_SECONDS)
        except BaseException:
            with stopping(folder):
                pool.drain(STOP_SECONDS)
            raise
        finally:
            with _signals_wait():
                pool.stop()
        return pool.failures


@dataclass(eq=False)
class Worker:
    """A process, and the job that it runs."""

    process: SpawnProcess
    pipe: Connection
    job: Job | None = None
    progress: ProgressReader | None = None  # of its job
    attempt: int = 0  # the last one at its job before this process had it
    peak: float = 0.0  # gigabytes of memory that it has used at once, as far as is known

    @classmethod
    def start(cls) -> "Worker":
        """Start a process that waits for jobs."""
        ours, theirs = SPAWN.Pipe()
        with theirs:
            process = SPAWN.Process(target=serve, args=(theirs,))
            process.start()
        return cls(process, ours)

    def end(self, grace: float = 0.0) -> None:
        """End the process, after so many seconds unless it does so by itself."""
        self.pipe.close()
        self.process.join(grace)
        self.process.kill()
        self.process.join()


class WorkerPool:
    """Processes that run jobs until none is left; with `fail_fast`, those that run when one fails are the last."""

    def __init__(
        self, jobs: Sequence[Job], folder: Path, on_event: OnEvent, *, size: int, fail_fast: bool = True
    ) -> None:
        self.failures: list[JobFailure] = []
        self._fail_fast = fail_fast
        self._waiting, self._folder, self._on_event, self._size = deque(jobs), JobFolder(folder), on_event, size
        self._workers: list[Worker] = []
        self._deaths: Counter[str] = Counter()

    def run(self) -> None:
        """Follow all jobs to their ends."""
        while busy := self._assign():
            wait([worker.pipe for worker in busy], timeout=POLL_SECONDS)
            for worker in busy:
                self._follow(worker)

    def drain(self, seconds: float) -> None:
        """Wait so long for the processes to end their jobs, which have been told to stop."""
        until = time.monotonic() + seconds
        while busy := [worker for worker in self._workers if worker.job is not None and worker.process.is_alive()]:
            ready = wait([worker.pipe for worker in busy], timeout=max(0.0, until - time.monotonic()))
            if not ready:
                return
            for worker in busy:
                if worker.pipe in ready:
                    worker.job = None

    def stop(self, grace: float = 0.0) -> None:
        """End all processes. What is in the folders of their jobs stays."""
        for worker in self._workers:
            worker.pipe.close()
        while self._workers:
            self._workers[-1].end(grace)
            self._workers.pop()

    def _assign(self) -> list[Worker]:
        """Give the waiting jobs to idle processes, and return those that are busy."""
        while self._waiting and not (self.failures and self._fail_fast) and (worker := self._idle()) is not None:
            job = self._waiting.popleft()
            progress = self._folder.of(job) / PROGRESS
            worker.job, worker.progress, worker.attempt = job, ProgressReader(progress), last_line(progress)["attempt"]
            with suppress(OSError):  # it has died, which `_follow` notices
                worker.pipe.send_bytes(order_of(job, self._folder.folder))
            self._on_event(JobEvent(job, "begun"))
        return [worker for worker in self._workers if worker.job is not None]

    def _idle(self) -> Worker | None:
        """A process without a job: a new one if there may be more."""
        for worker in [worker for worker in self._workers if worker.job is None]:
            if worker.process.is_alive():
                return worker
            self._workers.remove(worker)
            worker.end()
        if len(self._workers) == self._size:
            return None
        with _signals_wait():  # until `stop` knows it
            self._workers.append(Worker.start())
        return self._workers[-1]

    def _follow(self, worker: Worker) -> None:
        """Report how far a job is, and notice its end."""
        job = worker.job
        assert job is not None and worker.progress is not None
        worker.peak = max(worker.peak, _peak_memory(worker.process.pid))
        for line in worker.progress.lines():
            if line["step"]:  # not only begun
                self._on_event(JobEvent(job, "step", line["step"], line.get("measured", {})))
        try:
            answer = worker.pipe.recv_bytes() if worker.pipe.poll() else None
        except (EOFError, OSError):
            return self._died(worker, job)
        if answer is not None:
            self._ended(worker, job, read_answer(answer))
        elif not worker.process.is_alive():
            self._died(worker, job)

    def _ended(self, worker: Worker, job: Job, failure: JobFailure | None) -> None:
        worker.job = None
        if failure is not None:
            self.failures.append(failure)
        self._on_event(ended(job, failure))

    def _died(self, worker: Worker, job: Job) -> None:
        """Its job goes on in another process, unless it was just finished or a process has died of it too often."""
        worker.end(GRACE_SECONDS)
        self._workers.remove(worker)
        if (self._folder.of(job) / RESULT).exists():
            return self._ended(worker, job, None)
        self._deaths[job.name] += 1
        exit_code, began = worker.process.exitcode or 0, last_line(self._folder.of(job) / PROGRESS)["attempt"]
        hopeless = exit_code > 0 and began == worker.attempt  # it ended by itself before it began: so would all others
        if self._deaths[job.name] < MOST_DEATHS and not hopeless:
            self._waiting.appendleft(job)
            return self._on_event(JobEvent(job, "died"))
        failure = JobFailure(job.name, NOT_STARTED if hopeless else _sentence(job, exit_code, worker.peak))
        write_failure(failure, self._folder.of(job))
        self._ended(worker, job, failure)


def _sentence(job: Job, exit_code: int, peak: float) -> str:
    how = f"exit code {exit_code}"
    with suppress(ValueError):
        how = signal.Signals(-exit_code).name
    memory = f" with {peak:.1f} GB of memory" if peak else ""
    return (
        f"the process of '{job.name}' ended too early {MOST_DEATHS} times, the last time by {how}{memory}; check "
        "whether memory ran out"
    )


def _peak_memory(process: int | None) -> float:
    """How many gigabytes of memory a process has used at once; 0 where the system does not tell."""
    with suppress(OSError, IndexError):  # no such file, or a process that has ended
        status = Path(f"/proc/{process}/status").read_text()
        return int(status.partition("VmHWM:")[2].split()[0]) * 1024 / 1e9
    return 0.0


@contextmanager
def _signals_wait() -> Iterator[None]:
    """Let Ctrl-C wait until this block is done. A process started in it never hears Ctrl-C: this one ends it."""
    with deferred_signals():
        before = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
        try:
            yield
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
