"""What a model computed for examples before and after a swap, as one value per example for every measure."""

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from wherewhat.corpora.annotated_examples import AnnotatedExample
from wherewhat.probing.swap_probe.datasets import GRAMMAR, ProbeDataset
from wherewhat.probing.swap_probe.estimates import (
    CONTROL,
    ONE_ANSWER,
    ORIGINAL,
    SWAPPED,
    WORDS_ALONE,
    ExampleValues,
    Floats,
    Marks,
    ProbeEstimate,
    VersionValues,
    means,
)
from wherewhat.probing.swap_probe.measures import (
    ACCURACY,
    DISTANCE,
    FLIP,
    KEPT,
    LENIENT,
    MOVED,
    NATS,
    OF_ANSWERS,
    OLD,
    REACH,
)
from wherewhat.probing.swap_probe.probed_model import Outputs, ProbedModel, Texts
from wherewhat.probing.swap_probe.swapped_example import SwapItem, original_texts, texts_of
from wherewhat.progress import OnText
from wherewhat.stats.bootstrap import NamedResampling

Places = NDArray[np.int64]  # where a text is among those that were read; NOWHERE if there is none
NOWHERE = -1
CONTENT_TAGS = ("NOUN", "PROPN", "VERB")  # of the words that the built-in pairs are about


@dataclass(frozen=True)
class OutputsByText:
    """The outputs of a model for every text of a dataset."""

    model: ProbedModel
    data: ProbeDataset
    outputs: Outputs
    place: Mapping[Texts, int]

    def places(self, texts: Sequence[Texts | None]) -> Places:
        """Where these texts are."""
        return np.array([NOWHERE if each is None else self.place[each] for each in texts], dtype=np.int64)

    @cached_property
    def unit_ND(self) -> Floats:
        """The mean hidden state of each text as a unit vector; NaN if it is not known."""
        if self.outputs.state_ND is None:
            return np.full((len(self.place), 1), np.nan)
        length_N1 = np.linalg.norm(self.outputs.state_ND, axis=1, keepdims=True)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(self.outputs.state_ND / length_N1)

    @cached_property
    def scale(self) -> float:
        """How far apart two different examples are, on average, before any swap."""
        originals = dict.fromkeys(original_texts(example) for example in self.data.examples)
        unit_ND = self.unit_ND[self.places(list(originals))]
        n = len(unit_ND)
        alike = (np.square(unit_ND.sum(0)).sum() - n) / (n * (n - 1)) if n > 1 else float("nan")
        return float(1 - alike)

    def answers(self, places_N: Places) -> Floats:
        """The index of the predicted label; NaN where there is no text."""
        assert self.outputs.answer_N is not None
        return np.where(places_N == NOWHERE, np.nan, self.outputs.answer_N[places_N].astype(np.float64))

    def wanted(self, labels: Sequence[str | None]) -> Floats:
        """The indices of these labels in the model; NaN where none is known."""
        number = {label.casefold(): place for place, label in enumerate(self.model.labels)}
        return np.array([np.nan if not label else number[label.casefold()] for label in labels], dtype=np.float64)

    def distances(self, first_N: Places, second_N: Places) -> Floats:
        """How far texts are from others, where two different examples are 1 apart."""
        cosine_N = (self.unit_ND[first_N] * self.unit_ND[second_N]).sum(1)
        with np.errstate(invalid="ignore", divide="ignore"):
            distance_N = np.maximum(0.0, 1 - cosine_N) / self.scale
        return np.where((first_N == NOWHERE) | (second_N == NOWHERE), np.nan, distance_N)


def read_all_texts(
    model: ProbedModel, data: ProbeDataset, items: Sequence[SwapItem], *, on_text: OnText | None = None
) -> OutputsByText:
    """Let the model read every version of every example, each text once."""
    texts = dict.fromkeys(original_texts(example) for example in data.examples)
    for item in items:
        versions = [version for each in item.examples for version in (each.swapped, each.control) if version]
        versions += [version for by_example in item.beside.values() for version in by_example.values()]
        texts |= dict.fromkeys(map(texts_of, versions))
    place = {each: number for number, each in enumerate(texts)}
    return OutputsByText(model, data, model.read(list(texts), on_text=on_text), place)


