"""Logits under a soft cap, whose moments need whole tables."""

from dataclasses import dataclass, replace
from functools import cached_property

from torch import Tensor

from wherewhat.logits.base import Logits
from wherewhat.logits.factors import Factors
from wherewhat.logits.planes import RotaryPlanes


@dataclass(frozen=True)
class CappedLogits(Logits):
    """a[k, j] = cap · tanh(inner a[k, j] / cap): the soft cap is applied to the finished products."""

    inner: Logits
    cap: float
    by_table = True

    @property
    def planes(self) -> RotaryPlanes | None:  # type: ignore[override]
        return self.inner.planes

    @property
    def position_free(self) -> bool:  # type: ignore[override]
        return self.inner.position_free

    @cached_property
    def actual_HQK(self) -> Tensor:
        return self.nonlinearity(self.inner.actual_HQK)

    def table(self, query: int, contents_K: Tensor, slots_S: Tensor) -> Tensor:
        return self.nonlinearity(self.inner.table(query, contents_K, slots_S))

    def rows(self, index_Q: Tensor) -> "CappedLogits":
        return replace(self, inner=self.inner.rows(index_Q))

    def factors(self, rows_Q: Tensor, keys: int) -> Factors:
        return replace(self.inner.factors(rows_Q, keys), nonlinearity=self.nonlinearity)

    def nonlinearity(self, product: Tensor) -> Tensor:
        return (product / self.cap).tanh() * self.cap
