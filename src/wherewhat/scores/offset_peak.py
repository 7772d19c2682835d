"""Does a head nearly always look hardest at the same distance, whatever is written there?"""

import torch
from torch import Tensor

from wherewhat.scores.base import PerRow, Rows

LEAST_ROWS = 8  # of one text that can agree: a single row always agrees with itself, and two often do by chance


def offset_peak(rows: Rows) -> PerRow:
    """Where each row looks hardest, relative to its query (-1: the token before); among equals, the leftmost key.

    `largest_share` turns these offsets into the score. Rows that see only one key have to look there and are left out.
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
