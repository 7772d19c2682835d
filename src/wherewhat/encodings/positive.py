"""Numbers that stay above zero while they are learned: stored without bounds, read through a softplus."""

from torch import Tensor
from torch.nn.functional import softplus


def held_positive(free: Tensor) -> Tensor:
    """The positive numbers that stand for any numbers at all: ln(1 + e^free)."""
    return softplus(free)


def freed(positive: Tensor) -> Tensor:
    """The way back, also where e^positive would overflow.

    >>> import torch
    >>> held_positive(freed(torch.tensor([0.01, 1.0, 1000.0])))
    tensor([1.0000e-02, 1.0000e+00, 1.0000e+03])
    """
    return positive + (-(-positive).expm1()).log()
