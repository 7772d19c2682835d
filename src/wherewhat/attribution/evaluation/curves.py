"""Insertion and deletion: how an output changes as tokens are put in or replaced in the order of their scores.

Every procedure replaces a growing share of the tokens, 0 to 1 in tenths. Pure functions of numbers: which tokens stand
at which share, and what the areas under the curves are called.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wherewhat.attribution.result import order_of
from wherewhat.names import look_up

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

STEPS = 10  # into which the share of tokens is divided
INSERT, DELETE = "insert", "delete"  # start from no tokens, or from all of them
MOST, LEAST = "most", "least"  # relevant first


@dataclass(frozen=True)
class Procedure:
    """A way to change a text step by step."""

    name: str
    action: str
    first: str
    about: str


GENERATION, LEAST_INSERTION, PRUNING, DELETION = "generation", "least-first insertion", "pruning", "deletion"
PROCEDURES: dict[str, Procedure] = {
    procedure.name: procedure
    for procedure in (
        Procedure(GENERATION, INSERT, MOST, "the most relevant tokens are put in first"),
        Procedure(LEAST_INSERTION, INSERT, LEAST, "the least relevant tokens are put in first"),
        Procedure(PRUNING, DELETE, LEAST, "the least relevant tokens are replaced first"),
        Procedure(DELETION, DELETE, MOST, "the most relevant tokens are replaced first"),
    )
}


@dataclass(frozen=True)
class TokenOrder:
    """How scores become an order of tokens."""

    name: str
    about: str
    size_decides: tuple[str, ...]  # procedures in which the sizes of scores decide, whatever their signs


ORDERS: dict[str, TokenOrder] = {
    order.name: order
    for order in (
        TokenOrder("signed", "by signed scores, in both directions", ()),
        TokenOrder(
            "published",
            "the least relevant tokens by the sizes of their scores, the most relevant by signed scores, as released "
            "for classifiers; a token with a large negative score comes late either way",
            (LEAST_INSERTION, PRUNING),
        ),
    )
}


def counts(tokens: int, steps: int = STEPS) -> list[int]:
    """How many of so many tokens are changed at each step, rounded up.

    >>> counts(4)
    [0, 1, 1, 2, 2, 2, 3, 3, 4, 4, 4]
    """
    return [-(-step * tokens // steps) for step in range(steps + 1)]


def slots_in_order(scores_N: Floats, procedure: Procedure, order: str = "signed") -> list[int]:
    """The tokens in the order in which a procedure changes them; of equal scores, the token further left is first.

    >>> scores = np.array([0.1, 0.5, -0.9])
    >>> slots_in_order(scores, PROCEDURES["pruning"]), slots_in_order(scores, PROCEDURES["pruning"], "published")
    ([2, 0, 1], [0, 1, 2])
    """
    by_size = procedure.name in look_up("order", order, ORDERS).size_decides
    return order_of((np.abs(scores_N) if by_size else scores_N).tolist(), descending=procedure.first == MOST)


def standing_tokens(slots: Sequence[int], action: str) -> Bools:
    """standing_FN: which tokens stand at each step, True where a token has not been replaced.

    >>> standing_tokens([1, 0], "delete")[[0, 5, 10]].tolist()
    [[True, True], [True, False], [False, False]]
    """
    rank_N = np.argsort(slots)
    changed_FN = rank_N < np.array(counts(len(slots)))[:, None]
    return changed_FN if action == INSERT else ~changed_FN


@dataclass(frozen=True)
class OutputCurve:
    """What the explained output does at each step of a procedure."""

    probability_F: Floats
    logit_F: Floats
    change_F: Floats  # the squared change of all logits against the whole text, summed over outputs
    outputs: int  # that the model chooses from


def area(values_F: Floats) -> float:
    """The area under a curve over the share of changed tokens, by the trapezoidal rule.

    >>> area(np.array([0.0, 1.0, 1.0]))
    0.75
    """
    return float(np.trapezoid(values_F, dx=1 / (len(values_F) - 1)))


@dataclass(frozen=True)
class EvaluationMeasure:
    """A number that curves come down to."""

    name: str
    label: str
    about: str
    better: str  # higher or lower


MEASURES: dict[str, EvaluationMeasure] = {
    measure.name: measure
    for measure in (
        EvaluationMeasure(
            "abpc", "ABPC", "probability, least relevant replaced first minus most relevant first", "higher"
        ),
        EvaluationMeasure("auac_generation", "AUAC, generation", "probability, most relevant put in first", "higher"),
        EvaluationMeasure("auac_pruning", "AUAC, pruning", "probability, least relevant replaced first", "higher"),
        EvaluationMeasure("aupc", "AUPC", "probability, most relevant replaced first", "lower"),
        EvaluationMeasure("au_mse_generation", "AU-MSE, generation", "squared change, summed over outputs", "lower"),
        EvaluationMeasure(
            "au_mse_mean_generation", "AU-MSE mean, generation", "squared change, mean of outputs", "lower"
        ),
        EvaluationMeasure("au_mse_pruning", "AU-MSE, pruning", "squared change, summed over outputs", "lower"),
        EvaluationMeasure("au_mse_mean_pruning", "AU-MSE mean, pruning", "squared change, mean of outputs", "lower"),
        EvaluationMeasure("merf", "MERF", "logit, most relevant put in first", "higher"),
        EvaluationMeasure("lerf", "LERF", "logit, least relevant put in first", "lower"),
    )
}


def measures_of(curves: Mapping[str, OutputCurve]) -> dict[str, float]:
    """All measures of one text, from its curves by procedure."""
    kept, dropped = (area(curves[name].probability_F) for name in (PRUNING, DELETION))
    values = {"abpc": kept - dropped, "auac_pruning": kept, "aupc": dropped}
    values["auac_generation"] = area(curves[GENERATION].probability_F)
    for name in (GENERATION, PRUNING):
        change = area(curves[name].change_F)
        values |= {f"au_mse_{name}": change, f"au_mse_mean_{name}": change / curves[name].outputs}
    values |= {"merf": area(curves[GENERATION].logit_F), "lerf": area(curves[LEAST_INSERTION].logit_F)}
    return {name: values[name] for name in MEASURES}
