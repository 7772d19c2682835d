"""From single runs to what the study compares: means, a bag-of-words baseline, correlations and contrasts, as rows."""

import math
from collections.abc import Iterator, Sequence
from statistics import fmean
from typing import Any

import numpy as np

from wherewhat.corpora.questions import Example, LabelledDataset
from wherewhat.stats import correlation
from wherewhat.stats.estimate import Estimate
from wherewhat.studies.engine.results import ResultTable, Row, over_seeds
from wherewhat.studies.locality.sets import ALL, BAG, OTHER_OUTCOMES, by_seed, gap, of, property_of, spread

RIDGE = 1.0  # the penalty on large weights of a bag of words
# Properties of encodings: over which set they are analysed, and which other property is controlled for.
PREDICTORS: dict[str, tuple[str, str, str]] = {
    "locality": ("log", "bias.locality", "bias.balance"),
    "symmetric locality": ("symmetric curves", "bias.locality", ""),
    "symmetry": ("log", "bias.balance", "bias.locality"),
    "attention locality": ("encoder", "attention.locality", "attention.balance"),
    "attention symmetry": ("encoder", "attention.balance", "attention.locality"),
    "decoder locality": ("symmetric decoders", "bias.locality", ""),
}
# One set of encodings compared with another that differs in a single respect.
CONTRASTS: dict[str, tuple[str, str]] = {
    "middle over flat": ("middle curves", "flattest curve"),
    "middle over steep": ("middle curves", "steepest curve"),
    "symmetric over one-sided": ("symmetric at the w of flatter ahead", "flatter ahead"),
    "leaning over symmetric": ("ours", "symmetric at the w of ours"),
    "not learned over symmetric": ("control", "symmetric at the w of control"),
    "leaning over not learned": ("ours", "control"),
    "leaning over one-sided": ("ours", "flatter ahead"),
    "leaning over rope": ("ours", "rope"),
    "leaning over deberta": ("ours", "deberta"),
    "leaning over learned positions": ("ours", "position table"),
    "log over learned positions": ("middle curves", "position table"),
    "raw over learned positions": ("raw", "position table"),
    "raw over none": ("raw", "none"),
    "log over none": ("middle curves", "none"),
    "decoder, middle over flat": ("middle decoders", "flattest decoder"),
    "decoder, middle over steep": ("middle decoders", "steepest decoder"),
    "decoder, log over none": ("middle decoders", "decoder none"),
}
# Sets of curves compared with symmetric ones of the same locality, see `matched`.
FLATTER, STEEPER = (f"symmetric over {slope} ahead, same locality" for slope in ("flatter", "steeper"))
MATCHED = {FLATTER: "flatter ahead", STEEPER: "steeper ahead"}


def summarise(table: ResultTable) -> Iterator[Row]:
    """Everything that follows from the runs, in the order of the table."""
    yield from mean_rows(table)
    yield from bag_rows(table)
    yield from link_rows(table)
    yield from contrast_rows(table)


def mean_rows(table: ResultTable) -> Iterator[Row]:
    """The mean of every encoding over its seeds, with Student's interval."""
    for condition in table.conditions:
        for item in table.notes["items"]:
            for measure in ("accuracy", "frozen accuracy", "valid accuracy", "forgetting"):
                values = by_seed(table, [condition], item, measure)
                yield "mean", condition.name, item, None, None, measure, *over_seeds(values).numbers
            deviation = Estimate(spread(table, condition, item))
            yield "mean", condition.name, item, None, None, "spread", *deviation.numbers
        for measure in ("word loss", "word accuracy"):
            values = by_seed(table, [condition], "", measure)
            yield "mean", condition.name, ALL, None, None, measure, *over_seeds(values).numbers


def bag_rows(table: ResultTable) -> Iterator[Row]:
    """How well the words of a sentence answer a question, whatever their order."""
    scale = table.scale
    accuracies = {
        question: [bag_accuracy(scale.dataset(question, seed), scale.longest) for seed in table.seeds]
        for question in scale.questions
    }
    for item, questions in table.notes["items"].items():
        by_question = [accuracies[question] for question in questions]
        values = [fmean(of_seed) for of_seed in zip(*by_question, strict=True)]
        yield "mean", BAG, item, None, None, "accuracy", *over_seeds(values).numbers


