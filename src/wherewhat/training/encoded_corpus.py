"""A corpus as arrays of token ids, and batches of it with little padding."""

from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wherewhat.corpora.base import Corpus
from wherewhat.corpora.vocabulary import SPECIAL, WordVocabulary
from wherewhat.errors import UserError
from wherewhat.tasks.stream import Ints

SHORTEST = 2  # words: a single word has no context to predict it from
TRAINING, EVALUATION, ORDER = range(3)  # uses of random numbers, each with its own stream
POOL = 16  # batches within which sentences are sorted by length: more means less padding, and less mixing
Bools = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class EncodedCorpus:
    """Sentences as token ids, one after the other in one array."""

    ids: NDArray[np.int32]
    lengths_N: Ints

    @classmethod
    def of(cls, sentences: Iterable[Sequence[int]]) -> "EncodedCorpus":
        """From sentences that come one by one."""
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

    def kept(self, keep_N: Bools) -> "EncodedCorpus":
        """Some of the sentences."""
        return EncodedCorpus(self.ids[np.repeat(keep_N, self.lengths_N)], self.lengths_N[keep_N])

    def rows(self, rows_B: Ints) -> tuple[Ints, Bools]:
        """ids_BT of some sentences, padded with 0 at their ends, and real_BT, which is False there."""
        lengths_B = self.lengths_N[rows_B]
        slots_T = np.arange(lengths_B.max())
        real_BT = slots_T < lengths_B[:, None]
        places_BT = self.starts_N[rows_B][:, None] + np.minimum(slots_T, lengths_B[:, None] - 1)
        return np.where(real_BT, self.ids[places_BT], 0).astype(np.int64), real_BT


@dataclass(frozen=True)
class Extent:
    """How much of a split was read."""

    sentences: int  # pieces of long ones count separately
    words: int
    unknown: float  # the share of them that is not in the vocabulary
    left_out: int  # words in sentences with nothing to predict: a single word, or no known one
    more: bool  # whether there were more sentences than requested


@dataclass(frozen=True, eq=False)
class ReadCorpus:
    """A corpus that has been read: its vocabulary, training and validation sentences."""

    words: WordVocabulary
    train: EncodedCorpus
    valid: EncodedCorpus
    read_as: dict[str, Any]  # all settings that determined what was read
    extent: dict[str, Extent]  # of each split

    @cached_property
    def digest(self) -> str:
        """A hash of the words and sentences."""
        parts = ["\n".join(self.words.names).encode()]
        parts += [part.tobytes() for split in (self.train, self.valid) for part in (split.lengths_N, split.ids)]
        return sha256(b"".join(sha256(part).digest() for part in parts)).hexdigest()


class Pieces:
    """The sentences of a split, long ones in pieces, up to a maximum; and how much was left out."""

    def __init__(self, corpus: Corpus, split: str, *, most: int, longest: int) -> None:
        self.sentences, self.most, self.longest = corpus.sentences(split), most, longest
        self.short = 0  # words in pieces below the minimum length
        self.more = False

    def __iter__(self) -> Iterator[tuple[str, ...]]:
        taken = 0
        cuts = ((each.words, first) for each in self.sentences for first in range(0, len(each.words), self.longest))
        for piece in (words[first : first + self.longest] for words, first in cuts):
            if len(piece) < SHORTEST:
                self.short += len(piece)
            elif taken == self.most:
                self.more = True
                return
            else:
                taken += 1
                yield piece

    def extent(self, whole: EncodedCorpus, kept: EncodedCorpus, unknown: int) -> Extent:
        """How much of what was read was kept."""
        share = float((kept.ids == unknown).mean()) if len(kept) else 0.0
        left_out = self.short + len(whole.ids) - len(kept.ids)
        return Extent(len(kept), len(kept.ids), share, left_out, self.more)


def read_texts(corpus: Corpus, *, sentences: int, evaluated: int, most_words: int, longest: int) -> ReadCorpus:
    """Read a corpus once, up to `sentences` pieces of at most `longest` words, and learn its vocabulary."""
    numbers: dict[str, int] = {}  # of words in order of occurrence; the vocabulary renumbers them
    learnt = Pieces(corpus, "train", most=sentences, longest=longest)
    whole = EncodedCorpus.of([numbers.setdefault(word, len(numbers)) for word in piece] for piece in learnt)
    if not len(whole):
        raise UserError(
            f"the corpus {corpus.name} has no sentence of {SHORTEST} words or more to learn from; give more text"
        )
    counts = np.bincount(whole.ids, minlength=len(numbers)).tolist()
    words = WordVocabulary.learn(([name] * count for name, count in zip(numbers, counts, strict=True)), most=most_words)
    if len(words) < len(SPECIAL) + 2:
        raise UserError(
            f"the corpus has only the word '{words.names[-1]}'; a vocabulary needs 2 or more, give more text"
        )
    whole = EncodedCorpus(np.array(words.ids(list(numbers)), np.int32)[whole.ids], whole.lengths_N)
    train = whole.kept(has_targets(whole, words))
    held_out = Pieces(corpus, "valid", most=evaluated, longest=longest)
    encoded = EncodedCorpus.of(words.ids(piece) for piece in held_out)
    valid = encoded.kept(has_targets(encoded, words))
    if not len(encoded):
        raise UserError(
            f"the corpus {corpus.name} has no sentence in its validation split, a tenth of all; give more text"
        )
    if not len(train) or not len(valid):
        raise UserError(f"the sentences of the corpus {corpus.name} have no known word to predict; raise most_words")
    sizes = {"sentences": sentences, "evaluated": evaluated, "most_words": most_words, "longest": longest}
    extent = {
        "train": learnt.extent(whole, train, words.unknown),
        "valid": held_out.extent(encoded, valid, words.unknown),
    }
    return ReadCorpus(words, train, valid, {"corpus": corpus, **sizes}, extent)


def has_targets(encoded: EncodedCorpus, words: WordVocabulary) -> Bools:
    """Whether each sentence has a word to predict: a known one that is not the first."""
    if not len(encoded):
        return np.zeros(0, np.bool_)
    known = encoded.ids != words.unknown
    known[encoded.starts_N] = False
    has_target_N: Bools = np.logical_or.reduceat(known, encoded.starts_N)
    return has_target_N


class BatchOrder:
    """Which sentences are read at each step: in epochs of different order, with similar lengths together."""

    def __init__(self, lengths_N: Ints, *, batch: int, seed: int) -> None:
        self.lengths_N, self.batch, self.seed = lengths_N, min(batch, len(lengths_N)), seed
        self.round = len(lengths_N) // self.batch  # steps per epoch; sentences left over are used in another epoch
        self.made: tuple[int, list[Ints]] = (-1, [])  # the current epoch

    def rows(self, step: int) -> Ints:
        """rows_B of a step, counted from 1. It depends on the step only."""
        number, place = divmod(step - 1, self.round)
        if self.made[0] != number:
            rng = np.random.default_rng([self.seed, ORDER, number])
            order_N = rng.permutation(len(self.lengths_N))[: self.round * self.batch]
            pools = [order_N[first : first + POOL * self.batch] for first in range(0, len(order_N), POOL * self.batch)]
            sorted_N = np.concatenate([pool[self.lengths_N[pool].argsort(kind="stable")] for pool in pools])
            batches = sorted_N.reshape(self.round, self.batch)
            self.made = number, list(batches[rng.permutation(self.round)])
        return self.made[1][place]
