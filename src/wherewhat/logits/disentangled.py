"""Disentangled logits (DeBERTa): content terms, slot terms, and products of contents with relative positions."""

from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch import Tensor

from wherewhat.logits.base import Logits, dot, repeat_groups
from wherewhat.logits.factors import Factors


@dataclass(frozen=True)
class DisentangledLogits(Logits):
    """a[k, j] = scale · query · key_k + slot_j + key_k · position_query[index_j]: the last term depends on both."""

    query_HQC: Tensor
    key_GKC: Tensor
    scale: float
    slot_HQK: Tensor
    position_query_HRC: Tensor  # what contents are multiplied with at each relative position, scale included
    index_QK: Tensor  # the relative position of each slot to each query

    @cached_property
    def content_HQK(self) -> Tensor:
        """What each content adds, whatever its slot."""
        return dot(self.query_HQC, self.key_GKC) * self.scale

    @cached_property
    def actual_HQK(self) -> Tensor:
        heads, queries, keys = self.content_HQK.shape
        key_HKC = repeat_groups(self.key_GKC, heads)
        position_product_HKR = key_HKC @ self.position_query_HRC.mT
        index_HKQ = self.index_QK.T.expand(heads, keys, queries)
        return self.content_HQK + self.slot_HQK + position_product_HKR.gather(-1, index_HKQ).mT

    def table(self, query: int, contents_K: Tensor, slots_S: Tensor) -> Tensor:
        added_HKS = self.content_HQK[:, query, contents_K, None] + self.slot_HQK[:, query, None, slots_S]
        slot_query_HSC = self.position_query_HRC[:, self.index_QK[query, slots_S]]
        return added_HKS + dot(slot_query_HSC, self.key_GKC[:, contents_K]).mT

    def factors(self, rows_Q: Tensor, keys: int) -> Factors:
        content_HQK1 = self.content_HQK[:, rows_Q, :keys, None]
        slot_HQK1 = self.slot_HQK[:, rows_Q, :keys, None]
        heads, queries = content_HQK1.shape[:2]
        key_HQKC = repeat_groups(self.key_GKC[:, :keys], heads)[:, None].expand(-1, queries, -1, -1)
        slot_query_HQKC = self.position_query_HRC[:, self.index_QK[rows_Q, :keys]].expand(heads, -1, -1, -1)
        one_HQK1 = torch.ones_like(content_HQK1)
        return Factors(
            torch.cat((key_HQKC, content_HQK1, one_HQK1), -1), torch.cat((slot_query_HQKC, one_HQK1, slot_HQK1), -1)
        )

    def rows(self, index_Q: Tensor) -> "DisentangledLogits":
        return replace(
            self,
            query_HQC=self.query_HQC[:, index_Q],
            slot_HQK=self.slot_HQK[:, index_Q],
            index_QK=self.index_QK[index_Q],
        )
