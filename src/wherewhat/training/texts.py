"""A corpus as arrays: its words as numbers, sentence after sentence, and batches of it with little padding."""

from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice, repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wherewhat.corpora.base import Corpus
from wherewhat.corpora.words import SPECIAL, Words
from wherewhat.errors import UserError
from wherewhat.tasks.stream import Ints

SHORTEST = 2  # words: a sentence of one has nothing to tell it from
LEARNING, JUDGING, ORDER = range(3)  # what random numbers are for: each use has its own
POOL = 16  # batches among which sentences are sorted by length: more read less padding, and mix lengths less
Bools = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Encoded:
    """Sentences as token ids, one after the other in one array."""

    ids: NDArray[np.int32]
    lengths_N: Ints

    @classmethod
    def of(cls, sentences: Iterable[Sequence[int]]) -> "Encoded":
        """Of sentences that come one by one; none is kept as it came."""
        ids, lengths = array("i"), array("q")
        for sentence in sentences:
            ids.extend(sentence)
            lengths.append(len(sentence))
        return cls(np.frombuffer(ids, np.int32) if ids else np.zeros(0, np.int32), np.array(lengths, np.int64))

    def __len__(self) -> int:
        return len(self.lengths_N)

    @cached_property
    def starts_N(self) -> Ints:
        """Where each sentence begins."""
        return self.lengths_N.cumsum() - self.lengths_N

    def rows(self, rows_B: Ints) -> tuple[Ints, Bools]:
        """ids_BT of some sentences, padded with 0 at their ends, and real_BT, which is False there."""
        lengths_B = self.lengths_N[rows_B]
        slots_T = np.arange(lengths_B.max())
        real_BT = slots_T < lengths_B[:, None]
        places_BT = self.starts_N[rows_B][:, None] + np.minimum(slots_T, lengths_B[:, None] - 1)
        return np.where(real_BT, self.ids[places_BT], 0).astype(np.int64), real_BT


@dataclass(frozen=True, eq=False)
class Texts:
    """A corpus that has been read: its vocabulary, what is learnt from and what is judged by."""

    words: Words
    train: Encoded
    valid: Encoded
    read_as: dict[str, Any]  # all that decided what was read


def read_texts(corpus: Corpus, *, sentences: int, judged: int, most_words: int, longest: int) -> Texts:
    """Read a corpus once, up to so many sentences, each up to so many words, and learn its vocabulary from them."""
    numbers: dict[str, int] = {}  # of words in the order they come; the vocabulary numbers them anew
    taken = (
        [numbers.setdefault(word, len(numbers)) for word in sentence]
        for sentence in islice(_long_enough(corpus, "train", longest), sentences)
    )
    train = Encoded.of(taken)
    if not len(train):
        raise UserError(
            f"the corpus {corpus.name} has no sentence of {SHORTEST} words or more to learn from; give more text"
        )
    words = _learn(list(numbers), train, most_words)
    train = Encoded(np.array(words.ids(list(numbers)), np.int32)[train.ids], train.lengths_N)
    valid = Encoded.of(words.ids(sentence) for sentence in islice(_long_enough(corpus, "valid", longest), judged))
    if not len(valid):
        raise UserError(
            f"none of the sentences of the corpus {corpus.name} fell to the tenth that judges the net; give more text"
        )
    sizes = {"sentences": sentences, "judged": judged, "most_words": most_words, "longest": longest}
    return Texts(words, train, valid, {"corpus": corpus, **sizes})


def _long_enough(corpus: Corpus, split: str, longest: int) -> Iterator[tuple[str, ...]]:
    return (one.words[:longest] for one in corpus.sentences(split) if len(one.words) >= SHORTEST)


def _learn(names: list[str], train: Encoded, most: int) -> Words:
    """The vocabulary of words that have been counted already."""
    counts = np.bincount(train.ids, minlength=len(names)).tolist()
    words = Words.learn((list(repeat(name, count)) for name, count in zip(names, counts, strict=True)), most=most)
    if len(words) < len(SPECIAL) + 2:
        raise UserError(
            f"the corpus has only the word '{words.names[-1]}'; a vocabulary needs 2 or more, give more text"
        )
    return words


class Order:
    """Which sentences are read at which step: all in turn, in another order every round, like lengths together."""

    def __init__(self, lengths_N: Ints, *, batch: int, seed: int) -> None:
        self.lengths_N, self.batch, self.seed = lengths_N, min(batch, len(lengths_N)), seed
        self.round = len(lengths_N) // self.batch  # steps; sentences left over have their turn in another round
        self.made: tuple[int, list[Ints]] = (-1, [])  # the round under way

    def rows(self, step: int) -> Ints:
        """rows_B of a step, counted from 1. It follows from the step alone."""
        number, place = divmod(step - 1, self.round)
        if self.made[0] != number:
            self.made = number, self._draw(np.random.default_rng([self.seed, ORDER, number]))
        return self.made[1][place]

    def _draw(self, rng: np.random.Generator) -> list[Ints]:
        order_N = rng.permutation(len(self.lengths_N))[: self.round * self.batch]
        pools = [order_N[first : first + POOL * self.batch] for first in range(0, len(order_N), POOL * self.batch)]
        alike = np.concatenate([pool[self.lengths_N[pool].argsort(kind="stable")] for pool in pools])
        batches = alike.reshape(self.round, self.batch)
        return list(batches[rng.permutation(self.round)])
