"""Weighted sums of what a model can do under several changes, with intervals over texts and over draws of controls."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from wherewhat.effects import Ability, Interval
from wherewhat.tally import LEVEL, draws

WORSE = {"loss": 1.0, "copy": -1.0, "induction": -1.0}  # the way in which each measure goes when a model gets worse


@dataclass(frozen=True)
class Term:
    """The mean over some abilities (of one change, or of several draws of a control), and how it counts."""

    weight: float
    abilities: tuple[Ability, ...]


def measured(ability: Ability) -> tuple[str, ...]:
    """What is known of a model: its loss, and copying where there are random tokens to copy."""
    return tuple(WORSE) if ability.copied_M is not None else ("loss",)


def contrast(terms: Sequence[Term], measure: str, *, seed: int) -> Interval:
    """The weighted sum of the terms. A resample takes the same texts in all of them, and draws anew in each."""
    texts = len(_parts(terms[0].abilities[0], measure)[0])
    value = sum(term.weight * _values(term, measure, np.ones((1, texts))).mean() for term in terms)
    count_RN = draws(texts, seed)
    drawn_R = np.zeros(len(count_RN))
    for number, term in enumerate(terms):
        pick_RD = draws(len(term.abilities), seed + 1 + number)
        drawn_R += term.weight * (_values(term, measure, count_RN) * pick_RD).sum(1) / len(term.abilities)
    low, high = np.quantile(drawn_R, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Interval(float(value), float(low), float(high))


def _values(term: Term, measure: str, count_RN: np.ndarray) -> np.ndarray:
    """value_RD of every ability, under every resample of texts."""
    parts = [_parts(ability, measure) for ability in term.abilities]
    return np.stack([(count_RN @ sum_N) / (count_RN @ weight_N) for sum_N, weight_N in parts], axis=1)


def _parts(ability: Ability, measure: str) -> tuple[np.ndarray, np.ndarray]:
    """By text, what is summed and what it is divided by."""
    if measure == "loss":
        return ability.nats_N, ability.tokens_N
    by_text = ability.copied_M if measure == "copy" else ability.gained_M
    assert by_text is not None, "no random tokens were copied"
    return by_text, np.ones(len(by_text))
