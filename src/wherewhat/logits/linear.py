"""Logits of keys that every slot changes in a way of its own: any linear map, not only turning pairs of channels."""

from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch import Tensor

from wherewhat.logits.base import Logits, Moments, even, moments_of_rows
from wherewhat.logits.disentangled import row_of_products
from wherewhat.logits.grouped import dot, repeat_groups


@dataclass(frozen=True)
class Carried(Logits):
    """a[k, j] = scale · query · (carry_j key_k) + slot_j, the query as it is when it meets the keys.

    A turn by angles is such a map too. Where that is all, `Turned` says more: it knows frequencies.
    """

    query_HQC: Tensor  # after what the encoding does to it
    key_GKC: Tensor  # before
    carry_SCC: Tensor  # what slot j makes of a key: key → carry_SCC[j] @ key
    scale: float
    slot_HQK: Tensor | None = None  # what each slot adds, whatever stands in it

    @cached_property
    def actual_HQK(self) -> Tensor:
        carried_GKC = torch.einsum("kcd,gkd->gkc", self.carry_SCC, self.key_GKC)
        product_HQK = dot(self.query_HQC, carried_GKC) * self.scale
        return product_HQK if self.slot_HQK is None else product_HQK + self.slot_HQK

    def table(self, query: int, contents_K: Tensor, slots_S: Tensor) -> Tensor:
        table_HKS = dot(self._toward(query, slots_S), self.key_GKC[:, contents_K]).mT
        return table_HKS if self.slot_HQK is None else table_HKS + self.slot_HQK[:, query, None, slots_S]

    def factors(self, query: int, slots_S: Tensor) -> tuple[Tensor, Tensor]:
        toward_HSC = self._toward(query, slots_S)
        key_HSC = repeat_groups(self.key_GKC[:, slots_S], len(toward_HSC))
        if self.slot_HQK is None:
            return key_HSC, toward_HSC
        slot_HS1 = self.slot_HQK[:, query, slots_S, None]
        return torch.cat((key_HSC, torch.ones_like(slot_HS1)), -1), torch.cat((toward_HSC, slot_HS1), -1)

    def rows(self, index_Q: Tensor) -> "Carried":
        slot_HQK = None if self.slot_HQK is None else self.slot_HQK[:, index_Q]
        return replace(self, query_HQC=self.query_HQC[:, index_Q], slot_HQK=slot_HQK)

    def moments(self, swappable_QK: Tensor) -> Moments:
        return self.weighted_moments(even(swappable_QK, self.query_HQC.dtype))

    def weighted_moments(self, weights_HQK: Tensor) -> Moments:
        heads, queries, _ = self.query_HQC.shape
        weights_HQK = weights_HQK.expand(heads, -1, -1)
        rows = [self._row(query, weights_HQK[:, query]) for query in range(queries)]
        return moments_of_rows(rows, weights_HQK)

    def _row(self, query: int, weights_HK: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """content_HK, slot_HK and interaction_H of one row."""
        toward_HKC = self._toward(query, torch.arange(len(self.carry_SCC), device=weights_HK.device))
        key_HKC = repeat_groups(self.key_GKC, len(weights_HK))
        content_HK, slot_HK, interaction_H = row_of_products(key_HKC, toward_HKC, weights_HK)
        if self.slot_HQK is None:
            return content_HK, slot_HK, interaction_H
        added_HK = self.slot_HQK[:, query]
        return content_HK + (weights_HK * added_HK).sum(-1, keepdim=True), slot_HK + added_HK, interaction_H

    def _toward(self, query: int, slots_S: Tensor) -> Tensor:
        """toward_HSC: what each slot asks of a content on the query's behalf."""
        return torch.einsum("hc,scd->hsd", self.query_HQC[:, query] * self.scale, self.carry_SCC[slots_S])
