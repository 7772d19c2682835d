"""Balance: every block of C samples holds each of the C cells once, in an order of its own.

A cell is a combination that has to come equally often, such as (answer slot, symbol). Cells are counted like the digits
of a number, the last factor fastest.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import TypeVar

import numpy as np

from wherewhat.tasks.stream import Ints, Stream, Streams

Whole = TypeVar("Whole", int, Ints)
FEW = 8  # blocks that are quicker to shuffle, or to remember, one by one


@lru_cache(maxsize=64)  # a training step asks for the same block as the step before it
def block_order(seed: int, task: str, split: str, block: int, cells: int) -> tuple[int, ...]:
    """The order in which one block of samples goes through the cells.

    >>> block_order(1, "index", "train", 0, 512)[:8]
    (256, 19, 265, 199, 306, 385, 91, 391)
    """
    return tuple(Stream(seed, task, split, f"block{block}").shuffle(range(cells)))


def cells_of(seed: int, task: str, split: str, indices_N: Ints, cells: int) -> Ints:
    """The cell of each sample, for many samples at once."""
    blocks, which_N = np.unique(indices_N // cells, return_inverse=True)
    if len(blocks) <= FEW:
        orders = np.array([block_order(seed, task, split, int(block), cells) for block in blocks], dtype=np.int64)
        return orders.reshape(-1, cells)[which_N, indices_N % cells]
    order_CN = np.tile(np.arange(cells)[:, None], len(blocks))  # all blocks side by side, one column per block
    lasts, rows_N = np.arange(cells - 1, 0, -1), np.arange(len(blocks))
    drawn_NC = Streams(seed, [task, split], blocks, before="block").below(lasts + 1, draws=len(lasts))
    for last, j_N in zip(lasts, np.ascontiguousarray(drawn_NC.T), strict=True):
        held_N = order_CN[last].copy()
        order_CN[last] = order_CN[j_N, rows_N]
        order_CN[j_N, rows_N] = held_N
    return order_CN[indices_N % cells, which_N]


def factors(cell: Whole, sizes: Sequence[int]) -> list[Whole]:
    """Split a cell into its factors.

    >>> factors(7, [2, 3, 4])  # 7 = (0 * 3 + 1) * 4 + 3
    [0, 1, 3]
    """
    parts: list[Whole] = []
    for size in reversed(sizes):
        parts.insert(0, cell % size)
        cell = cell // size
    return parts
