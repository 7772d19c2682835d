"""What is right without reading: by the words alone, whatever their order, or by giving one answer to everything."""

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence

import numpy as np

from wherewhat.corpora.cases import Case
from wherewhat.probing.swapped.data import GRAMMAR
from wherewhat.probing.swapped.numbers import ALONE, ONE_ANSWER, Marks, Measured
from wherewhat.probing.swapped.outcome import ACCURACY, Outcome

TELLING = ("NOUN", "PROPN", "VERB")  # kinds of words that our own pairs are about


def without_reading(found: Outcome, sides: Mapping[str, Marks]) -> list[Measured]:
    """Rows of both, of all cases of an item and of each side. Of cases that all have one label they say nothing."""
    data, trials, labels = found.library.data, found.item.trials, found.labels
    if not data.labelled:
        return []
    keys: dict[str, list[Hashable]] = {ONE_ANSWER: [None] * len(trials)}
    if data.source == GRAMMAR and data.pairs:  # elsewhere nobody knows what words tell
        keys = {ALONE: [said_again(data.cases[trial.case]) for trial in trials], **keys}
    every: list[tuple[str | None, Marks]] = [(None, np.ones(len(trials), dtype=bool)), *sides.items()]
    there = {side: np.flatnonzero(among_N).tolist() for side, among_N in every if side not in labels}
    return [
        Measured(found.item.name, side, kind, ACCURACY, value, float("nan"), float("nan"), len(numbers))
        for kind, of in keys.items()
        for side, numbers in there.items()
        if (value := best([of[n] for n in numbers], [labels[n] for n in numbers])) is not None
    ]


def said_again(case: Case) -> Hashable:
    """All that the words of one of our own pairs tell of its label: which of the second sentence the first has too.

    Only how many verbs and how many nouns, as order is not known. Their labels depend on nothing else but order.
    """
    first, second = case.sentences
    words = zip(second.annotation.upos, second.annotation.lemma, strict=True)
    return tuple(sorted((kind == "VERB", lemma in first.annotation.lemma) for kind, lemma in words if kind in TELLING))


def best(keys: Sequence[Hashable], labels: Sequence[str]) -> float | None:
    """The share that is right if every key gets the label that it has most often.

    >>> best(["a", "a", "a", "b"], ["yes", "no", "no", "yes"])
    0.75
    """
    counts = Counter(zip(keys, labels, strict=True))
    most: dict[Hashable, int] = {}
    for (key, _), many in counts.items():
        most[key] = max(most.get(key, 0), many)
    return sum(most.values()) / len(labels) if labels else None
