"""Products of queries with keys that several heads share, without repeating the keys."""

import torch
from torch import Tensor


def dot(query_HQC: Tensor, key_GKC: Tensor) -> Tensor:
    """product_HQK of every query with every key of its head's group."""
    heads, queries, channels = query_HQC.shape
    groups = key_GKC.shape[0]
    product = query_HQC.reshape(groups, -1, channels) @ key_GKC.mT
    return product.view(heads, queries, -1)


def complex_dot(query_HQF: Tensor, key_GKF: Tensor) -> Tensor:
    """The real part of the plain (unconjugated) product of complex vectors, product_HQK."""
    return dot(torch.cat((query_HQF.real, -query_HQF.imag), -1), torch.cat((key_GKF.real, key_GKF.imag), -1))


def repeat_groups(tensor_GX: Tensor, heads: int) -> Tensor:
    """One entry a head from one a group.

    >>> repeat_groups(torch.tensor([1, 2]), 4)
    tensor([1, 1, 2, 2])
    """
    each = heads // tensor_GX.shape[0]
    return tensor_GX if each == 1 else tensor_GX.repeat_interleave(each, dim=0)
