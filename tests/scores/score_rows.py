"""Rows of attention to test scores on: whole matrices, random heads under every kind of mask, heads made by hand."""

import torch
from torch import Tensor

from wherewhat.scores.base import Rows, Score

MASKS = ("causal", "bidirectional", "window")


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def allowed(mask: str, queries_Q: Tensor, keys: int) -> Tensor:
    """Which keys a row may look at; the window is causal and five keys wide."""
    offsets_QK = torch.arange(keys) - queries_Q[:, None]
    if mask == "bidirectional":
        return torch.ones_like(offsets_QK, dtype=torch.bool)
    return (offsets_QK <= 0) & (offsets_QK > (-5 if mask == "window" else -keys))


def random_rows(
    seed: int = 0, *, mask: str = "causal", keys: int = 23, queries: int | None = None, dtype=torch.float64
) -> Rows:
    """Three heads of random logits, from flat to peaked; every row in order, or `queries` of them in any order."""
    generator = seeded(seed)
    order = torch.randperm(keys, generator=generator)
    queries_Q = torch.arange(keys) if queries is None else order[:queries]
    allowed_QK = allowed(mask, queries_Q, keys)
    noise_HQK = torch.randn(3, len(queries_Q), keys, generator=generator, dtype=torch.float64)
    logits_HQK = noise_HQK * torch.tensor([0.1, 1.0, 4.0], dtype=torch.float64)[:, None, None]
    attention_HQK = logits_HQK.masked_fill(~allowed_QK, -torch.inf).softmax(-1)
    tokens_K = torch.randint(0, max(2, keys // 3), (keys,), generator=generator)
    return Rows(attention_HQK.to(dtype), queries_Q, allowed_QK, tokens_K)


def whole(matrix: Tensor, *, mask: str = "bidirectional", tokens: list[int] | None = None) -> Rows:
    """Every row of one n x n matrix."""
    slots = torch.arange(len(matrix))
    return Rows(matrix[None], slots, allowed(mask, slots, len(matrix)), torch.tensor(tokens) if tokens else slots)


def by_hand(where, *, mask: str = "bidirectional", keys: int = 12, tokens: list[int] | None = None) -> Rows:
    """One head whose row i looks evenly at the keys j for which `where(i, j)`, or at all it may if there are none."""
    slots = torch.arange(keys)
    allowed_QK = allowed(mask, slots, keys)
    wanted_QK = torch.tensor([[bool(where(i, j)) for j in range(keys)] for i in range(keys)]) & allowed_QK
    wanted_QK = torch.where(wanted_QK.any(-1, keepdim=True), wanted_QK, allowed_QK).double()
    return whole(wanted_QK / wanted_QK.sum(-1, keepdim=True), mask=mask, tokens=tokens)


def answer(score: Score, rows: Rows) -> Tensor:
    """The score of every head."""
    return score.pool(*score.rows(rows))
