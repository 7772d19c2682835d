"""Where a head looks relative to the query: its attention by offset, and whether one offset nearly always wins."""

import torch
from torch import Tensor

from wherewhat.scores.base import PerRow, Rows

LEAST_ROWS = 8  # of one text that can agree: a single row always agrees with itself, and two often do by chance


def offset_mass(rows: Rows) -> tuple[Tensor, Tensor]:
    """The attention spent at each offset, mass_HO, and in how many rows that offset was visible, count_O.

    Offsets run from -(n - 1) to n - 1 for n keys, one column each. Their ratio is the mean profile.
    """
    heads, _, keys = rows.attention_HQK.shape
    mass_HO = rows.attention_HQK.new_zeros(heads, 2 * keys - 1)
    starts = (keys - 1 - rows.queries_Q).tolist()  # they place slices, so they have to leave the device
    # One row at a time, each added where its query falls on offset 0. An index_add over all rows is as quick at
    # 1,024 keys, four times slower at 8,192, and needs an index for every weight.
    for start, attention_HK in zip(starts, rows.attention_HQK.unbind(1), strict=True):
        mass_HO.narrow(1, start, keys).add_(attention_HK)
    index = (rows.offsets_QK + (keys - 1)).flatten()
    count_O = index.new_zeros(2 * keys - 1).index_add_(0, index, rows.allowed_QK.flatten().long())
    return mass_HO, count_O


def offset_peak(rows: Rows) -> PerRow:
    """The offset of the key with the most attention in each row (-1: the token before); the leftmost among equals.

    `largest_share` turns these offsets into the score. Rows that see only one key have no choice and are left out.
    """
    peak_HQ = rows.attention_HQK.max(-1).indices  # the first of equals; quicker than argmax
    # Offsets are whole numbers: float32 holds them exactly up to sixteen million tokens.
    return (peak_HQ - rows.queries_Q).float(), rows.weigh(rows.visible_Q >= 2)


def largest_share(value_HQ: Tensor, weight_HQ: Tensor) -> Tensor:
    """Pool offsets: the share of rows that agree on the commonest one. Voita et al. 2019 call .9 a positional head.

    Fewer than LEAST_ROWS rows cannot be asked whether they agree: NaN.

    >>> largest_share(torch.tensor([[-1.0, -1.0, 4.0, -1.0, -1.0, -1.0, 2.0, -1.0]]), torch.ones(1, 8))
    tensor([0.7500])
    """
    box_HQ = (value_HQ - value_HQ.min()).long()
    votes_HO = weight_HQ.new_zeros(len(box_HQ), int(box_HQ.max()) + 1).scatter_add_(1, box_HQ, weight_HQ)
    enough_H = (weight_HQ > 0).sum(-1) >= LEAST_ROWS
    return torch.where(enough_H, votes_HO.amax(-1) / weight_HQ.sum(-1), torch.nan)
