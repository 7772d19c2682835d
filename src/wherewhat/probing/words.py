"""The probe of shuffled words: phrases of every size, and the whole sentence, each beside a control of equal size."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from torch import nn

from wherewhat.capture.loading.load import LoadedModel, LoadSettings
from wherewhat.corpora.cases import Case
from wherewhat.errors import UserError
from wherewhat.names import check_keywords
from wherewhat.probing import word_claims
from wherewhat.probing.bootstrap import LEAST
from wherewhat.probing.swapped.data import Data
from wherewhat.probing.swapped.describe import Claim, Found
from wherewhat.probing.swapped.numbers import WHOLE, Marks
from wherewhat.probing.swapped.outcome import Item, Outcome
from wherewhat.probing.swapped.probe import Swapping, put
from wherewhat.probing.swapped.trials import Reading, Trial, Turned
from wherewhat.probing.swaps.base import SIZES, Swap, size_name
from wherewhat.probing.swaps.shuffling import phrases_of, shuffle_control, shuffle_phrases
from wherewhat.probing.waiting import OnStep, Say
from wherewhat.runs.probed import Probed

BOTH = "both"
WHICH = {BOTH: (0, 1), "premise": (0,), "hypothesis": (1,)}  # of a pair
EVERY = "every size"  # the side of cases that have a phrase of every size: one original serves all


@dataclass(frozen=True)
class Shuffles(Swapping):
    """What is shuffled."""

    sizes: tuple[str, ...] = tuple(map(size_name, SIZES))
    which: str = BOTH
    name: ClassVar[str] = "words"
    need: ClassVar[str] = "phrases"

    def __post_init__(self) -> None:
        if self.which not in WHICH:
            raise UserError(f"which is '{self.which}'; of a pair shuffle premise, hypothesis or both")
        for size in self.sizes:
            if size != WHOLE and not (size.isdecimal() and int(size) >= 2):
                raise UserError(f"'{size}' is no size of a phrase; give numbers of words from 2 on, or {WHOLE}")
        if not self.sizes or len(set(self.sizes)) < len(self.sizes):
            raise UserError(f"sizes is '{','.join(self.sizes)}'; name at least one size, and none twice")

    def refuse(self, case: Case) -> str | None:
        """A case that has nothing to shuffle."""
        there = (phrases_of(case.sentences[place], _words(size)) for size in self.sizes for place in self._places(case))
        return None if any(there) else "without a phrase to shuffle"

    def items(self, data: Data) -> list[Item]:
        """Every size with the cases that have such a phrase."""
        by_size = {size: self._trials(data, size) for size in self.sizes}
        whole = {trial.case: trial.swapped for trial in by_size.get(WHOLE, ())}
        return [
            Item(size, trials, {WHOLE: whole} if whole and size != WHOLE else {}) for size, trials in by_size.items()
        ]

    def lacking(self, item: str) -> str:
        return "nothing to shuffle" if item == WHOLE else f"no phrase of {item} words"

    def sides(self, found: Outcome, items: Sequence[Item]) -> Mapping[str, Marks]:
        """Every label, and the cases that have a phrase of every size if there are enough."""
        labels = np.array(found.labels)
        sides = {label: labels == label for label in sorted(set(labels)) if found.library.data.labelled}
        every = complete(items)
        if len(every) >= LEAST:
            sides[EVERY] = np.array([trial.case in every for trial in found.item.trials])
        return sides

    def about(self, data: Data, items: Sequence[Item]) -> dict[str, Any]:
        return {"swapped in": self.which if data.pairs else "sentence", EVERY: len(complete(items))}

    def claims(self, data: Data, found: Found) -> list[Claim]:
        return word_claims.claims_of(data, found, self.sizes)

    def said(self, data: Data, found: Found) -> str:
        return word_claims.said_of(data, found, self.sizes)

    def _places(self, case: Case) -> tuple[int, ...]:
        return WHICH[self.which] if len(case.sentences) == 2 else (0,)

    def _trials(self, data: Data, size: str) -> tuple[Trial, ...]:
        trials = (self._trial(number, case, size) for number, case in enumerate(data.cases))
        return tuple(trial for trial in trials if trial is not None)

    def _trial(self, number: int, case: Case, size: str) -> Trial | None:
        """A case with its phrases of one size shuffled; a text is always shuffled alike."""
        swaps = {place: self._shuffled(case, place, size) for place in self._places(case)}
        shuffled = {place: swap for place, swap in swaps.items() if swap is not None}
        if not shuffled:
            return None
        controls = {place: self._control(case, place, swap) for place, swap in shuffled.items()}
        control = None if None in controls.values() else _turned(case, controls)
        return Trial(number, _turned(case, shuffled), control, case.label or None)

    def _shuffled(self, case: Case, place: int, size: str) -> Swap | None:
        sentence = case.sentences[place]
        return shuffle_phrases(sentence, _words(size), seed=self.seed, key=sentence.text)

    def _control(self, case: Case, place: int, swap: Swap) -> Swap | None:
        sentence = case.sentences[place]
        return shuffle_control(sentence, swap, seed=self.seed, key=sentence.text)


def probe_words(
    model: str | nn.Module | LoadedModel,
    files: Sequence[str | Path] = (),
    *,
    tokenizer: Any = None,
    loading: LoadSettings | None = None,
    on_step: OnStep | None = None,
    say: Say | None = None,
    **settings: Any,
) -> Probed:
    """Shuffle words inside phrases, and of whole sentences, and see what a model makes of it.

    `files` hold phrases, or labelled cases with phrases; without any, sentences of the grammar are used. `settings` are
    the fields of `Shuffles`.
    """
    check_keywords(probe_words, settings, fills=Shuffles)
    if "sizes" in settings:
        settings |= {"sizes": tuple(map(str, settings["sizes"]))}  # numbers will do
    return put(Shuffles(**settings), model, files, tokenizer=tokenizer, loading=loading, on_step=on_step, say=say)


def complete(items: Sequence[Item]) -> set[int]:
    """The cases that every item has."""
    return set.intersection(*({trial.case for trial in item.trials} for item in items))


def _turned(case: Case, swaps: Mapping[int, Swap | None]) -> Reading:
    """All sentences of a case, some of them swapped."""
    found = [(sentence, swaps.get(place)) for place, sentence in enumerate(case.sentences)]
    return tuple(Turned.unmoved(sentence) if swap is None else Turned.by(swap) for sentence, swap in found)


def _words(size: str) -> int | None:
    return None if size == WHOLE else int(size)
