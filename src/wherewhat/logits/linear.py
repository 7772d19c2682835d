"""Logits of keys to which every slot applies a linear map of its own, not only a rotation in channel pairs."""

from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch import Tensor

from wherewhat.logits.base import Logits, dot, repeat_groups
from wherewhat.logits.factors import Factors


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

    def factors(self, rows_Q: Tensor, keys: int) -> Factors:
        query_HQC = self.query_HQC[:, rows_Q] * self.scale
        slot_query_HQKC = torch.einsum("hqc,kcd->hqkd", query_HQC, self.map_SCC[:keys])
        key_H1KC = repeat_groups(self.key_GKC[:, :keys], len(query_HQC))[:, None]
        if self.slot_HQK is None:
            return Factors(key_H1KC, slot_query_HQKC)
        slot_HQK1 = self.slot_HQK[:, rows_Q, :keys, None]
        key_HQKC = key_H1KC.expand(-1, len(rows_Q), -1, -1)
        return Factors(
            torch.cat((key_HQKC, torch.ones_like(slot_HQK1)), -1), torch.cat((slot_query_HQKC, slot_HQK1), -1)
        )

    def rows(self, index_Q: Tensor) -> "LinearLogits":
        slot_HQK = None if self.slot_HQK is None else self.slot_HQK[:, index_Q]
        return replace(self, query_HQC=self.query_HQC[:, index_Q], slot_HQK=slot_HQK)

    def _slot_queries(self, query: int, slots_S: Tensor) -> Tensor:
        """slot_query_HSC: what a content is multiplied with in each slot."""
        return torch.einsum("hc,scd->hsd", self.query_HQC[:, query] * self.scale, self.map_SCC[slots_S])
