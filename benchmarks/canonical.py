"""All angles and seeds of a task in one batched net beside the same runs one after the other."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from benchmarks.measurement import Measurement, side_by_side
from wherewhat.studies.canonical.net import Floats, net_of
from wherewhat.studies.canonical.sequences import read
from wherewhat.studies.canonical.settings import BASES, CONDITIONS, SCALES, CanonicalCondition
from wherewhat.studies.canonical.train import learn, start

SEEDS, STEPS = range(5), 40
TINY = SCALES["tiny"]


def measure(repeats: int) -> Iterator[Measurement]:
    """The same steps on the same samples, both ways, by the same code; samples are made before the clock starts."""
    for condition in (CONDITIONS["index"], CONDITIONS["retrieval"], CONDITIONS["partial_induction, 2 planes"]):
        yield _together(condition, repeats)


def _together(condition: CanonicalCondition, repeats: int) -> Measurement:
    at_once = _learning(condition, BASES, SEEDS)
    alone = [_learning(condition, [base], [seed]) for seed in SEEDS for base in BASES]

    def one_by_one() -> Floats:
        return np.concatenate([learning() for learning in alone], 1)

    apart = float(np.abs(at_once() - one_by_one()).max())
    ratios = tuple(slow / quick for quick, slow in side_by_side(at_once, one_by_one, repeats=repeats))
    title = f"canonical {condition.name}, {len(alone)} runs: faster than one by one"
    return Measurement(title, ratios, 5, at_least=True, note=f"weights {apart:.0e} apart")


def _learning(condition: CanonicalCondition, bases: Sequence[float], seeds: Sequence[int]) -> Callable[[], Floats]:
    """A function that takes the steps and gives back the weights."""
    net = net_of(condition, bases, len(seeds))
    some = read(condition.task, seeds=seeds, split="train", numbers=np.arange(STEPS * TINY.batch))
    first = start(net.first_weights(seeds, TINY.deviation))
    return lambda: learn(net, first, some.batches(TINY.batch), TINY.rate).weights_WR
