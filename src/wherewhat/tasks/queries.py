"""Tasks whose last token is a query: index, retrieval and partial induction."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from wherewhat.errors import UserError
from wherewhat.tasks.base import Balanced, Record, TaskBatch, check_input, check_size, letter
from wherewhat.tasks.stream import Ints, Stream, Streams


@dataclass(frozen=True)
class QueryTask(Balanced):
    """Tokens with a symbol each, then a query. Every (slot of the answer, symbol) comes equally often."""

    context: int = 32
    n_symbols: int = 16
    first_slot: ClassVar[int] = 0  # that an answer may stand in

    def __post_init__(self) -> None:
        check_size(self.name, "context", self.context, self.first_slot + 1)
        check_size(self.name, "n_symbols", self.n_symbols, 2)

    @property
    def length(self) -> int:
        return self.context + 1

    @property
    def groups(self) -> tuple[str, ...]:
        return (self.name,)

    @property
    def cells(self) -> tuple[int, ...]:
        return (self.context - self.first_slot, self.n_symbols)


@dataclass(frozen=True)
class IndexTask(QueryTask):
    """Symbols, then a query that names a slot; the answer is the symbol there.

    A head that looks only at where keys stand can solve it.

    >>> task = IndexTask(context=4, n_symbols=3)
    >>> record = task.sample(1, "train", 0)
    >>> [task.token(id) for id in record["input"]], task.token(record["target"])
    (['c', 'c', 'a', 'b', '@0'], 'c')
    """

    name: ClassVar[str] = "index"

    @property
    def vocabulary(self) -> int:
        return self.n_symbols + self.context  # the symbols, then one query per slot

    def draw(self, stream: Stream, cell: list[int]) -> Record:
        slot, symbol = cell
        symbols = [stream.below(self.n_symbols) for _ in range(self.context)]
        symbols[slot] = symbol
        return {"input": [*symbols, self.n_symbols + slot], "target": symbol, "answer_pos": slot}

    def draws(self, streams: Streams, cell: list[Ints]) -> TaskBatch:
        slot_N, symbol_N = cell
        symbols_NT = streams.below(self.n_symbols, draws=self.context)
        symbols_NT[np.arange(len(slot_N)), slot_N] = symbol_N
        input_NT = np.column_stack([symbols_NT, self.n_symbols + slot_N])
        return TaskBatch(input_NT, symbol_N, np.zeros_like(slot_N), {"answer_pos": slot_N})

    def solve(self, ids: Sequence[int]) -> int:
        check_input(self, ids)
        return ids[ids[-1] - self.n_symbols]

    def token(self, id: int) -> str:
        return letter(id) if id < self.n_symbols else f"@{id - self.n_symbols}"


@dataclass(frozen=True)
class PairTask(QueryTask):
    """Pairs, then a query that names a symbol. A pair is one token, `symbol * n_int + integer`; queries come after."""

    n_int: int = 32

    def __post_init__(self) -> None:
        super().__post_init__()
        check_size(self.name, "n_int", self.n_int, 2)

    @property
    def vocabulary(self) -> int:
        return self.n_symbols * self.n_int + self.n_symbols  # the pairs, then one query per symbol

    def queried_pairs(self, ids: Sequence[int]) -> list[int]:
        """The pairs of a checked sequence with the symbol that its last token names, from left to right."""
        check_input(self, ids)
        symbol = ids[-1] - self.n_symbols * self.n_int
        return [id for id in ids[:-1] if id // self.n_int == symbol]

    def token(self, id: int) -> str:
        symbol, integer = divmod(id, self.n_int)
        queried = id - self.n_symbols * self.n_int
        return f"{letter(symbol)}{integer}" if queried < 0 else f"{letter(queried)}?"


@dataclass(frozen=True)
class Retrieval(PairTask):
    """Pairs of symbol and integer, then a symbol that only one pair has; the answer is that pair's integer.

    A head that looks only at what keys say can solve it.

    >>> task = Retrieval(context=4, n_symbols=3, n_int=5)
    >>> record = task.sample(1, "train", 0)
    >>> [task.token(id) for id in record["input"]], record["target"]
    (['c1', 'a1', 'c1', 'b4', 'b?'], 4)
    """

    name: ClassVar[str] = "retrieval"

    def draw(self, stream: Stream, cell: list[int]) -> Record:
        slot, symbol = cell
        others = [stream.below(self.n_symbols - 1) for _ in range(self.context)]
        symbols = [other + (other >= symbol) for other in others]  # steps over `symbol`, which stands in its slot only
        symbols[slot] = symbol
        pairs = [s * self.n_int + stream.below(self.n_int) for s in symbols]
        query = self.n_symbols * self.n_int + symbol
        target = pairs[slot] % self.n_int
        return {"input": [*pairs, query], "target": target, "target_pair": pairs[slot], "answer_pos": slot}

    def draws(self, streams: Streams, cell: list[Ints]) -> TaskBatch:
        slot_N, symbol_N = cell
        rows_N = np.arange(len(slot_N))
        others_NT = streams.below(self.n_symbols - 1, draws=self.context)
        symbols_NT = others_NT + (others_NT >= symbol_N[:, None])
        symbols_NT[rows_N, slot_N] = symbol_N
        pairs_NT = symbols_NT * self.n_int + streams.below(self.n_int, draws=self.context)
        pair_N = pairs_NT[rows_N, slot_N]
        input_NT = np.column_stack([pairs_NT, self.n_symbols * self.n_int + symbol_N])
        labels = {"target_pair": pair_N, "answer_pos": slot_N}
        return TaskBatch(input_NT, pair_N % self.n_int, np.zeros_like(slot_N), labels)

    def solve(self, ids: Sequence[int]) -> int:
        (pair,) = self.queried_pairs(ids)
        return pair % self.n_int


@dataclass(frozen=True)
class PartialInduction(PairTask):
    """Pairs of symbol and integer, then a symbol that two pairs have; the answer is the integer of the later one.

    The earlier pair, the decoy, has another integer. It takes what keys say and where they stand.

    >>> task = PartialInduction(context=4, n_symbols=3, n_int=5)
    >>> record = task.sample(1, "train", 0)
    >>> [task.token(id) for id in record["input"]], record["target"]
    (['b3', 'a2', 'b0', 'c4', 'b?'], 0)
    """

    name: ClassVar[str] = "partial_induction"
    streams: ClassVar[str] = "induction"
    first_slot: ClassVar[int] = 1  # the decoy comes before it

    def draw(self, stream: Stream, cell: list[int]) -> Record:
        slot, symbol = cell[0] + 1, cell[1]
        decoy = stream.below(slot)
        others = [stream.below(self.n_symbols - 1) for _ in range(self.context)]
        symbols = [other + (other >= symbol) for other in others]  # steps over `symbol`, which stands in its slots only
        symbols[slot] = symbols[decoy] = symbol
        integers = [stream.below(self.n_int) for _ in range(self.context)]
        other = stream.below(self.n_int - 1)
        integers[decoy] = other + (other >= integers[slot])
        pairs = [s * self.n_int + integer for s, integer in zip(symbols, integers, strict=True)]
        return {
            "input": [*pairs, self.n_symbols * self.n_int + symbol],
            "target": integers[slot],
            "target_pair": pairs[slot],
            "answer_pos": slot,
            "decoy_pos": decoy,
            "decoy": integers[decoy],
        }

    def draws(self, streams: Streams, cell: list[Ints]) -> TaskBatch:
        slot_N, symbol_N = cell[0] + 1, cell[1]
        rows_N = np.arange(len(slot_N))
        decoy_N = streams.below(slot_N[:, None], draws=1)[:, 0]
        others_NT = streams.below(self.n_symbols - 1, draws=self.context)
        symbols_NT = others_NT + (others_NT >= symbol_N[:, None])
        symbols_NT[rows_N, slot_N] = symbols_NT[rows_N, decoy_N] = symbol_N
        integers_NT = streams.below(self.n_int, draws=self.context)
        target_N, other_N = integers_NT[rows_N, slot_N], streams.below(self.n_int - 1, draws=1)[:, 0]
        integers_NT[rows_N, decoy_N] = other_N + (other_N >= target_N)
        input_NT = np.column_stack([symbols_NT * self.n_int + integers_NT, self.n_symbols * self.n_int + symbol_N])
        labels = {
            "target_pair": input_NT[rows_N, slot_N],
            "answer_pos": slot_N,
            "decoy_pos": decoy_N,
            "decoy": integers_NT[rows_N, decoy_N],
        }
        return TaskBatch(input_NT, target_N, np.zeros_like(slot_N), labels)

    def solve(self, ids: Sequence[int]) -> int:
        pairs = self.queried_pairs(ids)
        if not pairs:
            raise UserError(
                f"no pair has the symbol that {self.token(ids[-1])!r} asks for; give a sequence with one at least"
            )
        return pairs[-1] % self.n_int
