"""The rules of relevance for every operation of a model, put in place while it runs and gone afterwards.

Operations are intercepted as PyTorch sees them, so that no family of models has to be known: a product of two tensors
that both depend on the input is split in half wherever it occurs, an activation passes all its relevance on, a norm
counts as a constant factor, and attention is computed by `backward.attention`.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.overrides import TorchFunctionMode

from wherewhat.attribution.backward import AttentionWatch, attention, elementwise, half, layer_norm
from wherewhat.errors import UserError

ACTIVATION_ROOMS = ("torch.nn.modules.activation", "transformers.activations")  # modules of element-wise functions
ACTIVATION_NAMES = ("BloomGelu",)  # others, by class
NO_ACTIVATIONS = ("MultiheadAttention", "Softmax", "LogSoftmax", "Softmin", "Softmax2d", "GLU")


@dataclass
class SoftmaxLeak:
    """What one softmax keeps: the relevance of its output minus that of its input."""

    of_attention: float
    of_logits: float

    @property
    def value(self) -> float:
        """The difference."""
        return self.of_attention - self.of_logits


@dataclass
class RelevanceRecord:
    """What is written down during a backward pass."""

    softmaxes: list[SoftmaxLeak] = field(default_factory=list)
    products: list[tuple[Tensor, Tensor]] = field(default_factory=list)  # of queries and keys, last layer first

    def on_softmax(self, of_attention: Tensor, of_logits: Tensor) -> None:
        """Note the relevance on both sides of a softmax."""
        self.softmaxes.append(SoftmaxLeak(of_attention.item(), of_logits.item()))

    def on_product(self, of_queries: Tensor, of_keys: Tensor) -> None:
        """Note the relevance of queries and keys as they meet."""
        self.products.append((of_queries, of_keys))


class RelevanceRules(TorchFunctionMode):
    """Rules for operations. With `frozen` attention (CP-LRP), attention and gates count as constants."""

    def __init__(self, record: RelevanceRecord, *, frozen: bool = False) -> None:
        super().__init__()
        self.record, self.frozen = record, frozen
        self.watch = AttentionWatch(record.on_softmax, record.on_product, frozen=frozen)
        self.rules = rules_of(self)

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        rule = self.rules.get(func)
        return func(*args, **(kwargs or {})) if rule is None else rule(func, *args, **(kwargs or {}))

    def product(self, func: Callable[..., Any], a: Any, b: Any, *rest: Any, **options: Any) -> Any:
        """A product of two tensors that both depend on the input: half each."""
        if depends(a) and depends(b):
            if self.frozen and (is_gate(a) or is_gate(b)):
                a, b = (each.detach() if is_gate(each) else each for each in (a, b))
            else:
                a, b = half(a), half(b)
        return func(a, b, *rest, **options)

    def einsum(self, func: Callable[..., Any], equation: Any, *operands: Any) -> Any:
        """A product of several tensors, written as an equation."""
        tensors = operands[0] if len(operands) == 1 and isinstance(operands[0], list | tuple) else operands
        moving = [depends(each) for each in tensors]
        if sum(moving) > 2:
            raise UserError("a product of more than two tensors that depend on the input has no rule of relevance")
        if sum(moving) == 2:
            tensors = [half(each) if depends(each) else each for each in tensors]
        return func(equation, *tensors)

    def baddbmm(self, func: Callable[..., Any], bias: Tensor, batch1: Tensor, batch2: Tensor, **options: Any) -> Any:
        """A bias and a product: the bias gets its share of the sum, the factors half each of theirs."""
        if depends(batch1) and depends(batch2):
            batch1, batch2 = half(batch1), half(batch2)
        return func(bias, batch1, batch2, **options)

    def linear(self, func: Callable[..., Any], x: Tensor, *rest: Any, **options: Any) -> Any:
        """A linear layer; of a constant it is a constant, whatever is added."""
        y = func(x, *rest, **options)
        return y if depends(x) else y.detach()

    def addcmul(self, func: Callable[..., Any], x: Tensor, a: Tensor, b: Tensor, **options: Any) -> Any:
        """x + a b, in which the product is split."""
        if depends(a) and depends(b):
            a, b = half(a), half(b)
        return func(x, a, b, **options)

    def divide(self, func: Callable[..., Any], a: Any, b: Any, **options: Any) -> Any:
        """A quotient, whose divisor counts as a constant."""
        return func(a, b.detach() if depends(b) else b, **options)

    def apply(self, func: Callable[..., Any], x: Tensor, *rest: Any, **options: Any) -> Any:
        """An element-wise function."""
        if not depends(x):
            return func(x, *rest, **options)
        options = {name: value for name, value in options.items() if name != "inplace"}
        return mark_gate(elementwise(lambda each: func(each, *rest, **options), x))

    def constant(self, func: Callable[..., Any], *args: Any, **options: Any) -> Any:
        """What counts as a constant factor, such as one over the size of a vector."""
        return func(*args, **options).detach()

    def layer_norm(
        self,
        func: Callable[..., Any],
        x: Tensor,
        normalized_shape: Any,
        weight: Tensor | None = None,
        bias: Tensor | None = None,
        eps: float = 1e-5,
    ) -> Any:
        """A layer norm over the last axis."""
        if len(normalized_shape) != 1:
            raise UserError(f"a layer norm over {len(normalized_shape)} axes has no rule of relevance")
        return (
            layer_norm(x, normalized_shape[0], weight, bias, eps)
            if depends(x)
            else func(x, normalized_shape, weight, bias, eps)
        )

    def rms_norm(
        self, func: Callable[..., Any], x: Tensor, shape: Any, weight: Tensor | None = None, eps: float | None = None
    ) -> Any:
        """A root-mean-square norm over the last axis."""
        eps = torch.finfo(x.dtype).eps if eps is None else eps
        normed = x * (x.pow(2).mean(-1, keepdim=True) + eps).rsqrt().detach()
        return normed if weight is None else normed * weight

    def softmax(self, func: Callable[..., Any], x: Tensor, *rest: Any, **options: Any) -> Any:
        """A softmax: its ordinary gradient, with what it keeps written down."""
        y = func(x, *rest, **options)
        if not depends(x):
            return y
        if self.frozen:
            return y.detach()
        sums: dict[str, Tensor] = {}

        def on_output(grad: Tensor) -> None:
            sums["attention"] = (y.detach() * grad).sum()

        def on_input(grad: Tensor) -> None:
            values = x.detach().to(grad.dtype)
            self.record.on_softmax(sums["attention"], torch.where(grad == 0, 0, values * grad).sum())

        y.register_hook(on_output)
        x.register_hook(on_input)
        return y

    def fused_attention(
        self,
        func: Callable[..., Any],
        query: Tensor,
        key: Tensor,
        value: Tensor,
        attn_mask: Tensor | None = None,
        dropout_p: float = 0.0,
        is_causal: bool = False,
        **options: Any,
    ) -> Any:
        """Attention by a fused kernel; its backward pass works it out again, some rows at a time."""
        scale = options.get("scale") or query.shape[-1] ** -0.5
        groups = query.shape[-3] // key.shape[-3]
        if groups > 1:  # grouped keys: autograd adds up what their copies get
            key, value = (each.repeat_interleave(groups, dim=-3) for each in (key, value))
        if attn_mask is not None and attn_mask.dtype == torch.bool:
            attn_mask = torch.zeros_like(attn_mask, dtype=query.dtype).masked_fill(~attn_mask, -torch.inf)
        return attention(query, key, value, attn_mask, scale=scale, causal=is_causal, watch=self.watch)


def depends(value: Any) -> bool:
    """Whether a value depends on an input whose relevance is asked for."""
    return isinstance(value, Tensor) and value.requires_grad


def mark_gate(x: Tensor) -> Tensor:
    """Mark the output of an activation: multiplied with something, it is a gate."""
    x._wherewhat_gate = True  # type: ignore[attr-defined]
    return x


def is_gate(x: Tensor) -> bool:
    """Whether a tensor came straight out of an activation."""
    return bool(getattr(x, "_wherewhat_gate", False))


def rules_of(mode: RelevanceRules) -> Mapping[Any, Callable[..., Any]]:
    """The rule of every operation that needs one."""
    products = (
        *(torch.mul, Tensor.mul, Tensor.__mul__, Tensor.__rmul__, Tensor.mul_, Tensor.__imul__, torch.multiply),
        *(torch.matmul, Tensor.matmul, Tensor.__matmul__, torch.bmm, Tensor.bmm),
    )
    functions = (
        *(functional.silu, functional.gelu, functional.relu, functional.mish, functional.elu, functional.softplus),
        *(functional.tanh, functional.sigmoid, functional.leaky_relu, functional.logsigmoid, functional.relu6),
        *(torch.tanh, Tensor.tanh, torch.sigmoid, Tensor.sigmoid, torch.relu, Tensor.relu, Tensor.exp, torch.exp),
    )
    quotients = (torch.div, Tensor.div, Tensor.__truediv__, torch.true_divide)
    softmaxes = (functional.softmax, torch.softmax, Tensor.softmax)
    return {
        **dict.fromkeys(products, mode.product),
        **dict.fromkeys(functions, mode.apply),
        **dict.fromkeys(quotients, mode.divide),
        **dict.fromkeys(softmaxes, mode.softmax),
        **dict.fromkeys((torch.rsqrt, Tensor.rsqrt), mode.constant),
        **dict.fromkeys((torch.baddbmm, Tensor.baddbmm), mode.baddbmm),
        **dict.fromkeys((torch.addcmul, Tensor.addcmul), mode.addcmul),
        torch.einsum: mode.einsum,
        functional.linear: mode.linear,
        functional.layer_norm: mode.layer_norm,
        functional.rms_norm: mode.rms_norm,
        functional.scaled_dot_product_attention: mode.fused_attention,
    }


@contextmanager
def relevance_rules(model: nn.Module, record: RelevanceRecord, *, frozen: bool = False) -> Iterator[None]:
    """Let a model run under the rules inside the block; its modules are as they were afterwards."""
    activations = [module for module in model.modules() if is_activation(module)]
    try:
        for module in activations:
            module.forward = partial(_activation, module)
        with RelevanceRules(record, frozen=frozen):
            yield
    finally:
        for module in activations:
            vars(module).pop("forward", None)


def is_activation(module: nn.Module) -> bool:
    """Whether a module is an element-wise function, which may be made of several operations."""
    kind = type(module)
    known = kind.__module__.startswith(ACTIVATION_ROOMS) or kind.__name__ in ACTIVATION_NAMES
    return known and kind.__name__ not in NO_ACTIVATIONS


def _activation(module: nn.Module, x: Tensor) -> Tensor:
    forward: Callable[..., Tensor] = type(module).forward
    if not depends(x):
        return forward(module, x)
    with torch._C.DisableTorchFunction():
        return mark_gate(elementwise(partial(forward, module), x))
