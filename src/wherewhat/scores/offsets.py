"""Where a head looks relative to the query: its attention by offset, and whether one offset nearly always wins."""

import torch
from torch import Tensor
from torch.nn.functional import pad

from wherewhat.scores.base import PerRow, Rows, sum_by_text
from wherewhat.scores.pairs import stretches

LEAST_ROWS = 8  # of one text that can agree: a single row always agrees with itself, and two often do by chance


def offset_mass(rows: Rows) -> tuple[Tensor, Tensor]:
    """The attention that each text spends at each offset, mass_HBO, and in how many of its rows that was visible.

    Offsets run from -(n - 1) to n - 1 for n keys, one column each. The ratio with the second, count_BO, is the mean.
    """
    mass_HQO = _by_offset(rows.attention_HQK, rows.queries_Q)
    count_1QO = _by_offset(rows.allowed_QK[None].to(mass_HQO.dtype), rows.queries_Q)
    return rows.text_sums(mass_HQO), rows.text_sums(count_1QO)[0].round().long()


def _by_offset(value_HQK: Tensor, queries_Q: Tensor) -> Tensor:
    """value_HQO: every row moved so that its query is in the middle, with zeros where it has no keys.

    Rows lie one after another in memory, so each is one stretch of it that begins and ends in the rows beside it.
    """
    heads, queries, keys = value_HQK.shape
    line = pad(value_HQK.reshape(-1), (keys, keys))
    row_HQ = torch.arange(heads * queries, device=line.device).view(heads, queries)
    moved_HQO = stretches(line, row_HQ * keys + queries_Q + 1, 2 * keys - 1)
    slots_QO = torch.arange(1 - keys, keys, device=line.device) + queries_Q[:, None]
    return moved_HQO.mul_((slots_QO >= 0) & (slots_QO < keys))


def offset_peak(rows: Rows) -> PerRow:
    """The offset of the key with the most attention in each row (-1: the token before); the leftmost among equals.

    `largest_share` turns these offsets into the score. Rows that see only one key have no choice and are left out.
    """
    peak_HQ = rows.attention_HQK.max(-1).indices  # the first of equals; quicker than argmax
    # Offsets are whole numbers: float32 holds them exactly up to sixteen million tokens.
    return (peak_HQ - rows.queries_Q).float(), rows.weigh(rows.visible_Q >= 2)


def largest_share(value_HQ: Tensor, weight_HQ: Tensor, text_Q: Tensor) -> Tensor:
    """Pool offsets: the share of a text's rows that agree on the commonest one, value_HB.

    Voita et al. 2019 call .9 a positional head. Fewer than LEAST_ROWS rows cannot be asked whether they agree: NaN.

    >>> offsets = torch.tensor([[-1.0, -1.0, 4.0, -1.0, -1.0, -1.0, 2.0, -1.0]])
    >>> largest_share(offsets, torch.ones(1, 8), torch.zeros(8, dtype=torch.int64))
    tensor([[0.7500]])
    """
    offset_HQ = (value_HQ - value_HQ.min()).long()
    offsets, texts = int(offset_HQ.max()) + 1, int(text_Q.max()) + 1
    votes_HX = weight_HQ.new_zeros(len(offset_HQ), texts * offsets).scatter_add_(
        1, text_Q * offsets + offset_HQ, weight_HQ
    )
    enough_HB = sum_by_text((weight_HQ > 0).to(weight_HQ.dtype), text_Q) >= LEAST_ROWS
    share_HB = votes_HX.view(-1, texts, offsets).amax(-1) / sum_by_text(weight_HQ, text_Q)
    return torch.where(enough_HB, share_HB, torch.nan)
