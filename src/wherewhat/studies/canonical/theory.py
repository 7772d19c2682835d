"""What can be known about one head without training it: margins, bounds, and heads put together by hand."""

from collections.abc import Callable
from math import cos, inf, log, pi

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from wherewhat.studies.canonical.sequences import Sequences
from wherewhat.studies.canonical.settings import CONTEXT, SYMBOLS, TOKENS, angle

Floats = NDArray[np.float64]
TIE = 1e-9  # logits nearer to each other than this are the same


def index_margin(theta: float) -> float:
    """By how much the slot that is asked for leads over its neighbours, with a query and a key of length 1.

    >>> round(index_margin(2 * pi / 33), 6)
    0.018071
    """
    return 1 - cos(theta)


def retrieval_margin(theta: float) -> float:
    """By how much the symbol that is asked for leads over its neighbour on the circle where slots are worst for both.

    The query is turned so that the middle of the context loses nothing.
    """
    reach = theta * (CONTEXT - 1) / 2
    return cos(reach) - cos(2 * pi / SYMBOLS - reach)


def index_bound(tokens: int = TOKENS) -> float:
    """The largest angle at which no two slots look alike: a whole turn over all tokens."""
    return 2 * pi / tokens


def retrieval_bound(tokens: int = TOKENS, symbols: int = SYMBOLS) -> float:
    """The angle below which no slot turns a symbol as far as the next symbol."""
    return 2 * pi / (tokens * symbols)


def tilt_bound(context: int = CONTEXT, symbols: int = SYMBOLS) -> float:
    """The angle below which one plane alone can tell symbols apart and still prefer the later of two pairs by hand.

    The query's own symbol loses up to (context - 1) θ and must stay ahead of a neighbour that gains as much.
    """
    return 2 * pi / (symbols * 2 * (context - 1))


def index_norm(theta: float) -> float:
    """How long query times key must be for every slot to get half of the attention when it is asked for."""
    if theta == 0:
        return inf
    slot_S = np.arange(CONTEXT)
    lead_SS = 1 - np.cos(theta * (slot_S[:, None] - slot_S))
    most = brentq(lambda size: np.exp(-size * lead_SS).sum(1).max() - 2, 0, 10 / index_margin(theta))
    return float(most)


def retrieval_norm(theta: float) -> float:
    """The same for a symbol when all other pairs have the symbol next to it; infinite where no length is enough."""
    margin = retrieval_margin(theta)
    return log(CONTEXT - 1) / margin if margin > 0 else inf


def index_peak(tokens: int, theta: float) -> Floats:
    """The attention on each slot when it is asked for, with a query and a key of length 1: a U over the slots."""
    slot_S = np.arange(tokens)
    logit_SS = np.cos(theta * (slot_S[:, None] - slot_S))
    found: Floats = np.exp(1 - np.log(np.exp(logit_SS).sum(1)))
    return found


def retrieval_peak(tokens: int, theta: float) -> Floats:
    """The attention on the only pair with the symbol asked for, by its slot: an inverted U.

    There are two symbols, opposite to each other on the circle; the last token is the query.
    """
    slots = tokens - 1
    own_S = np.cos(theta * (np.arange(slots) - (slots - 1) / 2))
    others_S = np.exp(-own_S)
    found: Floats = np.exp(own_S) / (np.exp(own_S) + others_S.sum() - others_S)
    return found


def index_logits(theta: float, some: Sequences) -> Floats:
    """A head by hand that looks only at slots: all keys alike, and the query turned by the slot it names."""
    found: Floats = np.cos(theta * (some.query_EN[..., None] - np.arange(CONTEXT)))
    return found


def retrieval_logits(theta: float, some: Sequences) -> Floats:
    """A head by hand that looks at symbols, spread evenly over the circle, and loses least in the middle."""
    found: Floats = np.cos(_apart(some) + theta * ((CONTEXT - 1) / 2 - np.arange(CONTEXT)))
    return found


def tilted_logits(theta: float, some: Sequences) -> Floats:
    """The same, losing least at the end: of two pairs with one symbol, the later is ahead."""
    found: Floats = np.cos(_apart(some) + theta * (CONTEXT - 1 - np.arange(CONTEXT)))
    return found


def two_plane_logits(theta: float, some: Sequences) -> Floats:
    """A head by hand with a plane that stands still for symbols, and one that turns for slots."""
    found: Floats = np.cos(_apart(some)) + np.cos(theta * (CONTEXT - np.arange(CONTEXT)))
    return found


BY_HAND: dict[str, Callable[[float, Sequences], Floats]] = {  # by the name of their case
    "index": index_logits,
    "retrieval": retrieval_logits,
    "partial_induction, 1 plane": tilted_logits,
    "partial_induction, 2 planes": two_plane_logits,
}


def accuracy_by_hand(case: str, base: float, some: Sequences) -> float:
    """How often a head put together by hand is right if all its attention goes to the largest logit.

    Slots that tie share it: each counts as much as the others.
    """
    logits_ENT = BY_HAND[case](angle(base), some)
    first_ENT = logits_ENT > logits_ENT.max(-1, keepdims=True) - TIE
    slot_ENT = first_ENT & (some.slot_EN[..., None] == np.arange(CONTEXT))
    return float((slot_ENT.sum(-1) / first_ENT.sum(-1)).mean())


def _apart(some: Sequences) -> Floats:
    """How far each slot's symbol lies from the one asked for, on the circle."""
    found: Floats = 2 * pi * (some.symbol_ENT - some.query_EN[..., None]) / SYMBOLS
    return found
