"""Rows of attention to test scores on: whole matrices, random heads under every kind of mask, heads made by hand."""

from dataclasses import replace

import torch
from logit_tables import some_logits, turned
from torch import Tensor

from wherewhat.logits.base import Logits
from wherewhat.logits.rotary import RotaryLogits
from wherewhat.scores.base import Rows, RowScore

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
    """Three heads of random rotary logits, from flat to peaked; every row in order, or `queries` of them in any order.

    All three read the same keys, and blocks are two slots long, or one.
    """
    generator = seeded(seed)
    order = torch.randperm(keys, generator=generator)
    queries_Q = torch.arange(keys) if queries is None else order[:queries]
    logits = turned(generator, queries_Q, keys, groups=1)
    tokens_K = torch.randint(0, max(2, keys // 3), (keys,), generator=generator)
    rows = with_logits(logits, queries_Q, allowed(mask, queries_Q, keys))
    rows = replace(rows, tokens_BK=tokens_K[None], blocks=[blocks(keys)])
    return rows if dtype == torch.float64 else narrow(rows)


def with_logits(logits: Logits, queries_Q: Tensor, allowed_QK: Tensor, **others) -> Rows:
    """Rows whose attention is the softmax of these logits."""
    attention_HQK = logits.actual_HQK.masked_fill(~allowed_QK, -torch.inf).softmax(-1)
    return Rows(attention_HQK, queries_Q, allowed_QK, torch.arange(allowed_QK.shape[-1]), logits=logits, **others)


def rows_of(
    kind: str, *, mask: str = "causal", keys: int = 9, seed: int = 0, queries: int | None = 5, **others
) -> Rows:
    """Four heads with random logits of a kind; the last rows are the first to come."""
    queries_Q = torch.arange(keys).flip(0)[:queries]
    logits = some_logits(kind, queries_Q, keys, seed=seed)
    return with_logits(logits, queries_Q, allowed(mask, queries_Q, keys), blocks=[blocks(keys)], **others)


def blocks(keys: int) -> Tensor:
    """Slots two by two, but every third block is one slot."""
    starts = [slot for slot in range(keys) if slot % 5 in (0, 2, 4)]
    ends = [*starts[1:], keys]
    return torch.tensor(list(zip(starts, ends, strict=True)), dtype=torch.int64).reshape(-1, 2)


def narrow(rows: Rows) -> Rows:
    """The same rows in single precision."""
    old = rows.logits
    assert isinstance(old, RotaryLogits)
    logits = RotaryLogits(
        query_HQF=old.query_HQF.to(torch.complex64),
        key_GKF=old.key_GKF.to(torch.complex64),
        phase_KF=old.phase_KF.to(torch.complex64),
        theta_F=old.theta_F.float(),
        queries_Q=old.queries_Q,
        scale=old.scale,
    )
    return replace(rows, attention_HQK=rows.attention_HQK.float(), logits=logits)


def take(rows: Rows, index: Tensor) -> Rows:
    """Some of the rows."""
    return replace(
        rows,
        attention_HQK=rows.attention_HQK[:, index],
        queries_Q=rows.queries_Q[index],
        text_Q=rows.text_Q[index],
        allowed_QK=rows.allowed_QK[index],
        logits=None if rows.logits is None else rows.logits.rows(index),
    )


def take_heads(rows: Rows, order: list[int]) -> Rows:
    """Some of the heads, all of which read the same keys."""
    assert isinstance(rows.logits, RotaryLogits)
    logits = replace(rows.logits, query_HQF=rows.logits.query_HQF[order])
    return replace(rows, attention_HQK=rows.attention_HQK[order], logits=logits)


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


def answer(score: RowScore, rows: Rows) -> Tensor:
    """The score of every head."""
    return score.pool(*score.rows(rows), rows.text_Q)[:, 0]
