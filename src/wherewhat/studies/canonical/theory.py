"""What theory says about one head without training it: margins, bounds, and hand-built heads."""

from collections.abc import Callable
from math import cos, inf, log, pi

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from wherewhat.studies.canonical.sequences import TaskSequences
from wherewhat.studies.canonical.settings import CONTEXT, SYMBOLS, TOKENS, angle

Floats = NDArray[np.float64]
TIE = 1e-9  # logits closer than this count as equal


def index_margin(theta: float) -> float:
    """The logit margin of the queried slot over its neighbours, with a query and a key of length 1.

    >>> round(index_margin(2 * pi / 33), 6)
    0.018071
    """
    return 1 - cos(theta)


def retrieval_margin(theta: float) -> float:
    """The logit margin of the queried symbol over its neighbour on the circle, in the worst slots for both.

    The query is rotated so that a match in the middle of the context loses nothing.
    """
    reach = theta * (CONTEXT - 1) / 2
    return cos(reach) - cos(2 * pi / SYMBOLS - reach)


def index_bound(tokens: int = TOKENS) -> float:
    """The largest angle at which all slots are distinct: a full turn over all tokens."""
    return 2 * pi / tokens


def retrieval_bound(tokens: int = TOKENS, symbols: int = SYMBOLS) -> float:
    """The angle below which no slot rotates a symbol as far as the next symbol."""
    return 2 * pi / (tokens * symbols)


def tilt_bound(context: int = CONTEXT, symbols: int = SYMBOLS) -> float:
    """The angle below which a hand-built head with one plane can separate symbols and still prefer the later pair.

    The queried symbol loses up to (context - 1) θ and must stay ahead of a neighbour that gains as much.
    """
    return 2 * pi / (symbols * 2 * (context - 1))


def index_norm(theta: float) -> float:
    """The length of query times key that gives every slot half of the attention when it is queried."""
    if theta == 0:
        return inf
    slot_S = np.arange(CONTEXT)
    lead_SS = 1 - np.cos(theta * (slot_S[:, None] - slot_S))
    most = brentq(lambda size: np.exp(-size * lead_SS).sum(1).max() - 2, 0, 10 / index_margin(theta))
    return float(most)


def retrieval_norm(theta: float) -> float:
    """The same for a symbol when all other pairs have its neighbour on the circle; infinite if no length suffices."""
    margin = retrieval_margin(theta)
    return log(CONTEXT - 1) / margin if margin > 0 else inf


def index_peak(tokens: int, theta: float) -> Floats:
    """The attention on each slot when it is queried, with a query and a key of length 1: a U over the slots."""
    slot_S = np.arange(tokens)
    logit_SS = np.cos(theta * (slot_S[:, None] - slot_S))
    attention_S: Floats = np.exp(1 - np.log(np.exp(logit_SS).sum(1)))
    return attention_S


def retrieval_peak(tokens: int, theta: float) -> Floats:
    """The attention on the only pair with the queried symbol, by its slot: an inverted U.

    There are two symbols, on opposite sides of the circle; the last token is the query.
    """
    slots = tokens - 1
    own_S = np.cos(theta * (np.arange(slots) - (slots - 1) / 2))
    others_S = np.exp(-own_S)
    attention_S: Floats = np.exp(own_S) / (np.exp(own_S) + others_S.sum() - others_S)
    return attention_S


def index_logits(theta: float, sequences: TaskSequences) -> Floats:
    """A hand-built head that attends by slot: all keys are equal, and the query is rotated to the slot it names."""
    logits_ENT: Floats = np.cos(theta * (sequences.query_EN[..., None] - np.arange(CONTEXT)))
    return logits_ENT


def retrieval_logits(theta: float, sequences: TaskSequences) -> Floats:
    """A hand-built head that attends by symbol, spread evenly over the circle; it is best in the middle slots."""
    logits_ENT: Floats = np.cos(_symbol_angle(sequences) + theta * ((CONTEXT - 1) / 2 - np.arange(CONTEXT)))
    return logits_ENT


def tilted_logits(theta: float, sequences: TaskSequences) -> Floats:
    """The same, but best at the end: of two pairs with the same symbol, the later has the larger logit."""
    logits_ENT: Floats = np.cos(_symbol_angle(sequences) + theta * (CONTEXT - 1 - np.arange(CONTEXT)))
    return logits_ENT


def two_plane_logits(theta: float, sequences: TaskSequences) -> Floats:
    """A hand-built head with an unrotated plane for symbols and a rotated one for slots."""
    logits_ENT: Floats = np.cos(_symbol_angle(sequences)) + np.cos(theta * (CONTEXT - np.arange(CONTEXT)))
    return logits_ENT


HAND_BUILT: dict[str, Callable[[float, TaskSequences], Floats]] = {  # by the name of the condition
    "index": index_logits,
    "retrieval": retrieval_logits,
    "partial_induction, 1 plane": tilted_logits,
    "partial_induction, 2 planes": two_plane_logits,
}


def hand_built_accuracy(condition: str, base: float, sequences: TaskSequences) -> float:
    """The accuracy of a hand-built head whose attention is all on the largest logit.

    Tied slots share the attention equally.
    """
    logits_ENT = HAND_BUILT[condition](angle(base), sequences)
    first_ENT = logits_ENT > logits_ENT.max(-1, keepdims=True) - TIE
    slot_ENT = first_ENT & (sequences.slot_EN[..., None] == np.arange(CONTEXT))
    return float((slot_ENT.sum(-1) / first_ENT.sum(-1)).mean())


def _symbol_angle(sequences: TaskSequences) -> Floats:
    """The angle on the circle between each slot's symbol and the queried one."""
    angle_ENT: Floats = 2 * pi * (sequences.symbol_ENT - sequences.query_EN[..., None]) / SYMBOLS
    return angle_ENT
