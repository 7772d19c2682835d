"""Every engine by name."""

from collections.abc import Callable
from dataclasses import dataclass

from wherewhat.errors import UserError
from wherewhat.jobs.engines import Engine, InlineEngine
from wherewhat.jobs.local import LocalEngine
from wherewhat.jobs.ray_engine import RayEngine
from wherewhat.names import look_up


@dataclass(frozen=True)
class EngineKind:
    """An engine that can be chosen by name."""

    name: str
    description: str
    make: Callable[[int | None], Engine]  # takes the number of workers
    join: Callable[[int | None, str, bool], Engine] | None = None  # the same on a cluster: its address, shared or not


def _inline(workers: int | None) -> Engine:
    if workers not in (None, 1):
        raise UserError(f"engine 'inline' has 1 worker, not {workers}; leave --workers out or choose --engine local")
    return InlineEngine()


def _local(workers: int | None) -> Engine:
    return LocalEngine() if workers is None else LocalEngine(workers)


ENGINES = {
    kind.name: kind
    for kind in (
        EngineKind("inline", "one job after the other, in this process", _inline),
        EngineKind("local", "processes of this machine; one that dies is replaced and its job goes on", _local),
        EngineKind("ray", "the same by Ray, on this machine or on a cluster (needs ray)", RayEngine, RayEngine),
    )
}


def engine(name: str, workers: int | None = None, address: str | None = None, *, shared: bool = False) -> Engine:
    """The engine called `name`, with so many workers (default: one per processor that this process may use).

    `address` is that of a cluster to join, whose nodes all see the folder of the jobs if it is `shared`.
    """
    kind = look_up("engine", name, ENGINES)
    if workers is not None and workers < 1:
        raise UserError(f"--workers is {workers}; give at least 1")
    if kind.join is None and (address is not None or shared):
        option = "--shared" if address is None else "--address"
        raise UserError(f"engine '{name}' runs on this machine only; leave {option} out or choose --engine ray")
    return kind.make(workers) if kind.join is None or address is None else kind.join(workers, address, shared)
