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
    ours, known = attend_biased(*given, scale), plainly(*given, scale)
    torch.testing.assert_close(ours, known, rtol=0, atol=1e-12)
    for mine, theirs in zip(*(torch.autograd.grad(out, given, pull) for out in (ours, known)), strict=True):
        torch.testing.assert_close(mine, theirs, rtol=0, atol=1e-12)


@pytest.mark.parametrize(("dtype", "near"), [(torch.float32, 1e-5), (torch.bfloat16, 0.05)])
def test_less_precision_stays_near(dtype: torch.dtype, near: float) -> None:
    given, pull = inputs(1, dtype), random(B, H, Q, C, seed=5)
    exact = [each.detach().double().requires_grad_() for each in given]
    ours = torch.autograd.grad(attend_biased(*given, None), given, pull.to(dtype))
    known = torch.autograd.grad(plainly(*exact, None), exact, pull)
    for mine, theirs in zip(ours, known, strict=True):
        assert mine.dtype == dtype
        torch.testing.assert_close(mine.double(), theirs, rtol=near, atol=near)
