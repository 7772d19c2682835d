"""Where position enters: every tensor that holds position becomes an input whose relevance is kept."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from wherewhat.capture.hooks.position_sources import watch_positions
from wherewhat.encodings.base import Context, Encoding, PositionWatch
from wherewhat.nets.attention import SelfAttention, explicit_attention
from wherewhat.nets.trunk import Trunk

ROTARY = ("cos", "sin")
FACTORS = (*ROTARY, "factors")  # sources that are multiplied with content; the others are added to it


@dataclass
class PositionSource:
    """One place where position enters a layer: a leaf tensor, or the relevance of products.

    A "table" is [B, T, D]; cosines and sines are [..., T, C]; others have one number per query and key, [..., Q, K].
    """

    name: str
    layer: int | None  # None: all layers share it
    leaf: Tensor | None = None
    products: Tensor | None = None  # relevance_BHQK, where position is a factor of products

    def relevance(self) -> Tensor:
        """Its relevance, of its own shape, in float64."""
        if self.leaf is None:
            assert self.products is not None, "the backward pass has been run"
            return self.products.double()
        if self.leaf.grad is None:
            return torch.zeros_like(self.leaf, dtype=torch.float64)
        return self.leaf.detach().double() * self.leaf.grad.double()

    def by_slot(self) -> Tensor:
        """relevance_T: of each slot; what belongs to a query and a key goes to both, half each."""
        relevance = self.relevance()
        relevance_RC = relevance.flatten(0, -3).sum(0) if relevance.dim() > 2 else relevance
        if self.name == "table" or self.name in ROTARY:
            return relevance_RC.sum(-1)
        return (relevance_RC.sum(0) + relevance_RC.sum(1)) / 2

    def by_head(self) -> Tensor | None:
        """relevance_H: of each head; None where heads share it."""
        relevance = self.relevance()
        return relevance.sum((0, 2, 3)) if relevance.dim() == 4 and relevance.shape[1] > 1 else None


class _Shared(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, product: Tensor, source: PositionSource) -> Tensor:
        ctx.save_for_backward(product)
        ctx.source = source
        return product.view_as(product)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        (product,) = ctx.saved_tensors
        ctx.source.products = product * grad / 2
        return grad / 2, None


class SourceRecorder(PositionWatch):
    """Turns every tensor that holds position into a leaf of its layer.

    Where position is a factor, `split` gives it half of the relevance; without it, content gets all.
    """

    def __init__(self, *, split: bool = True) -> None:
        self.split = split
        self.layer = 0  # that runs now
        self.sources: list[PositionSource] = []

    def on_source(self, name: str, tensor: Tensor, block: int | None = None) -> Tensor:
        if name in FACTORS and not self.split:
            return tensor.detach()
        leaf = tensor.detach().clone().requires_grad_()
        self.sources.append(PositionSource(name, self.layer if block is None else block, leaf))
        return leaf

    def on_product(self, name: str, product_BHQK: Tensor) -> Tensor:
        if not self.split:
            return product_BHQK
        source = PositionSource(name, self.layer, products=torch.zeros_like(product_BHQK))
        self.sources.append(source)
        shared: Tensor = _Shared.apply(product_BHQK, source)  # type: ignore[no-untyped-call]
        return shared


@contextmanager
def watched_transformer(model: nn.Module, recorder: SourceRecorder) -> Iterator[None]:
    """Let a transformers model show its positions."""
    with watch_positions(model, recorder, on_layer=lambda layer: setattr(recorder, "layer", layer)):
        yield


@contextmanager
def watched_net(net: Trunk, recorder: SourceRecorder) -> Iterator[None]:
    """Let the encodings of one of our nets show their positions, and its attention be computed explicitly."""
    encodings = [module for module in net.modules() if isinstance(module, Encoding)]
    attentions = [module for module in net.modules() if isinstance(module, SelfAttention)]
    plain = [module.attend for module in attentions]
    with ExitStack() as stack:
        for number, block in enumerate(net.blocks):
            stack.enter_context(_before(block, partial(setattr, recorder, "layer", number)))
        try:
            for encoding in encodings:
                encoding.watch = recorder
            for module in attentions:
                module.attend = _attend
            yield
        finally:
            for encoding in encodings:
                encoding.watch = None
            for module, attend in zip(attentions, plain, strict=True):
                module.attend = attend


def _attend(encoding: Encoding, q_BHQC: Tensor, k_BHKC: Tensor, v_BHKC: Tensor, context: Context) -> Tensor:
    encoding.check(length=context.longest, causal=context.causal)
    q_BHQC, k_BHKC = encoding.on_query_key(q_BHQC, k_BHKC, context)
    return explicit_attention(encoding, q_BHQC, k_BHKC, context) @ v_BHKC


@contextmanager
def _before(module: nn.Module, act: Callable[[], None]) -> Iterator[None]:
    handle = module.register_forward_pre_hook(lambda *_: act())
    try:
        yield
    finally:
        handle.remove()
