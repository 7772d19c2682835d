"""Retrieval: which integer goes with this symbol? A head that looks only at what keys say can solve it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from wherewhat.tasks.base import Balanced, Batch, Record, check_input, check_size
from wherewhat.tasks.spelling import letter
from wherewhat.tasks.stream import Ints, Stream, Streams


@dataclass(frozen=True)
class Retrieval(Balanced):
    """Pairs of symbol and integer, then a symbol that only one pair has; the answer is that pair's integer.

    A pair is one token, `symbol * n_int + integer`. Every (slot, symbol) comes equally often.

    >>> task = Retrieval(context=4, n_symbols=3, n_int=5)
    >>> record = task.sample(1, "train", 0)
    >>> [task.token(id) for id in record["input"]], record["target"]
    (['c1', 'a1', 'c1', 'b4', 'b?'], 4)
    """

    context: int = 32
    n_symbols: int = 16
    n_int: int = 32
    name: ClassVar[str] = "retrieval"

    def __post_init__(self) -> None:
        check_size(self.name, "context", self.context, 1)
        check_size(self.name, "n_symbols", self.n_symbols, 2)
        check_size(self.name, "n_int", self.n_int, 2)

    @property
    def vocabulary(self) -> int:
        return self.n_symbols * self.n_int + self.n_symbols  # the pairs, then one query a symbol

    @property
    def length(self) -> int:
        return self.context + 1

    @property
    def groups(self) -> tuple[str, ...]:
        return (self.name,)

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
        symbol = ids[-1] - self.n_symbols * self.n_int
        (pair,) = (id for id in ids[:-1] if id // self.n_int == symbol)
        return pair % self.n_int

    def token(self, id: int) -> str:
        symbol, integer = divmod(id, self.n_int)
        return (
            f"{letter(symbol)}{integer}" if symbol < self.n_symbols else f"{letter(id - self.n_symbols * self.n_int)}?"
        )
