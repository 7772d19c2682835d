"""Disentangled logits: contents and slots add up, and every slot asks contents a question of its own (DeBERTa)."""

from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch import Tensor

from wherewhat.logits.base import Logits, Moments, even, moments_of_rows
from wherewhat.logits.grouped import dot, repeat_groups


@dataclass(frozen=True)
class Crossed(Logits):
    """a[k, j] = scale · query · key_k + slot_j + key_k · toward[index_j]: the last term belongs to both."""

    query_HQC: Tensor
    key_GKC: Tensor
    scale: float
    slot_HQK: Tensor
    toward_HRC: Tensor  # what each relative position asks of a content, scale included
    index_QK: Tensor  # which relative position each slot has to each query

    @cached_property
    def content_HQK(self) -> Tensor:
        """What each content is worth, wherever it stands."""
        return dot(self.query_HQC, self.key_GKC) * self.scale

    @cached_property
    def actual_HQK(self) -> Tensor:
        heads, queries, keys = self.content_HQK.shape
        key_HKC = repeat_groups(self.key_GKC, heads)
        asked_HKR = key_HKC @ self.toward_HRC.mT
        index_HKQ = self.index_QK.T.expand(heads, keys, queries)
        return self.content_HQK + self.slot_HQK + asked_HKR.gather(-1, index_HKQ).mT

    def table(self, query: int, contents_K: Tensor, slots_S: Tensor) -> Tensor:
        added_HKS = self.content_HQK[:, query, contents_K, None] + self.slot_HQK[:, query, None, slots_S]
        toward_HSC = self.toward_HRC[:, self.index_QK[query, slots_S]]
        return added_HKS + dot(toward_HSC, self.key_GKC[:, contents_K]).mT

    def factors(self, query: int, slots_S: Tensor) -> tuple[Tensor, Tensor]:
        content_HS1, slot_HS1 = self.content_HQK[:, query, slots_S, None], self.slot_HQK[:, query, slots_S, None]
        key_HSC = repeat_groups(self.key_GKC[:, slots_S], len(content_HS1))
        toward_HSC = self.toward_HRC[:, self.index_QK[query, slots_S]]
        one_HS1 = torch.ones_like(slot_HS1)
        return torch.cat((key_HSC, content_HS1, one_HS1), -1), torch.cat((toward_HSC, one_HS1, slot_HS1), -1)

    def rows(self, index_Q: Tensor) -> "Crossed":
        return replace(
            self,
            query_HQC=self.query_HQC[:, index_Q],
            slot_HQK=self.slot_HQK[:, index_Q],
            index_QK=self.index_QK[index_Q],
        )

    def moments(self, swappable_QK: Tensor) -> Moments:
        return self.weighted_moments(even(swappable_QK, self.content_HQK.dtype))

    def weighted_moments(self, weights_HQK: Tensor) -> Moments:
        heads, queries, _ = self.content_HQK.shape
        weights_HQK = weights_HQK.expand(heads, -1, -1)
        rows = [self._row(query, weights_HQK[:, query]) for query in range(queries)]
        return moments_of_rows(rows, weights_HQK)

    def _row(self, query: int, weights_HK: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """content_HK, slot_HK and interaction_H of one row."""
        content_HK, slot_HK, interaction_H = row_of_products(
            repeat_groups(self.key_GKC, len(weights_HK)), self.toward_HRC[:, self.index_QK[query]], weights_HK
        )
        own_HK, added_HK = self.content_HQK[:, query], self.slot_HQK[:, query]
        return (
            own_HK + content_HK + (weights_HK * added_HK).sum(-1, keepdim=True),
            added_HK + slot_HK + (weights_HK * own_HK).sum(-1, keepdim=True),
            interaction_H,
        )


def row_of_products(key_HKC: Tensor, toward_HKC: Tensor, weights_HK: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """content_HK, slot_HK and interaction_H of a table of products key_k · toward_j, without building it."""
    key_H1C, toward_H1C = weights_HK[:, None] @ key_HKC, weights_HK[:, None] @ toward_HKC
    both_HCC = _covariance(key_HKC - key_H1C, weights_HK) * _covariance(toward_HKC - toward_H1C, weights_HK)
    return (key_HKC * toward_H1C).sum(-1), (toward_HKC * key_H1C).sum(-1), both_HCC.sum((-1, -2))


def _covariance(centred_HKC: Tensor, weights_HK: Tensor) -> Tensor:
    return (centred_HKC * weights_HK[..., None]).mT @ centred_HKC
