"""How long a hundred thousand Latin-square puzzles take, as a share of a minute."""

from collections.abc import Iterator

import numpy as np

from benchmarks.measurement import Measurement, seconds
from wherewhat.tasks.latin import LatinSquare

PUZZLES, MINUTE = 100_000, 60.0


def measure(repeats: int) -> Iterator[Measurement]:
    """Other puzzles each time; Latin squares are listed before the clock starts."""
    task = LatinSquare()
    task.batch(1, "test", np.arange(PUZZLES // 100))
    batches = [np.arange(PUZZLES) + number * PUZZLES for number in range(repeats)]
    shares = tuple(seconds(lambda numbers=each: task.batch(1, "train", numbers)) / MINUTE for each in batches)
    yield Measurement(f"{PUZZLES:,} Latin-square puzzles: over a minute", shares, 1)
