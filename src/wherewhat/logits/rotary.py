"""Rotary logits: a content in another slot is rotated by another angle."""

from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch import Tensor

from wherewhat.logits.base import Logits, complex_dot
from wherewhat.logits.factors import Factors
from wherewhat.logits.planes import RotaryPlanes


@dataclass(frozen=True)
class RotaryLogits(Logits):
    """a[k, j] = scale · Re Σ_f conj(query_f phase_{i,f}) key_{k,f} phase_{j,f}, with channel pairs as complex numbers.

    `phase_KF` is what the model's own rotation does to each pair in each slot: its argument is the angle, its absolute
    value the factor that some scalings apply. Unrotated channels are pairs with theta 0 and phase 1. An encoding that
    scales queries up where it scales keys down also has a `query_phase_KF`.
    """

    query_HQF: Tensor  # before rotation
    key_GKF: Tensor  # before rotation
    phase_KF: Tensor
    theta_F: Tensor  # radians per token
    queries_Q: Tensor  # the slot of each row's query
    scale: float
    query_phase_KF: Tensor | None = None  # the phases of queries, where they differ from those of keys

    @cached_property
    def planes(self) -> RotaryPlanes:  # type: ignore[override]
        text_Q = torch.zeros_like(self.queries_Q)
        keys, phases = self.key_GKF[None], self.phase_KF[None]
        return RotaryPlanes(self.query_HQF, self.rotated_query_HQF, keys, phases, self.theta_F[None], text_Q)

    @cached_property
    def rotated_query_HQF(self) -> Tensor:
        """What a rotated key is multiplied with: a[k, j] = Re Σ_f rotated_query_f key_{k,f} phase_{j,f}."""
        phase_KF = self.phase_KF if self.query_phase_KF is None else self.query_phase_KF
        return (self.query_HQF * phase_KF[self.queries_Q]).conj().resolve_conj() * self.scale

    @cached_property
    def rotated_key_GKF(self) -> Tensor:
        """Keys after the model's rotation, each in its own slot."""
        return self.key_GKF * self.phase_KF

    @cached_property
    def actual_HQK(self) -> Tensor:
        return complex_dot(self.rotated_query_HQF, self.rotated_key_GKF)

    def table(self, query: int, contents_K: Tensor, slots_S: Tensor) -> Tensor:
        slot_query_HSF = self.rotated_query_HQF[:, query, None] * self.phase_KF[slots_S]
        return complex_dot(slot_query_HSF, self.key_GKF[:, contents_K]).mT

    def factors(self, rows_Q: Tensor, keys: int) -> Factors:
        return self.planes.factors(rows_Q, keys)

    def rows(self, index_Q: Tensor) -> "RotaryLogits":
        some = replace(self, query_HQF=self.query_HQF[:, index_Q], queries_Q=self.queries_Q[index_Q])
        if "actual_HQK" in vars(self):
            vars(some)["actual_HQK"] = self.actual_HQK[:, index_Q]  # already computed
        return some
