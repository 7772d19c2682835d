"""What is trained, and how much of it: the ten base angles, the four conditions, and the scales."""

from dataclasses import dataclass
from math import pi

from wherewhat.tasks.base import Balanced
from wherewhat.tasks.registry import task

BASES = (2.0, 1.5, 1.0, 0.8, 0.5, 0.4, 0.25, 0.1, 0.01, 0.0)  # called 0 to 9 in the paper
CONTEXT, SYMBOLS, INTEGERS = 32, 16, 32
TOKENS = CONTEXT + 1  # with the query
BINS = 8  # into which the answers' slots are grouped


def angle(base: float) -> float:
    """The rotation angle of a base, in radians per slot.

    >>> round(33 * angle(2.0) / pi, 6)
    2.0
    """
    return base * pi / TOKENS


@dataclass(frozen=True)
class CanonicalCondition:
    """A task, and how many rotary planes the head has for it. Of two planes, the first is not rotated."""

    name: str
    task_name: str
    planes: int = 1
    queries: int = SYMBOLS  # number of different queries
    answers: int = INTEGERS

    @property
    def task(self) -> Balanced:
        sizes = {"context": CONTEXT, "n_symbols": SYMBOLS}
        return task(self.task_name, **(sizes if self.task_name == "index" else sizes | {"n_int": INTEGERS}))


CONDITIONS: dict[str, CanonicalCondition] = {
    condition.name: condition
    for condition in [
        CanonicalCondition("index", "index", queries=CONTEXT, answers=SYMBOLS),
        CanonicalCondition("retrieval", "retrieval"),
        CanonicalCondition("partial_induction, 1 plane", "partial_induction"),
        CanonicalCondition("partial_induction, 2 planes", "partial_induction", planes=2),
    ]
}


@dataclass(frozen=True)
class CanonicalScale:
    """How much is trained and measured. `samples` is the size of a fixed training set; None draws every sample new."""

    seeds: int = 5
    steps: int = 6_400
    batch: int = 64
    samples: int | None = None
    valid: int = 4_096  # validation samples per seed, for accuracy
    scored: int = 64  # sequences per seed, for scores and shares
    rate: float = 1e-2
    deviation: float = 0.5  # standard deviation of the initial weights


PUBLISHED = CanonicalScale(steps=64_000, samples=40_960, valid=20_480, scored=256)  # except seeds, rate and scored
SCALES: dict[str, CanonicalScale] = {
    "tiny": CanonicalScale(),
    "small": CanonicalScale(seeds=10, steps=12_800, valid=20_480, scored=256),
    "paper": PUBLISHED,
}
