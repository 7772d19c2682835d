"""A head at one query is a table: a[k, j] is the logit that content k would have in slot j."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from wherewhat.logits.factors import (
    WIDTH,
    Factors,
    MeasuredRows,
    Moments,
    join_rows,
    moments_of,
    split_by_reach,
    uniform_weights,
)
from wherewhat.logits.planes import RotaryPlanes
from wherewhat.logits.rotary_moments import uniform_moments


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

    def measured(self, swappable_QK: Tensor) -> Iterator[MeasuredRows]:
        """Every row with the means and variances of its table over the keys of `swappable_QK`, some rows at a time."""
        if self.planes is not None and not self.by_table:
            yield from uniform_moments(self.planes, swappable_QK)
            return
        weights_1QK = uniform_weights(swappable_QK, self.actual_HQK.dtype)
        for index_Q, reach in split_by_reach(swappable_QK, len(self.actual_HQK) * WIDTH):
            factors = self.factors(index_Q, reach)
            yield MeasuredRows(index_Q, factors.actual_HQK, moments_of(factors, weights_1QK[:, index_Q, :reach]))

    def moments(self, swappable_QK: Tensor) -> Moments:
        """The same of all rows together, with all keys."""
        queries, keys = swappable_QK.shape
        measured = list(self.measured(swappable_QK))
        index_Q = torch.cat([rows.index_Q for rows in measured])
        return join_rows([rows.moments.padded(keys) for rows in measured], index_Q, queries)

    def weighted_moments(self, weights_HQK: Tensor) -> Moments:
        """Moments with a weight per key, both as content and as slot, which add up to 1; not by frequency."""
        keys = weights_HQK.shape[-1]
        parts, index = [], []
        for index_Q, reach in split_by_reach(weights_HQK.ne(0).any(0), len(self.actual_HQK) * WIDTH):
            factors = self.factors(index_Q, reach)
            parts.append(moments_of(factors, weights_HQK[:, index_Q, :reach]).padded(keys))
            index.append(index_Q)
        return join_rows(parts, torch.cat(index), weights_HQK.shape[1])


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
