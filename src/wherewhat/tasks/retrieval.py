"""Retrieval: which integer goes with this symbol? A head that looks only at what keys say can solve it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from wherewhat.tasks.base import Batch, Record, check_input
from wherewhat.tasks.pairs import Pairs
from wherewhat.tasks.stream import Ints, Stream, Streams


@dataclass(frozen=True)
class Retrieval(Pairs):
    """Pairs of symbol and integer, then a symbol that only one pair has; the answer is that pair's integer.

    Every (slot, symbol) comes equally often.

    >>> task = Retrieval(context=4, n_symbols=3, n_int=5)
    >>> record = task.sample(1, "train", 0)
    >>> [task.token(id) for id in record["input"]], record["target"]
    (['c1', 'a1', 'c1', 'b4', 'b?'], 4)
    """

    name: ClassVar[str] = "retrieval"

    @property
    def cells(self) -> tuple[int, ...]:
        return (self.context, self.n_symbols)

    def draw(self, stream: Stream, cell: list[int]) -> Record:
        slot, symbol = cell
        others = [stream.below(self.n_symbols - 1) for _ in range(self.context)]
        symbols = [other + (other >= symbol) for other in others]  # steps over `symbol`, which stands in its slot only
        symbols[slot] = symbol
        pairs = [s * self.n_int + stream.below(self.n_int) for s in symbols]
        query = self.n_symbols * self.n_int + symbol
        target = pairs[slot] % self.n_int
        return {"input": [*pairs, query], "target": target, "target_pair": pairs[slot], "answer_pos": slot}

    def draws(self, streams: Streams, cell: list[Ints]) -> Batch:
        slot_N, symbol_N = cell
        rows_N = np.arange(len(slot_N))
        others_NT = streams.below(self.n_symbols - 1, draws=self.context)
        symbols_NT = others_NT + (others_NT >= symbol_N[:, None])
        symbols_NT[rows_N, slot_N] = symbol_N
        pairs_NT = symbols_NT * self.n_int + streams.below(self.n_int, draws=self.context)
        pair_N = pairs_NT[rows_N, slot_N]
        input_NT = np.column_stack([pairs_NT, self.n_symbols * self.n_int + symbol_N])
        labels = {"target_pair": pair_N, "answer_pos": slot_N}
        return Batch(input_NT, pair_N % self.n_int, np.zeros_like(slot_N), labels)

    def solve(self, ids: Sequence[int]) -> int:
        check_input(self, ids)
        (pair,) = self.asked(ids)
        return pair % self.n_int
