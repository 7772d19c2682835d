"""From what a model can do to numbers with intervals: of one model, or of the change from one to another."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from wherewhat.capture.editing.survey import Layer
from wherewhat.capture.loading.load import LoadedModel
from wherewhat.editing.abilities import Ability, Trial, ability
from wherewhat.editing.edit import applied
from wherewhat.editing.plan import Edit
from wherewhat.profiling.accumulate import draws, interval

MEASURES = ("loss", "copy", "induction")  # in the order a reader meets them


@dataclass(frozen=True)
class Interval:
    """A number and where it would lie had there been other texts; NaN where a single text says nothing of that."""

    value: float
    low: float
    high: float


def measures(before: Ability, after: Ability | None = None, *, seed: int) -> dict[str, Interval]:
    """Loss, copying and induction of one model or, if there are two, by how much they change from one to the other.

    The interval resamples texts (of copying, random sequences), and takes the same of both. The loss counts every
    token alike, so long texts count more.
    """
    found = {}
    for name in MEASURES:
        first, second = _sums(before, name), None if after is None else _sums(after, name)
        if first is not None:
            found[name] = _resampled(first, second, seed)
    return found


def effect(
    model: LoadedModel, trial: Trial, before: Ability, wanted: Edit, layers: Sequence[Layer]
) -> dict[str, Interval]:
    """By how much an edit changes what a model can do; afterwards the model is as it was."""
    with applied(model.module, wanted, layers):
        after = ability(model, trial)
    return measures(before, after, seed=trial.seed)


def _sums(able: Ability, measure: str) -> tuple[np.ndarray, np.ndarray] | None:
    """What is added up of every text, and how much the text counts."""
    if measure == "loss":
        return able.nats_N, able.tokens_N
    by_sequence = able.copied_M if measure == "copy" else able.gained_M
    return None if by_sequence is None else (by_sequence, np.ones_like(by_sequence))


def _resampled(
    first: tuple[np.ndarray, np.ndarray], second: tuple[np.ndarray, np.ndarray] | None, seed: int
) -> Interval:
    texts = len(first[0])
    drawn = np.vstack([np.ones(texts), draws(texts, seed)])  # all texts as they are, then the resamples
    means = _means(first, drawn) if second is None else _means(second, drawn) - _means(first, drawn)
    low, high = interval(means[1:, None], np.array([texts]))
    return Interval(float(means[0]), float(low[0]), float(high[0]))


def _means(sums: tuple[np.ndarray, np.ndarray], drawn: np.ndarray) -> np.ndarray:
    means: np.ndarray = (drawn @ sums[0]) / (drawn @ sums[1])
    return means
