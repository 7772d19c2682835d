"""How unlike is what two heads look at? The Jensen-Shannon divergence of their rows, of every head with every other."""

import math

import torch
from torch import Tensor

from wherewhat.scores.base import NOTHING


def divergence(first_HQK: Tensor, other_HQK: Tensor, seen_QK: Tensor) -> Tensor:
    """mean_HH over rows, in bits: 0 is the same attention, 1 attention that never meets.

    `first_HQK` and `other_HQK` are rows of two models on one text, `seen_QK` says which keys both may look at; each row
    is taken as a share of what it spends on these. Rows that see a single key agree whatever happens and are left out,
    and so is a row that spends nothing; a pair of heads without a row left has NaN.

    >>> rows = torch.tensor([[[0.5, 0.5]]]), torch.tensor([[[1.0, 0.0]]])
    >>> round(float(divergence(*rows, torch.ones(1, 2).bool())), 4)
    0.3113
    """
    told_Q = seen_QK.sum(-1) >= 2
    (first_HQK, there_HQ), (other_HQK, here_HQ) = (
        _shares(rows_HQK[:, told_Q].double(), seen_QK[told_Q]) for rows_HQK in (first_HQK, other_HQK)
    )
    own_HQ, its_HQ = _entropy(first_HQK), _entropy(other_HQK)
    found = []
    for rows_QK, entropy_Q, known_Q in zip(first_HQK, own_HQ, there_HQ, strict=True):
        both_HQ = here_HQ & known_Q
        apart_HQ = _entropy((rows_QK + other_HQK) / 2) - (entropy_Q + its_HQ) / 2
        found.append((apart_HQ * both_HQ).sum(-1) / both_HQ.sum(-1))
    return torch.stack(found).clamp(0, 1)


def _shares(rows_HQK: Tensor, seen_QK: Tensor) -> tuple[Tensor, Tensor]:
    """Rows as shares of what they spend on these keys, and which rows spend anything."""
    kept_HQK = rows_HQK * seen_QK
    mass_HQ = kept_HQK.sum(-1)
    return kept_HQK / mass_HQ.clamp_min(NOTHING)[..., None], mass_HQ >= NOTHING


def _entropy(share_HQK: Tensor) -> Tensor:
    """In bits."""
    bits_HQ: Tensor = torch.special.entr(share_HQK).sum(-1) / math.log(2)
    return bits_HQ
