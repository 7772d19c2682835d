"""The examples of one question: with their labels, to learn from, and as sentences, to be read like any corpus."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from wherewhat.corpora.base import Corpus, check_values, drawn
from wherewhat.corpora.grammar import Grammar
from wherewhat.corpora.questions import QUESTIONS, Labelled, labelled, read_labelled
from wherewhat.corpora.sentence import Sentence
from wherewhat.corpora.words import Words
from wherewhat.errors import UserError
from wherewhat.names import look_up
from wherewhat.tasks.base import SPLITS, check_split

MOST = 10**6  # examples of one split


@dataclass(frozen=True)
class Examples(Corpus):
    """So many examples of a question: one of ours by its name, or a file of `label<TAB>text`, by its path.

    How many there are of a file follows from its lines; the numbers are for our own.

    >>> next(Examples("names", test=2).sentences("test")).text
    'sam pushed lucy'
    """

    name: ClassVar[str] = "question"

    question: str
    seed: int = 1
    train: int = 6
    valid: int = 6
    test: int = 6

    def __post_init__(self) -> None:
        if self.question not in QUESTIONS and not _is_path(self.question):
            look_up("question", self.question, QUESTIONS)
        if self.ours and self.seed < 0:
            raise UserError(f"a question's seed cannot be {self.seed}; give at least 0")
        for split in SPLITS if self.ours else ():
            if not 0 < getattr(self, split) <= MOST:
                raise UserError(
                    f"a question cannot have {getattr(self, split)} examples of {split}; give 1 to {MOST:,}"
                )

    @property
    def ours(self) -> bool:
        """Whether the question is one of ours about the grammar, rather than that of a file."""
        return self.question in QUESTIONS

    def labelled(self) -> Labelled:
        """All of them, with their labels."""
        if not self.ours:
            return read_labelled(Path(self.question))
        return labelled(self.question, seed=self.seed, train=self.train, valid=self.valid, test=self.test)

    def sentences(self, split: str) -> Iterator[Sentence]:
        """Those of a split, without their labels."""
        check_split(split)
        return (Sentence(one.words) for one in getattr(self._only(split).labelled(), split))

    def some(self, split: str, count: int, *, seed: int) -> list[Sentence]:
        """Those whose texts come first in an order that the seed decides."""
        return drawn(self.sentences(split), count, seed=seed)

    def words(self) -> Words:
        """A vocabulary that serves to read them: the grammar's, or the words of a file that are there to learn from."""
        if self.ours:
            return Words.learn([Grammar(past=True).vocabulary])
        return Words.learn(one.words for one in self.labelled().train)

    def _only(self, split: str) -> "Examples":
        """The same, with as few of the other splits as there can be: drawing them takes time."""
        if not self.ours:
            return self
        few = len(QUESTIONS[self.question].labels)
        sizes = {each: getattr(self, each) if each == split else few for each in SPLITS}
        return Examples(self.question, self.seed, **sizes)


def examples_from(plain: Mapping[str, Any]) -> Examples:
    """Make them again from what their `plain` said."""
    sizes = {size: value for size, value in plain.items() if size != "name"}
    check_values(Examples.name, Examples, sizes)
    return Examples(**sizes)


def _is_path(question: str) -> bool:
    """Whether a question that is none of ours looks like a file's name rather than a name that was mistyped."""
    return bool(Path(question).suffix) or len(Path(question).parts) > 1 or Path(question).exists()
