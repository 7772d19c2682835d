"""Fused attention whose bias is learned: PyTorch's fused kernel on a CPU refuses a mask that wants a gradient.

It is asked here below the door that refuses. Forwards and backwards through queries, keys and values are its own; only
the gradient of the bias, which it cannot give, is worked out beside it from what it leaves behind.
"""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn.functional import scaled_dot_product_attention

ENTRIES = 1 << 18  # of the bias's gradient worked out at once, so that they stay in the cache
FLASH = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
FLASH_BACKWARD = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward


def attend_biased(q_BHQC: Tensor, k_BHKC: Tensor, v_BHKC: Tensor, mask_BHQK: Tensor, scale: float | None) -> Tensor:
    """out_BHQC by the fused kernel, with a mask that holds bias and forbidden keys.

    Nothing of size texts × heads × n × n is kept for the backward pass but the mask, which texts may share.
    """
    if mask_BHQK.requires_grad and torch.is_grad_enabled() and q_BHQC.device.type == "cpu":
        out_BHQC: Tensor = _Biased.apply(q_BHQC, k_BHKC, v_BHKC, mask_BHQK, scale)  # type: ignore[no-untyped-call]
        return out_BHQC
    return scaled_dot_product_attention(q_BHQC, k_BHKC, v_BHKC, attn_mask=mask_BHQK, scale=scale)


class _Biased(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, q: Tensor, k: Tensor, v: Tensor, mask: Tensor, scale: float | None) -> Tensor:
        out_BHQC: Tensor
        out_BHQC, logsum_BHQ = FLASH(q, k, v, 0.0, False, attn_mask=mask, scale=scale)
        ctx.save_for_backward(q, k, v, out_BHQC, logsum_BHQ, mask)
        ctx.scale = scale
        return out_BHQC

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_BHQC: Tensor) -> tuple[Tensor | None, ...]:
        *saved, mask = ctx.saved_tensors
        grads = FLASH_BACKWARD(grad_BHQC, *saved, 0.0, False, attn_mask=mask, scale=ctx.scale)
        return *grads, _grad_of_mask(saved, mask, ctx.scale, grad_BHQC), None


def _grad_of_mask(saved: list[Tensor], mask: Tensor, scale: float | None, grad_BHQC: Tensor) -> Tensor:
    """The gradient of every logit, added up over the texts that share the mask, some rows at a time."""
    exact = saved[-1].dtype  # what the kernel adds up in: more precise than half precision
    q, k, v, out_BHQC, logsum_BHQ, grad_BHQC = (each.to(exact) for each in (*saved, grad_BHQC))
    q = q * (q.shape[-1] ** -0.5 if scale is None else scale)
    mean_BHQ1 = (out_BHQC * grad_BHQC).sum(-1, keepdim=True)  # what the keys of a row pull at on average
    blind_BHQ1 = (mask == -torch.inf).all(-1, keepdim=True)  # rows that see nothing, whose attention is no number
    grad_mask, rows = torch.empty_like(mask), max(1, ENTRIES // (q.shape[0] * q.shape[1] * k.shape[2]))
    for first in range(0, q.shape[2], rows):
        here = (slice(None), slice(None), slice(first, first + rows))
        attention_BHQK = (q[here] @ k.mT).add_(mask[here]).sub_(logsum_BHQ[here][..., None]).exp_()
        pull_BHQK = (grad_BHQC[here] @ v.mT).sub_(mean_BHQ1[here]).mul_(attention_BHQK)
        grad_mask[here] = pull_BHQK.masked_fill_(blind_BHQ1[here], 0).sum_to_size(mask[here].shape)
    return grad_mask
