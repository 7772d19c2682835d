"""The rules of relevance for every operation of a model, put in place while it runs and gone afterwards.

Operations are intercepted as PyTorch sees them, so that no family of models has to be known: a product of two tensors
that both depend on the input is split in half wherever it occurs, an activation passes all its relevance on, a norm
counts as a constant factor, and attention is computed by `backward.attention`.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.overrides import TorchFunctionMode

from wherewhat.attribution.backward import AttentionWatch, attention, elementwise, half, layer_norm, shown_half, summed
from wherewhat.attribution.record import RelevanceRecord
from wherewhat.capture.hooks.activations import replace_activations
from wherewhat.errors import UserError

Function = Callable[..., Any]


class RelevanceRules(TorchFunctionMode):
    """Rules for operations (AttnLRP)."""

    def __init__(self, record: RelevanceRecord) -> None:
        super().__init__()
        self.record = record
        self.rules = rules_of(self)

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        rule = self.rules.get(func)
        if rule is None:
            return func(*args, **(kwargs or {}))
        result = rule(func, *args, **(kwargs or {}))
        if depends(result):
            self.record.computed_in(result.dtype)
        return result

    def product(self, func: Function, a: Any, b: Any, *rest: Any, **options: Any) -> Any:
        """A product of two tensors that both depend on the input: half each."""
        if depends(a) and depends(b):
            a, b = half(a), half(b)
        return func(a, b, *rest, **options)

    def matmul(self, func: Function, a: Any, b: Any, *rest: Any, **options: Any) -> Any:
        """A matrix product; the first after a rotation is that of queries and keys."""
        if self.record.rotated and depends(a) and depends(b) and a.dim() == b.dim() == 4:
            product = self.record.new_product()
            keys = partial(_of_transposed, product.on_keys)
            logits = func(shown_half(a, product.on_queries), shown_half(b, keys), *rest, **options)
            if node := self.record.new_rotated_logits():
                logits.register_hook(node.on_product)
            return logits
        return self.product(func, a, b, *rest, **options)

    def einsum(self, func: Function, equation: Any, *operands: Any) -> Any:
        """A product of several tensors, written as an equation."""
        tensors = operands[0] if len(operands) == 1 and isinstance(operands[0], list | tuple) else operands
        moving = sum(map(depends, tensors))
        if moving > 2:
            raise UserError("a product of more than two tensors that depend on the input has no rule of relevance")
        if moving == 2:
            tensors = [half(each) if depends(each) else each for each in tensors]
        return func(equation, *tensors)

    def baddbmm(self, func: Function, x: Tensor, batch1: Tensor, batch2: Tensor, **options: Any) -> Any:
        """x + a b, of matrices: x gets its share of the sum, the factors half each of theirs."""
        if depends(batch1) and depends(batch2):
            batch1, batch2 = half(batch1), half(batch2)
        return func(x, batch1, batch2, **options)

    def addcmul(self, func: Function, x: Tensor, tensor1: Tensor, tensor2: Tensor, **options: Any) -> Any:
        """x + a b, element by element."""
        return self.baddbmm(func, x, tensor1, tensor2, **options)

    def cast(self, func: Function, *args: Any, **options: Any) -> Any:
        """A change of type: nothing but its precision is of interest."""
        return func(*args, **options)

    def linear(self, func: Function, x: Tensor, *rest: Any, **options: Any) -> Any:
        """A linear layer; of a constant it is a constant, whatever is added."""
        y = func(x, *rest, **options)
        return y if depends(x) else y.detach()

    def divide(self, func: Function, a: Any, b: Any, **options: Any) -> Any:
        """A quotient, whose divisor counts as a constant."""
        return func(a, b.detach() if depends(b) else b, **options)

    def apply(self, func: Function, x: Tensor, *rest: Any, **options: Any) -> Any:
        """An element-wise function."""
        if not depends(x):
            return func(x, *rest, **options)
        options = {name: value for name, value in options.items() if name != "inplace"}
        return self.activation(lambda each: func(each, *rest, **options), x)

    def activation(self, function: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
        """The same for a function of one tensor."""
        return elementwise(function, x, self.record.on_constant)

    def named_activation(self, function: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
        """The same for one that is made of several operations, which have no rules of their own then."""
        if not depends(x):
            return function(x)
        with torch._C.DisableTorchFunction():
            return self.activation(function, x)

    def glu(self, func: Function, x: Tensor, dim: int = -1) -> Any:
        """A product with a sigmoid gate."""
        a, b = x.chunk(2, dim)
        return self.product(torch.mul, a, self.apply(torch.sigmoid, b))

    def constant(self, func: Function, *args: Any, **options: Any) -> Any:
        """What counts as a constant factor, such as one over the size of a vector."""
        y = func(*args, **options)
        self.record.computed_in(y.dtype)
        return y.detach()

    def normalize(
        self, func: Function, x: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12, out: None = None
    ) -> Any:
        """A vector divided by its size."""
        return x / x.detach().norm(p, dim, keepdim=True).clamp_min(eps)

    def layer_norm(
        self,
        func: Function,
        x: Tensor,
        normalized_shape: Any,
        weight: Tensor | None = None,
        bias: Tensor | None = None,
        eps: float = 1e-5,
    ) -> Any:
        """A layer norm over the last axis."""
        if not depends(x):  # of a constant it is a constant
            return func(x, normalized_shape, weight, bias, eps).detach()
        if len(normalized_shape) != 1:
            raise UserError(f"a layer norm over {len(normalized_shape)} axes has no rule of relevance")
        return layer_norm(x, normalized_shape[0], weight, bias, eps)

    def rms_norm(
        self, func: Function, x: Tensor, shape: Any, weight: Tensor | None = None, eps: float | None = None
    ) -> Any:
        """A root-mean-square norm over the last axis."""
        eps = torch.finfo(x.dtype).eps if eps is None else eps
        normed = x * (x.pow(2).mean(-1, keepdim=True) + eps).rsqrt().detach()
        return normed if weight is None else normed * weight

    def batch_norm(
        self, func: Function, x: Tensor, mean: Tensor | None, variance: Tensor | None, *rest: Any, **options: Any
    ) -> Any:
        """A batch norm by its running statistics: a constant scale and shift, of which the mean's part is noted."""
        y = func(x, mean, variance, *rest, **options)
        if depends(x):
            if mean is None or variance is None:
                raise UserError("a batch norm without running statistics has no rule of relevance")
            zero = x.new_zeros(1, x.shape[1], *[1] * (x.dim() - 2))
            bias = rest[1] if len(rest) > 1 else options.get("bias")
            shift = func(zero, mean, variance, *rest, **options) - (0 if bias is None else bias.view_as(zero[0]))
            y.register_hook(lambda grad: self.record.on_constant(summed(shift.detach() * grad)))
        return y

    def softmax(self, func: Function, x: Tensor, *rest: Any, **options: Any) -> Any:
        """A softmax: its ordinary gradient, with what it keeps written down."""
        y = func(x, *rest, **options)
        if not depends(x):
            return y
        self.record.attentions += 1
        leak, sums = self.record.new_softmax(), list[Tensor]()
        node = self.record.new_logits(*x.shape[-2:]) if x.dim() == 4 else None

        def on_output(grad: Tensor) -> None:
            sums.append(summed(y.detach() * grad))

        def on_input(grad: Tensor) -> None:
            relevance = torch.where(grad == 0, 0, x.detach() * grad)  # a masked one is minus infinity
            leak.on_sums(sums.pop(), summed(relevance))
            if node is not None:
                node.on_relevance(relevance)

        y.register_hook(on_output)
        x.register_hook(on_input)
        return y

    def fused_attention(
        self,
        func: Function,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        attn_mask: Tensor | None = None,
        dropout_p: float = 0.0,
        is_causal: bool = False,
        **options: Any,
    ) -> Any:
        """Attention by a fused kernel; its backward pass works it out again, some rows at a time."""
        self.record.attentions += 1
        scale = query.shape[-1] ** -0.5 if options.get("scale") is None else options["scale"]
        groups = query.shape[-3] // key.shape[-3]
        if groups > 1:  # grouped keys: autograd adds up what their copies get
            key, value = (each.repeat_interleave(groups, dim=-3) for each in (key, value))
        if attn_mask is not None and attn_mask.dtype == torch.bool:
            attn_mask = torch.zeros_like(attn_mask, dtype=query.dtype).masked_fill(~attn_mask, -torch.inf)
        return self.attend(query, key, value, attn_mask, scale=scale, causal=is_causal)

    def attend(self, q: Tensor, k: Tensor, v: Tensor, bias: Tensor | None, *, scale: float, causal: bool) -> Tensor:
        """Attention as one node, with what it keeps written down."""
        product = self.record.new_product()
        node = self.record.new_logits(q.shape[-2], k.shape[-2])
        on_logits = None if node is None else partial(node.on_rows, scale=scale)
        watch = AttentionWatch(self.record.new_softmax().on_sums, product.on_queries, product.on_keys, on_logits)
        return attention(q, k, v, bias, scale=scale, causal=causal, watch=watch)


