"""All angles and seeds of a task in one batched net beside the same runs one after the other."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from benchmarks.measurement import Measurement, side_by_side
from wherewhat.studies.canonical import BASES, INDEX, RETRIEVAL, TWO_PLANES
from wherewhat.studies.canonical.net import AdamState, Floats, Net, learn
from wherewhat.studies.canonical.sequences import read
from wherewhat.studies.canonical.settings import HEADS, SCALES, HeadShape

SEEDS, STEPS = range(5), 40
TINY = SCALES["tiny"]


def measure(repeats: int) -> Iterator[Measurement]:
    """The same steps on the same samples, both ways, by the same code; samples are made before the clock starts."""
    for name in (INDEX, RETRIEVAL, TWO_PLANES):
        yield _together(HEADS[name], repeats)


def _together(shape: HeadShape, repeats: int) -> Measurement:
    at_once = _learning(shape, BASES, SEEDS)
    alone = [_learning(shape, [base], [seed]) for seed in SEEDS for base in BASES]

    def one_by_one() -> Floats:
        return np.concatenate([learning() for learning in alone], 1)

    apart = float(np.abs(at_once() - one_by_one()).max())
    ratios = tuple(slow / quick for quick, slow in side_by_side(at_once, one_by_one, repeats=repeats))
    title = f"canonical {shape.name}, {len(alone)} runs: faster than one by one"
    return Measurement(title, ratios, 5, at_least=True, note=f"weights {apart:.0e} apart")


def _learning(shape: HeadShape, bases: Sequence[float], seeds: Sequence[int]) -> Callable[[], Floats]:
    """A function that takes the steps and gives back the weights."""
    net = Net(shape, bases, len(seeds))
    some = read(shape.task, seeds=seeds, split="train", numbers=np.arange(STEPS * TINY.batch))
    first = AdamState(net.first_weights(seeds, TINY.deviation))
    return lambda: learn(net, first, some.batches(TINY.batch), TINY.rate).weights_WR
