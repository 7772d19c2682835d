"""The relevance of logits, split into what content says and what position adds to it: one measure for all encodings.

For every query i and key j, content is the logit c without position (of queries and keys before any rotation, and
without a bias), position is p = s - c, and each gets its share of the relevance of the logit s. Nothing else changes:
this only reports. Position in a table is part of what queries and keys are made of, and counts as content here.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class LogitRelevance:
    """Relevance of logits by head, summed over queries and keys in three ways; float64."""

    by_distance_HR: Tensor  # of query minus key, from 1 - K to Q - 1
    by_query_HQ: Tensor
    by_key_HK: Tensor

    @classmethod
    def of(cls, relevance_HQK: Tensor) -> "LogitRelevance":
        """The sums of a whole table."""
        heads, queries, keys = relevance_HQK.shape
        lags_QK = torch.arange(queries)[:, None] - torch.arange(keys)[None, :] + keys - 1
        by_distance_HR = relevance_HQK.new_zeros(heads, queries + keys - 1)
        by_distance_HR.index_add_(1, lags_QK.flatten(), relevance_HQK.flatten(1))
        return cls(by_distance_HR, relevance_HQK.sum(2), relevance_HQK.sum(1))

    @property
    def by_distance_R(self) -> Tensor:
        """Over all heads: at distances 0, 1, ... of keys before the query."""
        return self.by_distance_HR[:, self.by_key_HK.shape[1] - 1 :].sum(0)

    @property
    def by_slot_T(self) -> Tensor:
        """Over all heads, half to the query's slot and half to the key's."""
        return (self.by_query_HQ.sum(0) + self.by_key_HK.sum(0)) / 2

    @property
    def total(self) -> float:
        """Of all logits."""
        return float(self.by_key_HK.sum())


@dataclass(frozen=True)
class ScoreSplit:
    """The two parts of one layer's logits."""

    layer: int | None
    content: LogitRelevance
    position: LogitRelevance


def on_split(
    splits: list[ScoreSplit], layer: int | None, logits_BHQK: Tensor, content: Callable[[], Tensor], grad_BHQK: Tensor
) -> None:
    """Split the relevance of logits when their gradient arrives, and put it first: layers come last to first."""
    content_BHQK, logits_BHQK, grad_BHQK = (each.cpu().double() for each in (content(), logits_BHQK, grad_BHQK))
    parts = (
        torch.where(grad_BHQK == 0, 0.0, part_BHQK * grad_BHQK).sum(0)  # a forbidden key may be minus infinity
        for part_BHQK in (content_BHQK, logits_BHQK - content_BHQK)
    )
    splits.insert(0, ScoreSplit(layer, *(LogitRelevance.of(part_HQK) for part_HQK in parts)))
