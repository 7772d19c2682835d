"""The sentences that are read: of the grammar or of files, with their words, head words and tokens."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from wherewhat.capture.loading.load import LoadedModel
from wherewhat.capture.tokens.align import ACROSS, APART, MISSING, SPECIAL, AlignedText, aligned, cannot_align
from wherewhat.capture.tokens.encode import check_known
from wherewhat.corpora.files import distinct_names
from wherewhat.corpora.gold import read_gold
from wherewhat.corpora.grammar import Grammar
from wherewhat.corpora.sentence import Sentence
from wherewhat.corpora.units import Units, units_of
from wherewhat.errors import UserError
from wherewhat.probing.dependencies.settings import DependencySettings
from wherewhat.tasks.stream import fnv, mix

GRAMMAR = "grammar"
PUNCTUATION = "punct"  # as a relation
MARK = "PUNCT"  # as a part of speech
TOO_LONG = "longer than the model allows"
NO_RELATION = "no relation between two words"
ELSEWHERE = "missing in another treebank"
NONE = -1  # no kept word
SHARED = 0.5  # of the smallest treebank: with so many equal ids, treebanks are translations of one another
LEAST = 2  # sentences, one for each half
ATTEMPTS = 16  # sentences of the grammar tried per sentence wanted, before giving up

Ints = NDArray[np.int64]
Numbered = tuple[int, Sentence]


@dataclass(frozen=True)
class EncodedSentence:
    """One sentence as a model reads it. Kept words (all but punctuation) are counted from 0 among themselves."""

    number: int  # in its file: names what is drawn for it
    id: str  # its id in the treebank, if it has one
    units: Units
    aligned: AlignedText

    @cached_property
    def one_each(self) -> AlignedText:
        """One token per word: where words are, and nothing of how long they are."""
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
        return tuple(unit for unit, (tag, relation) in pairs if tag != MARK and main_type(relation) != PUNCTUATION)

    @property
    def words(self) -> tuple[str, ...]:
        """The kept words."""
        return tuple(self.units.words[unit] for unit in self.kept)

    @cached_property
    def head_words(self) -> Ints:
        """For every kept word its head word among kept words, or NONE."""
        place = {unit: word for word, unit in enumerate(self.kept)}
        return np.array([place.get(self.units.head[unit] - 1, NONE) for unit in self.kept], dtype=np.int64)

    @property
    def relations(self) -> tuple[str, ...]:
        """The relation of every kept word to its head word."""
        return tuple(self.units.deprel[unit] for unit in self.kept)

    def word_of(self, text: AlignedText) -> Tensor:
        """For every token of this sentence, in some order of its words, the kept word it belongs to, or NONE."""
        word_of_unit = torch.full((len(self.units.words) + 1,), NONE)  # the last is for tokens of no unit
        word_of_unit[list(self.kept)] = torch.arange(len(self.kept))
        assert SPECIAL == NONE
        return word_of_unit[text.unit_of_T]


@dataclass(frozen=True)
class EncodedTreebank:
    """The sentences of one file that a model can read, and why others were left out."""

    name: str
    source: str
    sentences: tuple[EncodedSentence, ...]
    skipped: Counter[str] = field(default_factory=Counter)


def main_type(relation: str) -> str:
    """A relation without its subtype.

    >>> main_type("nsubj:pass")
    'nsubj'
    """
    return relation.partition(":")[0]


def load_treebanks(model: LoadedModel, files: Sequence[Path], settings: DependencySettings) -> list[EncodedTreebank]:
    """One treebank per file, or sentences of the grammar where there are no files."""
    most = settings.most_for(not files)
    if not files:
        corpus = model.corpus if isinstance(model.corpus, Grammar) else Grammar()
        drawn = enumerate(_from_grammar(corpus, most, settings.seed))
        return [_checked(model, encode_treebank(model, drawn, GRAMMAR, GRAMMAR, most=most))]

    def rank(numbered: Numbered) -> int:
        """An order that the seed decides; equal ids have equal ranks in every file."""
        return mix(fnv(numbered[1].annotation.id or numbered[1].text) ^ mix(settings.seed))

    treebanks = []
    for name, path in zip(distinct_names(files), files, strict=True):
        sentences = sorted(enumerate(read_gold(path, "dependencies")), key=rank)  # from all over the file
        treebanks.append(_checked(model, encode_treebank(model, sentences, name, str(path), most=most)))
    return treebanks


def encode_treebank(
    model: LoadedModel, sentences: Iterable[Numbered], name: str, source: str, *, most: int | None = None
) -> EncodedTreebank:
    """Tokenize numbered sentences, and leave out those that cannot be read or have no relation.

    The first usable ones are taken, up to so many; they are kept in the order of their numbers.
    """
    usable, skipped = list[EncodedSentence](), Counter[str]()
    for number, sentence in sentences:
        encoded = _encode(model, sentence, number)
        if isinstance(encoded, str):
            skipped[encoded] += 1
        else:
            usable.append(encoded)
        if len(usable) == most:  # before the next is drawn: the grammar would draw many more
            break
    return EncodedTreebank(name, source, tuple(sorted(usable, key=lambda each: each.number)), skipped)


def _encode(model: LoadedModel, sentence: Sentence, number: int) -> EncodedSentence | str:
    """The sentence for the model, or why it cannot be used."""
    units = units_of(sentence)
    if not units.head:
        return NO_RELATION
    tokens = aligned(model, units)
    if isinstance(tokens, str):
        return tokens
    if model.context is not None and len(tokens.ids_T) > model.context:
        return TOO_LONG
    encoded = EncodedSentence(number, sentence.annotation.id, units, tokens)
    return encoded if bool((encoded.head_words != NONE).any()) else NO_RELATION


def _from_grammar(corpus: Grammar, most: int, seed: int) -> Iterator[Sentence]:
    """Sentences one after the other; more than are wanted, as some may be unusable."""
    have, wanted = 0, most
    while have < ATTEMPTS * most:
        yield from corpus.some("test", wanted, seed=seed)[have:]
        have, wanted = wanted, 2 * wanted


def _checked(model: LoadedModel, treebank: EncodedTreebank) -> EncodedTreebank:
    """Refuse a treebank that a model cannot read."""
    if len(treebank.sentences) >= LEAST:
        check_known(model, [sentence.aligned.ids_T for sentence in treebank.sentences])
        return treebank
    reasons = "; ".join(f"{number} {why}" for why, number in treebank.skipped.most_common()) or "it holds none"
    if treebank.skipped and treebank.skipped.most_common(1)[0][0] in (ACROSS, MISSING, APART):
        raise UserError(f"{cannot_align(model)} ({reasons})")
    few = len(treebank.sentences)
    raise UserError(f"{few} sentence(s) of {treebank.source} can be used ({reasons}); give at least {LEAST}")


def side_by_side(treebanks: Sequence[EncodedTreebank]) -> tuple[list[EncodedTreebank], bool]:
    """The same sentences of all treebanks if these are translations, by their ids; and whether they are."""
    ids = [[sentence.id for sentence in treebank.sentences] for treebank in treebanks]
    if len(treebanks) < 2 or any("" in each or len(set(each)) < len(each) for each in ids):
        return list(treebanks), False
    shared = set(ids[0]).intersection(*ids[1:])
    if len(shared) < max(LEAST, SHARED * min(map(len, ids))):
        return list(treebanks), False
    order = [id for id in ids[0] if id in shared]
    same = []
    for treebank in treebanks:
        known = {sentence.id: sentence for sentence in treebank.sentences}
        left = Counter({ELSEWHERE: len(known) - len(order)})
        same.append(replace(treebank, sentences=tuple(known[id] for id in order), skipped=treebank.skipped + left))
    return same, True
