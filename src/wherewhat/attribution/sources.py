"""Where position enters: every tensor that holds position becomes an input whose relevance is kept."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial, reduce
from typing import Any

import torch
from torch import Tensor, nn

from wherewhat.attribution.record import RelevanceRecord
from wherewhat.attribution.score_split import LogitNode, LogitRelevance, RotatedPair, ScoreSplit
from wherewhat.capture.hooks.position_sources import LayerWatch, watch_positions
from wherewhat.encodings.base import EVERY, Context, Encoding
from wherewhat.errors import UserError
from wherewhat.nets.attention import explicit_logits, explicit_weights, replaced_attend, self_attentions
from wherewhat.nets.trunk import Trunk

ROTARY = ("cos", "sin")
ROTATION, AFTER_SOFTMAX = "rotation", "factors"
ROTATIONS = (*ROTARY, ROTATION)
BY_SLOT = (*ROTATIONS, "table")  # sources with a row per slot; the others have a row per query
FACTORS = (*ROTATIONS, AFTER_SOFTMAX)  # sources that are multiplied with content; the others are added to it


def relevance_of(leaf: Tensor, value: Tensor | None = None) -> Tensor:
    """Value times gradient, in float64 on the CPU; or that of another `value` in its place."""
    if leaf.grad is None:
        return torch.zeros(leaf.shape, dtype=torch.float64)
    return (leaf if value is None else value).detach().cpu().double() * leaf.grad.cpu().double()


@dataclass
class PositionSource:
    """One place where position enters a layer: a leaf tensor, or the relevance of products.

    Tables, cosines and sines have a row per slot, [..., T, C]; others a number per query and key, [..., Q, K].
    """

    name: str
    layer: int | None  # None: all layers share it
    leaf: Tensor | None = None
    products: Tensor | None = None  # relevance_BHQK, where position is a factor of products

    def relevance(self, value: Tensor | None = None) -> Tensor:
        """Its relevance, of its own shape, in float64 on the CPU; or that of another `value` in its place."""
        if self.leaf is None:
            assert self.products is not None, "the backward pass has been run"
            return self.products.cpu().double()
        return relevance_of(self.leaf, value)

    @property
    def place(self) -> tuple[str, int | None]:
        """Its name and layer; cosines and sines are one."""
        return ROTATION if self.name in ROTARY else self.name, self.layer

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

    @property
    def in_logits(self) -> bool:
        """Whether it is a part of logits of its own, added to those of queries and keys."""
        return self.name not in (*BY_SLOT, AFTER_SOFTMAX)

    def of_logits(self) -> LogitRelevance:
        """The relevance of that part of logits.

        Of products, position has half and content the other. A bias that is the same for all queries, as BLOOM writes
        it, is read as one by distance, which is 0 for the query's own slot: a softmax cannot tell them apart.
        """
        relevance = self.relevance() if self.leaf is None else self.relevance(self._by_distance(self.leaf))
        relevance_HQK = relevance.flatten(0, -4).sum(0) if relevance.dim() > 3 else relevance
        return LogitRelevance.of(relevance_HQK if self.products is None else 2 * relevance_HQK)

    @staticmethod
    def _by_distance(bias: Tensor) -> Tensor:
        same = torch.equal(bias, bias[..., :1, :].expand_as(bias))
        return bias - bias.diagonal(dim1=-2, dim2=-1)[..., None] if same else bias

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


class SourceRecorder(LayerWatch):
    """Turns every tensor that holds position into a leaf of its layer; where it is a factor, it gets half."""

    splits_logits = True  # whether logits are split into content and position

    def __init__(self, record: RelevanceRecord) -> None:
        self.record = record
        self.sources: list[PositionSource] = []
        self.others: list[Tensor] = []  # positions of what is not the text
        record.splits_logits = self.splits_logits

    def on_layer(self, layer: int | None) -> None:
        """A layer runs from now on; None: one outside the part that reads the text."""
        self.record.enter(layer)

    def on_rotation(self, before: tuple[Tensor, Tensor], after: tuple[Tensor, Tensor]) -> None:
        """Queries and keys have been rotated."""
        if all(each.dim() == 4 for each in before):
            (q, k), (turned_q, turned_k) = before, after
            self.record.pair = RotatedPair((q.detach(), k.detach()), (turned_q.detach(), turned_k.detach()))

    def score_splits(self) -> tuple[ScoreSplit, ...]:
        """Logits split into content and position, once the backward pass has been run; none where that is not known."""
        return splits_of(self.record.logits, self.sources)

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

    splits_logits = False

    def on_source(self, name: str, tensor: Tensor, block: int | None = None) -> Tensor:
        return tensor.detach() if name in FACTORS else super().on_source(name, tensor, block)

    def on_product(self, name: str, product_BHQK: Tensor) -> Tensor:
        return product_BHQK

    def check_seen(self, family: str) -> None:
        """Nothing has to be seen: what position is a factor of is content."""


def splits_of(nodes: Sequence[LogitNode], sources: Sequence[PositionSource]) -> tuple[ScoreSplit, ...]:
    """The logits of every layer, split by what was added to them; of all layers together where they share a bias.

    None at all if a rotation was not seen, whose part would be counted as content.
    """
    wholes = {node.layer: node.whole for node in nodes if node.whole is not None}
    rotations = {node.layer: node.rotation for node in nodes if node.rotation is not None}
    rotated = {source.layer for source in sources if source.name in ROTATIONS and source.used}
    if not wholes or not rotated <= rotations.keys():
        return ()
    added = [source for source in sources if source.in_logits]
    groups = [tuple(wholes)] if any(source.layer is None for source in added) else [(layer,) for layer in wholes]
    splits = []
    for layers in groups:
        shared = None if len(groups) < len(wholes) else layers[0]
        parts = [rotations[layer] for layer in layers if layer in rotations]
        parts += [source.of_logits() for source in added if source.layer is None or source.layer in layers]
        whole = reduce(LogitRelevance.plus, (wholes[layer] for layer in layers))
        position = reduce(LogitRelevance.plus, parts, whole.plus(whole, -1))
        splits.append(ScoreSplit(shared, whole.plus(position, -1), position))
    return tuple(splits)


@contextmanager
def watched_transformer(model: nn.Module, recorder: SourceRecorder) -> Iterator[None]:
    """Let a transformers model show its positions."""
    with watch_positions(model, recorder):
        yield
    recorder.check_seen(type(model).__name__)


@contextmanager
def watched_net(net: Trunk, recorder: SourceRecorder) -> Iterator[None]:
    """Let the encodings of one of our nets show their positions, and its attention be computed explicitly."""
    encodings = [module for module in net.modules() if isinstance(module, Encoding)]
    attends = [partial(_attend, recorder)] * len(self_attentions(net))
    with ExitStack() as stack:
        stack.enter_context(replaced_attend(net, attends))
        for number, block in enumerate(net.blocks):
            stack.enter_context(_before(block, partial(recorder.on_layer, number)))
        try:
            for encoding in encodings:
                encoding.watch = recorder
            yield
        finally:
            for encoding in encodings:
                encoding.watch = None


def _attend(
    recorder: SourceRecorder, encoding: Encoding, q_BHQC: Tensor, k_BHKC: Tensor, v_BHKC: Tensor, context: Context
) -> Tensor:
    """Explicit attention, whose products of queries and keys are told apart by what a rotation changes in them."""
    encoding.check(length=context.longest, causal=context.causal)
    turned_BHQC, turned_BHKC = encoding.on_query_key(q_BHQC, k_BHKC, context)
    if turned_BHQC is not q_BHQC:
        recorder.on_rotation((q_BHQC, k_BHKC), (turned_BHQC, turned_BHKC))
        recorder.record.rotated = True
    logits_BHQK = explicit_logits(encoding, turned_BHQC, turned_BHKC, context)
    return explicit_weights(encoding, logits_BHQK, context) @ v_BHKC


@contextmanager
def _before(module: nn.Module, act: Callable[[], None]) -> Iterator[None]:
    handle = module.register_forward_pre_hook(lambda *_: act())
    try:
        yield
    finally:
        handle.remove()
