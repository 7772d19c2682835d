"""Where the blocks of a net look on a grid: along rows and columns, from the queried cell, and from the last one."""

from collections import defaultdict
from collections.abc import Mapping

import torch
from torch import Tensor

from wherewhat.capture.capture import watched_by
from wherewhat.capture.hooks.reader import BatchReader, BatchRows
from wherewhat.capture.tokens.batch import ALL, batches
from wherewhat.nets.trunk import Trunk
from wherewhat.studies.latin_square.names import GATHERS, LINES, READS, READS_LINES
from wherewhat.tasks.latin import CELLS, QUERY, SIDE

IN_LINE = 2 * SIDE - 1  # cells in the row or the column of a cell, with itself
# What attention gives that looks at all cells alike.
OTHERS = (IN_LINE - 1) / CELLS
UNIFORM = {LINES: (IN_LINE / CELLS) ** 0.5, GATHERS: OTHERS, READS: 1 / CELLS, READS_LINES: OTHERS}


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


def queried(input_NT: Tensor) -> Tensor:
    """query_N: the number of the cell that each puzzle asks for."""
    return (input_NT == QUERY).int().argmax(1)


def links(input_NT: Tensor) -> Mapping[str, Tensor]:
    """By link, link_NQK: the queries and keys that it joins. The answer is read from the last cell.

    The lines of a queried cell are the other cells of its row and of its column.
    """
    query_N, cells_C = queried(input_NT), torch.arange(CELLS)
    at_query_NC, last_C = query_N[:, None] == cells_C, cells_C == CELLS - 1
    lines_NC = ((line_mask() > 0) & ~torch.eye(CELLS, dtype=torch.bool))[query_N]
    return {
        GATHERS: at_query_NC[:, :, None] & lines_NC[:, None],
        READS: last_C[:, None] & at_query_NC[:, None],
        READS_LINES: last_C[:, None] & lines_NC[:, None],
    }


def with_link(link: str, input_NT: Tensor) -> Tensor:
    """with_N: puzzles that have a link; where the last cell is the queried one, nothing leads from one to the other."""
    return (queried(input_NT) != CELLS - 1) | torch.tensor(link == GATHERS)


def attention_measures(attention_NQK: Tensor, input_NT: Tensor) -> Mapping[str, Tensor]:
    """By measure, its value for each puzzle that has one: the cosine with lines, and the share on each link."""
    shares = {
        link: (attention_NQK.double() * link_NQK).sum((1, 2))[with_link(link, input_NT)]
        for link, link_NQK in links(input_NT).items()
    }
    return {LINES: line_cosine(attention_NQK), **shares}
