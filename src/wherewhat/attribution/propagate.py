"""Pass one logit of a model back to its tokens and to every place where position enters, with a ledger."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from wherewhat.attribution.faults import first_fault
from wherewhat.attribution.ledger import BIASES, OTHERS, SOFTMAX, TOKENS, Ledger, LedgerEntry
from wherewhat.attribution.record import RelevanceRecord, coarser
from wherewhat.attribution.relevance import Choose, Relevance, Watched
from wherewhat.attribution.sources import PositionSource, SourceRecorder, relevance_of
from wherewhat.encodings.base import Encoding
from wherewhat.errors import UserError
from wherewhat.nets.trunk import evaluating

ADDED = ("bias", "sinks")  # how the names of parameters end that are added to content, or stand beside it as a logit
Rules = Callable[[nn.Module, RelevanceRecord], AbstractContextManager[None]]


@dataclass(frozen=True)
class Propagation:
    """A way to pass relevance back: the rules for operations, and what positions get."""

    rules: Rules
    positions: type[SourceRecorder]


@dataclass
class BackwardPass:
    """A model that ran once, and the tensors to which one of its logits was passed back."""

    record: RelevanceRecord
    recorder: SourceRecorder
    logits_C: Tensor = field(default_factory=lambda: torch.zeros(0))
    index: int = 0
    tokens: list[Tensor] = field(default_factory=list)
    others: list[Tensor] = field(default_factory=list)
    biases: list[Tensor] = field(default_factory=list)


def propagate(watched: Watched, choose: Choose, how: Propagation, *, method: str) -> Relevance:
    """Pass a logit back and add up what arrives. Relevance that is not finite is refused."""
    result = pass_back(watched, choose, how)
    relevance = Relevance(
        method=method,
        logits_C=result.logits_C.detach().cpu(),
        index=result.index,
        token_TD=relevance_of(result.tokens[0]).flatten(0, -2),  # of one text, whichever axis comes first
        sources=tuple(result.recorder.sources),
        ledger=ledger_of(result),
        dtype=result.logits_C.dtype,
        products=tuple(result.record.products),
        splits=result.recorder.score_splits(),
    )
    if not is_finite(relevance):
        raise UserError(first_fault(watched.module, lambda: pass_back(watched, choose, how)))
    return relevance


def propagate_whole(watched: Watched, choose: Choose, how: Propagation, *, method: str) -> Relevance:
    """The same, if nothing is lost: relevance that does not add up is refused."""
    relevance = propagate(watched, choose, how, method=method)
    ledger = relevance.ledger
    if ledger is not None and not ledger.balances():
        raise UserError(
            f"relevance is lost in {type(watched.module).__name__}: {ledger.rest:.2g} is missing of {ledger.flow:.2g} "
            "that flow, so some of its operations have no rule of relevance; use the method input-x-gradient or rollout"
        )
    return relevance


def pass_back(watched: Watched, choose: Choose, how: Propagation) -> BackwardPass:
    """Run a model once under rules, and pass one of its logits back to its inputs."""
    record = RelevanceRecord()
    result = BackwardPass(record, how.positions(record))
    with inputs_of(watched, result), torch.enable_grad():
        with watched.positions(result.recorder), how.rules(watched.module, record):
            result.logits_C = watched.logits()
        family = type(watched.module).__name__
        if not result.tokens:
            raise UserError(f"{family} does not use its embedding of tokens, so nothing can be explained")
        if not all(source.fits(result.tokens[0].shape[:-1].numel()) for source in result.recorder.sources):
            raise UserError(f"the positions of {family} are not those of tokens; use the method input-x-gradient")
        result.index = choose(result.logits_C.detach())
        result.logits_C[result.index].backward()
        result.biases = [relevance_of(bias) for bias in result.biases]
    return result


def is_finite(relevance: Relevance) -> bool:
    """Whether the logit and all relevance are numbers."""
    parts = (relevance.logits_C[relevance.index], relevance.token_TD, *(each.relevance() for each in relevance.sources))
    return all(bool(part.isfinite().all()) for part in parts)


def ledger_of(result: BackwardPass) -> Ledger:
    """What became of a logit."""
    record, (tokens, *further) = result.record, result.tokens
    others = [*further, *result.others, *result.recorder.others]
    places = by_place(result.recorder.sources)
    parts: list[tuple[str, int | None, Sequence[Tensor]]] = [
        (TOKENS, None, [relevance_of(tokens)]),
        *((name, layer, relevances) for (name, layer), relevances in places.items()),
        (BIASES, None, [*result.biases, torch.tensor(record.constants, dtype=torch.float64)]),
        (OTHERS, None, [relevance_of(each) for each in others]),
    ]
    entries = [LedgerEntry(name, layer, sum(float(each.sum()) for each in of)) for name, layer, of in parts]
    leaks = [LedgerEntry(SOFTMAX, leak.layer, leak.value) for leak in record.softmaxes]
    flow = sum(float(each.abs().sum()) for *_, of in parts for each in of)
    flow += sum(abs(leak.of_attention) + abs(leak.of_logits) for leak in record.softmaxes)
    logit, dtype = result.logits_C[result.index].item(), coarser(record.dtype, result.logits_C.dtype)
    return Ledger.of(logit, [*entries[:-2], *leaks, *entries[-2:]], dtype, flow=flow)


def by_place(sources: Sequence[PositionSource]) -> dict[tuple[str, int | None], list[Tensor]]:
    """The relevance of sources by name and layer; cosines and sines are one."""
    places: dict[tuple[str, int | None], list[Tensor]] = {}
    for source in sources:
        places.setdefault(source.place, []).append(source.relevance())
    return places


@contextmanager
def inputs_of(watched: Watched, result: BackwardPass) -> Iterator[None]:
    """Make tokens, other embeddings and biases the inputs of a model in evaluation mode; restored afterwards."""
    with ExitStack() as stack:
        stack.enter_context(evaluating(watched.module))
        result.biases = stack.enter_context(only_added(watched.module))
        stack.enter_context(_leaves_of([watched.tokens], result.tokens))
        stack.enter_context(_leaves_of(watched.others, result.others))
        yield


@contextmanager
def only_added(module: nn.Module) -> Iterator[list[Tensor]]:
    """Let gradients flow to parameters that are added to content and to no others; everything is restored."""
    states = [(parameter, parameter.requires_grad, parameter.grad) for parameter in module.parameters()]
    added = added_parameters(module)
    wanted = {id(parameter) for parameter in added}
    try:
        for parameter, _, _ in states:
            parameter.grad = None
            parameter.requires_grad_(id(parameter) in wanted)
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
        if id(parameter) in named or (name.endswith(ADDED) and id(parameter) not in positional)
    ]


@contextmanager
def _leaves_of(modules: Sequence[nn.Module], leaves: list[Tensor]) -> Iterator[None]:
    """Make what these modules give out inputs of their own."""

    def on_output(_: nn.Module, __: object, output: Tensor) -> Tensor:
        leaf = output.detach().clone().requires_grad_()
        leaves.append(leaf)
        return leaf.clone()  # which a model may change in place

    handles = [module.register_forward_hook(on_output) for module in modules]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()