def bag_accuracy(dataset: LabelledDataset, longest: int) -> float:
    """The test accuracy of ridge regression on word counts, fitted to the same training sentences."""
    known = sorted({word for example in dataset.train for word in example.words[:longest]})
    places = {word: place for place, word in enumerate(known)}
    train_NW, test_NW = (_counts(part, places, longest) for part in (dataset.train, dataset.test))
    labels_N = [dataset.labels.index(example.label) for example in dataset.train]
    target_NL = np.eye(len(dataset.labels))[labels_N]
    middle_W = train_NW.mean(0)
    centred_NW = train_NW - middle_W
    weight_WL = np.linalg.solve(
        centred_NW.T @ centred_NW + RIDGE * np.eye(len(known)), centred_NW.T @ (target_NL - target_NL.mean(0))
    )
    # Rounded, so that ties stay ties on every machine.
    score_NL = np.round((test_NW - middle_W) @ weight_WL + target_NL.mean(0), 9)
    predicted_N = score_NL.argmax(1)
    return fmean(
        dataset.labels[place] == example.label for place, example in zip(predicted_N, dataset.test, strict=True)
    )


def _counts(examples: Sequence[Example], places: dict[str, int], longest: int) -> np.ndarray:
    """counts_NW: how often every known word occurs in every sentence."""
    counts_NW = np.zeros((len(examples), len(places)))
    for number, example in enumerate(examples):
        for word in example.words[:longest]:
            if word in places:
                counts_NW[number, places[word]] += 1
    return counts_NW


def link_rows(table: ResultTable) -> Iterator[Row]:
    """How every property of encodings correlates with accuracy, and with forgetting, spread and word loss.

    Correlations are over encodings, whose seeds are averaged first; the slope has one value per seed.
    """
    for predictor, (name, own, other) in PREDICTORS.items():
        conditions = [each for each in of(table, name) if math.isfinite(property_of(table, each, own))]
        x = [property_of(table, condition, own) for condition in conditions]
        controls = [property_of(table, condition, other) for condition in conditions] if other else None
        for item in (*table.notes["items"], *OTHER_OUTCOMES):
            y = [_outcome(table, condition, item) for condition in conditions]
            estimates = {"pearson": correlation.pearson(x, y, seed=0), "spearman": correlation.spearman(x, y, seed=0)}
            if controls is not None:
                estimates["partial"] = correlation.partial(x, y, controls, seed=0)
            if item not in OTHER_OUTCOMES:
                by_condition = [by_seed(table, [condition], item) for condition in conditions]
                estimates["slope"] = correlation.slope(x, list(zip(*by_condition, strict=True)))
            for measure, estimate in estimates.items():
                yield "link", predictor, item, None, None, measure, *estimate.numbers


def _outcome(table: ResultTable, condition: Any, item: str) -> float:
    """Accuracy on a question, or one of the other outcomes; the mean over seeds."""
    if item == "spread":
        return spread(table, condition, ALL)
    questions = {"forgetting": ALL, "word loss": ""}.get(item, item)
    return over_seeds(by_seed(table, [condition], questions, item if item in OTHER_OUTCOMES else "accuracy")).value


def contrast_rows(table: ResultTable) -> Iterator[Row]:
    """Every contrast on every question: accuracy, and forgetting."""
    for name, (first, second) in CONTRASTS.items():
        for item in table.notes["items"]:
            for measure in ("accuracy", "frozen accuracy", "forgetting"):
                if (difference := gap(table, of(table, first), of(table, second), item, measure)).known:
                    yield "contrast", name, item, None, None, measure, *difference.numbers
    for name, sided in MATCHED.items():
        for item in table.notes["items"]:
            if (difference := matched(table, of(table, sided), item)).known:
                yield "contrast", name, item, None, None, "accuracy", *difference.numbers


def matched(table: ResultTable, sided: Sequence[Any], item: str) -> Estimate:
    """By how much a symmetric curve exceeds others that are flatter or steeper ahead and equally local.

    At the same w, another s also changes the locality of a curve. So each is compared with the accuracy interpolated
    between the two symmetric curves nearest in locality, seed by seed.
    """
    sweep = of(table, "symmetric curves")
    if len(sweep) < 2 or not sided:
        return Estimate()
    at, along = ([property_of(table, curve, "bias.locality") for curve in curves] for curves in (sided, sweep))
    even_SC, other_SC = (np.array([by_seed(table, [curve], item) for curve in curves]).T for curves in (sweep, sided))
    pairs = zip(even_SC, other_SC, strict=True)
    return over_seeds([float(np.mean(np.interp(at, along, even_C) - other_C)) for even_C, other_C in pairs])
