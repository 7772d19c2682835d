"""What nets learn to read: that one does something to another, and the same again in few words."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import ClassVar

from wherewhat.corpora.base import Corpus
from wherewhat.corpora.pairs import ROLES, joined
from wherewhat.corpora.sentence import Sentence
from wherewhat.studies.word_swap.premises import case, premises
from wherewhat.tasks.base import check_split
from wherewhat.tasks.stream import Stream


@dataclass(frozen=True)
class Passages(Corpus):
    """Passages of two sentences, without end. Who does what to whom in the first decides the second.

    To guess its words one has to look back, as in real text, where one sentence takes up another.

    >>> next(Passages().sentences("train")).text
    'tom chases rosa . tom chases rosa .'
    """

    seed: int = 1
    name: ClassVar[str] = "passages"
    endless: ClassVar[bool] = True

    def sentences(self, split: str) -> Iterator[Sentence]:
        """Passage 0, 1, 2, ... without end."""
        check_split(split)
        unused = Stream(self.seed, "passages")  # what follows from a premise leaves nothing to draw
        return (joined(case("roles", premise, ROLES[0], unused)) for premise in premises(self.seed, split))

    def some(self, split: str, count: int, *, seed: int) -> list[Sentence]:
        """The first ones of another seed."""
        return list(islice(Passages(seed).sentences(split), count))
