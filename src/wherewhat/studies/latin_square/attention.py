"""Where the blocks of a net look on a grid: along rows and columns, from the queried cell, and from the last one."""

from collections import defaultdict
from collections.abc import Mapping

import torch
from torch import Tensor

from wherewhat.capture.capture import watched_by
from wherewhat.capture.hooks.reader import BatchReader, BatchRows
from wherewhat.capture.tokens.batch import ALL, batches
from wherewhat.nets.trunk import Trunk
from wherewhat.studies.latin_square.names import GATHERS, LINES, READS
from wherewhat.tasks.latin import CELLS, QUERY, SIDE

IN_LINE = 2 * SIDE - 1  # cells in the row or the column of a cell, with itself
# What attention gives that looks at all cells alike.
UNIFORM = {LINES: (IN_LINE / CELLS) ** 0.5, GATHERS: (IN_LINE - 1) / CELLS, READS: 1 / CELLS}


def read_attention(net: Trunk, input_NT: Tensor) -> Tensor:
    """attention_LNQK of every block, the mean over its heads."""
    chunks: dict[int, list[Tensor]] = defaultdict(list)  # attention_BQK by layer

    def on_batch(rows: BatchRows) -> None:
        chunks[rows.site.ordinal].append(rows.attention_BHQK.mean(1))

    read: list[Tensor] = []  # attention_LBQK
    with watched_by(BatchReader(on_batch, next(net.parameters()).dtype), net) as session:
        for batch in batches(list(input_NT), queries=ALL, seed=0):
            chunks.clear()
            session.read(batch)
            read.append(torch.stack([torch.cat(chunks[layer], dim=1) for layer in sorted(chunks)]))
    return torch.cat(read, dim=1)


def line_mask() -> Tensor:
    """mask_QK: attention to all cells in the same row or column alike, with the cell itself."""
    row_S, column_S = torch.arange(CELLS) // SIDE, torch.arange(CELLS) % SIDE
    inside_QK = (row_S[:, None] == row_S) | (column_S[:, None] == column_S)
    return inside_QK.double() / inside_QK.sum(-1, keepdim=True)


def line_cosine(attention_NQK: Tensor) -> Tensor:
    """cosine_N of all attention of a puzzle with attention to rows and columns."""
    mask_QK = line_mask()
    attention_NQK = attention_NQK.double()
    product_N = (attention_NQK * mask_QK).sum((1, 2))
    cosine_N: Tensor = product_N / (attention_NQK.square().sum((1, 2)).sqrt() * mask_QK.norm())
    return cosine_N


def gathered(attention_NQK: Tensor, input_NT: Tensor) -> Tensor:
    """share_N of the queried cell's attention that is on the other cells of its row and its column."""
    query_N = (input_NT == QUERY).int().argmax(1)
    others_QK = (line_mask() > 0) & ~torch.eye(CELLS, dtype=torch.bool)
    numbers_N = torch.arange(len(query_N))
    return (attention_NQK[numbers_N, query_N].double() * others_QK[query_N]).sum(-1)


def looked_up(attention_NQK: Tensor, input_NT: Tensor) -> Tensor:
    """share_N of the last cell's attention, from which the answer is read, that is on the queried cell."""
    query_N = (input_NT == QUERY).int().argmax(1)
    return attention_NQK[torch.arange(len(query_N)), -1, query_N].double()


def attention_measures(attention_NQK: Tensor, input_NT: Tensor) -> Mapping[str, Tensor]:
    """By measure, its value for each puzzle; what a cell does with itself is left out of the last one."""
    elsewhere_N = (input_NT == QUERY).int().argmax(1) != CELLS - 1
    return {
        LINES: line_cosine(attention_NQK),
        GATHERS: gathered(attention_NQK, input_NT),
        READS: looked_up(attention_NQK, input_NT)[elsewhere_N],
    }
