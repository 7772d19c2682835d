"""Rotary logits: a content in another slot is rotated by another angle."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch import Tensor

from wherewhat.logits.base import Logits, Moments, Planes, complex_dot, repeat_groups, uniform_weights
from wherewhat.logits.spread import Spread, even_spread, find_key_range, product_variances, weighted_spread

ROWS = 64  # whose covariances are computed at once
IN_CACHE = 1 << 16  # numbers of each covariance computed at once
ROOM = 1 << 21  # the same where every head has its own covariances


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

    @property
    def rotary(self) -> "RotaryLogits":  # type: ignore[override]
        return self

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

    def plane_tables(self, query: int, slots_S: Tensor) -> Tensor:
        """table_HFKS of every single frequency, for the contents and slots of `slots_S`."""
        key_HKF = repeat_groups(self.key_GKF[:, slots_S], len(self.query_HQF))
        slot_query_HSF = self.rotated_query_HQF[:, query, None] * self.phase_KF[slots_S]
        key_HFK1, slot_query_HF1S = key_HKF.mT[..., None], slot_query_HSF.mT[:, :, None]
        return key_HFK1.real * slot_query_HF1S.real - key_HFK1.imag * slot_query_HF1S.imag

    def plane_rows(self, query: int) -> Tensor:
        """logits_HFK of every single frequency, every content in its own slot."""
        rotated_key_HFK = repeat_groups(self.rotated_key_GKF, len(self.query_HQF)).mT
        rotated_query_HF1 = self.rotated_query_HQF[:, query, :, None]
        logits_HFK = rotated_key_HFK.real * rotated_query_HF1.real
        return logits_HFK.sub_(rotated_key_HFK.imag * rotated_query_HF1.imag)

    def factors(self, query: int, slots_S: Tensor) -> tuple[Tensor, Tensor]:
        key_HSF = repeat_groups(self.key_GKF[:, slots_S], len(self.query_HQF))
        slot_query_HSF = (self.rotated_query_HQF[:, query, None] * self.phase_KF[slots_S]).conj_physical_()
        return torch.view_as_real(key_HSF).flatten(-2), torch.view_as_real(slot_query_HSF).flatten(-2)

    def rows(self, index_Q: Tensor) -> "RotaryLogits":
        some = replace(self, query_HQF=self.query_HQF[:, index_Q], queries_Q=self.queries_Q[index_Q])
        if "actual_HQK" in vars(self):
            vars(some)["actual_HQK"] = self.actual_HQK[:, index_Q]  # already computed
        return some

    def moments(self, swappable_QK: Tensor) -> Moments:
        weights_1QK = uniform_weights(swappable_QK, self.rotated_query_HQF.real.dtype)
        key_range = find_key_range(swappable_QK, self.queries_Q)
        if key_range is None:
            return self.weighted_moments(weights_1QK)
        rows = max(1, min(ROWS, len(self.queries_Q)))
        groups = max(1, IN_CACHE // (rows * self.key_GKF.shape[-1] ** 2))
        heads = groups * len(self.rotated_query_HQF) // len(self.key_GKF)
        parts = []  # of some groups of heads and some rows at a time, so that their covariances stay in the cache
        for here, rotated_query_HQF in zip(
            key_range.split(rows), self.rotated_query_HQF.split(rows, dim=1), strict=True
        ):
            phases = even_spread(self.phase_KF[None], here)
            some = zip(rotated_query_HQF.split(heads), self.key_GKF.split(groups), strict=True)
            parts.append(_joined([_parts(query_HQF, even_spread(keys, here), phases) for query_HQF, keys in some], 0))
        return self._moments(_joined(parts, 1), weights_1QK)

    def weighted_moments(self, weights_HQK: Tensor) -> Moments:
        rows = max(1, ROOM // (len(self.rotated_query_HQF) * self.key_GKF.shape[-1] ** 2))
        parts = []
        for rotated_query_HQF, some_HQK in zip(
            self.rotated_query_HQF.split(rows, dim=1), weights_HQK.split(rows, dim=1), strict=True
        ):
            keys = weighted_spread(self.key_GKF, some_HQK)
            parts.append(_parts(rotated_query_HQF, keys, weighted_spread(self.phase_KF[None], some_HQK)))
        return self._moments(_joined(parts, 1), weights_HQK)

    def _moments(self, parts: "_Parts", weights_HQK: Tensor) -> Moments:
        *variances, content_query_HQF, slot_query_HQF = parts
        planes, content_HQK = Planes(*variances), complex_dot(content_query_HQF, self.key_GKF)
        return Moments(
            content_HQK=content_HQK,
            slot_HQK=complex_dot(slot_query_HQF, self.phase_KF[None]),
            grand_HQ=(content_HQK * weights_HQK).sum(-1),
            position_HQ=planes.position_HQF.sum(-1),
            symbol_HQ=planes.symbol_HQF.sum(-1),
            interaction_HQ=planes.interaction_HQF.sum(-1),
            planes=planes,
        )


# The three variances by frequency, and the two vectors whose products with contents and slots are their means.
_Parts = tuple[Tensor, ...]


def _parts(rotated_query_HQF: Tensor, keys: Spread, phases: Spread) -> _Parts:
    content_query_HQF = rotated_query_HQF * phases.mean_GQF
    slot_query_HQF = rotated_query_HQF * repeat_groups(keys.mean_GQF, len(rotated_query_HQF))
    variances = product_variances(rotated_query_HQF, content_query_HQF, slot_query_HQF, keys, phases)
    return *variances, content_query_HQF, slot_query_HQF


def _joined(pieces: Sequence[_Parts], axis: int) -> _Parts:
    """Pieces of the heads (axis 0) or rows (axis 1) concatenated."""
    return tuple(torch.cat(same, axis) for same in zip(*pieces, strict=True))
