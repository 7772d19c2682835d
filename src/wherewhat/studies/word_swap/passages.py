"""The pre-training corpus: a sentence in which one person does something to another, and its summary."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import ClassVar

from wherewhat.corpora.base import Corpus
from wherewhat.corpora.sentence import Sentence
from wherewhat.corpora.sentence_pairs import ROLES, joined
from wherewhat.studies.word_swap.premises import example, premises
from wherewhat.tasks.base import check_split
from wherewhat.tasks.stream import Stream


@dataclass(frozen=True)
class Passages(Corpus):
    """Endless passages of two sentences. Who does what to whom in the first determines the second.

    Predicting its words requires looking back, as in real text, where one sentence refers to another.

    >>> next(Passages().sentences("train")).text
    'tom chases rosa . tom chases rosa .'
    """

    seed: int = 1
    name: ClassVar[str] = "passages"
    endless: ClassVar[bool] = True

    def sentences(self, split: str) -> Iterator[Sentence]:
        """Passages 0, 1, 2, …, endless."""
        check_split(split)
        unused = Stream(self.seed, "passages")  # an entailed hypothesis needs no random draw
        return (joined(example("roles", premise, ROLES[0], unused)) for premise in premises(self.seed, split))

    def some(self, split: str, count: int, *, seed: int) -> list[Sentence]:
        """The first passages of another seed."""
        return list(islice(Passages(seed).sentences(split), count))
