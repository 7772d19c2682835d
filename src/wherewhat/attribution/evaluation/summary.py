"""From texts to tables: means with intervals over texts, paired differences, and curves."""

from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np
import polars as pl

from wherewhat.attribution.evaluation import curves, segmentation
from wherewhat.attribution.evaluation.arms import BASELINES, CHANCE, MethodArm
from wherewhat.attribution.evaluation.curves import Floats
from wherewhat.attribution.evaluation.evaluated_text import EvaluatedText
from wherewhat.stats.bootstrap import NamedResampling, sentence_estimates
from wherewhat.stats.estimate import Estimate
from wherewhat.tables.schema import EVALUATION, EVALUATION_CURVES, EVALUATION_DIFFERENCES, frame

MEASURES = {**curves.MEASURES, **segmentation.MEASURES}
NO_SIDE = ("abpc",)  # measures whose chance level is 0: an order and its reverse are equally likely at random


def score_table(texts: Sequence[EvaluatedText], seed: int) -> pl.DataFrame:
    """Every measure of every arm, with its chance level: what random orders or permuted scores give on these texts."""
    rows = []
    for data, group in by_data(texts).items():
        for arm in group[0].values:
            for measure, estimate in zip(MEASURES, _estimates(_values(group, arm), data, seed), strict=True):
                if estimate.known:
                    numbers = (*estimate.numbers, _chance(group, arm, measure), estimate.count)
                    rows.append((data, arm.method, arm.aggregate, measure, *numbers))
    return frame(rows, EVALUATION)


def difference_table(texts: Sequence[EvaluatedText], seed: int) -> pl.DataFrame:
    """By how much every arm exceeds every baseline, text by text."""
    rows = []
    for data, group in by_data(texts).items():
        for against, arm in product(BASELINES, group[0].values):
            if against not in group[0].values or arm == against:
                continue
            differences_NX = _values(group, arm) - _values(group, against)
            for measure, estimate in zip(MEASURES, _estimates(differences_NX, data, seed), strict=True):
                if estimate.known:
                    key = (data, arm.method, arm.aggregate, against.name, measure)
                    rows.append((*key, *estimate.numbers, estimate.count))
    return frame(rows, EVALUATION_DIFFERENCES)


def curve_table(texts: Sequence[EvaluatedText], seed: int) -> pl.DataFrame:
    """The mean probability of the explained output at every step of every procedure."""
    rows = []
    for data, group in by_data(texts).items():
        for arm, procedure in product(group[0].curves, curves.PROCEDURES):
            values_NF = np.array([text.curves[arm][procedure] for text in group])
            for step, estimate in enumerate(_estimates(values_NF, data, seed)):
                key = (data, arm.method, arm.aggregate, procedure, step / curves.STEPS)
                rows.append((*key, *estimate.numbers, estimate.count))
    return frame(rows, EVALUATION_CURVES)


def by_data(texts: Sequence[EvaluatedText]) -> dict[str, list[EvaluatedText]]:
    """Texts by where they are from, in their order."""
    groups: dict[str, list[EvaluatedText]] = {}
    for text in texts:
        groups.setdefault(text.data, []).append(text)
    return groups


def _values(texts: Sequence[EvaluatedText], arm: MethodArm) -> Floats:
    """values_NX of an arm by text and measure, NaN where a text has none."""
    return np.array([[text.values[arm].get(measure, np.nan) for measure in MEASURES] for text in texts])


def _estimates(values_NX: Floats, data: str, seed: int) -> Iterator[Estimate]:
    """The means with intervals over texts, always the same resamples of them; a single text has none."""
    for estimate in sentence_estimates(values_NX, NamedResampling(seed, f"attribution {data}").counts(len(values_NX))):
        yield estimate if estimate.count > 1 else Estimate(estimate.value, count=estimate.count)


def _chance(texts: Sequence[EvaluatedText], arm: MethodArm, measure: str) -> float:
    """The chance level of a measure on these texts."""
    if measure in NO_SIDE:
        return 0.0
    if measure in segmentation.MEASURES and arm != CHANCE:
        return float(np.mean([text.chance[arm][measure] for text in texts if arm in text.chance]))
    return float(np.nanmean([text.values[CHANCE].get(measure, np.nan) for text in texts]))
