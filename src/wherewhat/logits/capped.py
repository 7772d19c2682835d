"""Logits under a soft cap, which bends the finished table: nothing short of building it is exact."""

from dataclasses import dataclass, replace
from functools import cached_property

from torch import Tensor

from wherewhat.logits.base import Logits, Moments, even
from wherewhat.logits.dense import tabled_moments
from wherewhat.logits.rotary import Turned


@dataclass(frozen=True)
class Capped(Logits):
    """a[k, j] = cap · tanh(inner a[k, j] / cap)."""

    inner: Logits
    cap: float

    by_table = True

    @property
    def rotary(self) -> "Turned | None":  # type: ignore[override]
        return self.inner.rotary

    @property
    def absorbed(self) -> bool:  # type: ignore[override]
        return self.inner.absorbed

    @cached_property
    def actual_HQK(self) -> Tensor:
        return self.bend(self.inner.actual_HQK)

    def table(self, query: int, contents_K: Tensor, slots_S: Tensor) -> Tensor:
        return self.bend(self.inner.table(query, contents_K, slots_S))

    def rows(self, index_Q: Tensor) -> "Capped":
        return replace(self, inner=self.inner.rows(index_Q))

    def moments(self, swappable_QK: Tensor) -> Moments:
        return self.weighted_moments(even(swappable_QK, self.actual_HQK.dtype))

    def weighted_moments(self, weights_HQK: Tensor) -> Moments:
        return tabled_moments(self, weights_HQK)

    def factors(self, query: int, slots_S: Tensor) -> tuple[Tensor, Tensor]:
        return self.inner.factors(query, slots_S)

    def bend(self, product: Tensor) -> Tensor:
        return (product / self.cap).tanh() * self.cap
