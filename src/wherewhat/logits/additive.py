"""Logits in which content and slot add up: no position at all, linear and bucketed biases, Transformer-XL."""

from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch import Tensor

from wherewhat.logits.base import Logits, dot
from wherewhat.logits.factors import Factors


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

    def factors(self, rows_Q: Tensor, keys: int) -> Factors:
        content_HQK = self.content_HQK[:, rows_Q, :keys]
        slot_HQK = torch.zeros_like(content_HQK) if self.slot_HQK is None else self.slot_HQK[:, rows_Q, :keys]
        one_HQK = torch.ones_like(content_HQK)
        return Factors(torch.stack((content_HQK, one_HQK), -1), torch.stack((one_HQK, slot_HQK), -1))

    def rows(self, index_Q: Tensor) -> "AdditiveLogits":
        slot_HQK = None if self.slot_HQK is None else self.slot_HQK[:, index_Q]
        return replace(self, query_HQC=self.query_HQC[:, index_Q], slot_HQK=slot_HQK)
