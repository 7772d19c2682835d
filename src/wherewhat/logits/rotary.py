"""Rotary logits: a content that moves to another slot is turned by another angle."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch import Tensor

from wherewhat.logits.base import Logits, Moments, Planes, even
from wherewhat.logits.grouped import complex_dot, repeat_groups
from wherewhat.logits.spread import Spread, even_spread, find_stretch, two_spreads, weighted_spread

ROWS = 64  # whose covariances are in work at once
IN_CACHE = 1 << 16  # numbers of each covariance in work at once
ROOM = 1 << 21  # the same where every head has covariances of its own


@dataclass(frozen=True)
class Turned(Logits):
    """a[k, j] = scale · Re Σ_f conj(query_f turn_{i,f}) key_{k,f} turn_{j,f}, pairs of channels as complex numbers.

    `turn_KF` is what the model's own rotation does to each pair in each slot: its argument is the angle, its length
    the factor that some scalings put in. Channels that do not turn are pairs with theta 0 and turn 1. An encoding that
    makes queries longer where it makes keys shorter has a `query_turn_KF` beside it.
    """

    query_HQF: Tensor  # before rotation
    key_GKF: Tensor  # before rotation
    turn_KF: Tensor
    theta_F: Tensor  # radians a token
    queries_Q: Tensor  # the slot of each row's query
    scale: float
    query_turn_KF: Tensor | None = None  # what queries are turned by, where that is not what keys are

    @property
    def rotary(self) -> "Turned":  # type: ignore[override]
        return self

    @cached_property
    def asking_HQF(self) -> Tensor:
        """What a turned key is multiplied with: a[k, j] = Re Σ_f asking_f key_{k,f} turn_{j,f}."""
        turn_KF = self.turn_KF if self.query_turn_KF is None else self.query_turn_KF
        return (self.query_HQF * turn_KF[self.queries_Q]).conj().resolve_conj() * self.scale

    @cached_property
    def turned_GKF(self) -> Tensor:
        """Keys as the model turns them, each in its own slot."""
        return self.key_GKF * self.turn_KF

    @cached_property
    def actual_HQK(self) -> Tensor:
        return complex_dot(self.asking_HQF, self.turned_GKF)

    def table(self, query: int, contents_K: Tensor, slots_S: Tensor) -> Tensor:
        asked_HSF = self.asking_HQF[:, query, None] * self.turn_KF[slots_S]
        return complex_dot(asked_HSF, self.key_GKF[:, contents_K]).mT

    def plane_tables(self, query: int, slots_S: Tensor) -> Tensor:
        """table_HFKS of every frequency alone, for contents and slots out of `slots_S`."""
        key_HKF = repeat_groups(self.key_GKF[:, slots_S], len(self.query_HQF))
        asked_HSF = self.asking_HQF[:, query, None] * self.turn_KF[slots_S]
        key_HFK1, asked_HF1S = key_HKF.mT[..., None], asked_HSF.mT[:, :, None]
        return key_HFK1.real * asked_HF1S.real - key_HFK1.imag * asked_HF1S.imag

    def plane_rows(self, query: int) -> Tensor:
        """logits_HFK of every frequency alone, every content in its own slot."""
        turned_HFK = repeat_groups(self.turned_GKF, len(self.query_HQF)).mT
        asking_HF1 = self.asking_HQF[:, query, :, None]
        logits_HFK = turned_HFK.real * asking_HF1.real
        return logits_HFK.sub_(turned_HFK.imag * asking_HF1.imag)

    def factors(self, query: int, slots_S: Tensor) -> tuple[Tensor, Tensor]:
        key_HSF = repeat_groups(self.key_GKF[:, slots_S], len(self.query_HQF))
        asked_HSF = (self.asking_HQF[:, query, None] * self.turn_KF[slots_S]).conj_physical_()
        return torch.view_as_real(key_HSF).flatten(-2), torch.view_as_real(asked_HSF).flatten(-2)

    def rows(self, index_Q: Tensor) -> "Turned":
        some = replace(self, query_HQF=self.query_HQF[:, index_Q], queries_Q=self.queries_Q[index_Q])
        if "actual_HQK" in vars(self):
            vars(some)["actual_HQK"] = self.actual_HQK[:, index_Q]  # what is known already need not be found again
        return some

    def moments(self, swappable_QK: Tensor) -> Moments:
        weights_1QK = even(swappable_QK, self.asking_HQF.real.dtype)
        stretch = find_stretch(swappable_QK, self.queries_Q)
        if stretch is None:
            return self.weighted_moments(weights_1QK)
        rows = max(1, min(ROWS, len(self.queries_Q)))
        groups = max(1, IN_CACHE // (rows * self.key_GKF.shape[-1] ** 2))
        heads = groups * len(self.asking_HQF) // len(self.key_GKF)
        found = []  # some groups of heads and some rows at a time, so that their covariances stay in the cache
        for here, asking_HQF in zip(stretch.split(rows), self.asking_HQF.split(rows, dim=1), strict=True):
            turns = even_spread(self.turn_KF[None], here)
            some = zip(asking_HQF.split(heads), self.key_GKF.split(groups), strict=True)
            found.append(_joined([_parts(asking, even_spread(keys, here), turns) for asking, keys in some], 0))
        return self._moments(_joined(found, 1), weights_1QK)

    def weighted_moments(self, weights_HQK: Tensor) -> Moments:
        rows = max(1, ROOM // (len(self.asking_HQF) * self.key_GKF.shape[-1] ** 2))
        found = []
        for asking_HQF, some_HQK in zip(
            self.asking_HQF.split(rows, dim=1), weights_HQK.split(rows, dim=1), strict=True
        ):
            keys = weighted_spread(self.key_GKF, some_HQK)
            found.append(_parts(asking_HQF, keys, weighted_spread(self.turn_KF[None], some_HQK)))
        return self._moments(_joined(found, 1), weights_HQK)

    def _moments(self, parts: "_Parts", weights_HQK: Tensor) -> Moments:
        content_HQK = complex_dot(parts.of_contents_HQF, self.key_GKF)
        return Moments(
            content_HQK=content_HQK,
            slot_HQK=complex_dot(parts.of_slots_HQF, self.turn_KF[None]),
            grand_HQ=(content_HQK * weights_HQK).sum(-1),
            position_HQ=parts.planes.position_HQF.sum(-1),
            symbol_HQ=parts.planes.symbol_HQF.sum(-1),
            interaction_HQ=parts.planes.interaction_HQF.sum(-1),
            planes=parts.planes,
        )


@dataclass(frozen=True)
class _Parts:
    """The variances by frequency, and what asks each content and each slot for its mean."""

    planes: Planes
    of_contents_HQF: Tensor
    of_slots_HQF: Tensor


def _parts(asking_HQF: Tensor, keys: Spread, turns: Spread) -> _Parts:
    of_contents_HQF = asking_HQF * turns.mean_GQF
    of_slots_HQF = asking_HQF * repeat_groups(keys.mean_GQF, len(asking_HQF))
    variances = two_spreads(asking_HQF, of_contents_HQF, of_slots_HQF, keys, turns)
    return _Parts(Planes(*variances), of_contents_HQF, of_slots_HQF)


def _joined(found: Sequence[_Parts], axis: int) -> _Parts:
    """Heads (axis 0) or rows (axis 1) put together again."""
    planes = Planes(
        torch.cat([parts.planes.position_HQF for parts in found], axis),
        torch.cat([parts.planes.symbol_HQF for parts in found], axis),
        torch.cat([parts.planes.interaction_HQF for parts in found], axis),
    )
    of_contents_HQF = torch.cat([parts.of_contents_HQF for parts in found], axis)
    return _Parts(planes, of_contents_HQF, torch.cat([parts.of_slots_HQF for parts in found], axis))
