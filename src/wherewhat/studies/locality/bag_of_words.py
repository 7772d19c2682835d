"""The bag-of-words baseline: how well the words of a sentence answer a question, whatever their order."""

from collections.abc import Iterator, Sequence
from statistics import fmean

import numpy as np

from wherewhat.corpora.questions import Example, LabelledDataset
from wherewhat.stats.intervals import over_seeds
from wherewhat.studies.finished_runs import Row
from wherewhat.studies.locality.job import LocalityJob
from wherewhat.studies.locality.results import LocalityResults

BAG = "bag of words"  # used in place of a condition
RIDGE = 1.0  # the penalty on large weights


def bag_rows(results: LocalityResults, jobs: Sequence[LocalityJob]) -> Iterator[Row]:
    """Its accuracy on every item; `jobs` has one job per seed."""
    accuracies = {
        question: [bag_accuracy(job.dataset(question), job.scale.longest) for job in jobs]
        for question in results.questions
    }
    for item, questions in results.items.items():
        by_seed = [fmean(values) for values in zip(*(accuracies[question] for question in questions), strict=True)]
        yield "mean", BAG, item, None, None, "accuracy", *over_seeds(by_seed).numbers


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
