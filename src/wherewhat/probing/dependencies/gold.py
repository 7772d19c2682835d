"""The rows that are asked for: from a word, find its partner in a relation that people have marked."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from wherewhat.probing.dependencies.choosing import half_of
from wherewhat.probing.dependencies.sentences import NONE, Ready, main_type

TO_HEAD, TO_DEPENDENT = "to head", "to dependent"
SIDES = (TO_HEAD, TO_DEPENDENT)
ALL = "all"  # every relation, or every distance
# How far apart two words are, counted over kept words: from and to, both included.
DISTANCES: dict[str, tuple[int, int]] = {ALL: (1, 10**9), "1": (1, 1), "2": (2, 2), "3-5": (3, 5), "6+": (6, 10**9)}

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Rows:
    """One entry a row, sentence after sentence."""

    sentence_N: Ints
    half_N: Ints
    from_N: Ints  # the word that looks, counted over the kept words of all sentences
    to_N: Ints  # its partner, counted inside its sentence
    offset_N: Ints  # of the partner, in kept words: minus is before
    relation_N: NDArray[np.str_]
    side_N: NDArray[np.str_]
    chance_N: Floats  # of guessing among the words that could be meant

    def __len__(self) -> int:
        return len(self.to_N)

    def take(self, these_N: Bools | Ints) -> "Rows":
        """Some of the rows."""
        return Rows(**{one.name: getattr(self, one.name)[these_N] for one in fields(self)})

    @property
    def distance_N(self) -> Ints:
        """How far away the partner is, on whichever side."""
        distance: Ints = np.abs(self.offset_N)
        return distance

    def where(self, item: str, side: str, distance: str = ALL) -> Ints:
        """The numbers of the rows of a relation, seen from a side, at a distance."""
        low, high = DISTANCES[distance]
        of_item = np.ones(len(self), dtype=bool) if item == ALL else self.relation_N == item
        near = (self.distance_N >= low) & (self.distance_N <= high)
        return np.flatnonzero(of_item & (self.side_N == side) & near)


def rows_of(sentences: Sequence[Ready], *, subtypes: bool) -> Rows:
    """Both sides of every relation of every sentence."""
    called: Callable[[str], str] = str if subtypes else main_type
    columns: list[tuple[object, ...]] = []
    first = 0
    for number, one in enumerate(sentences):
        half, words = half_of(one.key), len(one.kept)
        for word, (governor, relation) in enumerate(zip(one.governors.tolist(), one.relations, strict=True)):
            if governor == NONE:
                continue
            for side, (a, b) in zip(SIDES, ((word, governor), (governor, word)), strict=True):
                columns.append((number, half, first + a, b, b - a, called(relation), side, 1 / (words - 1)))
        first += words
    kinds = (np.int64, np.int64, np.int64, np.int64, np.int64, np.str_, np.str_, np.float64)
    return Rows(*(np.array(column, dtype=kind) for column, kind in zip(zip(*columns, strict=True), kinds, strict=True)))


def visible(rows: Rows) -> Rows:
    """Under a causal mask: the rows whose partner stands before, where chance is to guess among what stands before."""
    before = rows.take(rows.offset_N < 0)
    seen_N = before.to_N - before.offset_N  # as many words as stand before the one that looks
    return Rows(**{**vars(before), "chance_N": 1 / seen_N})
