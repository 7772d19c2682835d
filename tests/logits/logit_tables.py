"""Logits of every kind to test on, and their tables again from the definition, entry by entry in plain numpy."""

import math

import numpy as np
import pytest
import torch
from torch import Tensor

from wherewhat.logits.base import Logits, Moments
from wherewhat.logits.capped import Capped
from wherewhat.logits.crossed import Crossed
from wherewhat.logits.still import Still
from wherewhat.logits.turned import Turned

KINDS = ("turned", "grouped", "scaled", "still", "biased", "crossed", "capped", "capped bias")
TURNING = ("turned", "grouped", "scaled")
THETA = (1.0, 0.3, 0.05, 0.0)


def gauss(generator: torch.Generator, *shape: int) -> Tensor:
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


def turns(slots: int, theta_F: Tensor, factor: float = 1.0) -> Tensor:
    """turn_KF of a rotation by theta a slot, with the factor that some scalings put in."""
    angle_KF = torch.arange(slots, dtype=torch.float64)[:, None] * theta_F
    return torch.polar(torch.full_like(angle_KF, factor), angle_KF)


def turned(
    generator: torch.Generator, queries_Q: Tensor, keys: int, *, heads: int = 3, groups: int = 3, factor: float = 1.0
) -> Turned:
    """Heads of random queries and keys; the first has small logits, the last large ones."""
    planes = len(THETA)
    query_HQF = torch.complex(gauss(generator, heads, len(queries_Q), planes), gauss(generator, heads, 1, planes))
    key_GKF = torch.complex(gauss(generator, groups, keys, planes), gauss(generator, groups, keys, planes) + 0.3)
    strength_H11 = torch.linspace(-2, 1, heads, dtype=torch.float64).exp()[:, None, None]
    theta_F = torch.tensor(THETA, dtype=torch.float64)
    return Turned(query_HQF * strength_H11, key_GKF, turns(keys, theta_F, factor), theta_F, queries_Q, 0.4)


def some_logits(kind: str, queries_Q: Tensor, keys: int, *, seed: int = 0, heads: int = 4) -> Logits:
    """Random logits of a kind, for these queries in a text of so many keys."""
    generator = torch.Generator().manual_seed(seed)
    queries = len(queries_Q)
    if kind in TURNING:
        groups, factor = {"turned": (heads, 1.0), "grouped": (heads // 2, 1.0), "scaled": (1, 1.3)}[kind]
        return turned(generator, queries_Q, keys, heads=heads, groups=groups, factor=factor)
    query_HQC, key_GKC = gauss(generator, heads, queries, 3), gauss(generator, heads // 2, keys, 3)
    slot_HQK = gauss(generator, heads, queries, keys)
    if kind == "still":
        return Still(query_HQC, key_GKC, 0.7)
    if kind == "biased":
        return Still(query_HQC, key_GKC, 0.7, slot_HQK)
    if kind == "crossed":
        index_QK = (torch.arange(keys) - queries_Q[:, None] + 6).clamp(0, 11)
        return Crossed(query_HQC, key_GKC, 0.7, slot_HQK, gauss(generator, heads, 12, 3), index_QK)
    inner = "grouped" if kind == "capped" else "biased"
    return Capped(some_logits(inner, queries_Q, keys, seed=seed, heads=heads), 2.0)


def table(logits: Logits, head: int, query: int) -> np.ndarray:
    """a[k, j], from the definition."""
    if isinstance(logits, Capped):
        return logits.cap * np.tanh(table(logits.inner, head, query) / logits.cap)
    if isinstance(logits, Turned):
        return plane_tables(logits, head, query).sum(0)
    group = head * len(logits.key_GKC) // len(logits.query_HQC)
    content = logits.scale * logits.key_GKC[group].numpy() @ logits.query_HQC[head, query].numpy()
    whole = np.repeat(content[:, None], len(content), 1)
    if logits.slot_HQK is not None:
        whole = whole + logits.slot_HQK[head, query].numpy()
    if isinstance(logits, Crossed):
        for slot, index in enumerate(logits.index_QK[query].tolist()):
            whole[:, slot] += logits.key_GKC[group].numpy() @ logits.toward_HRC[head, index].numpy()
    return whole


def plane_tables(logits: Turned, head: int, query: int) -> np.ndarray:
    """a[f, k, j] of every frequency: the real product of a turned query with a turned key."""
    group = head * len(logits.key_GKF) // len(logits.query_HQF)
    turn, key = logits.turn_KF.numpy(), logits.key_GKF[group].numpy()
    asked = logits.query_HQF[head, query].numpy() * turn[int(logits.queries_Q[query])]
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
