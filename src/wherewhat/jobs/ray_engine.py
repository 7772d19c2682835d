"""The engine `ray`: jobs as tasks of Ray, on this machine or on a cluster. The only file that knows Ray."""

import logging
import os
import secrets
import socket
import sys
import tempfile
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from threading import Thread
from typing import Any

from wherewhat.errors import UserError
from wherewhat.jobs.engines import STOP_SECONDS, JobEvent, OnEvent, ended
from wherewhat.jobs.folder import PROGRESS, RESULT, JobFolder
from wherewhat.jobs.job import Job, JobFailure
from wherewhat.jobs.local import MOST_DEATHS, processors
from wherewhat.jobs.locks import only_machine
from wherewhat.jobs.perform import order_of, perform_order, read_answer, stopping, write_failure
from wherewhat.jobs.progress_log import ProgressReader
from wherewhat.signals import deferred_signals

POLL_SECONDS = 0.2
CONNECT_SECONDS = 4.0  # for a port to be opened
JOIN_SECONDS = 10.0  # for the cluster behind it to answer
SEEN_SECONDS = 90.0  # for files of another machine to be seen: network file systems remember what was not there
STORE_BYTES = 80 * 2**20  # for messages between processes, which are small; Ray takes no less
LONGEST_FOLDER = 24  # characters; Ray puts sockets deep into its folder, and their paths must be short
DETERMINING = ("wherewhat", "torch")  # packages whose versions can change a result
SHARED = "the folder must be on storage that all nodes see"
NOT_INSTALLED = "engine 'ray' needs Ray, which is not installed; run `pip install 'wherewhat[ray]'`"


class RayEngine:
    """Runs jobs in processes that Ray starts on this machine or, with an address, on a cluster.

    Ray is told not to repeat a task, as it would do so silently and, after memory ran out, without end: a job whose
    process or machine dies is submitted again here, and goes on from its checkpoint.
    """

    def __init__(self, workers: int | None = None, address: str | None = None, shared: bool = False) -> None:
        if address is not None:
            _check(address, shared=shared)
        if find_spec("ray") is None:
            raise UserError(NOT_INSTALLED)
        self.workers = processors() if workers is None else workers  # those of a cluster once it was joined
        self._most, self._address = workers, address

    def run(
        self, jobs: Sequence[Job], folder: Path, on_event: OnEvent, *, fail_fast: bool = True
    ) -> Sequence[JobFailure]:
        """Run all jobs, as many at once as there are workers or, on a cluster, processors."""
        local = self._address is None
        ray = _import_ray(local=local)
        with _started(ray, self.workers) if self._address is None else _joined(ray, self._address):
            session = RaySession(ray, (lambda: self.workers) if local else partial(self._count, ray), local=local)
            tasks = TaskPool(session, jobs, folder, on_event, fail_fast=fail_fast)
            try:
                tasks.run()
            except BaseException:
                with stopping(folder):
                    tasks.stop(STOP_SECONDS)
                raise
        return tasks.failures

    def _count(self, ray: Any) -> int:
        """How many jobs the cluster, as it is now, is to run at once. One that has no processor yet may get some."""
        available = max(1, int(ray.cluster_resources().get("CPU", 0)))
        self.workers = available if self._most is None else min(self._most, available)
        return self.workers


class RaySession:
    """A connection to Ray, and how it runs a job."""

    def __init__(self, ray: Any, size: Callable[[], int], *, local: bool) -> None:
        self.ray, self.size, self.local = ray, size, local  # size: how many jobs are to run at once
        as_task = ray.remote(num_cpus=1, max_retries=0)  # processes are used again, as importing torch takes seconds
        self._here, self._on_node = as_task(perform_here), as_task(perform_on_node)

    def submit(self, job: Job, folder: JobFolder) -> Any:
        """Let a job run, and return a reference to the answer."""
        order, path = order_of(job, folder.folder), [entry for entry in sys.path if entry]
        if self.local:
            return self._here.remote(order, path)
        return self._on_node.remote(order, path, str(folder.of(job).absolute()), _versions())


