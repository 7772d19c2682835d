"""The sequences of a task as the heads read them: every seed has its own, and all angles of a seed share them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wherewhat.studies.canonical.settings import CONTEXT, SYMBOLS
from wherewhat.tasks.base import Balanced
from wherewhat.tasks.pairs import Pairs

Ints = NDArray[np.int32]


@dataclass(frozen=True)
class Sequences:
    """What stands in each slot, what is asked, and the right answer."""

    symbol_ENT: Ints  # by which a slot is found
    value_ENT: Ints  # what a slot answers
    query_EN: Ints
    target_EN: Ints
    slot_EN: Ints  # where the right answer stands

    def part(self, start: int, stop: int) -> "Sequences":
        """Some of the samples of every seed."""
        here = slice(start, stop)
        asked = (self.query_EN[:, here], self.target_EN[:, here], self.slot_EN[:, here])
        return Sequences(self.symbol_ENT[:, here], self.value_ENT[:, here], *asked)

    def batches(self, size: int) -> Iterator["Rows"]:
        """All samples, `size` of every seed at a time."""
        for start in range(0, self.query_EN.shape[1], size):
            yield rows_of(self.part(start, start + size))


@dataclass(frozen=True)
class Rows:
    """A batch as rows to look up in tables and to add up in others: slots outermost, then seeds, then samples."""

    key_X: Ints  # in a table of slot, symbol and seed
    value_X: Ints  # in one of answer, seed and sample
    query_X: Ints  # in one of query and seed
    target_X: Ints  # as values
    seeds: int

    @property
    def samples(self) -> int:
        """Of each seed."""
        return len(self.query_X) // self.seeds


def read(task: Balanced, *, seeds: Sequence[int], split: str, numbers: NDArray[np.int64]) -> Sequences:
    """Samples of a task, numbered alike for each seed; numbers may differ by seed, [E, N]."""
    numbers_EN = np.broadcast_to(numbers, (len(seeds), numbers.shape[-1]))
    batches = [task.batch(seed, split, some) for seed, some in zip(seeds, numbers_EN, strict=True)]
    ids_ENT = np.stack([batch.input_NT for batch in batches]).astype(np.int32)
    symbol_ENT, value_ENT, query_EN = _taken_apart(task, ids_ENT)
    target_EN = np.stack([batch.target_N for batch in batches]).astype(np.int32)
    slot_EN = np.stack([batch.labels["answer_pos"] for batch in batches]).astype(np.int32)
    return Sequences(symbol_ENT, value_ENT, query_EN, target_EN, slot_EN)


def _taken_apart(task: Balanced, ids_ENT: Ints) -> tuple[Ints, Ints, Ints]:
    """Symbols, values and queries. A pair is found by its symbol and answers its integer; a symbol answers itself."""
    if isinstance(task, Pairs):
        symbol_ENT, value_ENT = np.divmod(ids_ENT[..., :-1], task.n_int)
        return symbol_ENT, value_ENT, ids_ENT[..., -1] - task.n_symbols * task.n_int
    return ids_ENT[..., :-1], ids_ENT[..., :-1], ids_ENT[..., -1] - SYMBOLS


def rows_of(some: Sequences) -> Rows:
    """Where each slot's key, value and query lie in the tables of `net`."""
    seeds, samples = some.query_EN.shape
    seed_E1 = np.arange(seeds, dtype=np.int32)[:, None]
    sample_EN = seed_E1 * samples + np.arange(samples, dtype=np.int32)
    slot_T = np.arange(CONTEXT, dtype=np.int32)
    key_ENT = (slot_T * SYMBOLS + some.symbol_ENT) * seeds + seed_E1[..., None]
    value_ENT = some.value_ENT * (seeds * samples) + sample_EN[..., None]
    return Rows(
        key_X=np.moveaxis(key_ENT, -1, 0).reshape(-1),
        value_X=np.moveaxis(value_ENT, -1, 0).reshape(-1),
        query_X=(some.query_EN * seeds + seed_E1).reshape(-1),
        target_X=(some.target_EN * (seeds * samples) + sample_EN).reshape(-1),
        seeds=seeds,
    )
