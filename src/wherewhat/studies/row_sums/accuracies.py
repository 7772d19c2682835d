"""Numbers of encodings in the result table, as several claims ask for them."""

import math
from collections.abc import Sequence

from wherewhat.formatting import percent
from wherewhat.stats.estimate import Estimate
from wherewhat.studies.engine.results import Cell, ResultTable
from wherewhat.studies.row_sums.names import SCORED, SOLVED, accuracy, name_of
from wherewhat.studies.row_sums.settings import ARMS


def encodings(table: ResultTable, *kinds: str) -> list[str]:
    """The encodings of the study that are of these kinds."""
    return [name for name in table.scale.encodings if ARMS[name].kind in kinds]


def biases(table: ResultTable) -> list[str]:
    """The relative biases of the study."""
    return [name for name in table.scale.encodings if ARMS[name].bias]


def values(table: ResultTable, task: str, names: Sequence[str], cell: Cell) -> dict[str, float]:
    """By encoding, the mean over seeds of one number, where there is one."""
    rows = {name: table.value(name_of(task, name), cell) for name in names}
    return {name: value for name, value in rows.items() if not math.isnan(value)}


def share(table: ResultTable, task: str, name: str, item: str) -> str:
    """The share of slots that an encoding answers correctly, in per cent."""
    return percent(table.value(name_of(task, name), accuracy(item)))


def solvers(table: ResultTable, task: str, *kinds: str) -> list[str]:
    """The encodings of these kinds that solve a task on random tokens."""
    shares = values(table, task, encodings(table, *kinds), accuracy(SCORED[task]))
    return [name for name, value in shares.items() if value > SOLVED]


def estimates(table: ResultTable, task: str, names: Sequence[str]) -> dict[str, Estimate]:
    """The accuracies of encodings in a task with their intervals; a number without one is its own."""
    cell = accuracy(SCORED[task])
    known = {name: each for name in names if (each := table.estimate(name_of(task, name), cell)).known}
    return {
        name: each if math.isfinite(each.low) else Estimate(each.value, each.value, each.value)
        for name, each in known.items()
    }
