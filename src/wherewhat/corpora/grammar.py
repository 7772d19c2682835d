"""English-like random sentences with their constituents, dependencies, roles and agreement."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from math import log2
from typing import Any, ClassVar, NamedTuple

from wherewhat.corpora.base import Corpus, split_of
from wherewhat.corpora.constituents import annotate, sentence_of
from wherewhat.corpora.lexicon import leaves_of
from wherewhat.corpora.rules import OUTER, Rules
from wherewhat.corpora.sentence import Sentence
from wherewhat.errors import UserError
from wherewhat.tasks.base import check_split
from wherewhat.tasks.stream import Stream

MOST = 2**31  # seeds
LONGEST = 30  # words; longer draws are rejected


class Derived(NamedTuple):
    """A sentence, and how many draws were rejected before it."""

    sentence: Sentence
    attempt: int


@dataclass(frozen=True)
class Grammar(Corpus):
    """Endless sentences of a small grammar with 199 word forms. Sentence `index` of a split is always the same.

    With `past`, every clause is in the past tense half of the time; that adds 19 forms.

    >>> Grammar().sentence("train", 0).text
    'peter laughs .'
    """

    seed: int = 1
    past: bool = False
    name: ClassVar[str] = "grammar"
    endless: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not 0 <= self.seed < MOST:
            raise UserError(f"the grammar's seed cannot be {self.seed}; give a whole number from 0 to {MOST - 1}")

    @property
    def vocabulary(self) -> list[str]:
        """Every word form, sorted."""
        return sorted({leaf.form for leaf in leaves_of(past=self.past)})

    def sentences(self, split: str) -> Iterator[Sentence]:
        """Sentence 0, 1, 2, ... without end."""
        check_split(split)
        return (self.sentence(split, index) for index in count())

    def some(self, split: str, count: int, *, seed: int) -> list[Sentence]:
        """Consecutive sentences from a number that the seed decides."""
        first = Stream(self.seed, "grammar from", split, seed).below(MOST)
        return [self.sentence(split, first + place) for place in range(count)]

    def sentence(self, split: str, index: int | str, kinds: Sequence[str] = OUTER) -> Sentence:
        """One sentence, by its number or by any other name. `kinds` are the possible kinds of its main clause."""
        return self.derive(split, index, kinds).sentence

    def derive(self, split: str, index: int | str, kinds: Sequence[str] = OUTER) -> Derived:
        """The first draw that is short enough and belongs to this split."""
        check_split(split)
        for attempt in count():
            stream = Stream(self.seed, "grammar", split, index, attempt)
            tree = self.rules(stream, split, index, attempt).sentence(kinds)
            sentence = sentence_of(tree, f"grammar/{split}/{index}")
            if len(sentence.words) <= LONGEST and split_of(sentence.text) == split:
                return Derived(sentence, attempt)
        raise AssertionError("counting does not end")

    def bits(self, split: str, index: int | str) -> float:
        """Minus log2 of the probability of a sentence's draws (with `past`, of its clauses' tenses too)."""
        attempt = self.derive(split, index).attempt
        stream = _SurprisalStream(self.seed, "grammar", split, index, attempt)
        clauses = annotate(self.rules(stream, split, index, attempt).sentence()).preds
        return stream.bits + (len(clauses) if self.past else 0)

    def rules(self, stream: Stream, *place: object) -> Rules:
        """The rules, drawing from a stream; `place` names the sentence."""
        if not self.past:
            return Rules(stream.pick, bool)
        tenses = Stream(self.seed, "grammar past", *place)  # a stream of its own: the other draws stay as they are
        return Rules(stream.pick, lambda: tenses.below(2) == 1)


class _SurprisalStream(Stream):
    """A stream that adds up how improbable its draws were."""

    bits = 0.0

    def pick(self, items: Sequence[Any]) -> Any:
        item = super().pick(items)
        self.bits += log2(len(items) / items.count(item))  # repeated items are weighted choices
        return item