class FrozenRules(RelevanceRules):
    """The same with attention and gates as constants (CP-LRP): nothing flows to queries, keys and scores."""

    def product(self, func: Function, a: Any, b: Any, *rest: Any, **options: Any) -> Any:
        if depends(a) and depends(b) and (is_gate(a) or is_gate(b)):
            a, b = (each.detach() if is_gate(each) else each for each in (a, b))
        return super().product(func, a, b, *rest, **options)

    def activation(self, function: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
        return mark_gate(super().activation(function, x))

    def softmax(self, func: Function, x: Tensor, *rest: Any, **options: Any) -> Any:
        y = func(x, *rest, **options)
        self.record.attentions += depends(x)
        return y.detach()

    def attend(self, q: Tensor, k: Tensor, v: Tensor, bias: Tensor | None, *, scale: float, causal: bool) -> Tensor:
        bias = None if bias is None else bias.detach()
        return functional.scaled_dot_product_attention(
            q.detach(), k.detach(), v, attn_mask=bias, is_causal=causal, scale=scale
        )


def _of_transposed(on_keys: Callable[[Tensor], None], relevance_BHCK: Tensor) -> None:
    on_keys(relevance_BHCK.mT)


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


def rules_of(mode: RelevanceRules) -> Mapping[Any, Function]:
    """The rule of every operation that needs one."""
    products = (
        *(torch.mul, Tensor.mul, Tensor.__mul__, Tensor.__rmul__, Tensor.mul_, Tensor.__imul__),
        *(torch.multiply, Tensor.multiply, torch.bmm, Tensor.bmm, torch.mm, Tensor.mm),
    )
    functions = (
        *(functional.silu, functional.gelu, functional.relu, functional.mish, functional.elu, functional.softplus),
        *(functional.tanh, functional.sigmoid, functional.leaky_relu, functional.logsigmoid, functional.relu6),
        *(functional.selu, functional.celu, functional.hardswish, functional.hardtanh, functional.hardsigmoid),
        *(torch.tanh, Tensor.tanh, torch.sigmoid, Tensor.sigmoid, torch.relu, Tensor.relu, Tensor.exp, torch.exp),
        *(torch.clamp, Tensor.clamp),
    )
    quotients = (torch.div, Tensor.div, Tensor.div_, Tensor.__truediv__, Tensor.__itruediv__, torch.true_divide)
    return {
        **dict.fromkeys(products, mode.product),
        **dict.fromkeys((torch.matmul, Tensor.matmul, Tensor.__matmul__), mode.matmul),
        **dict.fromkeys(quotients, mode.divide),
        **dict.fromkeys((Tensor.to, Tensor.float, Tensor.type_as), mode.cast),
        **dict.fromkeys(functions, mode.apply),
        **dict.fromkeys((functional.softmax, torch.softmax, Tensor.softmax), mode.softmax),
        **dict.fromkeys((torch.rsqrt, Tensor.rsqrt), mode.constant),
        **dict.fromkeys((torch.baddbmm, Tensor.baddbmm), mode.baddbmm),
        **dict.fromkeys((torch.addcmul, Tensor.addcmul), mode.addcmul),
        torch.einsum: mode.einsum,
        functional.glu: mode.glu,
        functional.linear: mode.linear,
        functional.layer_norm: mode.layer_norm,
        functional.rms_norm: mode.rms_norm,
        functional.batch_norm: mode.batch_norm,
        functional.normalize: mode.normalize,
        functional.scaled_dot_product_attention: mode.fused_attention,
    }


@contextmanager
def under_rules(kind: type[RelevanceRules], model: nn.Module, record: RelevanceRecord) -> Iterator[None]:
    """Let a model run under rules inside the block; its modules are as they were afterwards."""
    rules = kind(record)
    with replace_activations(model, rules.named_activation), rules:
        yield
    if not record.attentions:
        raise UserError(
            f"no attention of {type(model).__name__} was seen that has a rule of relevance; "
            "use the method input-x-gradient"
        )


def plain_gradients(model: nn.Module, record: RelevanceRecord) -> nullcontext[None]:
    """No rules at all."""
    return nullcontext()
