"""Evaluate methods of attribution on a model: curves of insertion and deletion, and segmentation of known tokens."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl
from torch import nn

from wherewhat.attribution.attribute import open_model
from wherewhat.attribution.evaluation.evaluated_text import EvaluatedText, TextToEvaluate, data_of, evaluate_text
from wherewhat.attribution.evaluation.settings import EvaluationSettings
from wherewhat.attribution.evaluation.summary import curve_table, difference_table, score_table
from wherewhat.attribution.evaluation.truth import known_texts
from wherewhat.attribution.evaluation.variants import replacement_of
from wherewhat.capture.loading.load import LoadedModel
from wherewhat.errors import UserError
from wherewhat.progress import OnStep


@dataclass(frozen=True)
class AttributionEvaluation:
    """How well every method does: one row per number, differences between methods, and curves."""

    scores: pl.DataFrame
    differences: pl.DataFrame
    curves: pl.DataFrame
    texts: Sequence[EvaluatedText]
    replacement: str  # what stands in the place of a token that was taken away
    notes: Sequence[str] = ()  # on texts that were left out


def evaluate_attribution(
    model: str | nn.Module | LoadedModel,
    texts: Iterable[TextToEvaluate] | None = None,
    *,
    settings: EvaluationSettings | None = None,
    tokenizer: Any = None,
    on_step: OnStep | None = None,
) -> AttributionEvaluation:
    """Compare methods of attribution on the same texts, by what happens as tokens are taken away in their order.

    Without texts, those are used whose deciding tokens are known: sequences of the task that a net has learnt, pairs of
    sentences, or repeated random tokens. Such texts count only if the model answers them correctly.

    >>> evaluation = evaluate_attribution("tiny", settings=EvaluationSettings(methods=("attnlrp",), max_texts=2))
    >>> evaluation.scores.filter(method="attnlrp", measure="abpc")["value"].min() > 0.5
    True
    """
    settings = settings or EvaluationSettings()
    loaded = open_model(model, tokenizer)
    given = list(known_texts(loaded, settings.max_texts, seed=settings.seed) if texts is None else texts)
    evaluated = list[EvaluatedText]()
    for number, text in enumerate(given):
        if (result := evaluate_text(loaded, text, number, settings)) is not None:
            evaluated.append(result)
        if on_step is not None:
            on_step(number + 1, len(given), "comparing methods")
    if not given:
        raise UserError("there is no text to evaluate on; give at least one")
    if not evaluated:
        raise UserError(f"{loaded.id} answers none of {len(given)} texts correctly; train it, or give other texts")
    return AttributionEvaluation(
        scores=score_table(evaluated, settings.seed),
        differences=difference_table(evaluated, settings.seed),
        curves=curve_table(evaluated, settings.seed),
        texts=evaluated,
        replacement=replacement_of(loaded, evaluated[0].kind).name,
        notes=left_out_notes(loaded, given, evaluated),
    )


def left_out_notes(
    model: LoadedModel, given: Sequence[TextToEvaluate], evaluated: Sequence[EvaluatedText]
) -> list[str]:
    """How many texts of each kind were left out, if there are any."""
    counts, kept = (Counter(each) for each in (map(data_of, given), (text.data for text in evaluated)))
    return [
        f"{model.id} answers {count - kept[data]} of {count} texts ({data}) wrongly; these are not evaluated."
        for data, count in counts.items()
        if kept[data] < count
    ]