class TaskPool:
    """Tasks that run jobs until none is left; with `fail_fast`, those that run when one fails are the last."""

    def __init__(
        self, session: RaySession, jobs: Sequence[Job], folder: Path, on_event: OnEvent, *, fail_fast: bool
    ) -> None:
        self.failures: list[JobFailure] = []
        self._session, self._ray, self._fail_fast = session, session.ray, fail_fast
        self._waiting, self._folder, self._on_event = deque(jobs), JobFolder(folder), on_event
        self._running: dict[Any, tuple[Job, ProgressReader]] = {}  # by the reference to the answer
        self._deaths: Counter[str] = Counter()

    def run(self) -> None:
        """Follow all jobs to their ends."""
        while self._submit():
            ready, _ = self._ray.wait(list(self._running), timeout=POLL_SECONDS)
            for answer, (job, progress) in list(self._running.items()):
                for line in progress.lines():
                    if line["step"]:  # not only begun
                        self._on_event(JobEvent(job, "step", line["step"], line.get("measured", {})))
                if answer in ready:
                    del self._running[answer]
                    self._read(answer, job)

    def stop(self, seconds: float) -> None:
        """Wait so long for the tasks, which have been told to stop, and then end them."""
        if self._running:
            _, left = self._ray.wait(list(self._running), num_returns=len(self._running), timeout=seconds)
            for answer in left:  # to cancel one that has just answered ends this process (ray 2.60)
                self._ray.cancel(answer, force=True)

    def _submit(self) -> bool:
        """Submit waiting jobs, as many as can run at once, and return whether any is running."""
        while self._waiting and not (self.failures and self._fail_fast) and len(self._running) < self._session.size():
            job = self._waiting.popleft()
            progress = ProgressReader(self._folder.of(job) / PROGRESS)
            self._running[self._session.submit(job, self._folder)] = job, progress
            self._on_event(JobEvent(job, "begun"))
        return bool(self._running)

    def _read(self, answer: Any, job: Job) -> None:
        """The end of a task: its answer, an error outside the job's own work, or the death of its process."""
        place = self._folder.of(job)
        try:
            failure = read_answer(self._ray.get(answer))
        except self._ray.exceptions.RayTaskError as error:
            failure = JobFailure.of(job, error.cause, str(error))
            write_failure(failure, place)
        except self._ray.exceptions.RayError as error:
            return self._died(job, error)
        if failure is None and not self._session.local and not _is_seen(place / RESULT):
            failure = JobFailure(job.name, f"{place} has no {RESULT} here, but on another machine; {SHARED}")
        self._ended(job, failure)

    def _ended(self, job: Job, failure: JobFailure | None) -> None:
        if failure is not None:
            self.failures.append(failure)
        self._on_event(ended(job, failure))

    def _died(self, job: Job, error: Exception) -> None:
        """The job goes on in another process, unless it was just finished or has died too often."""
        place = self._folder.of(job)
        if (place / RESULT).exists():
            return self._ended(job, None)
        self._deaths[job.name] += 1
        if self._deaths[job.name] < MOST_DEATHS:
            self._waiting.appendleft(job)
            return self._on_event(JobEvent(job, "died"))
        failure = JobFailure(
            job.name,
            f"the process of '{job.name}' ended too early {MOST_DEATHS} times, the last time by "
            f"{type(error).__name__}; check whether memory ran out",
        )
        write_failure(failure, place)
        self._ended(job, failure)


def perform_here(order: bytes, path: Sequence[str]) -> bytes:
    """Run the job of a message, in a process that Ray has started; modules are found where its parent finds them."""
    sys.path += [entry for entry in path if entry not in sys.path]
    return perform_order(order)


def perform_on_node(order: bytes, path: Sequence[str], place: str, versions: Mapping[str, str]) -> bytes:
    """The same on a node of a cluster, unless the job would come out otherwise there or runs on another node."""
    node = socket.gethostname()
    if not Path(place).parent.is_dir():
        raise UserError(f"node {node} does not see {Path(place).parent}; {SHARED}")
    for package, here in _versions().items():
        if here != versions[package]:
            raise UserError(
                f"node {node} has {package} {here}, not {versions[package]}; install the same version on all nodes"
            )
    with only_machine(Path(place)):
        return perform_here(order, path)


