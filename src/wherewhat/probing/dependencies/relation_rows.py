"""The rows of the probe: from a word, find its partner in a relation of the gold tree."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from wherewhat.probing.dependencies.head_selection import half_of
from wherewhat.probing.dependencies.settings import ALL, DISTANCES, SIDES
from wherewhat.probing.dependencies.treebanks import NONE, EncodedSentence, main_type

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class RelationRows:
    """One entry per row, sentence by sentence."""

    sentence_N: Ints
    half_N: Ints
    from_N: Ints  # the word that attends, counted over the kept words of all sentences
    to_N: Ints  # its partner, counted within its sentence
    offset_N: Ints  # of the partner, in kept words; negative if it comes before
    relation_N: NDArray[np.str_]
    side_N: NDArray[np.str_]
    chance_N: Floats  # of guessing among the visible words

    def __len__(self) -> int:
        return len(self.to_N)

    def take(self, which_N: Bools | Ints) -> "RelationRows":
        """Some of the rows."""
        return RelationRows(**{column.name: getattr(self, column.name)[which_N] for column in fields(self)})

    @property
    def distance_N(self) -> Ints:
        """How far away the partner is, on either side."""
        distance: Ints = np.abs(self.offset_N)
        return distance

    def within(self, distance: str) -> Bools:
        """Which rows have their partner at a distance."""
        low, high = DISTANCES[distance]
        near: Bools = (self.distance_N >= low) & (self.distance_N <= high)
        return near

    def where(self, item: str, side: str, distance: str = ALL) -> Ints:
        """The numbers of the rows of a relation, from one side, at a distance."""
        of_item = np.ones(len(self), dtype=bool) if item == ALL else self.relation_N == item
        return np.flatnonzero(of_item & (self.side_N == side) & self.within(distance))


def rows_of(sentences: Sequence[EncodedSentence], *, subtypes: bool) -> RelationRows:
    """Every relation of every sentence, from both sides."""
    name: Callable[[str], str] = str if subtypes else main_type
    columns: list[tuple[object, ...]] = []
    first = 0
    for number, sentence in enumerate(sentences):
        half, words = half_of(sentence.key), len(sentence.kept)
        for word, (head, relation) in enumerate(zip(sentence.head_words.tolist(), sentence.relations, strict=True)):
            if head == NONE:
                continue
            for side, (a, b) in zip(SIDES, ((word, head), (head, word)), strict=True):
                columns.append((number, half, first + a, b, b - a, name(relation), side, 1 / (words - 1)))
        first += words
    kinds = (np.int64, np.int64, np.int64, np.int64, np.int64, np.str_, np.str_, np.float64)
    arrays = zip(zip(*columns, strict=True), kinds, strict=True)
    return RelationRows(*(np.array(column, dtype=kind) for column, kind in arrays))


def visible(rows: RelationRows) -> RelationRows:
    """Under a causal mask: the rows whose partner comes before; chance is to guess among the words before."""
    before = rows.take(rows.offset_N < 0)
    visible_N = before.to_N - before.offset_N  # as many words come before the one that attends
    return RelationRows(**{**vars(before), "chance_N": 1 / visible_N})
