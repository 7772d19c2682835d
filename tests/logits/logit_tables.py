"""Logits of every kind to test on, and their tables again from the definition, entry by entry in plain numpy."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor

from wherewhat.logits.additive import AdditiveLogits
from wherewhat.logits.base import Logits, Moments
from wherewhat.logits.capped import CappedLogits
from wherewhat.logits.disentangled import DisentangledLogits
from wherewhat.logits.head_mixing import HeadMixingLogits
from wherewhat.logits.linear import LinearLogits
from wherewhat.logits.rotary import RotaryLogits

TURNING = ("turned", "grouped", "scaled", "stretched")
ADDING = ("still", "biased", "crossed", "carried", "carried bias")
WHOLE = {"capped": "grouped", "capped bias": "biased", "bent": "grouped", "bent bias": "carried bias"}  # over what
KINDS = (*TURNING, *ADDING, *WHOLE)
THETA = (1.0, 0.3, 0.05, 0.0)


def gauss(generator: torch.Generator, *shape: int) -> Tensor:
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


def turns(slots: int, theta_F: Tensor, factor: float = 1.0) -> Tensor:
    """turn_KF of a rotation by theta a slot, with the factor that some scalings put in."""
    angle_KF = torch.arange(slots, dtype=torch.float64)[:, None] * theta_F
    return torch.polar(torch.full_like(angle_KF, factor), angle_KF)


def turned(
    generator: torch.Generator, queries_Q: Tensor, keys: int, *, heads: int = 3, groups: int = 3, factor: float = 1.0
) -> RotaryLogits:
    """Heads of random queries and keys; the first has small logits, the last large ones."""
    planes = len(THETA)
    query_HQF = torch.complex(gauss(generator, heads, len(queries_Q), planes), gauss(generator, heads, 1, planes))
    key_GKF = torch.complex(gauss(generator, groups, keys, planes), gauss(generator, groups, keys, planes) + 0.3)
    strength_H11 = torch.linspace(-2, 1, heads, dtype=torch.float64).exp()[:, None, None]
    theta_F = torch.tensor(THETA, dtype=torch.float64)
    return RotaryLogits(query_HQF * strength_H11, key_GKF, turns(keys, theta_F, factor), theta_F, queries_Q, 0.4)


def some_logits(kind: str, queries_Q: Tensor, keys: int, *, seed: int = 0, heads: int = 4) -> Logits:
    """Random logits of a kind, for these queries in a text of so many keys."""
    generator = torch.Generator().manual_seed(seed)
    queries = len(queries_Q)
    if kind in TURNING:
        groups, factor = {"turned": (heads, 1.0), "grouped": (heads // 2, 1.0)}.get(kind, (1, 1.3))
        plain = turned(generator, queries_Q, keys, heads=heads, groups=groups, factor=factor)
        return plain if kind != "stretched" else stretched(plain)
    if kind in WHOLE:
        inner = some_logits(WHOLE[kind], queries_Q, keys, seed=seed, heads=heads)
        return CappedLogits(inner, 2.0) if kind.startswith("capped") else HeadMixingLogits(inner, bend, queries_Q)
    query_HQC, key_GKC = gauss(generator, heads, queries, 3), gauss(generator, heads // 2, keys, 3)
    slot_HQK = gauss(generator, heads, queries, keys)
    if kind == "still":
        return AdditiveLogits(query_HQC, key_GKC, 0.7)
    if kind == "biased":
        return AdditiveLogits(query_HQC, key_GKC, 0.7, slot_HQK)
    if kind == "crossed":
        index_QK = (torch.arange(keys) - queries_Q[:, None] + 6).clamp(0, 11)
        return DisentangledLogits(query_HQC, key_GKC, 0.7, slot_HQK, gauss(generator, heads, 12, 3), index_QK)
    map_SCC = gauss(generator, keys, 3, 3)
    return LinearLogits(query_HQC, key_GKC, map_SCC, 0.7, slot_HQK if kind == "carried bias" else None)


def stretched(plain: RotaryLogits) -> RotaryLogits:
    """Keys that grow with their slot, and queries that shrink with theirs."""
    grow_KF = (0.05 * torch.arange(len(plain.phase_KF))[:, None] * torch.arange(1, len(THETA) + 1)).exp()
    return replace(plain, phase_KF=plain.phase_KF * grow_KF, query_phase_KF=plain.phase_KF / grow_KF)


def bend(queries_N: Tensor, slots_S: Tensor, logits_HNS: Tensor) -> Tensor:
    """Every head hears of the next one, at each query and slot by another measure."""
    measure_NS = ((queries_N[:, None] - 2 * slots_S).to(logits_HNS.dtype) / 3).sin()
    return logits_HNS + (logits_HNS.roll(-1, 0) * measure_NS).tanh()


def table(logits: Logits, head: int, query: int) -> np.ndarray:
    """a[k, j], from the definition."""
    if isinstance(logits, CappedLogits):
        return logits.cap * np.tanh(table(logits.inner, head, query) / logits.cap)
    if isinstance(logits, HeadMixingLogits):
        own, other = table(logits.inner, head, query), table(logits.inner, (head + 1) % 4, query)
        return own + np.tanh(other * np.sin((int(logits.queries_Q[query]) - 2 * np.arange(own.shape[1])) / 3))
    if isinstance(logits, RotaryLogits):
        return plane_tables(logits, head, query).sum(0)
    group = head * len(logits.key_GKC) // len(logits.query_HQC)
    if isinstance(logits, LinearLogits):
        return carried_table(logits, head, query, group)
    content = logits.scale * logits.key_GKC[group].numpy() @ logits.query_HQC[head, query].numpy()
    whole = np.repeat(content[:, None], len(content), 1)
    if logits.slot_HQK is not None:
        whole = whole + logits.slot_HQK[head, query].numpy()
    if isinstance(logits, DisentangledLogits):
        for slot, index in enumerate(logits.index_QK[query].tolist()):
            whole[:, slot] += logits.key_GKC[group].numpy() @ logits.position_query_HRC[head, index].numpy()
    return whole


def carried_table(logits: LinearLogits, head: int, query: int, group: int) -> np.ndarray:
    """One product of the query with a carried key after another."""
    whole = np.empty((len(logits.map_SCC),) * 2)
    for slot, carry in enumerate(logits.map_SCC.numpy()):
        for content, key in enumerate(logits.key_GKC[group].numpy()):
            whole[content, slot] = logits.scale * logits.query_HQC[head, query].numpy() @ (carry @ key)
    return whole if logits.slot_HQK is None else whole + logits.slot_HQK[head, query].numpy()


def plane_tables(logits: RotaryLogits, head: int, query: int) -> np.ndarray:
    """a[f, k, j] of every frequency: the real product of a turned query with a turned key."""
    group = head * len(logits.key_GKF) // len(logits.query_HQF)
    turn, key = logits.phase_KF.numpy(), logits.key_GKF[group].numpy()
    turn_of_queries = turn if logits.query_phase_KF is None else logits.query_phase_KF.numpy()
    asked = logits.query_HQF[head, query].numpy() * turn_of_queries[int(logits.queries_Q[query])]
    return logits.scale * np.einsum("f,kf,jf->fkj", np.conj(asked), key, turn).real


def softmax(logits: np.ndarray, allowed: np.ndarray) -> np.ndarray:
    odds = np.where(allowed, np.exp(logits - logits[allowed].max()), 0.0)
    return odds / math.fsum(odds)


def assert_moments(ours: Moments, tables: list[list[np.ndarray]], weights_HQK: np.ndarray) -> None:
    """Means and variances of each table in plain sums, every key counting by its weight as content and as slot."""
    for head, of_head in enumerate(tables):
        for query, whole in enumerate(of_head):
            weights = weights_HQK[head, query]
            content, slot = whole @ weights, weights @ whole
            grand = weights @ whole @ weights
            left = whole - content[:, None] - slot[None] + grand
            counts = weights > 0
            assert ours.grand_HQ[head, query].item() == pytest.approx(grand, abs=1e-12)
            assert ours.content_HQK[head, query].numpy()[counts] == pytest.approx(content[counts], abs=1e-12)
            assert ours.slot_HQK[head, query].numpy()[counts] == pytest.approx(slot[counts], abs=1e-12)
            assert ours.symbol_HQ[head, query].item() == pytest.approx(weights @ (content - grand) ** 2, abs=1e-11)
            assert ours.position_HQ[head, query].item() == pytest.approx(weights @ (slot - grand) ** 2, abs=1e-11)
            assert ours.interaction_HQ[head, query].item() == pytest.approx(weights @ left**2 @ weights, abs=1e-11)
