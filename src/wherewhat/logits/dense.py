"""Logits whose moments need whole tables, one row at a time, such as those under a soft cap."""

from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch import Tensor

from wherewhat.logits.base import Logits, Moments, moments_of_rows, uniform_weights
from wherewhat.logits.rotary import RotaryLogits


class DenseLogits(Logits):
    """Logits that depend on the finished products of contents and slots in some nonlinear way.

    Nothing shorter than a whole table is exact.
    """

    by_table = True

    def moments(self, swappable_QK: Tensor) -> Moments:
        return self.weighted_moments(uniform_weights(swappable_QK, self.actual_HQK.dtype))

    def weighted_moments(self, weights_HQK: Tensor) -> Moments:
        """Keys without any weight are left out of the tables; their entries are 0."""
        return moments_of_rows(self._row, len(self.actual_HQK), weights_HQK)

    def _row(self, query: int, weights_HK: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """content_HK, slot_HK and interaction_H of one row."""
        content_HK, slot_HK = torch.zeros_like(weights_HK), torch.zeros_like(weights_HK)
        kept_S = weights_HK.ne(0).any(0).nonzero()[:, 0]
        if not len(kept_S):
            return content_HK, slot_HK, content_HK.sum(-1)
        table_HKS, weights_HS = self.table(query, kept_S, kept_S), weights_HK[:, kept_S]
        content_HS = (table_HKS * weights_HS[:, None]).sum(-1)
        slot_HS = (table_HKS * weights_HS[:, :, None]).sum(-2)
        grand_H11 = (content_HS * weights_HS).sum(-1)[:, None, None]
        left_HKS = table_HKS - content_HS[:, :, None] - slot_HS[:, None] + grand_H11
        left_HK = (left_HKS.square() * weights_HS[:, None]).sum(-1)
        content_HK[:, kept_S], slot_HK[:, kept_S] = content_HS, slot_HS
        return content_HK, slot_HK, (left_HK * weights_HS).sum(-1)


@dataclass(frozen=True)
class CappedLogits(DenseLogits):
    """a[k, j] = cap · tanh(inner a[k, j] / cap): the soft cap is applied to the finished products."""

    inner: Logits
    cap: float

    @property
    def rotary(self) -> RotaryLogits | None:  # type: ignore[override]
        return self.inner.rotary

    @property
    def position_free(self) -> bool:  # type: ignore[override]
        return self.inner.position_free

    @cached_property
    def actual_HQK(self) -> Tensor:
        return self.nonlinearity(self.inner.actual_HQK)

    def table(self, query: int, contents_K: Tensor, slots_S: Tensor) -> Tensor:
        return self.nonlinearity(self.inner.table(query, contents_K, slots_S))

    def rows(self, index_Q: Tensor) -> "CappedLogits":
        return replace(self, inner=self.inner.rows(index_Q))

    def factors(self, query: int, slots_S: Tensor) -> tuple[Tensor, Tensor]:
        return self.inner.factors(query, slots_S)

    def nonlinearity(self, product: Tensor) -> Tensor:
        return (product / self.cap).tanh() * self.cap
