"""Operations with the value they always have and a backward pass of their own: the rules of layer-wise relevance.

Under these rules the relevance of every tensor, inputs and intermediates alike, is its value times its gradient
(arXiv 2402.05602, 2506.02138).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

NEAR_ZERO = 1e-12  # below it, the ratio of output and input is the derivative
ENTRIES = 1 << 20  # of attention computed at once in the backward pass, so that memory does not grow with n²
OnRelevance = Callable[[Tensor], None]  # is shown the relevance of a tensor, of its shape
OnRows = Callable[[int, Tensor, Tensor], None]  # the number of the first row, the relevance of rows, and by value
OnSums = Callable[[Tensor, Tensor], None]  # is shown the summed relevance of attention and of its logits


def summed(x: Tensor) -> Tensor:
    """The sum of all numbers, in float64 where the device has it, on the CPU."""
    return x.sum(dtype=torch.float32 if x.device.type == "mps" else torch.float64).cpu().double()


class _Half(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        return grad / 2


def half(x: Tensor) -> Tensor:
    """The same tensor, which gets half of its gradient: a factor of a product whose other factor gets the rest."""
    halved: Tensor = _Half.apply(x)  # type: ignore[no-untyped-call]
    return halved


class _ShownHalf(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, on_relevance: OnRelevance) -> Tensor:
        ctx.save_for_backward(x)
        ctx.on_relevance = on_relevance
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        (x,) = ctx.saved_tensors
        ctx.on_relevance(x * grad / 2)
        return grad / 2, None


def shown_half(x: Tensor, on_relevance: OnRelevance) -> Tensor:
    """The same as `half`, with the relevance of the tensor shown during the backward pass."""
    halved: Tensor = _ShownHalf.apply(x, on_relevance)  # type: ignore[no-untyped-call]
    return halved


class _Through(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, y: Tensor, at_zero: "AtZero", on_constant: OnRelevance) -> Tensor:
        ctx.save_for_backward(x, y)
        ctx.at_zero, ctx.on_constant = at_zero, on_constant
        return y.view_as(y)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None, None]:
        x, y = ctx.saved_tensors
        at_zero: AtZero = ctx.at_zero
        if at_zero.value:
            ctx.on_constant(at_zero.value * summed(grad))
        small = x.abs() < NEAR_ZERO
        ratio = torch.where(small, at_zero.slope, (y - at_zero.value) / torch.where(small, 1, x))
        return grad * ratio, None, None, None


@dataclass(frozen=True)
class AtZero:
    """What an element-wise function is at 0, and how steep."""

    value: float
    slope: float

    @classmethod
    def of(cls, function: Callable[[Tensor], Tensor], x: Tensor) -> "AtZero":
        """Of any function."""
        with torch.enable_grad():
            zero = torch.zeros(1, dtype=x.dtype, device=x.device, requires_grad=True)
            y = function(zero)
            (slope,) = torch.autograd.grad(y, zero)
        return cls(y.item(), slope.item())


def elementwise(function: Callable[[Tensor], Tensor], x: Tensor, on_constant: OnRelevance) -> Tensor:
    """f(x), which passes its relevance on: its derivative is taken to be f(x) / x, or f'(0) near 0.

    Where f(0) is not 0, as in a sigmoid, f(0) is a constant that is added, as a bias is, and the derivative is that of
    the rest; f(x) / x alone would have a pole at 0, where such functions are used most.
    """
    with torch.no_grad():
        y = function(x)
    at_zero = AtZero.of(function, x)
    through: Tensor = _Through.apply(x, y, at_zero, on_constant)  # type: ignore[no-untyped-call]
    return through


class _LayerNorm(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor | None, bias: Tensor | None, width: int, eps: float) -> Tensor:
        ctx.save_for_backward(x, weight)
        ctx.eps, ctx.biased = eps, bias is not None
        return torch.nn.functional.layer_norm(x, (width,), weight, bias, eps)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        x, weight = ctx.saved_tensors
        scale = (x.var(-1, unbiased=False, keepdim=True) + ctx.eps).rsqrt()
        inner = (grad if weight is None else grad * weight) * scale
        to_bias = grad.flatten(0, -2).sum(0) if ctx.biased else None
        return inner - inner.mean(-1, keepdim=True), None, to_bias, None, None


def layer_norm(x: Tensor, width: int, weight: Tensor | None, bias: Tensor | None, eps: float) -> Tensor:
    """Layer norm over the last axis whose standard deviation counts as a constant."""
    normed: Tensor = _LayerNorm.apply(x, weight, bias, width, eps)  # type: ignore[no-untyped-call]
    return normed


@dataclass(frozen=True)
class AttentionWatch:
    """Who is shown what of one attention during the backward pass."""

    on_softmax: OnSums
    on_queries: OnRelevance
    on_keys: OnRelevance
    on_logits: OnRows | None = None


class _Attention(torch.autograd.Function):
    """Fused attention forward; backward, the rules for both products and the softmax, some rows at a time."""

    @staticmethod
    def forward(ctx: Any, q: Tensor, k: Tensor, v: Tensor, bias: Tensor | None, *more: Any) -> Tensor:
        ctx.scale, ctx.causal, ctx.watch = more
        ctx.save_for_backward(q, k, v, bias)
        return scaled_dot_product_attention(q, k, v, attn_mask=bias, is_causal=ctx.causal, scale=ctx.scale)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        q, k, v, bias = ctx.saved_tensors
        watch: AttentionWatch = ctx.watch
        queries, keys = q.shape[-2], k.shape[-2]
        to_q, to_k, to_v = torch.zeros_like(q), torch.zeros_like(k), torch.zeros_like(v)
        to_bias = torch.zeros_like(bias) if bias is not None and ctx.needs_input_grad[3] else None
        of_attention = of_logits = torch.zeros((), dtype=torch.float64)
        rows = max(1, ENTRIES // (math.prod(q.shape[:-2]) * keys))
        for first in range(0, queries, rows):
            here = slice(first, min(first + rows, queries))
            logits = q[..., here, :] @ k.mT * ctx.scale
            if bias is not None:
                logits = logits + _rows(bias, here)
            if ctx.causal:
                later = torch.ones(logits.shape[-2:], dtype=torch.bool, device=q.device).triu(1 + first)
                logits = logits.masked_fill(later, -torch.inf)
            attention = logits.softmax(-1).nan_to_num(0.0)  # a row that sees nothing
            to_v += attention.mT @ grad[..., here, :] / 2
            relevance = attention * (grad[..., here, :] @ v.mT / 2)
            to_logits = relevance - attention * relevance.sum(-1, keepdim=True)
            of_attention = of_attention + summed(relevance)
            of_rows = logits.masked_fill(attention == 0, 0.0).mul_(to_logits)
            of_logits = of_logits + summed(of_rows)
            if watch.on_logits is not None:
                watch.on_logits(first, of_rows, to_logits)
            to_q[..., here, :] = to_logits @ k * (ctx.scale / 2)
            to_k += to_logits.mT @ q[..., here, :] * (ctx.scale / 2)
            if to_bias is not None:
                target = _rows(to_bias, here)
                target += to_logits.sum_to_size(target.shape)
        watch.on_softmax(of_attention, of_logits)
        watch.on_queries(q * to_q)
        watch.on_keys(k * to_k)
        return to_q, to_k, to_v, to_bias, None, None, None


def _rows(bias: Tensor, here: slice) -> Tensor:
    return bias if bias.shape[-2] == 1 else bias[..., here, :]


def attention(
    q: Tensor, k: Tensor, v: Tensor, bias: Tensor | None, *, scale: float, causal: bool, watch: AttentionWatch
) -> Tensor:
    """softmax(q kᵀ scale + bias) v, half of it to attention and half to values, and so on below."""
    out: Tensor = _Attention.apply(q, k, v, bias, scale, causal, watch)  # type: ignore[no-untyped-call]
    return out
