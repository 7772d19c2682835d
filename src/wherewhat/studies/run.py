"""Run a reproduction by name, and keep where its numbers came from."""

import time
from dataclasses import asdict, replace

from wherewhat.names import look_up
from wherewhat.progress import OnStep, shows_progress
from wherewhat.runs.reproduced import Reproduced
from wherewhat.studies.base import Order
from wherewhat.studies.registry import REPRODUCTIONS
from wherewhat.tables.manifest import peak_memory, provenance


@shows_progress
def reproduce(
    name: str, order: Order | None = None, *, progress: bool = False, on_step: OnStep | None = None
) -> Reproduced:
    """Do a published experiment again: its table, and in the manifest published, ours and verdict.

    `progress` shows how far it has come, or `on_step` is told, here or in the order.
    """
    began, order = time.perf_counter(), order or Order()
    order = order if on_step is None else replace(order, on_step=on_step)
    chosen = look_up("reproduction", name, REPRODUCTIONS)
    found = chosen.run(order)
    manifest = {
        **provenance(),
        "reproduction": chosen.name,
        "paper": chosen.paper,
        "command": None,
        "scale": order.scale,
        "seed": order.seed,
        "settings": dict(found.settings),
        "claims": [asdict(claim) for claim in found.claims],
        "notes": list(found.notes),
        "about": dict(found.about),
        "seconds": round(time.perf_counter() - began, 3),
        "peak_memory_bytes": peak_memory(),
    }
    return Reproduced(found.result, manifest)
