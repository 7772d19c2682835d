"""Explain one logit of a model: relevance of every token and of every place where position enters, with a ledger."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from wherewhat.attribution.rules import RelevanceRecord, relevance_rules
from wherewhat.attribution.sources import PositionSource, SourceRecorder
from wherewhat.encodings.base import Encoding
from wherewhat.errors import UserError
from wherewhat.nets.trunk import evaluating

BIAS = "bias"  # how the names of parameters end that are added to content
TOLERANCE = {torch.float64: 1e-9, torch.float32: 1e-3}  # of the ledger, relative to what flows


@dataclass(frozen=True)
class Method:
    """How relevance is passed back."""

    name: str
    about: str
    rules: bool = True  # the rules of relevance; else plain gradients
    split: bool = True  # position that is a factor gets half
    frozen: bool = False  # attention and gates count as constants
    positions: bool = False  # whether the relevance of positions is part of its scores


METHODS = {
    method.name: method
    for method in (
        Method("pa-lrp", "AttnLRP with positions as inputs (arXiv 2506.02138)", positions=True),
        Method("attnlrp", "relevance through attention, none to rotations (arXiv 2402.05602)", split=False),
        Method("cp-lrp", "attention counts as a constant (arXiv 2202.07304)", frozen=True),
        Method("input-x-gradient", "value times plain gradient", rules=False, split=False),
    )
}


@dataclass(frozen=True)
class Watched:
    """A model that can be explained: how it is run, and where tokens and positions enter."""

    module: nn.Module
    tokens: nn.Module  # the embedding of tokens
    logits: Callable[[], Tensor]  # run the model: logits_C of what may be explained
    positions: Callable[[SourceRecorder], AbstractContextManager[None]]  # watch positions inside a block
    others: tuple[nn.Module, ...] = ()  # further embeddings that are added, such as those of segments


@dataclass(frozen=True)
class Ledger:
    """Where the relevance of a logit went. Its parts add up to the logit, up to rounding."""

    logit: float
    tokens: float
    positions: float
    softmax: float  # kept by softmaxes, whose rule has a constant term
    biases: float  # added parameters
    others: float  # further embeddings
    flow: float  # the size of what was added up, with which the rest is compared

    @property
    def rest(self) -> float:
        """What is missing."""
        return self.logit - self.tokens - self.positions - self.softmax - self.biases - self.others

    def balances(self, dtype: torch.dtype) -> bool:
        """Whether nothing is missing but rounding."""
        return abs(self.rest) <= TOLERANCE.get(dtype, 1e-2) * max(self.flow, abs(self.logit), 1e-12)


@dataclass(frozen=True)
class Relevance:
    """What one backward pass tells: relevance by token and by source of position."""

    method: str
    logits_C: Tensor
    index: int
    token_TD: Tensor  # float64
    sources: tuple[PositionSource, ...]
    ledger: Ledger
    dtype: torch.dtype
    products: tuple[tuple[Tensor, Tensor], ...] = field(default=())  # of queries and keys, first layer first

    @property
    def token_T(self) -> Tensor:
        """Relevance by token."""
        return self.token_TD.sum(-1)

    @property
    def position_T(self) -> Tensor:
        """Relevance by slot, over all sources of position."""
        return sum((source.by_slot() for source in self.sources), torch.zeros(len(self.token_TD), dtype=torch.float64))


def explain(watched: Watched, index: Callable[[Tensor], int], *, method: str = "pa-lrp") -> Relevance:
    """Run a model once, and pass one of its logits back to its inputs. `index` chooses which, given all of them."""
    how = METHODS[method]
    record, recorder, module = RelevanceRecord(), SourceRecorder(split=how.split), watched.module
    rules = relevance_rules(module, record, frozen=how.frozen) if how.rules else nullcontext()
    leaves: dict[str, list[Tensor]] = {"tokens": [], "others": []}
    with evaluating(module), only_added(module) as added, torch.enable_grad():
        with leaves_of([watched.tokens], leaves["tokens"]), leaves_of(watched.others, leaves["others"]):
            with watched.positions(recorder), rules:
                logits_C = watched.logits()
            chosen = index(logits_C.detach())
            logits_C[chosen].backward()
        tokens = [_relevance(leaf) for leaf in leaves["tokens"]]
        others = [_relevance(leaf) for leaf in leaves["others"]]
        biases = [_relevance(each) for each in added]
    if not tokens:
        raise UserError("the embedding of tokens was not used, so that nothing can be explained")
    leaks = [leak.value for leak in record.softmaxes] if how.rules else []
    positions = [source.relevance() for source in recorder.sources]
    flow = sum(float(each.abs().sum()) for each in (*tokens, *others, *biases, *positions)) + sum(map(abs, leaks))
    ledger = Ledger(
        logit=logits_C[chosen].item(),
        tokens=_sum(tokens),
        positions=_sum(positions),
        softmax=sum(leaks),
        biases=_sum(biases),
        others=_sum(others),
        flow=flow,
    )
    return Relevance(
        method=method,
        logits_C=logits_C.detach(),
        index=chosen,
        token_TD=tokens[0][0],
        sources=tuple(recorder.sources),
        ledger=ledger,
        dtype=logits_C.dtype,
        products=tuple(reversed(record.products)),
    )


def _sum(relevances: list[Tensor]) -> float:
    return float(sum(float(each.sum()) for each in relevances))


def _relevance(leaf: Tensor) -> Tensor:
    if leaf.grad is None:
        return torch.zeros_like(leaf, dtype=torch.float64)
    return leaf.detach().double() * leaf.grad.double()


@contextmanager
def only_added(module: nn.Module) -> Iterator[list[Tensor]]:
    """Let gradients flow to parameters that are added to content and to no others; everything is restored."""
    states = [(parameter, parameter.requires_grad, parameter.grad) for parameter in module.parameters()]
    added = added_parameters(module)
    try:
        for parameter, _, _ in states:
            parameter.grad = None
            parameter.requires_grad_(any(parameter is each for each in added))
        yield added
    finally:
        for parameter, required, gradient in states:
            parameter.requires_grad_(required)
            parameter.grad = gradient


def added_parameters(module: nn.Module) -> list[Tensor]:
    """The parameters that are added to content: biases, but of encodings only those that they name."""
    encodings = {name: each for name, each in module.named_modules() if isinstance(each, Encoding)}
    positional = {id(parameter) for encoding in encodings.values() for parameter in encoding.parameters()}
    named = {id(encoding.get_parameter(parameter)) for encoding in encodings.values() for parameter in encoding.added}
    return [
        parameter
        for name, parameter in module.named_parameters()
        if id(parameter) in named or (name.endswith(BIAS) and id(parameter) not in positional)
    ]


@contextmanager
def leaves_of(modules: list[nn.Module] | tuple[nn.Module, ...], leaves: list[Tensor]) -> Iterator[None]:
    """Make what these modules give out inputs of their own."""

    def on_output(_: nn.Module, __: object, output: Tensor) -> Tensor:
        leaf = output.detach().clone().requires_grad_()
        leaves.append(leaf)
        return leaf

    handles = [module.register_forward_hook(on_output) for module in modules]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()
