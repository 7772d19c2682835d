"""Sentences of a treebank, made ready for a model: their words, governors and pieces, and which had to be left out."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from wherewhat.capture.loading.load import LoadedModel
from wherewhat.capture.tokens.align import SPECIAL, Aligned, aligned
from wherewhat.corpora.sentence import Sentence
from wherewhat.corpora.units import Units, units_of

PUNCTUATION = "punct"  # as a relation
MARK = "PUNCT"  # as a part of speech
TOO_LONG = "longer than the model allows"
NO_RELATION = "no relation between two words"
NONE = -1  # no kept word

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Ready:
    """One sentence. Words that are kept (all but punctuation) are counted from 0 among themselves."""

    number: int  # in its file: names what is drawn for it
    id: str  # what its treebank calls it, if it does
    units: Units
    aligned: Aligned

    @cached_property
    def one_each(self) -> Aligned:
        """One token a word: where words stand, and nothing of how long they are."""
        return self.aligned.one_each

    @property
    def key(self) -> str:
        """What decides its half."""
        return self.id or self.units.raw

    @cached_property
    def kept(self) -> tuple[int, ...]:
        """The units that are not punctuation."""
        tags = self.units.upos or ("",) * len(self.units.words)
        pairs = enumerate(zip(tags, self.units.deprel, strict=True))
        return tuple(unit for unit, (tag, how) in pairs if tag != MARK and main_type(how) != PUNCTUATION)

    @property
    def words(self) -> tuple[str, ...]:
        """The kept words."""
        return tuple(self.units.words[unit] for unit in self.kept)

    @cached_property
    def governors(self) -> Ints:
        """Of every kept word its governor among kept words, or NONE."""
        site = {unit: word for word, unit in enumerate(self.kept)}
        return np.array([site.get(self.units.head[unit] - 1, NONE) for unit in self.kept], dtype=np.int64)

    @property
    def relations(self) -> tuple[str, ...]:
        """How every kept word depends on its governor."""
        return tuple(self.units.deprel[unit] for unit in self.kept)

    def word_of(self, text: Aligned) -> Tensor:
        """Of every token of this sentence, in some order of its words, the kept word it is of, or NONE."""
        word_of_unit = torch.full((len(self.units.words) + 1,), NONE)  # the last is for tokens of no unit
        word_of_unit[list(self.kept)] = torch.arange(len(self.kept))
        assert SPECIAL == NONE
        return word_of_unit[text.unit_of_T]


@dataclass(frozen=True)
class Treebank:
    """The sentences of one file that a model can read, and why others were left out."""

    name: str
    source: str
    sentences: tuple[Ready, ...]
    skipped: Counter[str] = field(default_factory=Counter)

    def only(self, ids: Iterable[str], reason: str) -> "Treebank":
        """Those with these ids, in this order; others are left out for a reason."""
        known = {one.id: one for one in self.sentences}
        kept = tuple(known[id] for id in ids)
        left = Counter({reason: len(self.sentences) - len(kept)})
        return Treebank(self.name, self.source, kept, self.skipped + left)


def main_type(relation: str) -> str:
    """A relation without its subtype.

    >>> main_type("nsubj:pass")
    'nsubj'
    """
    return relation.partition(":")[0]


def made_ready(
    model: LoadedModel, sentences: Iterable[tuple[int, Sentence]], name: str, source: str, *, most: int | None = None
) -> Treebank:
    """Cut numbered sentences into pieces, and leave out those that cannot be read or have nothing to find.

    At most so many that can be used are taken, the first that come; they are kept in the order of their numbers.
    """
    holds = model.context
    found, skipped = list[Ready](), Counter[str]()
    for number, sentence in sentences:
        if len(found) == most:
            break
        ready = _ready(model, sentence, number, holds)
        if isinstance(ready, str):
            skipped[ready] += 1
        else:
            found.append(ready)
    return Treebank(name, source, tuple(sorted(found, key=lambda one: one.number)), skipped)


def _ready(model: LoadedModel, sentence: Sentence, number: int, holds: int | None) -> Ready | str:
    units = units_of(sentence)
    if not units.head:
        return NO_RELATION
    pieces = aligned(model, units)
    if isinstance(pieces, str):
        return pieces
    if holds is not None and len(pieces.ids_T) > holds:
        return TOO_LONG
    ready = Ready(number, sentence.annotation.id, units, pieces)
    return ready if bool((ready.governors != NONE).any()) else NO_RELATION
