"""Where position enters: every tensor that holds position becomes an input whose relevance is kept."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from wherewhat.attribution.record import RelevanceRecord
from wherewhat.attribution.score_split import ScoreSplit, on_split
from wherewhat.capture.hooks.position_sources import watch_positions
from wherewhat.encodings.base import EVERY, Context, Encoding, PositionWatch
from wherewhat.errors import UserError
from wherewhat.nets.attention import SelfAttention, explicit_logits, explicit_weights
from wherewhat.nets.trunk import Trunk

ROTARY = ("cos", "sin")
BY_SLOT = (*ROTARY, "rotation", "table")  # sources with a row per slot; the others have a row per query
FACTORS = (*ROTARY, "rotation", "factors")  # sources that are multiplied with content; the others are added to it


@dataclass
class PositionSource:
    """One place where position enters a layer: a leaf tensor, or the relevance of products.

    Tables, cosines and sines have a row per slot, [..., T, C]; others a number per query and key, [..., Q, K].
    """

    name: str
    layer: int | None  # None: all layers share it
    leaf: Tensor | None = None
    products: Tensor | None = None  # relevance_BHQK, where position is a factor of products

    def relevance(self) -> Tensor:
        """Its relevance, of its own shape, in float64 on the CPU."""
        if self.leaf is None:
            assert self.products is not None, "the backward pass has been run"
            return self.products.cpu().double()
        if self.leaf.grad is None:
            return torch.zeros(self.leaf.shape, dtype=torch.float64)
        return self.leaf.detach().cpu().double() * self.leaf.grad.cpu().double()

    @property
    def used(self) -> bool:
        """Whether relevance came back to it: some layers are given cosines and sines and do not rotate."""
        return self.leaf is None or self.leaf.grad is not None

    def fits(self, tokens: int) -> bool:
        """Whether it is about as many tokens."""
        shape = (self.leaf if self.products is None else self.products).shape  # type: ignore[union-attr]
        return shape[-2] == tokens and (self.name in BY_SLOT or shape[-1] == tokens)

    def by_slot(self) -> Tensor:
        """relevance_T: of each slot; what belongs to a query and a key goes to both, half each."""
        relevance = self.relevance()
        relevance_RC = relevance.flatten(0, -3).sum(0) if relevance.dim() > 2 else relevance
        if self.name in BY_SLOT:
            return relevance_RC.sum(-1)
        return (relevance_RC.sum(0) + relevance_RC.sum(1)) / 2

    def by_head(self) -> Tensor | None:
        """relevance_H: of each head; None where heads share it."""
        if self.name in BY_SLOT and (self.leaf is None or self.leaf.dim() < 4):
            return None
        relevance = self.relevance()
        relevance_HQK = relevance.sum(0) if relevance.dim() == 4 else relevance
        return relevance_HQK.sum((1, 2)) if len(relevance_HQK) > 1 else None


class _Shared(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, product: Tensor, source: PositionSource) -> Tensor:
        ctx.save_for_backward(product)
        ctx.source = source
        return product.view_as(product)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        (product,) = ctx.saved_tensors
        ctx.source.products = (product * grad / 2).view_as(ctx.source.products)
        return grad / 2, None


class SourceRecorder(PositionWatch):
    """Turns every tensor that holds position into a leaf of its layer; where it is a factor, it gets half."""

    def __init__(self, record: RelevanceRecord) -> None:
        self.record = record
        self.sources: list[PositionSource] = []
        self.others: list[Tensor] = []  # positions of what is not the text
        self.splits: list[ScoreSplit] = []

    def on_layer(self, layer: int | None) -> None:
        """A layer runs from now on; None: one outside the part that reads the text."""
        self.record.layer, self.record.rotated = layer, False

    def on_source(self, name: str, tensor: Tensor, block: int | None = None) -> Tensor:
        leaf = tensor.detach().clone().requires_grad_()
        layer = self.record.layer if block is None else None if block == EVERY else block
        self.sources.append(PositionSource(name, layer, leaf))
        self.record.rotated |= name in ROTARY and leaf.dim() == 3
        return leaf

    def on_product(self, name: str, product_BHQK: Tensor) -> Tensor:
        shape = product_BHQK.shape if product_BHQK.dim() == 4 else (1, *product_BHQK.shape)
        source = PositionSource(name, self.record.layer, products=product_BHQK.new_zeros(shape))
        self.sources.append(source)
        shared: Tensor = _Shared.apply(product_BHQK, source)  # type: ignore[no-untyped-call]
        return shared

    def check_seen(self, family: str) -> None:
        """Refuse a model whose positions were never shown."""
        if not self.sources:
            raise UserError(
                f"it is not known where position enters {family}, so positions cannot be told from tokens; "
                "use the method attnlrp"
            )

    def on_other(self, tensor: Tensor) -> Tensor:
        """The position of something that is not the text, such as what the decoder beside an encoder reads."""
        self.others.append(tensor.detach().clone().requires_grad_())
        return self.others[-1]


class ContentRecorder(SourceRecorder):
    """The same, but where position is a factor, content gets all the relevance."""

    def on_source(self, name: str, tensor: Tensor, block: int | None = None) -> Tensor:
        return tensor.detach() if name in FACTORS else super().on_source(name, tensor, block)

    def on_product(self, name: str, product_BHQK: Tensor) -> Tensor:
        return product_BHQK

    def check_seen(self, family: str) -> None:
        """Nothing has to be seen: what position is a factor of is content."""


@contextmanager
def watched_transformer(model: nn.Module, recorder: SourceRecorder) -> Iterator[None]:
    """Let a transformers model show its positions."""
    with watch_positions(model, recorder, on_layer=recorder.on_layer, on_other=recorder.on_other):
        yield
    recorder.check_seen(type(model).__name__)


@contextmanager
def watched_net(net: Trunk, recorder: SourceRecorder) -> Iterator[None]:
    """Let the encodings of one of our nets show their positions, and its attention be computed explicitly."""
    encodings = [module for module in net.modules() if isinstance(module, Encoding)]
    attentions = [module for module in net.modules() if isinstance(module, SelfAttention)]
    plain = [module.attend for module in attentions]
    with ExitStack() as stack:
        for number, block in enumerate(net.blocks):
            stack.enter_context(_before(block, partial(recorder.on_layer, number)))
        try:
            for encoding in encodings:
                encoding.watch = recorder
            for module in attentions:
                module.attend = partial(_attend, recorder)
            yield
        finally:
            for encoding in encodings:
                encoding.watch = None
            for module, attend in zip(attentions, plain, strict=True):
                module.attend = attend


def _attend(
    recorder: SourceRecorder, encoding: Encoding, q_BHQC: Tensor, k_BHKC: Tensor, v_BHKC: Tensor, context: Context
) -> Tensor:
    """Explicit attention, whose logits are split into what content says and what position adds."""
    encoding.check(length=context.longest, causal=context.causal)
    turned_BHQC, turned_BHKC = encoding.on_query_key(q_BHQC, k_BHKC, context)
    logits_BHQK = explicit_logits(encoding, turned_BHQC, turned_BHKC, context)
    if logits_BHQK.requires_grad:
        scale = q_BHQC.shape[-1] ** -0.5 if encoding.scale is None else encoding.scale
        content = partial(_content, q_BHQC.detach(), k_BHKC.detach(), scale)
        logits_BHQK.register_hook(
            partial(on_split, recorder.splits, recorder.record.layer, logits_BHQK.detach(), content)
        )
    return explicit_weights(encoding, logits_BHQK, context) @ v_BHKC


def _content(q_BHQC: Tensor, k_BHKC: Tensor, scale: float) -> Tensor:
    return q_BHQC @ k_BHKC.mT * scale


@contextmanager
def _before(module: nn.Module, act: Callable[[], None]) -> Iterator[None]:
    handle = module.register_forward_pre_hook(lambda *_: act())
    try:
        yield
    finally:
        handle.remove()
