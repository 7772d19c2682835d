"""The sequences of a task as the heads read them. Each seed has its own; all angles of a seed share them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from wherewhat.studies.canonical import CONTEXT, INDEX, INTEGERS, SYMBOLS
from wherewhat.studies.canonical.settings import CanonicalScale
from wherewhat.tasks.base import Balanced
from wherewhat.tasks.registry import task

Ints = NDArray[np.int32]
BLOCK = 100  # steps whose sequences are generated at once


@dataclass(frozen=True)
class TaskSequences:
    """The content of each slot, the query, and the correct answer."""

    symbol_ENT: Ints  # what a query can match
    value_ENT: Ints  # the answer that a slot gives
    query_EN: Ints
    target_EN: Ints
    slot_EN: Ints  # the slot of the correct answer

    def part(self, start: int, stop: int) -> "TaskSequences":
        """The samples from `start` to `stop` of every seed."""
        return TaskSequences(*(getattr(self, field.name)[:, start:stop] for field in fields(self)))

    def batches(self, size: int) -> Iterator["BatchIndices"]:
        """All samples, `size` of every seed at a time."""
        for start in range(0, self.query_EN.shape[1], size):
            yield batch_indices(self.part(start, start + size))


@dataclass(frozen=True)
class BatchIndices:
    """A batch as indices into the flat tables of `net`: slots outermost, then seeds, then samples."""

    key_X: Ints  # into a table of slot, symbol and seed
    value_X: Ints  # into a table of answer, seed and sample
    query_X: Ints  # into a table of query and seed
    target_X: Ints  # into the same table as value_X
    seeds: int
    samples: int  # per seed


def task_of(name: str) -> Balanced:
    """A task in the sizes of this study."""
    integers = {} if name == INDEX else {"n_int": INTEGERS}
    return task(name, context=CONTEXT, n_symbols=SYMBOLS, **integers)


def read(name: str, *, seeds: Sequence[int], split: str, numbers: NDArray[np.int64]) -> TaskSequences:
    """Samples of a task by number; `numbers` is [N] for all seeds, or [E, N] with a row per seed."""
    numbers_EN, source = np.broadcast_to(numbers, (len(seeds), numbers.shape[-1])), task_of(name)
    batches = [source.batch(seed, split, numbers_N) for seed, numbers_N in zip(seeds, numbers_EN, strict=True)]
    ids_ENT = np.stack([batch.input_NT for batch in batches]).astype(np.int32)
    symbol_ENT = value_ENT = ids_ENT[..., :-1]  # a symbol answers itself
    if name != INDEX:  # a pair is matched by its symbol and answers its integer
        symbol_ENT, value_ENT = np.divmod(symbol_ENT, INTEGERS)
    query_EN = ids_ENT[..., -1] - SYMBOLS * (1 if name == INDEX else INTEGERS)
    target_EN = np.stack([batch.target_N for batch in batches]).astype(np.int32)
    slot_EN = np.stack([batch.labels["answer_pos"] for batch in batches]).astype(np.int32)
    return TaskSequences(symbol_ENT, value_ENT, query_EN, target_EN, slot_EN)


def training_blocks(name: str, scale: CanonicalScale, seeds: Sequence[int]) -> Iterator[TaskSequences]:
    """The training sequences of a task, one block of steps at a time; a fixed set is reshuffled every epoch."""
    for first in range(0, scale.steps, BLOCK):
        numbers = np.arange(first * scale.batch, min(first + BLOCK, scale.steps) * scale.batch)
        if scale.samples is not None:
            epochs = range(numbers[0] // scale.samples, numbers[-1] // scale.samples + 1)
            random = [[np.random.default_rng([seed, epoch]) for epoch in epochs] for seed in seeds]
            orders = [np.concatenate([each.permutation(scale.samples) for each in its]) for its in random]
            numbers = np.stack(orders)[:, numbers - epochs[0] * scale.samples]
        yield read(name, seeds=seeds, split="train", numbers=numbers)


def batch_indices(sequences: TaskSequences) -> BatchIndices:
    """The rows of each slot's key, value and query in the tables of `net`."""
    seeds, samples = sequences.query_EN.shape
    seed_E1 = np.arange(seeds, dtype=np.int32)[:, None]
    sample_EN = seed_E1 * samples + np.arange(samples, dtype=np.int32)
    slot_T = np.arange(CONTEXT, dtype=np.int32)
    key_ENT = (slot_T * SYMBOLS + sequences.symbol_ENT) * seeds + seed_E1[..., None]
    value_ENT = sequences.value_ENT * (seeds * samples) + sample_EN[..., None]
    return BatchIndices(
        key_X=np.moveaxis(key_ENT, -1, 0).reshape(-1),
        value_X=np.moveaxis(value_ENT, -1, 0).reshape(-1),
        query_X=(sequences.query_EN * seeds + seed_E1).reshape(-1),
        target_X=(sequences.target_EN * (seeds * samples) + sample_EN).reshape(-1),
        seeds=seeds,
        samples=samples,
    )
