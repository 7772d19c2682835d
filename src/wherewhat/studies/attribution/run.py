"""The study: nets that have learnt where or what decides are explained by several methods, and these are compared."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import torch

from wherewhat.attribution.attribute import open_model
from wherewhat.attribution.evaluation.evaluate import AttributionEvaluation, evaluate_attribution
from wherewhat.attribution.evaluation.settings import EvaluationSettings
from wherewhat.attribution.evaluation.truth import KnownText, known_texts
from wherewhat.capture.loading.load import LoadedModel, LoadSettings
from wherewhat.capture.outputs.language_model import generate_texts
from wherewhat.capture.outputs.text_outputs import load_reader
from wherewhat.errors import UserError
from wherewhat.jobs.job import JobContext
from wherewhat.stats.bootstrap import named_draws, sentence_estimates
from wherewhat.studies.attribution.claims import CLAIMS
from wherewhat.studies.attribution.names import (
    AROUND,
    ATTNLRP,
    BUILT_IN_TASKS,
    CHANCE,
    CURVE,
    ORDER,
    RANDOM,
    SCORE,
    SLOTS,
    TEXTS,
    VARIANTS,
    against,
)
from wherewhat.studies.attribution.notes import describe, notes_of
from wherewhat.studies.attribution.settings import SCALES, AttributionCondition, AttributionScale, conditions
from wherewhat.studies.attribution.slots import slot_rows
from wherewhat.studies.engine.lengths import Measured, mean_rows
from wherewhat.studies.engine.results import ResultTable, Row
from wherewhat.studies.engine.study import Request, Study
from wherewhat.studies.engine.train_job import train_in_job
from wherewhat.training.loop import threads

BUILT_IN = "tiny"  # the model that has learnt the number and the letter task
ROUNDING = 1e-6  # of scores, relative to the largest


def run(condition: AttributionCondition, scale: AttributionScale, seed: int, context: JobContext) -> list[Row]:
    """Train a net, or load one, explain it on its texts by all methods, and compare them."""
    data_seed, name = seed + 1, condition.name
    with threads(1):
        model = net_of(condition, scale, seed, context)
        texts = texts_of(model, condition, scale, data_seed)
        settings = EvaluationSettings(max_texts=scale.texts, draws=scale.draws, seed=data_seed)
        evaluation = evaluate_attribution(
            model, texts, settings=settings, on_step=lambda done, *_: context.step(scale.steps + done)
        )
        known = [text for text in texts if isinstance(text, KnownText)]
        rows = [*score_rows(evaluation), *order_rows(evaluation, data_seed), *slot_rows(model, known, data_seed)]
    return [(part, name, item, at, seed, what, value, low, high) for part, item, at, what, value, low, high in rows]


def net_of(condition: AttributionCondition, scale: AttributionScale, seed: int, context: JobContext) -> LoadedModel:
    """The model that reads the texts of a condition."""
    if condition.model:
        return load_reader(condition.model, condition.loading)
    if condition.source in BUILT_IN_TASKS:
        return open_model(BUILT_IN)
    train_in_job(scale.training(condition.source, seed), context)
    return replace(open_model(str(context.folder / "training")), id=condition.source)


def texts_of(
    model: LoadedModel, condition: AttributionCondition, scale: AttributionScale, seed: int
) -> Sequence[KnownText | torch.Tensor]:
    """Texts whose deciding tokens are known; or those that the user's model writes itself."""
    if condition.model:
        return generate_texts(model, scale.texts, scale.tokens, seed=seed)
    if condition.source not in BUILT_IN_TASKS:
        return known_texts(model, scale.texts, seed=seed)
    both = known_texts(model, 2 * scale.texts, seed=seed)
    return [text for text in both if text.source == condition.source]


