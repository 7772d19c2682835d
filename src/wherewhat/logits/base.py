"""A head at one query is a table: a[k, j] is the logit that content k would have in slot j."""

from abc import ABC, abstractmethod
from collections.abc import Callable

import torch
from torch import Tensor

from wherewhat.logits.factors import WIDTH, Factors, Moments, join_rows, moments_of, split_by_reach
from wherewhat.logits.planes import RotaryPlanes
from wherewhat.logits.rotary_moments import even_moments


class Logits(ABC):
    """The logits of some rows in one layer, decomposed into contents and slots.

    `actual_HQK` are the logits that the model computes, with every content in its own slot and without a mask. Heads
    that share keys are consecutive: with G groups, head h uses the keys of group h // (H / G).
    """

    position_free: bool = False  # the logits do not depend on slots: position, if any, is part of the contents
    planes: RotaryPlanes | None = None  # what rotary logits are made of, with or without a soft cap
    by_table: bool = False  # moments need whole tables, so many rows are slow
    nonlinearity: Callable[[Tensor], Tensor] | None = None  # what follows the product of a content with a slot

    @property
    @abstractmethod
    def actual_HQK(self) -> Tensor:
        """a[k, k]: the logit of every key in its own slot."""

    @abstractmethod
    def table(self, query: int, contents_K: Tensor, slots_S: Tensor) -> Tensor:
        """table_HKS of row number `query`: these contents in these slots."""

    @abstractmethod
    def factors(self, rows_Q: Tensor, keys: int) -> Factors:
        """The tables of some rows, over the first so many keys, as products of contents and slots."""

    @abstractmethod
    def rows(self, index_Q: Tensor) -> "Logits":
        """Only some of the rows."""

    def moments(self, swappable_QK: Tensor) -> Moments:
        """Means and variances of each row's table over the contents and slots of `swappable_QK`, with equal weights."""
        if self.planes is None or self.by_table:
            return self.weighted_moments(uniform_weights(swappable_QK, self.actual_HQK.dtype))
        queries, keys = swappable_QK.shape
        measured = list(even_moments(self.planes, swappable_QK))
        index_Q = torch.cat([rows.index_Q for rows in measured])
        return join_rows([rows.moments.padded(keys) for rows in measured], index_Q, queries)

    def weighted_moments(self, weights_HQK: Tensor) -> Moments:
        """The same with a weight per key, both as content and as slot; the weights of a row add up to 1."""
        keys = weights_HQK.shape[-1]
        parts, index = [], []
        for index_Q, reach in split_by_reach(weights_HQK.ne(0).any(0), len(self.actual_HQK) * WIDTH):
            factors = self.factors(index_Q, reach)
            parts.append(moments_of(factors, weights_HQK[:, index_Q, :reach]).padded(keys))
            index.append(index_Q)
        return join_rows(parts, torch.cat(index), weights_HQK.shape[1])


def widest_dtype(device: torch.device) -> torch.dtype:
    """The most precise floating-point type of a device: Apple's MPS has no double precision."""
    return torch.float32 if device.type == "mps" else torch.float64


def uniform_weights(swappable_QK: Tensor, dtype: torch.dtype) -> Tensor:
    """weights_1QK that are equal for all swappable keys of a row; all 0 if it has none.

    >>> uniform_weights(torch.tensor([[True, False, True]]), torch.float32)
    tensor([[[0.5000, 0.0000, 0.5000]]])
    """
    weights_QK = swappable_QK.to(dtype)
    return (weights_QK / weights_QK.sum(-1, keepdim=True).clamp_min(1))[None]


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
    """One entry per head from one per group.

    >>> repeat_groups(torch.tensor([1, 2]), 4)
    tensor([1, 1, 2, 2])
    """
    each = heads // tensor_GX.shape[0]
    return tensor_GX if each == 1 else tensor_GX.repeat_interleave(each, dim=0)
