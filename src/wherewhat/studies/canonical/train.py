"""Train every condition at a scale with Adam. Conditions of one task learn from the same sequences, read only once."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wherewhat.studies.canonical.net import Floats, Net, gradients, net_of
from wherewhat.studies.canonical.sequences import BatchIndices, TaskSequences, read
from wherewhat.studies.canonical.settings import BASES, CONDITIONS, CanonicalCondition, CanonicalScale
from wherewhat.training.loop import threads

BLOCK = 100  # steps whose sequences are generated at once
BETA_1, BETA_2, EPSILON = 0.9, 0.999, 1e-8  # Adam's usual settings
OnBlock = Callable[[int, int, str], None]


@dataclass(frozen=True)
class TrainedHeads:
    """The trained heads of a condition, every seed at every angle."""

    condition: CanonicalCondition
    net: Net
    weights_WR: Floats
    seeds: range

    def valid(self, samples: int) -> TaskSequences:
        """Samples of the validation split."""
        return read(self.condition.task, seeds=self.seeds, split="valid", numbers=np.arange(samples))


@dataclass(frozen=True)
class AdamState:
    """The weights, and Adam's running means of their gradient and of its square, so that training can be continued."""

    weights_WR: Floats
    mean_WR: Floats
    square_WR: Floats
    step: int = 0


def train(scale: CanonicalScale, first_seed: int, on_block: OnBlock) -> list[TrainedHeads]:
    """Train all conditions, one task after the other."""
    seeds = range(first_seed, first_seed + scale.seeds)
    names = list(dict.fromkeys(condition.task_name for condition in CONDITIONS.values()))
    blocks = -(-scale.steps // BLOCK)
    trained: list[TrainedHeads] = []
    with threads(1):  # which also flushes denormals to 0: attention that has all but vanished would be slow to compute
        for number, name in enumerate(names):
            conditions = [condition for condition in CONDITIONS.values() if condition.task_name == name]

            def report(block: int, before: int = number * blocks, name: str = name) -> None:
                on_block(before + block, len(names) * blocks, f"learning {name}")

            trained += train_task(conditions, scale, seeds, report)
    return trained


def train_task(
    conditions: Sequence[CanonicalCondition],
    scale: CanonicalScale,
    seeds: range,
    on_block: Callable[[int], None] = lambda block: None,
) -> list[TrainedHeads]:
    """Train the conditions of one task, all angles and seeds of each at once."""
    nets = [net_of(condition, BASES, len(seeds)) for condition in conditions]
    states = [start(net.first_weights(seeds, scale.deviation)) for net in nets]
    for block, sequences in enumerate(training_blocks(conditions[0], scale, seeds)):
        states = [
            learn(net, state, sequences.batches(scale.batch), scale.rate)
            for net, state in zip(nets, states, strict=True)
        ]
        on_block(block + 1)
    weights = [state.weights_WR for state in states]
    return [TrainedHeads(*heads, seeds) for heads in zip(conditions, nets, weights, strict=True)]


def start(weights_WR: Floats) -> AdamState:
    """The state before the first step."""
    return AdamState(weights_WR, np.zeros_like(weights_WR), np.zeros_like(weights_WR))


def learn(net: Net, state: AdamState, batches: Iterable[BatchIndices], rate: float) -> AdamState:
    """Take one step per batch."""
    weights_WR, mean_WR, square_WR = (part.copy() for part in (state.weights_WR, state.mean_WR, state.square_WR))
    step = state.step
    for batch in batches:
        _, gradient_WR = gradients(net, weights_WR, batch)
        step += 1
        mean_WR += (1 - BETA_1) * (gradient_WR - mean_WR)
        square_WR += (1 - BETA_2) * (gradient_WR**2 - square_WR)
        size_WR = np.sqrt(square_WR / (1 - BETA_2**step)) + EPSILON
        weights_WR -= rate / (1 - BETA_1**step) * mean_WR / size_WR
    return AdamState(weights_WR, mean_WR, square_WR, step)


def training_blocks(
    condition: CanonicalCondition, scale: CanonicalScale, seeds: Sequence[int]
) -> Iterator[TaskSequences]:
    """The training sequences, one block of steps at a time."""
    for first in range(0, scale.steps, BLOCK):
        counts_N = np.arange(first * scale.batch, min(first + BLOCK, scale.steps) * scale.batch)
        numbers_EN = np.stack([_sample_numbers(counts_N, scale.samples, seed) for seed in seeds])
        yield read(condition.task, seeds=seeds, split="train", numbers=numbers_EN)


def _sample_numbers(counts_N: NDArray[np.int64], samples: int | None, seed: int) -> NDArray[np.int64]:
    """Which sample comes at each count: always a new one, or one of a fixed set that is reshuffled every epoch."""
    if samples is None:
        return counts_N
    epochs = range(counts_N[0] // samples, counts_N[-1] // samples + 1)
    orders = [np.random.default_rng([seed, epoch]).permutation(samples) for epoch in epochs]
    numbers_N: NDArray[np.int64] = np.concatenate(orders)[counts_N - epochs[0] * samples]
    return numbers_N
