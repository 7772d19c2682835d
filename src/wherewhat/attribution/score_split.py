"""The relevance of logits, split into what content says and what position adds to it: one measure for all encodings.

For every query i and key j, position is p, what their rotation changes in their product and what a bias or a product
with a distance adds to it; content is the rest, c = s - p, and each gets its share of the relevance of the logit s.
Nothing else changes: this only reports. Position in a table is part of what queries and keys are made of, and counts as
content here.
"""

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
    def zeros(cls, heads: int, queries: int, keys: int) -> "LogitRelevance":
        """Nothing so far."""
        sizes = (queries + keys - 1, queries, keys)
        return cls(*(torch.zeros(heads, size, dtype=torch.float64) for size in sizes))

    @classmethod
    def of(cls, relevance_HQK: Tensor) -> "LogitRelevance":
        """The sums of a whole table."""
        sums = cls.zeros(*relevance_HQK.shape)
        sums.add_rows(relevance_HQK)
        return sums

    def add_rows(self, relevance_HQK: Tensor, first: int = 0) -> None:
        """Add the relevance of some queries, from the `first` on."""
        relevance_HQK = relevance_HQK.cpu()
        queries, keys = relevance_HQK.shape[1:]
        self.by_query_HQ[:, first : first + queries] += relevance_HQK.sum(2, dtype=torch.float64)
        self.by_key_HK.add_(relevance_HQK.sum(1, dtype=torch.float64))
        # Rows that are read as one longer than they were written: equal distances are below each other then.
        sheared = relevance_HQK.new_zeros(len(relevance_HQK), queries * (keys + queries + 1))
        sheared[:, :-queries].view(-1, queries, keys + queries)[:, :, queries:] = relevance_HQK
        by_distance_HR = sheared.view(-1, queries, keys + queries + 1).sum(1, dtype=torch.float64).flip(1)
        self.by_distance_HR[:, first : first + queries + keys - 1] += by_distance_HR[:, 1:-1]

    def plus(self, other: "LogitRelevance", times: float = 1.0) -> "LogitRelevance":
        """The sum of both, with the other one `times` as large."""
        return LogitRelevance(
            self.by_distance_HR + times * other.by_distance_HR,
            self.by_query_HQ + times * other.by_query_HQ,
            self.by_key_HK + times * other.by_key_HK,
        )

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

    layer: int | None  # None: of all layers together, where they share a bias
    content: LogitRelevance
    position: LogitRelevance


@dataclass(frozen=True)
class RotatedPair:
    """Rotated channels of queries and keys, before and after their rotation; keys may be fewer, for groups of heads."""

    before: tuple[Tensor, Tensor]
    after: tuple[Tensor, Tensor]

    def added_rows(self, first: int, count: int) -> Tensor:
        """added_BHQK: what the rotation adds to the products of some queries with all keys."""
        return _products(*self.after, first, count).sub_(_products(*self.before, first, count))


def _products(q_BHQC: Tensor, k_BHKC: Tensor, first: int, count: int) -> Tensor:
    groups = q_BHQC.shape[1] // k_BHKC.shape[1]
    k_BHKC = k_BHKC if groups == 1 else k_BHKC.repeat_interleave(groups, 1)
    return q_BHQC[:, :, first : first + count] @ k_BHKC.mT


@dataclass
class LogitNode:
    """The logits of one layer: their relevance, and what of it a rotation has."""

    layer: int
    pair: RotatedPair | None = None  # None: nothing is rotated
    whole: LogitRelevance | None = None  # None: nothing came back
    rotation: LogitRelevance | None = None

    def on_rows(self, first: int, relevance_BHQK: Tensor, ratio_BHQK: Tensor, *, scale: float = 1.0) -> None:
        """Add the relevance of some rows of logits; `ratio` is relevance by logit, `scale` a factor of the products."""
        self.on_relevance(relevance_BHQK, first)
        if self.pair is not None:
            added_BHQK = self.pair.added_rows(first, ratio_BHQK.shape[2])
            self.rotation = _with_rows(self.rotation, added_BHQK.mul_(ratio_BHQK).mul_(scale), first)
            if first + ratio_BHQK.shape[2] == ratio_BHQK.shape[3]:
                self.pair = None  # whose memory is no longer needed

    def on_relevance(self, relevance_BHQK: Tensor, first: int = 0) -> None:
        """Add the relevance of some rows of logits."""
        self.whole = _with_rows(self.whole, relevance_BHQK, first)

    def on_product(self, ratio_BHQK: Tensor) -> None:
        """The gradient of products of queries with keys has come back."""
        assert self.pair is not None, "there is a rotation"
        self.rotation = LogitRelevance.of((self.pair.added_rows(0, ratio_BHQK.shape[2]) * ratio_BHQK).sum(0))
        self.pair = None


def _with_rows(sums: LogitRelevance | None, relevance_BHQK: Tensor, first: int) -> LogitRelevance:
    heads, _, keys = relevance_BHQK.shape[1:]
    sums = LogitRelevance.zeros(heads, keys, keys) if sums is None else sums
    sums.add_rows(relevance_BHQK.sum(0), first)
    return sums
