"""Logits in which content and slot add up: no position at all, linear and bucketed biases, Transformer-XL."""

from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch import Tensor

from wherewhat.logits.base import Logits, Moments, dot, mean_and_variance, uniform_weights


@dataclass(frozen=True)
class AdditiveLogits(Logits):
    """a[k, j] = scale · query · key_k + slot_j. Without a slot term the logits are position-free."""

    query_HQC: Tensor
    key_GKC: Tensor
    scale: float
    slot_HQK: Tensor | None = None  # what each slot adds, whatever its content

    @property
    def position_free(self) -> bool:  # type: ignore[override]
        return self.slot_HQK is None

    @cached_property
    def content_HQK(self) -> Tensor:
        """What each content adds, whatever its slot."""
        return dot(self.query_HQC, self.key_GKC) * self.scale

    @cached_property
    def actual_HQK(self) -> Tensor:
        return self.content_HQK if self.slot_HQK is None else self.content_HQK + self.slot_HQK

    def table(self, query: int, contents_K: Tensor, slots_S: Tensor) -> Tensor:
        table_HKS = self.content_HQK[:, query, contents_K, None].expand(-1, -1, len(slots_S))
        return table_HKS if self.slot_HQK is None else table_HKS + self.slot_HQK[:, query, None, slots_S]

    def factors(self, query: int, slots_S: Tensor) -> tuple[Tensor, Tensor]:
        content_HS = self.content_HQK[:, query, slots_S]
        slot_HS = torch.zeros_like(content_HS) if self.slot_HQK is None else self.slot_HQK[:, query, slots_S]
        one_HS = torch.ones_like(content_HS)
        return torch.stack((content_HS, one_HS), -1), torch.stack((one_HS, slot_HS), -1)

    def rows(self, index_Q: Tensor) -> "AdditiveLogits":
        slot_HQK = None if self.slot_HQK is None else self.slot_HQK[:, index_Q]
        return replace(self, query_HQC=self.query_HQC[:, index_Q], slot_HQK=slot_HQK)

    def moments(self, swappable_QK: Tensor) -> Moments:
        return self.weighted_moments(uniform_weights(swappable_QK, self.content_HQK.dtype))

    def weighted_moments(self, weights_HQK: Tensor) -> Moments:
        slot_HQK = (
            self.content_HQK.new_zeros(()).expand_as(self.content_HQK) if self.slot_HQK is None else self.slot_HQK
        )
        content_HQ, symbol_HQ = mean_and_variance(self.content_HQK, weights_HQK)
        slot_HQ, position_HQ = mean_and_variance(slot_HQK, weights_HQK)
        return Moments(
            content_HQK=self.content_HQK + slot_HQ[..., None],
            slot_HQK=slot_HQK + content_HQ[..., None],
            grand_HQ=content_HQ + slot_HQ,
            position_HQ=position_HQ,
            symbol_HQ=symbol_HQ,
            interaction_HQ=symbol_HQ.new_zeros(symbol_HQ.shape),
        )
