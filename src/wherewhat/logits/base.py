"""A head at one query is a table: a[k, j] is the logit that content k would have in slot j."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

if TYPE_CHECKING:
    from wherewhat.logits.rotary import RotaryLogits

# content_HK, slot_HK and interaction_H of one row, from its number and weights_HK.
Row = Callable[[int, Tensor], tuple[Tensor, Tensor, Tensor]]


@dataclass(frozen=True)
class Moments:
    """Means and variances of the tables of some rows, over the contents and slots that may be swapped.

    The three variances add up to the variance of the whole table. Entries of contents and slots that may not be swapped
    are meaningless.
    """

    content_HQK: Tensor  # each content's mean over slots
    slot_HQK: Tensor  # each slot's mean over contents
    grand_HQ: Tensor  # the mean of the whole table
    position_HQ: Tensor  # variance of the slots' means
    symbol_HQ: Tensor  # variance of the contents' means
    interaction_HQ: Tensor  # variance that neither explains
    planes: "Planes | None" = None  # the same by rotary frequency, for rotary logits


@dataclass(frozen=True)
class Planes:
    """What each rotary frequency contributes to the three variances of a row; signed, and the sum is exact."""

    position_HQF: Tensor
    symbol_HQF: Tensor
    interaction_HQF: Tensor


class Logits(ABC):
    """The logits of some rows of one text in one layer, decomposed into contents and slots.

    `actual_HQK` are the logits that the model computes, with every content in its own slot and without a mask. Heads
    that share keys are consecutive: with G groups, head h uses the keys of group h // (H / G).
    """

    position_free: bool = False  # the logits do not depend on slots: position, if any, is part of the contents
    rotary: "RotaryLogits | None" = None  # the rotary logits, with or without a soft cap, if these are rotary
    by_table: bool = False  # moments need whole tables, so many rows are slow

    @property
    @abstractmethod
    def actual_HQK(self) -> Tensor:
        """a[k, k]: the logit of every key in its own slot."""

    @abstractmethod
    def table(self, query: int, contents_K: Tensor, slots_S: Tensor) -> Tensor:
        """table_HKS of row number `query`: these contents in these slots."""

    @abstractmethod
    def factors(self, query: int, slots_S: Tensor) -> tuple[Tensor, Tensor]:
        """content_HSX and slot_HSX of row number `query`, whose product is its table before `nonlinearity`."""

    def nonlinearity(self, product: Tensor) -> Tensor:
        """The logit for the product of a content with a slot: the product itself, unless there is a soft cap."""
        return product

    @abstractmethod
    def rows(self, index_Q: Tensor) -> "Logits":
        """Only some of the rows."""

    @abstractmethod
    def moments(self, swappable_QK: Tensor) -> Moments:
        """Means and variances of each row's table over the contents and slots of `swappable_QK`, with equal weights."""

    @abstractmethod
    def weighted_moments(self, weights_HQK: Tensor) -> Moments:
        """The same with a weight per key, both as content and as slot; the weights of a row add up to 1."""


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


def moments_of_rows(row: Row, heads: int, weights_HQK: Tensor) -> Moments:
    """Moments of all rows of so many heads, one row at a time."""
    weights_HQK = weights_HQK.expand(heads, -1, -1)
    rows = [row(query, weights_HK) for query, weights_HK in enumerate(weights_HQK.unbind(1))]
    content_HQK, slot_HQK, interaction_HQ = (torch.stack(parts, 1) for parts in zip(*rows, strict=True))
    grand_HQ, symbol_HQ = mean_and_variance(content_HQK, weights_HQK)
    _, position_HQ = mean_and_variance(slot_HQK, weights_HQK)
    return Moments(content_HQK, slot_HQK, grand_HQ, position_HQ, symbol_HQ, interaction_HQ)


def mean_and_variance(value_HQK: Tensor, weights_HQK: Tensor) -> tuple[Tensor, Tensor]:
    """Weighted mean_HQ and variance_HQ of each row."""
    mean_HQ = (value_HQK * weights_HQK).sum(-1)
    variance_HQ = ((value_HQK - mean_HQ[..., None]).square() * weights_HQK).sum(-1)
    return mean_HQ, variance_HQ


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
