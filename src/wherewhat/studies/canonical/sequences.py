"""The sequences of a task as the heads read them. Each seed has its own; all angles of a seed share them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from wherewhat.studies.canonical.settings import CONTEXT, SYMBOLS
from wherewhat.tasks.base import Balanced
from wherewhat.tasks.queries import PairTask

Ints = NDArray[np.int32]


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

    @property
    def samples(self) -> int:
        """Samples per seed."""
        return len(self.query_X) // self.seeds


def read(task: Balanced, *, seeds: Sequence[int], split: str, numbers: NDArray[np.int64]) -> TaskSequences:
    """Samples of a task by number; `numbers` is [N] for all seeds, or [E, N] with a row per seed."""
    numbers_EN = np.broadcast_to(numbers, (len(seeds), numbers.shape[-1]))
    batches = [task.batch(seed, split, numbers_N) for seed, numbers_N in zip(seeds, numbers_EN, strict=True)]
    ids_ENT = np.stack([batch.input_NT for batch in batches]).astype(np.int32)
    symbol_ENT, value_ENT, query_EN = _split_tokens(task, ids_ENT)
    target_EN = np.stack([batch.target_N for batch in batches]).astype(np.int32)
    slot_EN = np.stack([batch.labels["answer_pos"] for batch in batches]).astype(np.int32)
    return TaskSequences(symbol_ENT, value_ENT, query_EN, target_EN, slot_EN)


def _split_tokens(task: Balanced, ids_ENT: Ints) -> tuple[Ints, Ints, Ints]:
    """Symbols, values and queries. A pair is matched by its symbol and answers its integer; a symbol answers itself."""
    if isinstance(task, PairTask):
        symbol_ENT, value_ENT = np.divmod(ids_ENT[..., :-1], task.n_int)
        return symbol_ENT, value_ENT, ids_ENT[..., -1] - task.n_symbols * task.n_int
    return ids_ENT[..., :-1], ids_ENT[..., :-1], ids_ENT[..., -1] - SYMBOLS


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
    )
