"""Contrasts: weighted sums of a model's abilities under several interventions, with intervals over texts and draws."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from wherewhat.editing.abilities import Ability
from wherewhat.stats.bootstrap import draws, quantiles, ratio
from wherewhat.stats.estimate import Estimate
from wherewhat.stats.intervals import welch_reach

WORSE = {"loss": 1.0, "copy": -1.0, "induction": -1.0}  # the sign of each measure's change when a model gets worse


@dataclass(frozen=True)
class Term:
    """The abilities of a model under one intervention, and their weight in a contrast."""

    weight: float
    ability: Ability


def measures_of(ability: Ability) -> tuple[str, ...]:
    """The measures of a model: its loss, and copying if there are random tokens to copy."""
    return tuple(WORSE) if ability.copied_M is not None else ("loss",)


def level(ability: Ability, measure: str) -> float:
    """A measure, averaged over all texts."""
    sum_N, weight_N = _parts(ability, measure)
    return float(sum_N.sum() / weight_N.sum())


def contrast(terms: Sequence[Term], measure: str, *, seed: int) -> Estimate:
    """The weighted sum of the terms. Every resample uses the same texts for all of them."""
    value = sum(term.weight * level(term.ability, measure) for term in terms)
    count_RN = draws(_texts(terms[0].ability, measure), seed)
    drawn_R = np.zeros(len(count_RN))
    for term in terms:
        drawn_R += term.weight * _resampled(term.ability, measure, count_RN)
    return Estimate(float(value), *quantiles(drawn_R))


def excess_over_controls(ability: Ability, controls: Sequence[Ability], measure: str, *, seed: int) -> Estimate:
    """A measure minus its mean over draws of a control, with Student's interval over texts and over draws.

    The variances of texts and draws add up, with Welch's degrees of freedom: resampling a handful of draws would give
    too narrow an interval. From a single draw no interval follows, so it is infinite.
    """
    level_D = np.array([level(control, measure) for control in controls])
    texts, value = _texts(ability, measure), level(ability, measure) - float(level_D.mean())
    if min(texts, len(controls)) < 2:
        return Estimate(value, -np.inf, np.inf)
    count_RN = draws(texts, seed)
    control_R = np.mean([_resampled(control, measure, count_RN) for control in controls], axis=0)
    excess_R = _resampled(ability, measure, count_RN) - control_R
    of_texts = float(excess_R.var()) * texts / (texts - 1)  # resampling underestimates the variance by this factor
    of_draws = float(level_D.var(ddof=1)) / len(controls)
    reach = welch_reach(of_texts, texts - 1, of_draws, len(controls) - 1)
    return Estimate(value, value - reach, value + reach)


def _texts(ability: Ability, measure: str) -> int:
    return len(_parts(ability, measure)[0])


def _resampled(ability: Ability, measure: str, count_RN: np.ndarray) -> np.ndarray:
    """value_R under every resample of texts."""
    sum_N, weight_N = _parts(ability, measure)
    return ratio(count_RN, sum_N, weight_N)


def _parts(ability: Ability, measure: str) -> tuple[np.ndarray, np.ndarray]:
    """By text, the numerator and the denominator of a measure."""
    sums = ability.sums(measure)
    assert sums is not None, "no random tokens were copied"
    return sums
