"""Train every case at a scale: cases of one task learn from the same sequences, read once for both."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wherewhat.studies.canonical.learn import learn, start
from wherewhat.studies.canonical.net import Floats, Net, net_of
from wherewhat.studies.canonical.sequences import Sequences, read
from wherewhat.studies.canonical.settings import BASES, CASES, Case, Scale
from wherewhat.training.threads import threads

BLOCK = 100  # steps whose sequences are made at once
OnBlock = Callable[[int, int, str], None]


@dataclass(frozen=True)
class Trained:
    """The heads of a case after training, every seed at every angle."""

    case: Case
    net: Net
    weights_WR: Floats
    seeds: range

    def valid(self, samples: int) -> Sequences:
        """Samples that nobody learnt from."""
        return read(self.case.task, seeds=self.seeds, split="valid", numbers=np.arange(samples))


def train(scale: Scale, first_seed: int, on_block: OnBlock) -> list[Trained]:
    """All cases, one task after the other."""
    seeds = range(first_seed, first_seed + scale.seeds)
    names = list(dict.fromkeys(case.task_name for case in CASES.values()))
    blocks = -(-scale.steps // BLOCK)
    found: list[Trained] = []
    with threads(1):  # attention that has all but vanished counts as 0: arithmetic with it would take most of the time
        for number, name in enumerate(names):
            cases = [case for case in CASES.values() if case.task_name == name]

            def tell(block: int, before: int = number * blocks, name: str = name) -> None:
                on_block(before + block, len(names) * blocks, f"learning {name}")

            found += train_task(cases, scale, seeds, tell)
    return found


def train_task(
    cases: Sequence[Case], scale: Scale, seeds: range, on_block: Callable[[int], None] = lambda block: None
) -> list[Trained]:
    """The cases of one task, all angles and seeds of each at once."""
    nets = [net_of(case, BASES, len(seeds)) for case in cases]
    states = [start(net.first_weights(seeds, scale.deviation)) for net in nets]
    for block, some in enumerate(lessons(cases[0], scale, seeds)):
        states = [
            learn(net, state, some.batches(scale.batch), scale.rate) for net, state in zip(nets, states, strict=True)
        ]
        on_block(block + 1)
    return [Trained(*one, seeds) for one in zip(cases, nets, (state.weights_WR for state in states), strict=True)]


def lessons(case: Case, scale: Scale, seeds: Sequence[int]) -> Iterator[Sequences]:
    """What is learnt from, a block of steps at a time."""
    for first in range(0, scale.steps, BLOCK):
        steps = np.arange(first * scale.batch, min(first + BLOCK, scale.steps) * scale.batch)
        numbers_EN = np.stack([_numbers(steps, scale.samples, seed) for seed in seeds])
        yield read(case.task, seeds=seeds, split="train", numbers=numbers_EN)


def _numbers(counts_N: NDArray[np.int64], samples: int | None, seed: int) -> NDArray[np.int64]:
    """Which sample comes at each count: a fresh one, or one of a fixed set that every epoch shuffles anew."""
    if samples is None:
        return counts_N
    epochs = range(counts_N[0] // samples, counts_N[-1] // samples + 1)
    orders = [np.random.default_rng([seed, epoch]).permutation(samples) for epoch in epochs]
    found: NDArray[np.int64] = np.concatenate(orders)[counts_N - epochs[0] * samples]
    return found
