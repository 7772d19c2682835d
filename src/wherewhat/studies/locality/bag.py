"""How far the words of a sentence alone answer a question, whatever their order: a reference beside every net."""

from collections.abc import Iterator, Sequence
from statistics import fmean

import numpy as np

from wherewhat.corpora.questions import Example, Labelled
from wherewhat.studies.locality.estimate import over_seeds
from wherewhat.studies.locality.evidence import Evidence, Row
from wherewhat.studies.locality.job import Job

BAG = "bag of words"  # stands in the place of an encoding
RIDGE = 1.0  # how much large weights cost


def bag_rows(seen: Evidence, jobs: Sequence[Job]) -> Iterator[Row]:
    """What it gets right, one job for each seed, over the questions and items of the nets."""
    right = {one: [bag_accuracy(job.asked(one), job.scale.longest) for job in jobs] for one in seen.questions}
    for item, its in seen.items.items():
        by_seed = [fmean(values) for values in zip(*(right[one] for one in its), strict=True)]
        yield "mean", BAG, item, None, None, "accuracy", *over_seeds(by_seed).numbers


def bag_accuracy(asked: Labelled, longest: int) -> float:
    """The share of test sentences that ridge regression on word counts gets right, learnt from the same sentences."""
    known = sorted({word for one in asked.train for word in one.words[:longest]})
    places = {word: place for place, word in enumerate(known)}
    train_NW, test_NW = (_counts(part, places, longest) for part in (asked.train, asked.test))
    labels_N = [asked.labels.index(one.label) for one in asked.train]
    target_NL = np.eye(len(asked.labels))[labels_N]
    middle_W = train_NW.mean(0)
    centred_NW = train_NW - middle_W
    weight_WL = np.linalg.solve(
        centred_NW.T @ centred_NW + RIDGE * np.eye(len(known)), centred_NW.T @ (target_NL - target_NL.mean(0))
    )
    # Rounded, so that what is even stays even on every machine.
    said_NL = np.round((test_NW - middle_W) @ weight_WL + target_NL.mean(0), 9)
    return fmean(asked.labels[place] == one.label for place, one in zip(said_NL.argmax(1), asked.test, strict=True))


def _counts(examples: Sequence[Example], places: dict[str, int], longest: int) -> np.ndarray:
    """counts_NW: how often every known word stands in every sentence."""
    counts_NW = np.zeros((len(examples), len(places)))
    for number, example in enumerate(examples):
        for word in example.words[:longest]:
            if word in places:
                counts_NW[number, places[word]] += 1
    return counts_NW