def _versions() -> dict[str, str]:
    return {package: version(package) for package in DETERMINING}


def _is_seen(path: Path) -> bool:
    """Whether a file of another machine is seen here, sooner or later."""
    until = time.monotonic() + SEEN_SECONDS
    while not path.exists():
        if time.monotonic() > until:
            return False
        with suppress(OSError):
            list(path.parent.iterdir())  # asks for its state on other machines, too
        time.sleep(POLL_SECONDS)
    return True


def _check(address: str, *, shared: bool) -> None:
    """Refuse a cluster that cannot be joined, before anything is done."""
    host, _, port = address.rpartition(":")
    if "/" in address or not host or not port.isdecimal():
        raise UserError(f"--address is '{address}'; give HOST:PORT of a Ray cluster, such as 10.0.0.1:6379")
    if not shared:
        raise UserError(f"with --address {SHARED}; if it is, add --shared")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=CONNECT_SECONDS).close()
    except (OSError, OverflowError) as error:
        raise UserError(f"no Ray cluster answers at {address} ({error}); check the address") from error


def _import_ray(*, local: bool) -> Any:
    """Ray, which takes a while to import. It reads these variables when it is imported or started."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # reports to its makers
    os.environ.setdefault("RAY_DEDUP_LOGS_SKIP_REGEX", ".")  # what it would print on stdout, such as of every death
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # tasks see GPUs as all other processes do
    if local:
        os.environ.setdefault("RAY_gcs_rpc_server_reconnect_timeout_s", "5")  # so its agents outlive a kill by seconds
        os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")  # so it listens to this machine only
        os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))  # otherwise it writes one into the home folder
    try:
        import ray
    except ImportError as error:
        raise UserError(NOT_INSTALLED) from error
    if ray.is_initialized():
        raise UserError("this process is already connected to Ray; call ray.shutdown() first, or choose --engine local")
    return ray


@contextmanager
def _started(ray: Any, workers: int) -> Iterator[None]:
    """A Ray for this block only, on this machine only."""
    parent = tempfile.gettempdir()
    parent = parent if len(parent) <= LONGEST_FOLDER else "/tmp"
    with tempfile.TemporaryDirectory(prefix="ww-", dir=parent, ignore_cleanup_errors=True) as folder:
        try:
            with deferred_signals():  # half a Ray could not be ended; and it would keep the handler of SIGTERM
                _start(ray, workers, f"{folder}/ray")  # which Ray opens to everyone, unlike the folder around it
            yield
        finally:
            with deferred_signals():
                _shut_down(ray)


def _start(ray: Any, workers: int, folder: str) -> None:
    try:
        ray.init(
            address="local",
            num_cpus=workers,
            num_gpus=0,
            object_store_memory=STORE_BYTES,
            include_dashboard=False,
            log_to_driver=False,
            logging_level=logging.CRITICAL,
            _temp_dir=folder,
        )
    except Exception as error:
        raise UserError(f"Ray could not be started here ({_first_line(error)}); choose --engine local") from error


@contextmanager
def _joined(ray: Any, address: str) -> Iterator[None]:
    """A connection to a cluster for this block; one that does not answer in time is refused."""
    errors: list[Exception] = []

    def join() -> None:
        try:
            ray.init(address=address, log_to_driver=False, logging_level=logging.CRITICAL)
        except Exception as error:
            errors.append(error)

    thread = Thread(target=join, daemon=True)  # it can wait for minutes
    thread.start()
    thread.join(JOIN_SECONDS)
    if errors or thread.is_alive():
        reason = _first_line(errors[0]) if errors else f"no answer in {JOIN_SECONDS:.0f} s"
        raise UserError(
            f"the Ray cluster at {address} could not be joined ({reason}); run this on one of its nodes, with the "
            "same versions of Ray and Python"
        )
    try:
        yield
    finally:
        with deferred_signals():
            _shut_down(ray)


def _shut_down(ray: Any) -> None:
    """End the connection, and Ray itself where it was started here."""
    ray.shutdown(wait_for_processes=True)


def _first_line(error: Exception) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)
