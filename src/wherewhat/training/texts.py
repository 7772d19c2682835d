"""A corpus as arrays: its words as numbers, sentence after sentence, and batches of it with little padding."""

from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from itertools import repeat
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

    def kept(self, keep_N: Bools) -> "Encoded":
        """Some of the sentences."""
        return Encoded(self.ids[np.repeat(keep_N, self.lengths_N)], self.lengths_N[keep_N])

    def rows(self, rows_B: Ints) -> tuple[Ints, Bools]:
        """ids_BT of some sentences, padded with 0 at their ends, and real_BT, which is False there."""
        lengths_B = self.lengths_N[rows_B]
        slots_T = np.arange(lengths_B.max())
        real_BT = slots_T < lengths_B[:, None]
        places_BT = self.starts_N[rows_B][:, None] + np.minimum(slots_T, lengths_B[:, None] - 1)
        return np.where(real_BT, self.ids[places_BT], 0).astype(np.int64), real_BT


@dataclass(frozen=True)
class Extent:
    """How much of a split was read, in numbers."""

    sentences: int  # pieces of long ones count as such
    words: int
    unknown: float  # the share of them that is not in the vocabulary
    left_out: int  # words in sentences that have nothing to guess: a single word, or none that is known
    more: bool  # whether there were more sentences than were asked for


@dataclass(frozen=True, eq=False)
class Texts:
    """A corpus that has been read: its vocabulary, what is learnt from and what is judged by."""

    words: Words
    train: Encoded
    valid: Encoded
    read_as: dict[str, Any]  # all that decided what was read
    extent: dict[str, Extent]  # of each split

    @cached_property
    def digest(self) -> str:
        """The same for the same words and sentences, and only then."""
        parts = ["\n".join(self.words.names).encode()]
        parts += [part.tobytes() for split in (self.train, self.valid) for part in (split.lengths_N, split.ids)]
        return sha256(b"".join(sha256(part).digest() for part in parts)).hexdigest()


class Pieces:
    """Sentences of a split, long ones in pieces, up to a number of them; and what else there was."""

    def __init__(self, corpus: Corpus, split: str, *, most: int, longest: int) -> None:
        self.sentences, self.most, self.longest = corpus.sentences(split), most, longest
        self.short = 0  # words that stood alone
        self.more = False

    def __iter__(self) -> Iterator[tuple[str, ...]]:
        taken = 0
        for piece in (each for one in self.sentences for each in self._cut(one.words)):
            if len(piece) < SHORTEST:
                self.short += len(piece)
            elif taken == self.most:
                self.more = True
                return
            else:
                taken += 1
                yield piece

    def _cut(self, words: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
        return (words[first : first + self.longest] for first in range(0, len(words), self.longest))

    def extent(self, whole: Encoded, kept: Encoded, unknown: int) -> Extent:
        """How much was read, of which some was kept."""
        share = float((kept.ids == unknown).mean()) if len(kept) else 0.0
        left_out = self.short + len(whole.ids) - len(kept.ids)
        return Extent(len(kept), len(kept.ids), share, left_out, self.more)


def read_texts(corpus: Corpus, *, sentences: int, judged: int, most_words: int, longest: int) -> Texts:
    """Read a corpus once, up to so many sentences in pieces of so many words, and learn its vocabulary from them."""
    numbers: dict[str, int] = {}  # of words in the order they come; the vocabulary numbers them anew
    learnt = Pieces(corpus, "train", most=sentences, longest=longest)
    whole = Encoded.of([numbers.setdefault(word, len(numbers)) for word in piece] for piece in learnt)
    if not len(whole):
        raise UserError(
            f"the corpus {corpus.name} has no sentence of {SHORTEST} words or more to learn from; give more text"
        )
    words = _learn(list(numbers), whole, most_words)
    whole = Encoded(np.array(words.ids(list(numbers)), np.int32)[whole.ids], whole.lengths_N)
    train = whole.kept(askable(whole, words))
    judging = Pieces(corpus, "valid", most=judged, longest=longest)
    fresh = Encoded.of(words.ids(piece) for piece in judging)
    valid = fresh.kept(askable(fresh, words))
    if not len(fresh):
        raise UserError(
            f"none of the sentences of the corpus {corpus.name} fell to the tenth that judges the net; give more text"
        )
    if not len(train) or not len(valid):
        raise UserError(f"the sentences of the corpus {corpus.name} have no known word to guess; raise most_words")
    sizes = {"sentences": sentences, "judged": judged, "most_words": most_words, "longest": longest}
    extent = {
        "train": learnt.extent(whole, train, words.unknown),
        "valid": judging.extent(fresh, valid, words.unknown),
    }
    return Texts(words, train, valid, {"corpus": corpus, **sizes}, extent)


def askable(encoded: Encoded, words: Words) -> Bools:
    """asked_N: whether a sentence has a word to guess: one that is known, and not the first."""
    if not len(encoded):
        return np.zeros(0, np.bool_)
    known = encoded.ids != words.unknown
    known[encoded.starts_N] = False
    asked_N: Bools = np.logical_or.reduceat(known, encoded.starts_N)
    return asked_N


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
