"""What is trained, and how much of it: three tasks, four kinds of head, and the scales."""

from dataclasses import dataclass
from math import pi

from wherewhat.studies.canonical import CONTEXT, INDEX, INDUCTION, INTEGERS, ONE_PLANE, RETRIEVAL, SYMBOLS, TWO_PLANES


def angle(base: float) -> float:
    """The rotation angle of a base, in radians per slot.

    >>> round(33 * angle(2.0) / pi, 6)
    2.0
    """
    return base * pi / (CONTEXT + 1)


@dataclass(frozen=True)
class HeadShape:
    """The head for a task, and its number of rotary planes. Of two planes, the first is not rotated."""

    name: str
    task: str
    planes: int = 1
    queries: int = SYMBOLS  # number of different queries
    answers: int = INTEGERS


@dataclass(frozen=True)
class CanonicalTask:
    """A task with the heads that learn it together, from the same sequences."""

    name: str
    heads: tuple[HeadShape, ...]


TASKS = (
    CanonicalTask(INDEX, (HeadShape(INDEX, INDEX, queries=CONTEXT, answers=SYMBOLS),)),
    CanonicalTask(RETRIEVAL, (HeadShape(RETRIEVAL, RETRIEVAL),)),
    CanonicalTask(INDUCTION, (HeadShape(ONE_PLANE, INDUCTION), HeadShape(TWO_PLANES, INDUCTION, planes=2))),
)
HEADS = {shape.name: shape for task in TASKS for shape in task.heads}


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
SMALL = CanonicalScale(seeds=10, steps=12_800, valid=20_480, scored=256)
SCALES = {"tiny": CanonicalScale(), "small": SMALL, "paper": PUBLISHED}
