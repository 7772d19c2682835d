"""What is trained, and how much of it: the ten base angles, the four cases, and the scales."""

from dataclasses import dataclass
from math import pi

from wherewhat.tasks.base import Balanced
from wherewhat.tasks.registry import task

BASES = (2.0, 1.5, 1.0, 0.8, 0.5, 0.4, 0.25, 0.1, 0.01, 0.0)  # called 0 to 9 in the paper
CONTEXT, SYMBOLS, INTEGERS = 32, 16, 32
TOKENS = CONTEXT + 1  # with the query
BINS = 8  # of the slots of answers


def angle(base: float) -> float:
    """The angle that belongs to a base, in radians a slot.

    >>> round(33 * angle(2.0) / pi, 6)
    2.0
    """
    return base * pi / TOKENS


@dataclass(frozen=True)
class Case:
    """A task and how many planes the head has for it. Of two planes the first stands still."""

    name: str
    task_name: str
    planes: int = 1
    queries: int = SYMBOLS  # things that can be asked
    answers: int = INTEGERS

    @property
    def task(self) -> Balanced:
        sizes = {"context": CONTEXT, "n_symbols": SYMBOLS}
        return task(self.task_name, **(sizes if self.task_name == "index" else sizes | {"n_int": INTEGERS}))


CASES: dict[str, Case] = {
    case.name: case
    for case in [
        Case("index", "index", queries=CONTEXT, answers=SYMBOLS),
        Case("retrieval", "retrieval"),
        Case("partial_induction, 1 plane", "partial_induction"),
        Case("partial_induction, 2 planes", "partial_induction", planes=2),
    ]
}


@dataclass(frozen=True)
class Scale:
    """How much is trained and measured. `samples` are met again and again; None: every sample is fresh."""

    seeds: int = 5
    steps: int = 6_400
    batch: int = 64
    samples: int | None = None
    valid: int = 4_096  # samples that accuracy is measured on, a seed
    scored: int = 64  # sequences that scores and shares are read on, a seed
    rate: float = 1e-2
    deviation: float = 0.5  # of the first weights


PUBLISHED = Scale(steps=64_000, samples=40_960, valid=20_480, scored=256)  # but for seeds, rate and what is scored
SCALES: dict[str, Scale] = {
    "tiny": Scale(),
    "small": Scale(seeds=10, steps=12_800, valid=20_480, scored=256),
    "paper": PUBLISHED,
}
