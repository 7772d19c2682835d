"""Disentangled logits (DeBERTa): content terms, slot terms, and products of contents with relative positions."""

from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch import Tensor

from wherewhat.logits.base import Logits, Moments, dot, moments_of_rows, repeat_groups, uniform_weights


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

    def factors(self, query: int, slots_S: Tensor) -> tuple[Tensor, Tensor]:
        content_HS1, slot_HS1 = self.content_HQK[:, query, slots_S, None], self.slot_HQK[:, query, slots_S, None]
        key_HSC = repeat_groups(self.key_GKC[:, slots_S], len(content_HS1))
        slot_query_HSC = self.position_query_HRC[:, self.index_QK[query, slots_S]]
        one_HS1 = torch.ones_like(slot_HS1)
        return torch.cat((key_HSC, content_HS1, one_HS1), -1), torch.cat((slot_query_HSC, one_HS1, slot_HS1), -1)

    def rows(self, index_Q: Tensor) -> "DisentangledLogits":
        return replace(
            self,
            query_HQC=self.query_HQC[:, index_Q],
            slot_HQK=self.slot_HQK[:, index_Q],
            index_QK=self.index_QK[index_Q],
        )

    def moments(self, swappable_QK: Tensor) -> Moments:
        return self.weighted_moments(uniform_weights(swappable_QK, self.content_HQK.dtype))

    def weighted_moments(self, weights_HQK: Tensor) -> Moments:
        return moments_of_rows(self._row, len(self.content_HQK), weights_HQK)

    def _row(self, query: int, weights_HK: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """content_HK, slot_HK and interaction_H of one row."""
        content_HK, slot_HK, interaction_H = row_of_products(
            repeat_groups(self.key_GKC, len(weights_HK)), self.position_query_HRC[:, self.index_QK[query]], weights_HK
        )
        own_HK, added_HK = self.content_HQK[:, query], self.slot_HQK[:, query]
        return (
            own_HK + content_HK + (weights_HK * added_HK).sum(-1, keepdim=True),
            added_HK + slot_HK + (weights_HK * own_HK).sum(-1, keepdim=True),
            interaction_H,
        )


def row_of_products(key_HKC: Tensor, slot_query_HKC: Tensor, weights_HK: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """content_HK, slot_HK and interaction_H of a table of products key_k · slot_query_j, without building it."""
    key_H1C, slot_query_H1C = weights_HK[:, None] @ key_HKC, weights_HK[:, None] @ slot_query_HKC
    both_HCC = _covariance(key_HKC - key_H1C, weights_HK) * _covariance(slot_query_HKC - slot_query_H1C, weights_HK)
    return (key_HKC * slot_query_H1C).sum(-1), (slot_query_HKC * key_H1C).sum(-1), both_HCC.sum((-1, -2))


def _covariance(centred_HKC: Tensor, weights_HK: Tensor) -> Tensor:
    return (centred_HKC * weights_HK[..., None]).mT @ centred_HKC
