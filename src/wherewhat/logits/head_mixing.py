"""Logits that are made of the logits of all heads, key by key: nothing short of building the tables is exact."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch import Tensor

from wherewhat.logits.base import Logits, Moments, even
from wherewhat.logits.dense import tabled_moments

# What becomes of logits_HNS in these slots, each row asked by the query that stands in its slot of queries_N.
Bending = Callable[[Tensor, Tensor, Tensor], Tensor]


@dataclass(frozen=True)
class Bent(Logits):
    """a[k, j] = what query and slot j make of the inner a[k, j] of all heads together (DAPE)."""

    inner: Logits
    bending: Bending
    queries_Q: Tensor  # the slot of each row's query
    uneven: bool = True  # slots bend logits differently

    by_table = True

    @property
    def absorbed(self) -> bool:  # type: ignore[override]
        return self.inner.absorbed and not self.uneven

    @cached_property
    def actual_HQK(self) -> Tensor:
        inner_HQK = self.inner.actual_HQK
        every_K = torch.arange(inner_HQK.shape[-1], device=inner_HQK.device)
        return self.bending(self.queries_Q, every_K, inner_HQK)

    def table(self, query: int, contents_K: Tensor, slots_S: Tensor) -> Tensor:
        queries_K = self.queries_Q[query].expand(len(contents_K))
        return self.bending(queries_K, slots_S, self.inner.table(query, contents_K, slots_S))

    def factors(self, query: int, slots_S: Tensor) -> tuple[Tensor, Tensor]:
        """The table itself, and slots that pick their own column: heads meet in it, so nothing smaller will do."""
        table_HSS = self.table(query, slots_S, slots_S)
        return table_HSS, torch.eye(len(slots_S), dtype=table_HSS.dtype, device=table_HSS.device).expand_as(table_HSS)

    def rows(self, index_Q: Tensor) -> "Bent":
        return replace(self, inner=self.inner.rows(index_Q), queries_Q=self.queries_Q[index_Q])

    def moments(self, swappable_QK: Tensor) -> Moments:
        return self.weighted_moments(even(swappable_QK, self.actual_HQK.dtype))

    def weighted_moments(self, weights_HQK: Tensor) -> Moments:
        return tabled_moments(self, weights_HQK)
