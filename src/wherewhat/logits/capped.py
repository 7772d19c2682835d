"""Logits under a soft cap, which bends the finished table: nothing short of building it is exact."""

from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch import Tensor

from wherewhat.logits.base import Logits, Moments, even, moments_of_rows
from wherewhat.logits.turned import Turned


@dataclass(frozen=True)
class Capped(Logits):
    """a[k, j] = cap · tanh(inner a[k, j] / cap)."""

    inner: Logits
    cap: float

    by_table = True

    @property
    def rotary(self) -> "Turned | None":  # type: ignore[override]
        return self.inner.rotary

    @property
    def absorbed(self) -> bool:  # type: ignore[override]
        return self.inner.absorbed

    @cached_property
    def actual_HQK(self) -> Tensor:
        return self.bend(self.inner.actual_HQK)

    def table(self, query: int, contents_K: Tensor, slots_S: Tensor) -> Tensor:
        return self.bend(self.inner.table(query, contents_K, slots_S))

    def rows(self, index_Q: Tensor) -> "Capped":
        return replace(self, inner=self.inner.rows(index_Q))

    def moments(self, swappable_QK: Tensor) -> Moments:
        return self.weighted_moments(even(swappable_QK, self.actual_HQK.dtype))

    def weighted_moments(self, weights_HQK: Tensor) -> Moments:
        heads, queries, keys = self.actual_HQK.shape
        weights_HQK = weights_HQK.expand(heads, -1, -1)
        every_K = torch.arange(keys, device=weights_HQK.device)
        rows = [_row(self.table(query, every_K, every_K), weights_HQK[:, query]) for query in range(queries)]
        return moments_of_rows(rows, weights_HQK)

    def factors(self, query: int, slots_S: Tensor) -> tuple[Tensor, Tensor]:
        return self.inner.factors(query, slots_S)

    def bend(self, product: Tensor) -> Tensor:
        return (product / self.cap).tanh() * self.cap


def _row(table_HKS: Tensor, weights_HK: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """content_HK, slot_HK and interaction_H of one row's table."""
    content_HK = (table_HKS * weights_HK[:, None]).sum(-1)
    slot_HS = (table_HKS * weights_HK[:, :, None]).sum(-2)
    grand_H11 = (content_HK * weights_HK).sum(-1)[:, None, None]
    left_HKS = table_HKS - content_HK[:, :, None] - slot_HS[:, None] + grand_H11
    left_HK = (left_HKS.square() * weights_HK[:, None]).sum(-1)
    return content_HK, slot_HS, (left_HK * weights_HK).sum(-1)
