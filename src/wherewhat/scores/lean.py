"""To which side does a head lean? The sign that `balance` leaves out."""

import torch

from wherewhat.scores.balance import LEAST
from wherewhat.scores.base import PerRow, Rows


def lean(rows: Rows) -> PerRow:
    """The paired attention to the left minus that to the right, as a share of both: 1 looks only left, -1 only right.

    Pairs and weights are those of `balance`, so pooling gives sum (left - right) / sum (left + right), and a lean is
    never larger than what balance lacks of 1. A head that looks at no pair leans to neither side and gets 0.

    >>> attention_HQK = torch.tensor([[[0.6, 0.2, 0.2]]])  # one head, the query in the middle
    >>> lean(Rows(attention_HQK, torch.tensor([1]), torch.ones(1, 3, dtype=torch.bool), torch.tensor([7, 8, 9])))
    (tensor([[0.5000]]), tensor([[0.8000]]))
    """
    pairs = rows.pairs
    paired_QK = rows.offsets_QK.abs() <= pairs.count_Q[:, None]
    side_QK = torch.sign(-rows.offsets_QK) * paired_QK  # 1 for keys to the left, -1 for those to the right
    signed_HQ = (rows.attention_HQK * side_QK).sum(-1)
    weight_HQ = pairs.mass_HQ.clamp_min(LEAST) * (pairs.count_Q > 0)
    return (signed_HQ / pairs.mass_HQ.clamp_min(LEAST)).clamp_(-1, 1), weight_HQ
