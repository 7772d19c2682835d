"""The fused kernel with a learned bias gives what plain autograd gives, gradients and all."""

import pytest
import torch
from torch import Tensor

from wherewhat.nets import biased
from wherewhat.nets.biased import attend_biased

B, H, Q, K, C = 2, 3, 7, 9, 5


def random(*shape: int, seed: int, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed)).to(dtype)


def inputs(texts: int, dtype: torch.dtype) -> list[Tensor]:
    """Queries, keys, values and a mask in which one row sees nothing."""
    mask_BHQK = random(texts, H, Q, K, seed=3, dtype=dtype)
    mask_BHQK[:, :, torch.arange(Q)[:, None] + 2 < torch.arange(K)] = -torch.inf
    mask_BHQK[0, :, 4] = -torch.inf
    qkv = (random(B, H, tokens, C, seed=seed, dtype=dtype) for seed, tokens in enumerate((Q, K, K)))
    return [each.requires_grad_() for each in (*qkv, mask_BHQK)]


def plainly(q: Tensor, k: Tensor, v: Tensor, mask: Tensor, scale: float | None) -> Tensor:
    forbidden = mask == -torch.inf
    logits = q @ k.mT * (C**-0.5 if scale is None else scale) + mask
    return logits.masked_fill(forbidden, -1e30).softmax(-1).masked_fill(forbidden, 0) @ v


@pytest.mark.parametrize("texts", [1, B], ids=["shared mask", "a mask for each text"])
@pytest.mark.parametrize("scale", [None, 0.3])
@pytest.mark.parametrize("entries", [1, 1 << 18], ids=["row by row", "at once"])
def test_outputs_and_gradients_are_autograds(
    texts: int, scale: float | None, entries: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(biased, "ENTRIES", entries)
    given, pull = inputs(texts, torch.float64), random(B, H, Q, C, seed=5)
    ours, known = attend_biased(*given, scale=scale, causal=False), plainly(*given, scale)
    torch.testing.assert_close(ours, known, rtol=0, atol=1e-12)
    for mine, theirs in zip(*(torch.autograd.grad(out, given, pull) for out in (ours, known)), strict=True):
        torch.testing.assert_close(mine, theirs, rtol=0, atol=1e-12)


@pytest.mark.parametrize(("dtype", "near"), [(torch.float32, 1e-5), (torch.bfloat16, 0.05)])
def test_less_precision_stays_near(dtype: torch.dtype, near: float) -> None:
    given, pull = inputs(1, dtype), random(B, H, Q, C, seed=5)
    exact = [each.detach().double().requires_grad_() for each in given]
    ours = torch.autograd.grad(attend_biased(*given, scale=None, causal=False), given, pull.to(dtype))
    known = torch.autograd.grad(plainly(*exact, None), exact, pull)
    for mine, theirs in zip(ours, known, strict=True):
        assert mine.dtype == dtype
        torch.testing.assert_close(mine.double(), theirs, rtol=near, atol=near)


@pytest.mark.parametrize("texts", [1, B], ids=["shared bias", "a bias for each text"])
@pytest.mark.parametrize("entries", [1, 40, 1 << 18], ids=["row by row", "a few rows", "at once"])
def test_a_flag_keeps_later_keys_out_as_infinities_do(
    texts: int, entries: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(biased, "ENTRIES", entries * B * H)
    bias_BHQK = random(texts, H, Q, Q, seed=3).requires_grad_()
    given = [random(B, H, Q, C, seed=seed).requires_grad_() for seed in range(3)]
    later_QK, pull = torch.ones(Q, Q, dtype=torch.bool).triu(1), random(B, H, Q, C, seed=5)
    ours = attend_biased(*given, bias_BHQK, scale=None, causal=True)
    known = plainly(*given, bias_BHQK.masked_fill(later_QK, -torch.inf), None)
    leaves = [*given, bias_BHQK]
    torch.testing.assert_close(ours, known, rtol=0, atol=1e-12)
    for mine, theirs in zip(*(torch.autograd.grad(out, leaves, pull) for out in (ours, known)), strict=True):
        torch.testing.assert_close(mine, theirs, rtol=0, atol=1e-12)
    fixed = attend_biased(*given, bias_BHQK.detach(), scale=None, causal=True)
    known = plainly(*given, bias_BHQK.detach().masked_fill(later_QK, -torch.inf), None)
    for mine, theirs in zip(*(torch.autograd.grad(out, given, pull) for out in (fixed, known)), strict=True):
        torch.testing.assert_close(mine, theirs, rtol=0, atol=1e-12)
