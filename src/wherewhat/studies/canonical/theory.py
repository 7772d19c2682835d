"""What theory says about one head without training it: margins, bounds, and hand-built heads."""

from collections.abc import Callable, Iterator
from math import cos, inf, isfinite, log, pi, prod

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from wherewhat.studies.canonical import BASES, CONTEXT, INDEX, ONE_PLANE, RETRIEVAL, SYMBOLS, TOKENS, TWO_PLANES
from wherewhat.studies.canonical.sequences import TaskSequences, read, task_of
from wherewhat.studies.canonical.settings import HEADS, angle
from wherewhat.studies.engine.results import Row

Floats = NDArray[np.float64]
TIE = 1e-9  # logits closer than this count as equal
FINE = [step / 80 for step in range(41)] + [step / 20 for step in range(11, 41)]  # bases, denser around the bounds


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


BOUNDS = {  # in base angles
    INDEX: (2 * pi / TOKENS) / angle(1.0),  # the largest at which all slots are distinct: a full turn over all tokens
    RETRIEVAL: (2 * pi / (TOKENS * SYMBOLS)) / angle(1.0),  # below it no slot rotates a symbol as far as the next one
    # Below it a hand-built head with one plane can separate symbols and still prefer the later pair: the queried symbol
    # loses up to (context - 1) θ and must stay ahead of a neighbour that gains as much.
    "tilt": (2 * pi / (SYMBOLS * 2 * (CONTEXT - 1))) / angle(1.0),
}


def index_norm(theta: float) -> float:
    """The length of query times key that gives every slot half of the attention when it is queried."""
    if theta == 0:
        return inf
    slot_S = np.arange(CONTEXT)
    lead_SS = 1 - np.cos(theta * (slot_S[:, None] - slot_S))
    return float(brentq(lambda size: np.exp(-size * lead_SS).sum(1).max() - 2, 0, 10 / index_margin(theta)))


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


SLOT_T = np.arange(CONTEXT)
HAND_BUILT: dict[str, Callable[[float, TaskSequences], Floats]] = {  # logits_ENT of heads with vectors of length 1
    # By slot: all keys are equal, and the query is rotated to the slot it names.
    INDEX: lambda theta, sequences: np.cos(theta * (sequences.query_EN[..., None] - SLOT_T)),
    # By symbol, spread evenly over the circle; it is best in the middle slots.
    RETRIEVAL: lambda theta, sequences: np.cos(_symbol_angle(sequences) + theta * ((CONTEXT - 1) / 2 - SLOT_T)),
    # The same, but best at the end: of two pairs with the same symbol, the later has the larger logit.
    ONE_PLANE: lambda theta, sequences: np.cos(_symbol_angle(sequences) + theta * (CONTEXT - 1 - SLOT_T)),
    # An unrotated plane for symbols and a rotated one for slots.
    TWO_PLANES: lambda theta, sequences: np.cos(_symbol_angle(sequences)) + np.cos(theta * (CONTEXT - SLOT_T)),
}


def _symbol_angle(sequences: TaskSequences) -> Floats:
    """The angle on the circle between each slot's symbol and the queried one."""
    angle_ENT: Floats = 2 * pi * (sequences.symbol_ENT - sequences.query_EN[..., None]) / SYMBOLS
    return angle_ENT


def hand_built_accuracy(name: str, base: float, sequences: TaskSequences) -> float:
    """The accuracy of a hand-built head whose attention is all on the largest logit; tied slots share it equally."""
    logits_ENT = HAND_BUILT[name](angle(base), sequences)
    first_ENT = logits_ENT > logits_ENT.max(-1, keepdims=True) - TIE
    slot_ENT = first_ENT & (sequences.slot_EN[..., None] == SLOT_T)
    return float((slot_ENT.sum(-1) / first_ENT.sum(-1)).mean())


def theory_rows() -> Iterator[Row]:
    """What theory predicts, as rows of the result."""
    margins, norms = {INDEX: index_margin, RETRIEVAL: retrieval_margin}, {INDEX: index_norm, RETRIEVAL: retrieval_norm}
    for name in margins:
        for measure, formula in (("margin", margins[name]), ("norm", norms[name])):
            for base in BASES:
                if isfinite(value := formula(angle(base))):
                    yield "theory", name, "by formula", base, None, measure, value, None, None
    for name, peak in ((INDEX, index_peak), (RETRIEVAL, retrieval_peak)):
        for slot, value in enumerate(peak(TOKENS, angle(1.0))):
            yield "theory", name, "base 1", float(slot), None, "peak", float(value), None, None
    for name, shape in HEADS.items():
        numbers_N = np.arange(2 * prod(task_of(shape.task).cells))
        sequences = read(shape.task, seeds=[1], split="valid", numbers=numbers_N)
        for base in FINE:
            value = hand_built_accuracy(name, base, sequences)
            yield "theory", name, "by hand", base, None, "accuracy", value, None, None
