"""From texts to tables: means with intervals over texts, paired differences, and curves."""

from collections.abc import Iterator, Sequence

import numpy as np
import polars as pl

from wherewhat.attribution.evaluation import curves, segmentation
from wherewhat.attribution.evaluation.arms import BASELINES, CHANCE, MethodArm
from wherewhat.attribution.evaluation.curves import Floats
from wherewhat.attribution.evaluation.evaluated_text import EvaluatedText
from wherewhat.stats.bootstrap import named_draws, sentence_estimates
from wherewhat.stats.estimate import Estimate
from wherewhat.tables.schema import EVALUATION, EVALUATION_CURVES, EVALUATION_DIFFERENCES, frame

MEASURES = {**curves.MEASURES, **segmentation.MEASURES}
NO_SIDE = ("abpc",)  # measures whose chance level is 0: an order and its reverse are equally likely at random


def score_table(texts: Sequence[EvaluatedText], seed: int) -> pl.DataFrame:
    """Every measure of every arm, with its chance level: what random orders or permuted scores give on these texts."""
    rows = []
    for arm in texts[0].values:
        values_NX = _values(texts, arm)
        for measure, estimate in zip(MEASURES, _estimates(values_NX, seed), strict=True):
            if estimate.known:
                chance = _chance(texts, arm, measure)
                rows.append((arm.method, arm.aggregate, measure, *estimate.numbers, chance, estimate.count))
    return frame(rows, EVALUATION)


def difference_table(texts: Sequence[EvaluatedText], seed: int) -> pl.DataFrame:
    """By how much every arm exceeds every baseline, text by text."""
    rows = []
    for arm, against in ((arm, other) for other in BASELINES if other in texts[0].values for arm in texts[0].values):
        differences_NX = _values(texts, arm) - _values(texts, against)
        for measure, estimate in zip(MEASURES, _estimates(differences_NX, seed), strict=True):
            if estimate.known and arm != against:
                key = (arm.method, arm.aggregate, against.name, measure)
                rows.append((*key, *estimate.numbers, estimate.count))
    return frame(rows, EVALUATION_DIFFERENCES)


def curve_table(texts: Sequence[EvaluatedText], seed: int) -> pl.DataFrame:
    """The mean probability of the explained output at every step of every procedure."""
    rows = []
    for arm in texts[0].curves:
        for procedure in curves.PROCEDURES:
            estimates = _estimates(np.array([text.curves[arm][procedure] for text in texts]), seed)
            for step, estimate in enumerate(estimates):
                share = step / curves.STEPS
                rows.append((arm.method, arm.aggregate, procedure, share, *estimate.numbers, estimate.count))
    return frame(rows, EVALUATION_CURVES)


def _values(texts: Sequence[EvaluatedText], arm: MethodArm) -> Floats:
    """values_NX of an arm by text and measure, NaN where a text has none."""
    return np.array([[text.values[arm].get(measure, np.nan) for measure in MEASURES] for text in texts])


def _estimates(values_NX: Floats, seed: int) -> Iterator[Estimate]:
    """The means with intervals over texts; a single text has none."""
    for estimate in sentence_estimates(values_NX, named_draws(seed, "attribution", len(values_NX))):
        yield estimate if estimate.count > 1 else Estimate(estimate.value, count=estimate.count)


def _chance(texts: Sequence[EvaluatedText], arm: MethodArm, measure: str) -> float:
    """The chance level of a measure on these texts."""
    if measure in NO_SIDE:
        return 0.0
    if measure in segmentation.MEASURES and arm != CHANCE:
        return float(np.mean([text.chance[arm][measure] for text in texts if arm in text.chance]))
    return float(np.nanmean([text.values[CHANCE].get(measure, np.nan) for text in texts]))
