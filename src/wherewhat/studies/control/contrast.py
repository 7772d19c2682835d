"""Weighted sums of what a model can do under several changes, with intervals over texts and over draws of controls."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import t as student

from wherewhat.editing.abilities import Ability
from wherewhat.editing.measures import Interval
from wherewhat.profiling.accumulate import LEVEL, draws

WORSE = {"loss": 1.0, "copy": -1.0, "induction": -1.0}  # the way in which each measure goes when a model gets worse


@dataclass(frozen=True)
class Term:
    """What a model can do under one change, and how it counts."""

    weight: float
    ability: Ability


def measured(ability: Ability) -> tuple[str, ...]:
    """What is known of a model: its loss, and copying where there are random tokens to copy."""
    return tuple(WORSE) if ability.copied_M is not None else ("loss",)


def level(ability: Ability, measure: str) -> float:
    """A measure over all texts."""
    sum_N, weight_N = _parts(ability, measure)
    return float(sum_N.sum() / weight_N.sum())


def contrast(terms: Sequence[Term], measure: str, *, seed: int) -> Interval:
    """The weighted sum of the terms. A resample takes the same texts in all of them."""
    value = sum(term.weight * level(term.ability, measure) for term in terms)
    count_RN = draws(_texts(terms[0].ability, measure), seed)
    drawn_R = np.zeros(len(count_RN))
    for term in terms:
        drawn_R += term.weight * _resampled(term.ability, measure, count_RN)
    low, high = np.quantile(drawn_R, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Interval(float(value), float(low), float(high))


def beyond(one: Ability, controls: Sequence[Ability], measure: str, *, seed: int) -> Interval:
    """How far a measure lies above its mean over draws of a control: Student's interval, over texts and over draws.

    Both add their variance, and the degrees of freedom are Welch's. Resampling a handful of draws would give too
    narrow an interval. From a single draw none follows, so it is without end.
    """
    level_D = np.array([level(ability, measure) for ability in controls])
    texts, value = _texts(one, measure), level(one, measure) - float(level_D.mean())
    if min(texts, len(controls)) < 2:
        return Interval(value, -np.inf, np.inf)
    count_RN = draws(texts, seed)
    others_R = np.mean([_resampled(ability, measure, count_RN) for ability in controls], axis=0)
    gap_R = _resampled(one, measure, count_RN) - others_R
    of_texts = float(gap_R.var()) * texts / (texts - 1)  # resamples vary by that much too little
    of_draws = float(level_D.var(ddof=1)) / len(controls)
    half = _half(of_texts, texts - 1, of_draws, len(controls) - 1)
    return Interval(value, value - half, value + half)


def _half(one: float, one_free: int, other: float, other_free: int) -> float:
    """Half of the interval around a sum of two means, from their variances and degrees of freedom."""
    if one + other == 0:
        return 0.0
    free = (one + other) ** 2 / (one**2 / one_free + other**2 / other_free)
    return float(student.ppf((1 + LEVEL) / 2, free) * np.sqrt(one + other))


def _texts(ability: Ability, measure: str) -> int:
    return len(_parts(ability, measure)[0])


def _resampled(ability: Ability, measure: str, count_RN: np.ndarray) -> np.ndarray:
    """value_R under every resample of texts."""
    sum_N, weight_N = _parts(ability, measure)
    value_R: np.ndarray = (count_RN @ sum_N) / (count_RN @ weight_N)
    return value_R


def _parts(ability: Ability, measure: str) -> tuple[np.ndarray, np.ndarray]:
    """By text, what is summed and what it is divided by."""
    if measure == "loss":
        return ability.nats_N, ability.tokens_N
    by_text = ability.copied_M if measure == "copy" else ability.gained_M
    assert by_text is not None, "no random tokens were copied"
    return by_text, np.ones(len(by_text))
