"""How different the attention of two heads is, as the analyser released with arXiv 2305.19466 computes it.

It differs from the Jensen-Shannon divergence of `entropy.divergence` in two ways, which are kept here so that published
heights can be compared: the arguments of the divergence are exchanged, and only some pairs of heads are compared.
"""

import torch
from torch import Tensor

SMALLEST = torch.finfo(torch.float32).tiny  # weights that were rounded to 0 count as this: the formula has no limit


def released_divergence(first_HQK: Tensor, other_HQK: Tensor, seen_QK: Tensor) -> Tensor:
    """(KL(m‖p) + KL(m‖q)) / 2 in nats with m = (p + q) / 2, for pairs of heads: mean_HH over rows, 0 or more.

    Row a, column b has head a of the first model and head b of the other. Pairs with a >= b are not compared and are
    NaN. Every row counts, also the first one, in which all heads agree.

    >>> rows = torch.tensor([[[0.9, 0.1]], [[0.9, 0.1]]]), torch.tensor([[[0.5, 0.5]], [[0.5, 0.5]]])
    >>> round(float(released_divergence(*rows, torch.ones(1, 2).bool())[0, 1]), 4)
    0.118
    """
    first_HQK, other_HQK = (rows_HQK.double().clamp_min(SMALLEST) for rows_HQK in (first_HQK, other_HQK))
    first_log_HQK, other_log_HQK = first_HQK.log(), other_HQK.log()
    mean_HH = torch.full((len(first_HQK), len(other_HQK)), torch.nan, dtype=torch.float64)
    for a, (row_QK, log_QK) in enumerate(zip(first_HQK, first_log_HQK, strict=True)):
        mixed_HQK = (row_QK + other_HQK[a + 1 :]) / 2
        apart_HQK = mixed_HQK * (mixed_HQK.log() - (log_QK + other_log_HQK[a + 1 :]) / 2)
        mean_HH[a, a + 1 :] = (apart_HQK * seen_QK).sum(-1).mean(-1)
    return mean_HH


def closest_pair(distance_HH: Tensor) -> Tensor:
    """The smallest of all pairs that were compared, of one or several tables; NaN if there are none.

    >>> closest_pair(torch.tensor([[torch.nan, 0.3], [torch.nan, torch.nan]]))
    tensor(0.3000)
    """
    smallest = distance_HH.nan_to_num(torch.inf).flatten(-2).amin(-1)
    return torch.where(smallest.isinf(), torch.nan, smallest)
