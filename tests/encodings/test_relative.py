"""Numbers for lags become numbers for queries and keys, by sliding where that is enough and one by one elsewhere."""

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from wherewhat.encodings.base import Context
from wherewhat.encodings.relative import by_lag, key_with_lag, lags_of, query_with_lag

B, H, T, C = 2, 3, 6, 4
STRETCHED = torch.tensor([[0, 1, 1, 2, 4, 5]])
CONTEXTS = {
    "plain": lambda causal: Context.of(T, causal=causal),
    "moved": lambda causal: replace(Context.of(T, causal=causal), key_positions_BK=torch.arange(T)[None] + 9),
    "rows": lambda causal: Context.of(T, causal=causal).rows(torch.tensor([4, 0, 5])),
    "padded": lambda causal: Context.of(T, causal=causal, real_BK=torch.arange(T) >= torch.tensor([[2], [0]])),
    "stretched": lambda causal: replace(Context.of(T, causal=causal), key_positions_BK=STRETCHED),
    "one row": lambda causal: Context.of(T, causal=causal).rows(torch.tensor([4])),
    "gaps": lambda causal: replace(Context.of(T, causal=causal), key_positions_BK=2 * torch.arange(T)[None] + 1),
    "one token": lambda causal: Context.of(1, causal=causal),
}
every_context = pytest.mark.parametrize("context", CONTEXTS)
both_ways = pytest.mark.parametrize("causal", [True, False], ids=["causal", "both ways"])


def random(*shape: int, seed: int) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed)).requires_grad_()


def one_by_one(value, context: Context) -> Tensor:
    """value(h, b, query number, key, row of its lag) for every query that sees the key, and 0 elsewhere."""
    lags, allowed = lags_of(context).tolist(), context.allowed_BHQK
    out = []
    for b, h in ((b, h) for b in range(B) for h in range(H)):
        lags_QK, seen_QK = (
            context.lags_BHQK[min(b, len(context.lags_BHQK) - 1), 0],
            allowed[min(b, len(allowed) - 1), 0],
        )
        out += [
            value(h, b, i, j, lags.index(int(lags_QK[i, j]))) if seen_QK[i, j] else torch.zeros((), dtype=torch.float64)
            for i in range(lags_QK.shape[0])
            for j in range(lags_QK.shape[1])
        ]
    return torch.stack(out).view(B, H, *context.lags_BHQK.shape[2:])


def assert_alike(ours: Tensor, known: Tensor, context: Context, leaves: list[Tensor]) -> None:
    """The same where a query sees the key, gradients too; finite elsewhere."""
    assert ours.isfinite().all()
    seen = ours.expand(B, -1, -1, -1).where(context.allowed_BHQK, 0.0)
    torch.testing.assert_close(seen, known, rtol=0, atol=1e-12)
    pull = torch.randn(known.shape, dtype=torch.float64, generator=torch.Generator().manual_seed(9))
    for mine, theirs in zip(*(torch.autograd.grad(out, leaves, pull) for out in (seen, known)), strict=True):
        torch.testing.assert_close(mine, theirs, rtol=0, atol=1e-12)


@every_context
@both_ways
def test_a_value_for_each_lag(context: str, causal: bool) -> None:
    here = CONTEXTS[context](causal)
    values_HR = random(H, len(lags_of(here)), seed=0)
    known = one_by_one(lambda h, b, i, j, r: values_HR[h, r], here)
    assert_alike(by_lag(values_HR, here), known, here, [values_HR])


@every_context
@both_ways
def test_a_query_meets_what_belongs_to_the_lag(context: str, causal: bool) -> None:
    here = CONTEXTS[context](causal)
    q, of_lag = random(B, H, here.lags_BHQK.shape[2], C, seed=1), random(H, len(lags_of(here)), C, seed=2)
    known = one_by_one(lambda h, b, i, j, r: q[b, h, i] @ of_lag[h, r], here)
    assert_alike(query_with_lag(q, of_lag, here), known, here, [q, of_lag])


@every_context
@both_ways
def test_a_key_meets_what_belongs_to_the_lag(context: str, causal: bool) -> None:
    here = CONTEXTS[context](causal)
    k, of_lag = random(B, H, here.length, C, seed=1), random(H, len(lags_of(here)), C, seed=2)
    known = one_by_one(lambda h, b, i, j, r: k[b, h, j] @ of_lag[h, r], here)
    assert_alike(key_with_lag(k, of_lag, here), known, here, [k, of_lag])
