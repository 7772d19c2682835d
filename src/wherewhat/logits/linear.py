"""Logits of keys to which every slot applies a linear map of its own, not only a rotation in channel pairs."""

from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch import Tensor

from wherewhat.logits.base import Logits, Moments, dot, moments_of_rows, repeat_groups, uniform_weights
from wherewhat.logits.disentangled import row_of_products


@dataclass(frozen=True)
class LinearLogits(Logits):
    """a[k, j] = scale · query · (map_j key_k) + slot_j.

    A rotation is such a map too; where that is all, `RotaryLogits` also knows the frequencies.
    """

    query_HQC: Tensor  # after the encoding
    key_GKC: Tensor  # before the encoding
    map_SCC: Tensor  # slot j maps a key to map_SCC[j] @ key
    scale: float
    slot_HQK: Tensor | None = None  # what each slot adds, whatever its content

    @cached_property
    def actual_HQK(self) -> Tensor:
        mapped_GKC = torch.einsum("kcd,gkd->gkc", self.map_SCC, self.key_GKC)
        product_HQK = dot(self.query_HQC, mapped_GKC) * self.scale
        return product_HQK if self.slot_HQK is None else product_HQK + self.slot_HQK

    def table(self, query: int, contents_K: Tensor, slots_S: Tensor) -> Tensor:
        table_HKS = dot(self._slot_queries(query, slots_S), self.key_GKC[:, contents_K]).mT
        return table_HKS if self.slot_HQK is None else table_HKS + self.slot_HQK[:, query, None, slots_S]

    def factors(self, query: int, slots_S: Tensor) -> tuple[Tensor, Tensor]:
        slot_query_HSC = self._slot_queries(query, slots_S)
        key_HSC = repeat_groups(self.key_GKC[:, slots_S], len(slot_query_HSC))
        if self.slot_HQK is None:
            return key_HSC, slot_query_HSC
        slot_HS1 = self.slot_HQK[:, query, slots_S, None]
        return torch.cat((key_HSC, torch.ones_like(slot_HS1)), -1), torch.cat((slot_query_HSC, slot_HS1), -1)

    def rows(self, index_Q: Tensor) -> "LinearLogits":
        slot_HQK = None if self.slot_HQK is None else self.slot_HQK[:, index_Q]
        return replace(self, query_HQC=self.query_HQC[:, index_Q], slot_HQK=slot_HQK)

    def moments(self, swappable_QK: Tensor) -> Moments:
        return self.weighted_moments(uniform_weights(swappable_QK, self.query_HQC.dtype))

    def weighted_moments(self, weights_HQK: Tensor) -> Moments:
        return moments_of_rows(self._row, len(self.query_HQC), weights_HQK)

    def _row(self, query: int, weights_HK: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """content_HK, slot_HK and interaction_H of one row."""
        slot_query_HKC = self._slot_queries(query, torch.arange(len(self.map_SCC), device=weights_HK.device))
        key_HKC = repeat_groups(self.key_GKC, len(weights_HK))
        content_HK, slot_HK, interaction_H = row_of_products(key_HKC, slot_query_HKC, weights_HK)
        if self.slot_HQK is None:
            return content_HK, slot_HK, interaction_H
        added_HK = self.slot_HQK[:, query]
        return content_HK + (weights_HK * added_HK).sum(-1, keepdim=True), slot_HK + added_HK, interaction_H

    def _slot_queries(self, query: int, slots_S: Tensor) -> Tensor:
        """slot_query_HSC: what a content is multiplied with in each slot."""
        return torch.einsum("hc,scd->hsd", self.query_HQC[:, query] * self.scale, self.map_SCC[slots_S])
