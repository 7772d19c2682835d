"""Partial induction: which integer went with this symbol the last time? It takes what keys say and where they stand."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from wherewhat.errors import UserError
from wherewhat.tasks.base import Batch, Record, check_input
from wherewhat.tasks.pairs import Pairs
from wherewhat.tasks.stream import Ints, Stream, Streams


@dataclass(frozen=True)
class PartialInduction(Pairs):
    """Pairs of symbol and integer, then a symbol that two pairs have; the answer is the integer of the later one.

    The earlier pair, the decoy, has another integer. Every (slot of the answer, symbol) comes equally often; no answer
    stands in slot 0.

    >>> task = PartialInduction(context=4, n_symbols=3, n_int=5)
    >>> record = task.sample(1, "train", 0)
    >>> [task.token(id) for id in record["input"]], record["target"]
    (['b3', 'a2', 'b0', 'c4', 'b?'], 0)
    """

    name: ClassVar[str] = "partial_induction"
    streams: ClassVar[str] = "induction"
    least_context: ClassVar[int] = 2

    @property
    def cells(self) -> tuple[int, ...]:
        return (self.context - 1, self.n_symbols)

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

    def draws(self, streams: Streams, cell: list[Ints]) -> Batch:
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
        return Batch(input_NT, target_N, np.zeros_like(slot_N), labels)

    def solve(self, ids: Sequence[int]) -> int:
        check_input(self, ids)
        pairs = self.asked(ids)
        if not pairs:
            raise UserError(
                f"no pair has the symbol that {self.token(ids[-1])!r} asks for; give a sequence with one at least"
            )
        return pairs[-1] % self.n_int
