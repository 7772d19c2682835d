"""Logits that a function of all heads makes of the logits of another encoding (DAPE)."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch import Tensor

from wherewhat.logits.base import Logits
from wherewhat.logits.dense import DenseLogits

# The mixed logits for logits_HNS in these slots, where the query of row n is in slot queries_N[n].
Mixing = Callable[[Tensor, Tensor, Tensor], Tensor]


@dataclass(frozen=True)
class HeadMixingLogits(DenseLogits):
    """a[k, j] = a function of the inner a[k, j] of all heads, of the query and of slot j."""

    inner: Logits
    mixing: Mixing
    queries_Q: Tensor  # the slot of each row's query
    slot_dependent: bool = True  # the function differs between slots

    @property
    def position_free(self) -> bool:  # type: ignore[override]
        return self.inner.position_free and not self.slot_dependent

    @cached_property
    def actual_HQK(self) -> Tensor:
        inner_HQK = self.inner.actual_HQK
        every_K = torch.arange(inner_HQK.shape[-1], device=inner_HQK.device)
        return self.mixing(self.queries_Q, every_K, inner_HQK)

    def table(self, query: int, contents_K: Tensor, slots_S: Tensor) -> Tensor:
        queries_K = self.queries_Q[query].expand(len(contents_K))
        return self.mixing(queries_K, slots_S, self.inner.table(query, contents_K, slots_S))

    def factors(self, query: int, slots_S: Tensor) -> tuple[Tensor, Tensor]:
        """The table itself, and slots that select their own column: mixed heads allow nothing smaller."""
        table_HSS = self.table(query, slots_S, slots_S)
        return table_HSS, torch.eye(len(slots_S), dtype=table_HSS.dtype, device=table_HSS.device).expand_as(table_HSS)

    def rows(self, index_Q: Tensor) -> "HeadMixingLogits":
        return replace(self, inner=self.inner.rows(index_Q), queries_Q=self.queries_Q[index_Q])
