"""Is a head's attention spread out or concentrated on few keys, and how different is the attention of two heads?"""

import math

import torch
from torch import Tensor

from wherewhat.scores.base import NOTHING, PerRow, Rows

FAINT = 1e-30  # weights below this add nothing to an entropy; going down to 0 would make the logarithm ten times slower


def entropy(rows: Rows) -> PerRow:
    """The entropy of each row over the most it could have, log(visible keys): 1 spreads evenly, 0 looks at one key.

    Rows that see fewer than two keys have no choice and are left out. Of a row that keeps part of its attention for
    the model's own sink, only the rest counts.
    """
    attention_HQK, mass_HQ = rows.attention_HQK, rows.mass_HQ.clamp_min(NOTHING)
    negative_HQ = attention_HQK.clamp_min(FAINT).log_().mul_(attention_HQK).sum(-1)
    nats_HQ = mass_HQ.log() - negative_HQ / mass_HQ
    most_Q = rows.visible_Q.clamp_min(2).to(attention_HQK.dtype).log_()
    return (nats_HQ / most_Q).clamp_(0, 1), rows.weigh(rows.visible_Q >= 2)


def divergence(first_HQK: Tensor, other_HQK: Tensor, seen_QK: Tensor) -> Tensor:
    """The Jensen-Shannon divergence for every pair of heads, mean_HH over rows, in bits: 0 same, 1 without overlap.

    `first_HQK` and `other_HQK` are rows of two models on one text, `seen_QK` says which keys both may look at; each row
    is taken as a share of what it spends on these. Rows that see a single key always agree and are left out, and so
    are rows that spend nothing; a pair of heads without a row left has NaN.

    >>> rows = torch.tensor([[[0.5, 0.5]]]), torch.tensor([[[1.0, 0.0]]])
    >>> round(float(divergence(*rows, torch.ones(1, 2).bool())), 4)
    0.3113
    """
    several_Q = seen_QK.sum(-1) >= 2
    (first_HQK, there_HQ), (other_HQK, here_HQ) = (
        _shares(rows_HQK[:, several_Q].double(), seen_QK[several_Q]) for rows_HQK in (first_HQK, other_HQK)
    )
    own_HQ, its_HQ = _entropy(first_HQK), _entropy(other_HQK)
    divergences = []
    for rows_QK, entropy_Q, known_Q in zip(first_HQK, own_HQ, there_HQ, strict=True):
        both_HQ = here_HQ & known_Q
        apart_HQ = _entropy((rows_QK + other_HQK) / 2) - (entropy_Q + its_HQ) / 2
        divergences.append((apart_HQ * both_HQ).sum(-1) / both_HQ.sum(-1))
    return torch.stack(divergences).clamp(0, 1)


def _shares(rows_HQK: Tensor, seen_QK: Tensor) -> tuple[Tensor, Tensor]:
    """Rows as shares of what they spend on these keys, and which rows spend anything."""
    kept_HQK = rows_HQK * seen_QK
    mass_HQ = kept_HQK.sum(-1)
    return kept_HQK / mass_HQ.clamp_min(NOTHING)[..., None], mass_HQ >= NOTHING


def _entropy(share_HQK: Tensor) -> Tensor:
    """In bits."""
    bits_HQ: Tensor = torch.special.entr(share_HQK).sum(-1) / math.log(2)
    return bits_HQ
