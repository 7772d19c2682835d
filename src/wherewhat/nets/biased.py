"""Fused attention with a learned bias: PyTorch's public function refuses one, and also one beside the causal flag.

On a CPU the kernel is called here directly. Its own forward and backward passes serve queries, keys and values; only
the gradient of the bias, which it does not compute, is computed here from what the forward pass saved.
"""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn.functional import scaled_dot_product_attention

from wherewhat.encodings.base import Context

ENTRIES = 1 << 18  # of the bias's gradient worked out at once, so that they stay in the cache
FLASH = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
FLASH_BACKWARD = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward


def by_flag(q_BHQC: Tensor, context: Context) -> bool:
    """Whether the kernel's causal flag can keep forbidden keys out, which saves it half of its work."""
    return q_BHQC.device.type == "cpu" and context.causal and not context.needs_mask


def attend_biased(
    q_BHQC: Tensor, k_BHKC: Tensor, v_BHKC: Tensor, bias_BHQK: Tensor, *, scale: float | None, causal: bool
) -> Tensor:
    """out_BHQC by the fused kernel. Forbidden keys are kept out by the `causal` flag, or are -inf in the bias.

    Nothing of size texts × heads × n × n is kept for the backward pass but the bias, which texts may share.
    """
    out_BHQC: Tensor
    if q_BHQC.device.type != "cpu":
        return scaled_dot_product_attention(q_BHQC, k_BHKC, v_BHKC, attn_mask=bias_BHQK, scale=scale)
    if bias_BHQK.requires_grad and torch.is_grad_enabled():
        out_BHQC = _Biased.apply(q_BHQC, k_BHKC, v_BHKC, bias_BHQK, scale, causal)  # type: ignore[no-untyped-call]
    else:
        out_BHQC = FLASH(q_BHQC, k_BHKC, v_BHKC, 0.0, causal, attn_mask=bias_BHQK, scale=scale)[0]
    return out_BHQC


class _Biased(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, q: Tensor, k: Tensor, v: Tensor, bias: Tensor, scale: float | None, causal: bool) -> Tensor:
        out_BHQC: Tensor
        out_BHQC, logsum_BHQ = FLASH(q, k, v, 0.0, causal, attn_mask=bias, scale=scale)
        ctx.save_for_backward(q, k, v, out_BHQC, logsum_BHQ, bias)
        ctx.scale, ctx.causal = scale, causal
        return out_BHQC

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_BHQC: Tensor) -> tuple[Tensor | None, ...]:
        *saved, bias = ctx.saved_tensors
        grads = FLASH_BACKWARD(grad_BHQC, *saved, 0.0, ctx.causal, attn_mask=bias, scale=ctx.scale)
        scale = saved[0].shape[-1] ** -0.5 if ctx.scale is None else ctx.scale
        return *grads, _grad_of_bias(saved, bias, scale, grad_BHQC, ctx.causal), None, None


def _grad_of_bias(saved: list[Tensor], bias: Tensor, scale: float, grad_BHQC: Tensor, causal: bool) -> Tensor:
    """The gradient of every logit, added up over the texts that share the bias, some rows at a time."""
    exact = saved[-1].dtype  # what the kernel adds up in: more precise than half precision
    q, k, v, out_BHQC, logsum_BHQ, grad_BHQC = (each.to(exact) for each in (*saved, grad_BHQC))
    q, mean_BHQ1 = q * scale, (out_BHQC * grad_BHQC).sum(-1, keepdim=True)  # what a row's keys pull at on average
    queries, keys = q.shape[2], k.shape[2]
    grad_bias, rows = torch.zeros_like(bias), max(1, ENTRIES // (q.shape[0] * q.shape[1] * keys))
    for first in range(0, queries, rows):
        last = min(first + rows, queries)
        here, visible = (slice(None), slice(None), slice(first, last)), last if causal else keys
        bias_BHQK = bias[here][..., :visible]
        attention_BHQK = (q[here] @ k[:, :, :visible].mT).add_(bias_BHQK).sub_(logsum_BHQ[here][..., None]).exp_()
        if causal:  # keys that come after the query
            forbidden = torch.ones(last - first, visible, dtype=torch.bool, device=bias.device).triu(first + 1)
        else:  # rows that see nothing, whose attention is no number
            forbidden = (bias_BHQK == -torch.inf).all(-1, keepdim=True)
        pull_BHQK = (grad_BHQC[here] @ v[:, :, :visible].mT).sub_(mean_BHQ1[here]).mul_(attention_BHQK)
        grad_bias[here][..., :visible] = pull_BHQK.masked_fill_(forbidden, 0).sum_to_size(bias_BHQK.shape)
    return grad_bias
