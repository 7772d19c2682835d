"""How far back do heads look? The distance of the key that each row attends to most, as a part of all that it sees."""

import torch
from torch import Tensor

BINS = 21  # centred at 0, 0.05, ..., 1
TIED = 1e-4  # keys whose weight is within this part of the largest share the row: rounding of equal logits is less
NEAR, FAR = 0.1, 0.85  # the last bin that is near, and the first that is far


def attended_distances(attention_HQK: Tensor, queries_Q: Tensor) -> Tensor:
    """share_HQE: in which of the bins E of relative distance, (i - j) / (i + 1), each row's most attended key j lies.

    `queries_Q` holds the slots i; only keys up to the query count. Keys that are attended equally share the row, so a
    row of uniform attention says what a head without preferences would give.

    >>> attended_distances(torch.tensor([[[0.2, 0.5, 0.3]]]), torch.tensor([2])).nonzero()[0].tolist()
    [0, 0, 7]
    """
    slots_K = torch.arange(attention_HQK.shape[-1], device=attention_HQK.device)
    seen_QK = slots_K <= queries_Q[:, None]
    weight_HQK = attention_HQK.double() * seen_QK
    most_HQK = (weight_HQK >= (1 - TIED) * weight_HQK.amax(-1, keepdim=True)) & seen_QK
    vote_HQK = most_HQK.double() / most_HQK.sum(-1, keepdim=True)
    back_QK, seen_Q1 = (queries_Q[:, None] - slots_K).clamp_min(0), queries_Q[:, None] + 1
    bin_QK = (2 * (BINS - 1) * back_QK + seen_Q1) // (2 * seen_Q1)  # rounded in integers; halves go to the farther bin
    share_HQE = torch.zeros(*vote_HQK.shape[:-1], BINS, dtype=torch.float64, device=attention_HQK.device)
    return share_HQE.scatter_add_(-1, bin_QK.expand_as(vote_HQK), vote_HQK)


def near_and_far(share_E: Tensor) -> tuple[Tensor, Tensor]:
    """The share of rows in near bins, up to 0.10, and in far bins, from 0.85; over the last axis.

    >>> near_and_far(torch.ones(BINS) / BINS)
    (tensor(0.1429), tensor(0.1905))
    """
    last, first = round(NEAR * (BINS - 1)), round(FAR * (BINS - 1))
    return share_E[..., : last + 1].sum(-1), share_E[..., first:].sum(-1)