@dataclass(frozen=True)
class ItemOutputs:
    """One item: where the outputs of each kind of version are, and from them every measure."""

    library: OutputsByText
    item: SwapItem

    @cached_property
    def kinds(self) -> dict[str, Places]:
        """By kind, where the outputs of every example's version are."""
        library, examples = self.library, self.item.examples
        kinds = {
            ORIGINAL: library.places([original_texts(library.data.examples[each.index]) for each in examples]),
            SWAPPED: library.places([texts_of(each.swapped) for each in examples]),
        }
        if any(each.control for each in examples):
            kinds[CONTROL] = library.places([texts_of(each.control) if each.control else None for each in examples])
        for kind, of in self.item.beside.items():
            kinds[kind] = library.places([texts_of(of[each.index]) if each.index in of else None for each in examples])
        return kinds

    @property
    def labels(self) -> list[str]:
        """The right answers before the swap."""
        return [self.library.data.examples[each.index].label for each in self.item.examples]

    @property
    def measures(self) -> dict[str, VersionValues]:
        """By measure and kind, one value per example."""
        outputs, original_N, values = self.library.outputs, self.kinds[ORIGINAL], dict[str, VersionValues]()
        if outputs.answer_N is not None:
            for measure, by_kind in self._answer_measures().items():
                values[measure] = {kind: ExampleValues.unweighted(value_N) for kind, value_N in by_kind.items()}
        if outputs.nats_N is not None and outputs.tokens_N is not None:
            columns = (outputs.nats_N, outputs.tokens_N)
            values[NATS] = {
                kind: ExampleValues(*(np.where(at_N == NOWHERE, np.nan, column_N[at_N]) for column_N in columns))
                for kind, at_N in self.kinds.items()
            }
        values[DISTANCE] = {
            kind: ExampleValues.unweighted(self.library.distances(at_N, original_N))
            for kind, at_N in self.kinds.items()
            if kind != ORIGINAL
        }
        return values | self._moves()

    def _answer_measures(self) -> dict[str, dict[str, Floats]]:
        """By measure and kind: whether answers stay, and whether they are right where that is known."""
        answers = {kind: self.library.answers(at_N) for kind, at_N in self.kinds.items()}
        after = [kind for kind in answers if kind != ORIGINAL]
        kept = {kind: _equal(answers[kind], answers[ORIGINAL]) for kind in after}
        if not self.library.data.labelled:
            return {KEPT: kept}
        old_N = self.library.wanted(self.labels)
        new_N = self.library.wanted([each.answer for each in self.item.examples])
        right = {kind: _equal(answers[kind], new_N if kind == SWAPPED else old_N) for kind in answers}
        flips = {kind: np.where(answers[ORIGINAL] == old_N, 1 - kept[kind], np.nan) for kind in after}
        measures = {ACCURACY: right, KEPT: kept, FLIP: flips}
        if not (new_N == old_N).all():
            measures[OLD] = {kind: _equal(answers[kind], old_N) for kind in after}
            lenient_N = np.where(new_N == old_N, measures[OLD][SWAPPED], 1 - measures[OLD][SWAPPED])
            measures[LENIENT] = {SWAPPED: np.where(np.isnan(new_N), np.nan, lenient_N)}
        return measures

    def _moves(self) -> dict[str, VersionValues]:
        """The share of words in another place, and how far they are from where they were; none for a rewritten text."""
        if any(sentence.order is None for each in self.item.examples for sentence in each.swapped):
            return {}
        moved, reach = dict[str, ExampleValues](), dict[str, ExampleValues]()
        for kind in (kind for kind in (SWAPPED, CONTROL) if kind in self.kinds):
            counts = list[tuple[float, float, float]]()
            for version in (each.swapped if kind == SWAPPED else each.control for each in self.item.examples):
                steps = [abs(new - old) for each in version or () for new, old in enumerate(each.order or ())]
                known = (len(steps), sum(step > 0 for step in steps), sum(steps))
                counts.append(known if version is not None else (np.nan,) * 3)
            words_N, moved_N, steps_N = np.array(counts, dtype=np.float64).T
            moved[kind], reach[kind] = ExampleValues(moved_N, words_N), ExampleValues(steps_N, words_N)
        return {MOVED: moved, REACH: reach}


def estimate_item(outputs: ItemOutputs, sides: Mapping[str, Marks], resampling: NamedResampling) -> list[ProbeEstimate]:
    """Every measure of one item and two baselines, over all examples and over each side.

    Sides that are labels have only answers, and no baselines. The baselines do not read: one guesses from the words in
    any order, the other gives one answer to everything.
    """
    item, data, labels = outputs.item, outputs.library.data, outputs.labels
    rows = list[ProbeEstimate]()
    every: list[tuple[str | None, Marks]] = [(None, np.ones(len(item.examples), dtype=bool)), *sides.items()]
    for measure, values in outputs.measures.items():
        for side, among_N in every:
            if side not in labels or measure in OF_ANSWERS:
                for kind, value, low, high, count in means(values, resampling, among_N):
                    rows += [ProbeEstimate(item.name, side, kind, measure, value, low, high, count)] if count else []
    keys: dict[str, list[Hashable]] = {ONE_ANSWER: [None] * len(labels)} if data.labelled else {}
    if data.labelled and data.source == GRAMMAR and data.pairs:  # elsewhere it is not known what the words alone tell
        keys = {WORDS_ALONE: [shared_words(data.examples[each.index]) for each in item.examples], **keys}
    nan = float("nan")
    for kind, of in keys.items():
        for side, among_N in every:
            numbers = np.flatnonzero(among_N).tolist()
            if numbers and side not in labels:
                value = best_accuracy([of[n] for n in numbers], [labels[n] for n in numbers])
                rows.append(ProbeEstimate(item.name, side, kind, ACCURACY, value, nan, nan, len(numbers)))
    return rows


def _equal(first_N: Floats, second_N: Floats) -> Floats:
    """1 where two are equal, 0 where not, NaN where one is missing."""
    return np.where(np.isnan(first_N) | np.isnan(second_N), np.nan, (first_N == second_N).astype(np.float64))


def shared_words(example: AnnotatedExample) -> Hashable:
    """All that the words of a built-in pair tell about its label: which words of the hypothesis the premise has too.

    Only how many verbs and how many nouns, as a bag of words has no order. Nothing else but order decides the label.
    """
    premise, hypothesis = example.sentences
    words = zip(hypothesis.annotation.upos, hypothesis.annotation.lemma, strict=True)
    shared = ((tag == "VERB", lemma in premise.annotation.lemma) for tag, lemma in words if tag in CONTENT_TAGS)
    return tuple(sorted(shared))


def best_accuracy(keys: Sequence[Hashable], labels: Sequence[str]) -> float:
    """The accuracy if every key gets its most frequent label.

    >>> best_accuracy(["a", "a", "a", "b"], ["yes", "no", "no", "yes"])
    0.75
    """
    counts = Counter(zip(keys, labels, strict=True))
    most: dict[Hashable, int] = {}
    for (key, _), count in counts.items():
        most[key] = max(most.get(key, 0), count)
    return sum(most.values()) / len(labels)
