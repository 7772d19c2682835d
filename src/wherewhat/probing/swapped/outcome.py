"""What a model made of cases before and after a swap, as one value a case for every measure."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from wherewhat.probing.swapped.data import Data
from wherewhat.probing.swapped.numbers import (
    CONTROL,
    ORIGINAL,
    SWAPPED,
    Column,
    Columns,
    Floats,
    Marks,
    Measured,
    Resampling,
    means,
)
from wherewhat.probing.swapped.reading import Heard, OnText, Reader, Texts
from wherewhat.probing.swapped.trials import Reading, Trial, original_of, texts_of

Places = NDArray[np.int64]  # where a text is among those that were heard; NOWHERE if there is none
NOWHERE = -1
ACCURACY, KEPT, FLIP, OLD, LENIENT = "accuracy", "kept", "flip", "old label", "lenient"
NATS, DISTANCE, MOVED, REACH = "nats", "distance", "moved", "reach"
BY_ANSWER = (ACCURACY, KEPT, FLIP, OLD, LENIENT)  # these are also counted label by label


@dataclass(frozen=True)
class Item:
    """One kind of swap and all cases that it could be done to."""

    name: str
    trials: tuple[Trial, ...]
    beside: Mapping[str, Mapping[int, Reading]]  # by kind and case, what else each trial is held against


@dataclass(frozen=True)
class Library:
    """What was heard of every text of some data."""

    reader: Reader
    data: Data
    heard: Heard
    place: Mapping[Texts, int]

    def places(self, texts: Sequence[Texts | None]) -> Places:
        """Where these texts are."""
        return np.array([NOWHERE if each is None else self.place[each] for each in texts], dtype=np.int64)

    @cached_property
    def unit_ND(self) -> Floats:
        """Where each text lies, as a direction; NaN if that is not known."""
        if self.heard.state_ND is None:
            return np.full((len(self.place), 1), np.nan)
        length_N1 = np.linalg.norm(self.heard.state_ND, axis=1, keepdims=True)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(self.heard.state_ND / length_N1)

    @cached_property
    def scale(self) -> float:
        """How far apart two different cases lie, on average, as they are."""
        originals = dict.fromkeys(original_of(case) for case in self.data.cases)
        unit_ND = self.unit_ND[self.places(list(originals))]
        n = len(unit_ND)
        alike = (np.square(unit_ND.sum(0)).sum() - n) / (n * (n - 1)) if n > 1 else float("nan")
        return float(1 - alike)

    def answers(self, places_N: Places) -> Floats:
        """The number of the label that is given; NaN where there is no text."""
        assert self.heard.answer_N is not None
        return np.where(places_N == NOWHERE, np.nan, self.heard.answer_N[places_N].astype(np.float64))

    def wanted(self, labels: Sequence[str | None]) -> Floats:
        """The numbers of these labels in the model; NaN where none is known."""
        number = {label.casefold(): place for place, label in enumerate(self.reader.labels)}
        return np.array([np.nan if not label else number[label.casefold()] for label in labels], dtype=np.float64)

    def apart(self, one_N: Places, other_N: Places) -> Floats:
        """How far texts lie from others, where two different cases are 1 apart."""
        cosine_N = (self.unit_ND[one_N] * self.unit_ND[other_N]).sum(1)
        with np.errstate(invalid="ignore", divide="ignore"):
            apart_N = np.maximum(0.0, 1 - cosine_N) / self.scale
        return np.where((one_N == NOWHERE) | (other_N == NOWHERE), np.nan, apart_N)


def listen(reader: Reader, data: Data, items: Sequence[Item], *, on_text: OnText | None = None) -> Library:
    """Let the model read everything, each text once."""
    texts = dict.fromkeys(original_of(case) for case in data.cases)
    for item in items:
        readings = [reading for trial in item.trials for reading in (trial.swapped, trial.control) if reading]
        readings += [reading for of in item.beside.values() for reading in of.values()]
        texts |= dict.fromkeys(map(texts_of, readings))
    place = {each: number for number, each in enumerate(texts)}
    return Library(reader, data, reader.hear(list(texts), on_text=on_text), place)


@dataclass(frozen=True)
class Outcome:
    """One item: where the texts of each kind were heard, and from that every measure."""

    library: Library
    item: Item
    kinds: Mapping[str, Places]

    @property
    def labels(self) -> list[str]:
        """The right answers before the swap."""
        return [self.library.data.cases[trial.case].label for trial in self.item.trials]

    @property
    def columns(self) -> dict[str, Columns]:
        """By measure and kind, one value a case."""
        found: dict[str, Columns] = {}
        heard = self.library.heard
        if heard.answer_N is not None:
            found |= self._judged() if self.library.data.labelled else {KEPT: self._kept()}
        if heard.nats_N is not None and heard.tokens_N is not None:
            totals = {kind: self._heard(heard.nats_N, places_N) for kind, places_N in self.kinds.items()}
            weights = {kind: self._heard(heard.tokens_N, places_N) for kind, places_N in self.kinds.items()}
            found[NATS] = {kind: Column(totals[kind], weights[kind]) for kind in self.kinds}
        original_N = self.kinds[ORIGINAL]
        found[DISTANCE] = self._after(lambda places_N, kind: self.library.apart(places_N, original_N))
        return found | self._moves()

    @staticmethod
    def _heard(value_N: Floats, places_N: Places) -> Floats:
        return np.where(places_N == NOWHERE, np.nan, value_N[places_N])

    def _after(self, value: Callable[[Places, str], Floats]) -> Columns:
        """A measure that only a changed text has."""
        after = {kind: places_N for kind, places_N in self.kinds.items() if kind != ORIGINAL}
        return {kind: Column.plain(value(places_N, kind)) for kind, places_N in after.items()}

    def _kept(self) -> Columns:
        before_N = self.library.answers(self.kinds[ORIGINAL])
        return self._after(lambda places_N, kind: _same(self.library.answers(places_N), before_N))

    def _judged(self) -> dict[str, Columns]:
        """What can be said of answers when the right ones are known."""
        answers = {kind: self.library.answers(places_N) for kind, places_N in self.kinds.items()}
        old_N = self.library.wanted(self.labels)
        new_N = self.library.wanted([trial.answer for trial in self.item.trials])
        wanted = {kind: new_N if kind == SWAPPED else old_N for kind in answers}
        right_N = answers[ORIGINAL] == old_N
        found = {ACCURACY: {kind: Column.plain(_same(answers[kind], wanted[kind])) for kind in answers}}
        kept = self._kept()
        flips = {kind: np.where(right_N, 1 - column.total_N, np.nan) for kind, column in kept.items()}
        found |= {KEPT: dict(kept), FLIP: {kind: Column.plain(value_N) for kind, value_N in flips.items()}}
        if (new_N == old_N).all():
            return dict(found)
        found[OLD] = dict(self._after(lambda places_N, kind: _same(answers[kind], old_N)))
        lenient_N = np.where(new_N == old_N, _same(answers[SWAPPED], old_N), 1 - _same(answers[SWAPPED], old_N))
        found[LENIENT] = {SWAPPED: Column.plain(np.where(np.isnan(new_N), np.nan, lenient_N))}
        return dict(found)

    def _moves(self) -> dict[str, Columns]:
        """How many words stand elsewhere, and how far from where they stood."""
        readings: dict[str, list[Reading | None]] = {SWAPPED: [trial.swapped for trial in self.item.trials]}
        if CONTROL in self.kinds:
            readings[CONTROL] = [trial.control for trial in self.item.trials]
        if any(one.order is None for trial in self.item.trials for one in trial.swapped):
            return {}
        moved = {kind: _counted(of, lambda steps: sum(step > 0 for step in steps)) for kind, of in readings.items()}
        return {MOVED: moved, REACH: {kind: _counted(of, sum) for kind, of in readings.items()}}


def outcome(library: Library, item: Item) -> Outcome:
    """Look up where everything about an item was heard."""
    trials = item.trials
    kinds = {
        ORIGINAL: library.places([original_of(library.data.cases[trial.case]) for trial in trials]),
        SWAPPED: library.places([texts_of(trial.swapped) for trial in trials]),
    }
    if any(trial.control for trial in trials):
        kinds[CONTROL] = library.places([texts_of(trial.control) if trial.control else None for trial in trials])
    for kind, of in item.beside.items():
        kinds[kind] = library.places([texts_of(of[trial.case]) if trial.case in of else None for trial in trials])
    return Outcome(library, item, kinds)


def measured(found: Outcome, sides: Mapping[str, Marks], resampling: Resampling) -> list[Measured]:
    """Every measure of one item, of all cases and of each side. Sides that are labels are only asked of answers."""
    rows, labels = list[Measured](), set(found.labels)
    every: list[tuple[str | None, Marks]] = [(None, np.ones(len(found.item.trials), dtype=bool)), *sides.items()]
    for measure, columns in found.columns.items():
        for side, among_N in every:
            if side in labels and measure not in BY_ANSWER:
                continue
            for kind, value, low, high, cases in means(columns, resampling, among_N):
                if cases:
                    rows.append(Measured(found.item.name, side, kind, measure, value, low, high, cases))
    return rows


def _same(one_N: Floats, other_N: Floats) -> Floats:
    """1 where two are equal, 0 where not, NaN where one is missing."""
    return np.where(np.isnan(one_N) | np.isnan(other_N), np.nan, (one_N == other_N).astype(np.float64))


def _counted(readings: Sequence[Reading | None], count: Callable[[list[int]], int]) -> Column:
    """Something counted over the words of every case, a word."""
    steps = [None if reading is None else [step for one in reading for step in one.moves] for reading in readings]
    total_N = np.array([np.nan if each is None else float(count(each)) for each in steps])
    return Column(total_N, np.array([np.nan if each is None else float(len(each)) for each in steps]))
