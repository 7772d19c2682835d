"""Where the blocks of a net look on a grid: along rows and columns, from the queried cell, and from the last one."""

from collections import defaultdict
from collections.abc import Mapping

import torch
from torch import Tensor

from wherewhat.capture.capture import watched_by
from wherewhat.capture.hooks.reader import BatchReader, BatchRows
from wherewhat.capture.tokens.batch import ALL, batches
from wherewhat.nets.trunk import Trunk
from wherewhat.studies.latin_square.names import (
    GATHERS,
    LINE_SHARE,
    LINES,
    MARKS,
    OUTSIDE,
    READS,
    READS_LINES,
)
from wherewhat.tasks.latin import CELLS, QUERY, SIDE

IN_LINE = 2 * SIDE - 1  # cells in the row or the column of a cell, with itself
# What attention gives that looks at all cells alike.
OTHERS = (IN_LINE - 1) / CELLS
UNIFORM = {
    LINES: (IN_LINE / CELLS) ** 0.5,
    LINE_SHARE: IN_LINE / CELLS,
    GATHERS: OTHERS,
    MARKS: 1 / CELLS,
    READS: 1 / CELLS,
    READS_LINES: OTHERS,
    OUTSIDE: 1 - IN_LINE / CELLS,
}


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


def line_share(attention_NQK: Tensor) -> Tensor:
    """share_N of the attention of a puzzle on the row and the column of each query, with its own cell."""
    share_N: Tensor = (attention_NQK.double() * (line_mask() > 0)).sum(-1).mean(-1)
    return share_N


def queried(input_NT: Tensor) -> Tensor:
    """query_N: the number of the cell that each puzzle asks for."""
    return (input_NT == QUERY).int().argmax(1)


def links(input_NT: Tensor) -> Mapping[str, Tensor]:
    """By link, link_NQK: the queries and keys that it joins. The answer is read from the last cell.

    The row and the column of the queried cell are without that cell itself.
    """
    query_N, cells_C = queried(input_NT), torch.arange(CELLS)
    at_query_NC, last_C = query_N[:, None] == cells_C, cells_C == CELLS - 1
    inside_NC = (line_mask() > 0)[query_N]
    lines_NC = inside_NC & ~at_query_NC
    return {
        GATHERS: at_query_NC[:, :, None] & lines_NC[:, None],
        MARKS: lines_NC[:, :, None] & at_query_NC[:, None],
        READS: last_C[:, None] & at_query_NC[:, None],
        READS_LINES: last_C[:, None] & lines_NC[:, None],
        OUTSIDE: at_query_NC[:, :, None] & ~inside_NC[:, None],
    }


def asks_elsewhere(input_NT: Tensor) -> Tensor:
    """elsewhere_N: puzzles that ask for a cell outside the row and the column of the last one.

    In the others links overlap: a last cell in the row of the queried one would read itself, and by reading the queried
    cell it would learn that they share a row.
    """
    return line_mask()[-1, queried(input_NT)] == 0


def attention_measures(attention_NQK: Tensor, input_NT: Tensor) -> Mapping[str, Tensor]:
    """By measure, its value for each puzzle: of rows and columns, and the share of each link in the rows that it is in.

    Links are measured only in puzzles in which they do not overlap.
    """
    elsewhere_N = asks_elsewhere(input_NT)
    shares = {
        link: ((attention_NQK.double() * link_NQK).sum((1, 2)) / link_NQK.any(-1).sum(-1))[elsewhere_N]
        for link, link_NQK in links(input_NT).items()
    }
    return {LINES: line_cosine(attention_NQK), LINE_SHARE: line_share(attention_NQK), **shares}
