"""The evaluation that belongs to a run of `wherewhat attribute`: on which texts, by which methods, and its manifest."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from wherewhat.attribution.evaluation.evaluate import AttributionEvaluation, evaluate_attribution
from wherewhat.attribution.evaluation.evaluated_text import TextToEvaluate
from wherewhat.attribution.evaluation.settings import EvaluationSettings
from wherewhat.attribution.evaluation.summary import MEASURES
from wherewhat.attribution.evaluation.truth import OWN_TRUTHS, REPEATED
from wherewhat.attribution.targets import Question
from wherewhat.capture.hooks.position_sources import has_two_stacks
from wherewhat.capture.loading.load import LoadedModel
from wherewhat.progress import OnStep
from wherewhat.tables.manifest.attribution import EvaluationMeasureSection, EvaluationSection

ROLLOUT = "rollout"
NO_ROLLOUT = "Attention rollout is for models with one stack, so it is not part of the evaluation."


def evaluate_run(
    model: LoadedModel,
    questions: Sequence[Question],
    settings: EvaluationSettings,
    *,
    own: bool,
    on_step: OnStep | None = None,
) -> tuple[AttributionEvaluation, EvaluationSection]:
    """Evaluate methods on the explained texts, by their first targets, and on texts whose deciding tokens are known.

    `own` texts, which a net reads if none are given, are replaced by those of its task or question.
    """
    notes = []
    if has_two_stacks(model.module) and ROLLOUT in settings.methods:
        settings = replace(settings, methods=tuple(each for each in settings.methods if each != ROLLOUT))
        notes.append(NO_ROLLOUT)
    texts = texts_of(model, questions, settings, own=own)
    result = evaluate_attribution(model, texts, settings=settings, on_step=on_step)
    result = replace(result, notes=[*notes, *result.notes])
    return result, section_of(result, settings)


def texts_of(
    model: LoadedModel, questions: Sequence[Question], settings: EvaluationSettings, *, own: bool
) -> list[TextToEvaluate]:
    """The texts to evaluate on."""
    truth = next((source for source in OWN_TRUTHS if own and source.fits(model)), None)
    if truth is not None:
        return list(truth.texts(model, settings.max_texts, settings.seed))
    first = {question.text: question for question in reversed(questions)}
    texts: list[TextToEvaluate] = [first[number] for number in sorted(first)]
    return [*texts, *(REPEATED.texts(model, settings.max_texts, settings.seed) if REPEATED.fits(model) else ())]


def section_of(evaluation: AttributionEvaluation, settings: EvaluationSettings) -> EvaluationSection:
    """What a manifest says of an evaluation."""
    measured = set(evaluation.scores["measure"])
    return EvaluationSection(
        order=settings.order,
        replace=settings.replace,
        replacement=evaluation.replacement,
        draws=settings.draws,
        permutations=settings.permutations,
        texts=Counter(text.data for text in evaluation.texts),
        measures={
            name: EvaluationMeasureSection(label=each.label, about=each.about, better=each.better)
            for name, each in MEASURES.items()
            if name in measured
        },
    )