def score_rows(evaluation: AttributionEvaluation) -> Iterator[Measured]:
    """Every measure of every method, its chance level, differences from AttnLRP and from random orders, and curves."""
    yield TEXTS, "", None, "texts", float(len(evaluation.texts)), None, None
    for row in evaluation.scores.iter_rows(named=True):
        yield SCORE, arm_name(row), None, row["measure"], row["value"], row["low"], row["high"]
        yield CHANCE, arm_name(row), None, row["measure"], row["chance"], None, None
    for row in evaluation.differences.iter_rows(named=True):
        if row["against"] in (ATTNLRP, RANDOM):
            part = against(row["against"])
            yield part, arm_name(row), None, row["measure"], row["value"], row["low"], row["high"]
    for row in evaluation.curves.iter_rows(named=True):
        yield CURVE, arm_name(row), row["share"], row["procedure"], row["value"], row["low"], row["high"]


def arm_name(row: dict[str, str]) -> str:
    """A method, and how positions enter its scores."""
    return f"{row['method']}, {row['aggregate']}" if row["aggregate"] else row["method"]


def order_rows(evaluation: AttributionEvaluation, seed: int) -> Iterator[Measured]:
    """How often tokens and positions together order tokens otherwise than AttnLRP does: by text, and by pair."""
    by_name = [{arm.name: scores_N for arm, scores_N in text.scores.items()} for text in evaluation.texts]
    counts = named_draws(seed, ORDER, len(by_name))
    for name in VARIANTS:
        pairs_N = np.array([reordered(each[name], each[ATTNLRP]) for each in by_name])
        values_NX = np.column_stack([pairs_N > 0, pairs_N]).astype(np.float64)
        for measure, estimate in zip(("texts", "pairs"), sentence_estimates(values_NX, counts), strict=True):
            yield ORDER, name, None, measure, *estimate.numbers


def reordered(scores_N: np.ndarray, others_N: np.ndarray) -> float:
    """The share of pairs of tokens that stand in another order, beyond rounding.

    >>> reordered(np.array([3.0, 2.0, 1.0]), np.array([3.0, 1.0, 2.0])) == 1 / 3
    True
    """
    steps = []
    for each_N in (scores_N, others_N):
        step_NN = each_N[:, None] - each_N
        steps.append(np.where(np.abs(step_NN) > ROUNDING * np.abs(each_N).max(), np.sign(step_NN), 0))
    pairs = len(scores_N) * (len(scores_N) - 1)
    return float((steps[0] * steps[1] < 0).sum() / pairs)


def summarise(table: ResultTable) -> list[Row]:
    """Means over seeds; shares stay between 0 and 1."""
    shares = table.rows.filter(table.rows["part"].is_in([CURVE, SLOTS, AROUND, ORDER])).rows()
    others = table.rows.filter(~table.rows["part"].is_in([CURVE, SLOTS, AROUND, ORDER])).rows()
    return [*mean_rows(shares), *mean_rows(others, within=(-np.inf, np.inf))]


def prepare(scale: AttributionScale, request: Request) -> AttributionScale:
    """The scale with the user's model, if one is named."""
    if not isinstance(request.model, str):
        raise UserError("attribution loads a model where its runs are; give the name of a model, or its folder")
    named = "" if request.model == BUILT_IN else request.model
    with_model = replace(scale, model=named, loading=request.loading or LoadSettings())
    return with_model if request.seeds is None else replace(with_model, seeds=request.seeds)


STUDY = Study(
    name="attribution",
    about="Which tokens decide? Methods of attribution compared where it is known, with positions and without.",
    paper="arXiv 2506.02138",
    scales=SCALES,
    takes=("--model",),
    conditions=conditions,
    run=run,
    condition_class=AttributionCondition,
    scale_class=AttributionScale,
    claims=CLAIMS,
    decides=(
        *("attribution", "capture", "corpora", "encodings", "models", "nets", "stats", "studies/engine/lengths.py"),
        *("studies/attribution/slots.py", "studies/attribution/names.py", "tables/schema.py", "tasks", "training"),
        "recipes/nli_tiny.py",
    ),
    steps=lambda scale: scale.steps + scale.texts,
    prepare=prepare,
    summarise=summarise,
    notes=notes_of,
    describe=describe,
    fewest=1,
)
