"""Logits that a function of all heads makes of the logits of another encoding (DAPE)."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch import Tensor

from wherewhat.logits.base import Logits
from wherewhat.logits.factors import Factors

# The mixed logits for logits_HNS in these slots, where the query of row n is in slot queries_N[n].
Mixing = Callable[[Tensor, Tensor, Tensor], Tensor]


@dataclass(frozen=True)
class HeadMixingLogits(Logits):
    """a[k, j] = a function of the inner a[k, j] of all heads, of the query and of slot j."""

    inner: Logits
    mixing: Mixing
    queries_Q: Tensor  # the slot of each row's query
    slot_dependent: bool = True  # the function differs between slots
    by_table = True

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

    def factors(self, rows_Q: Tensor, keys: int) -> Factors:
        """Whole tables, and slots that select their own column: mixed heads allow nothing smaller."""
        keys = min(keys, self.actual_HQK.shape[-1])
        every_K = torch.arange(keys, device=rows_Q.device)
        table_HQKK = torch.stack([self.table(query, every_K, every_K) for query in rows_Q.tolist()], 1)
        eye_11KK = torch.eye(keys, dtype=table_HQKK.dtype, device=table_HQKK.device)[None, None]
        return Factors(table_HQKK, eye_11KK, self.nonlinearity)

    def nonlinearity(self, product: Tensor) -> Tensor:
        """The table is finished; but its heads are mixed, so that its moments need it whole."""
        return product

    def rows(self, index_Q: Tensor) -> "HeadMixingLogits":
        return replace(self, inner=self.inner.rows(index_Q), queries_Q=self.queries_Q[index_Q])
