"""A head at one query is a table: a[k, j] is the logit that content k would get if it stood in slot j."""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

if TYPE_CHECKING:
    from wherewhat.logits.rotary import Turned


@dataclass(frozen=True)
class Moments:
    """What the tables of some rows amount to, over the contents and slots that may be exchanged.

    The three variances add up to the variance of the whole table. Entries of contents and slots that may not be
    exchanged are there, but mean nothing.
    """

    content_HQK: Tensor  # each content's mean over slots
    slot_HQK: Tensor  # each slot's mean over contents
    grand_HQ: Tensor  # the mean of the whole table
    position_HQ: Tensor  # variance of the slots' means
    symbol_HQ: Tensor  # variance of the contents' means
    interaction_HQ: Tensor  # variance of what neither explains
    planes: "Planes | None" = None  # the same by rotary frequency, if there are any


@dataclass(frozen=True)
class Planes:
    """What each rotary frequency adds to the three variances of a row. Signed; over frequencies they add up exactly."""

    position_HQF: Tensor
    symbol_HQF: Tensor
    interaction_HQF: Tensor


class Logits(ABC):
    """The logits of some rows of one text in one layer, and what they are made of.

    `actual_HQK` are those the model computes, every content in its own slot, without a mask. Heads that share keys
    follow each other: with G groups, head h reads the keys of group h // (H / G).
    """

    absorbed: bool = False  # no slot makes any difference here: position, if any, came in with the contents
    rotary: "Turned | None" = None  # the rotary logits, under a soft cap or not, if these are
    by_table: bool = False  # moments are read off whole tables, so asking for many rows is slow

    @property
    @abstractmethod
    def actual_HQK(self) -> Tensor:
        """a[k, k]: the logit of every key where it stands."""

    @abstractmethod
    def table(self, query: int, contents_K: Tensor, slots_S: Tensor) -> Tensor:
        """table_HKS of the row numbered `query`: these contents in these slots."""

    @abstractmethod
    def factors(self, query: int, slots_S: Tensor) -> tuple[Tensor, Tensor]:
        """content_HSX and slot_HSX of the row numbered `query`, whose product is its table before `bend`."""

    def bend(self, product: Tensor) -> Tensor:
        """What becomes of a content's product with a slot: as a rule, it is the logit."""
        return product

    @abstractmethod
    def rows(self, index_Q: Tensor) -> "Logits":
        """Only some of the rows."""

    @abstractmethod
    def moments(self, swappable_QK: Tensor) -> Moments:
        """Means and variances of each row's table, with contents and slots of `swappable_QK` counting alike."""

    @abstractmethod
    def weighted_moments(self, weights_HQK: Tensor) -> Moments:
        """The same with a weight for each key, both as content and as slot; the weights of a row add up to 1."""


def finest(device: torch.device) -> torch.dtype:
    """The most precise type that a device has: Apple's has no double precision."""
    return torch.float32 if device.type == "mps" else torch.float64


def even(swappable_QK: Tensor, dtype: torch.dtype) -> Tensor:
    """weights_1QK that count every swappable key alike; a row without any gets zeros.

    >>> even(torch.tensor([[True, False, True]]), torch.float32)
    tensor([[[0.5000, 0.0000, 0.5000]]])
    """
    weights_QK = swappable_QK.to(dtype)
    return (weights_QK / weights_QK.sum(-1, keepdim=True).clamp_min(1))[None]


def moments_of_rows(rows: Iterable[tuple[Tensor, Tensor, Tensor]], weights_HQK: Tensor) -> Moments:
    """Put together what each row gives: content_HK, slot_HK and interaction_H."""
    content_HQK, slot_HQK, interaction_HQ = (torch.stack(parts, 1) for parts in zip(*rows, strict=True))
    grand_HQ, symbol_HQ = mean_and_variance(content_HQK, weights_HQK)
    _, position_HQ = mean_and_variance(slot_HQK, weights_HQK)
    return Moments(content_HQK, slot_HQK, grand_HQ, position_HQ, symbol_HQ, interaction_HQ)


def mean_and_variance(value_HQK: Tensor, weights_HQK: Tensor) -> tuple[Tensor, Tensor]:
    """Weighted mean_HQ and variance_HQ of each row."""
    mean_HQ = (value_HQK * weights_HQK).sum(-1)
    variance_HQ = ((value_HQK - mean_HQ[..., None]).square() * weights_HQK).sum(-1)
    return mean_HQ, variance_HQ
