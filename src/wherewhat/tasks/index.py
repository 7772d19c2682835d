"""Index: which symbol stands in slot j? A head that looks only at where keys stand can solve it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from wherewhat.tasks.base import Balanced, Batch, Record, check_input, check_size
from wherewhat.tasks.spelling import letter
from wherewhat.tasks.stream import Ints, Stream, Streams


@dataclass(frozen=True)
class Index(Balanced):
    """Symbols, then a query that names a slot; the answer is the symbol there.

    Every (slot, symbol) comes equally often.

    >>> task = Index(context=4, n_symbols=3)
    >>> record = task.sample(1, "train", 0)
    >>> [task.token(id) for id in record["input"]], task.token(record["target"])
    (['c', 'c', 'a', 'b', '@0'], 'c')
    """

    context: int = 32
    n_symbols: int = 16
    name: ClassVar[str] = "index"

    def __post_init__(self) -> None:
        check_size(self.name, "context", self.context, 1)
        check_size(self.name, "n_symbols", self.n_symbols, 2)

    @property
    def vocabulary(self) -> int:
        return self.n_symbols + self.context  # the symbols, then one query a slot

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
        symbols = [stream.below(self.n_symbols) for _ in range(self.context)]
        symbols[slot] = symbol
        return {"input": [*symbols, self.n_symbols + slot], "target": symbol, "answer_pos": slot}

    def draws(self, streams: Streams, cell: list[Ints]) -> Batch:
        slot_N, symbol_N = cell
        symbols_NT = streams.below(self.n_symbols, draws=self.context)
        symbols_NT[np.arange(len(slot_N)), slot_N] = symbol_N
        input_NT = np.column_stack([symbols_NT, self.n_symbols + slot_N])
        return Batch(input_NT, symbol_N, np.zeros_like(slot_N), {"answer_pos": slot_N})

    def solve(self, ids: Sequence[int]) -> int:
        check_input(self, ids)
        return ids[ids[-1] - self.n_symbols]

    def token(self, id: int) -> str:
        return letter(id) if id < self.n_symbols else f"@{id - self.n_symbols}"
