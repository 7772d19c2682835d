"""How near does a head look? The weight of a key halves with every token of distance."""

import torch

from wherewhat.scores.base import PerRow, Rows

FAR = 48  # a key further away counts for less than 1e-14 and need not be read


def locality(rows: Rows) -> PerRow:
    """Sum the attention of each row, halved for every token of distance: 1 looks only at itself.

    Every row counts once. Chen et al. 2023 average this over the rows of a whole n x n matrix. Note that the
    token itself counts most, and that uniform attention gets about 3/n.

    >>> attention_HQK = torch.tensor([[[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]])  # a head, three queries
    >>> rows = Rows(attention_HQK, torch.tensor([2, 2, 2]), torch.ones(3, 3, dtype=torch.bool), torch.tensor([7, 8, 9]))
    >>> value_HQ, weight_HQ = locality(rows)
    >>> value_HQ  # at itself, one token away, two tokens away
    tensor([[1.0000, 0.5000, 0.2500]])
    >>> weight_HQ
    tensor([[1., 1., 1.]])
    """
    near_HQK, offsets_QK = rows.near(FAR)
    value_HQ = (near_HQK * torch.exp2(-offsets_QK.abs())).sum(-1)
    return value_HQ, torch.ones_like(value_HQ)
