"""Explain one logit of a model by one of several methods."""

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial

import torch

from wherewhat.attribution.propagate import Propagation, propagate, propagate_whole
from wherewhat.attribution.relevance import Choose, Relevance, Watched
from wherewhat.attribution.rollout import roll_out, slots_read
from wherewhat.attribution.rules import FrozenRules, RelevanceRules, plain_gradients, under_rules
from wherewhat.attribution.sources import ContentRecorder, SourceRecorder
from wherewhat.nets.trunk import evaluating

Run = Callable[[Watched, Choose, str, torch.Generator], Relevance]


@dataclass(frozen=True)
class Method:
    """How the relevance of tokens and positions is found."""

    name: str
    about: str
    run: Run
    positions: bool = False  # whether the relevance of positions is part of its scores


def explain(
    watched: Watched, choose: Choose, *, method: str = "pa-lrp", generator: torch.Generator | None = None
) -> Relevance:
    """Explain a logit. `choose` says which, given all of them; `generator` is for methods that draw."""
    return METHODS[method].run(watched, choose, method, torch.Generator() if generator is None else generator)


def _by_rules(how: Propagation) -> Run:
    return lambda watched, choose, method, generator: propagate_whole(watched, choose, how, method=method)


def _by_gradient(watched: Watched, choose: Choose, method: str, generator: torch.Generator) -> Relevance:
    """Value times gradient of tokens, which adds up to nothing in particular; positions are left alone."""
    plain = replace(watched, positions=lambda recorder: nullcontext())
    relevance = propagate(plain, choose, Propagation(plain_gradients, ContentRecorder), method=method)
    return replace(relevance, ledger=None)


def _by_rollout(watched: Watched, choose: Choose, method: str, generator: torch.Generator) -> Relevance:
    logits_C = watched.read()
    index = choose(logits_C)
    with evaluating(watched.module):
        read_T = slots_read(watched.module, lambda: watched.logits()[index])
    token_T = roll_out(watched.attention(), read_T)
    return Relevance(method, logits_C, index, token_T[:, None], dtype=logits_C.dtype)


def _at_random(watched: Watched, choose: Choose, method: str, generator: torch.Generator) -> Relevance:
    """Scores from a normal distribution: an order of tokens that knows nothing."""
    logits_C = watched.read()
    token_TD = torch.randn(watched.length, 1, dtype=torch.float64, generator=generator)
    return Relevance(method, logits_C, choose(logits_C), token_TD, dtype=logits_C.dtype)


_RULES, _FROZEN = partial(under_rules, RelevanceRules), partial(under_rules, FrozenRules)
METHODS = {
    method.name: method
    for method in (
        Method(
            "pa-lrp",
            "AttnLRP with positions as inputs (arXiv 2506.02138)",
            _by_rules(Propagation(_RULES, SourceRecorder)),
            positions=True,
        ),
        Method(
            "attnlrp",
            "relevance through attention, none to rotations (arXiv 2402.05602)",
            _by_rules(Propagation(_RULES, ContentRecorder)),
        ),
        Method(
            "cp-lrp",
            "attention counts as a constant (arXiv 2202.07304)",
            _by_rules(Propagation(_FROZEN, SourceRecorder)),
        ),
        Method("input-x-gradient", "value times plain gradient", _by_gradient),
        Method("rollout", "attention, multiplied over layers (arXiv 2005.00928)", _by_rollout),
        Method("random", "random numbers, for comparison", _at_random),
    )
}
