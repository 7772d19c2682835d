"""The examples of one question: with their labels, to learn from, and as sentences, to read like any corpus."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from wherewhat.corpora.base import Corpus, check_values, sample_of
from wherewhat.corpora.grammar import Grammar
from wherewhat.corpora.questions import QUESTIONS, LabelledDataset, labelled, read_labelled
from wherewhat.corpora.sentence import Sentence
from wherewhat.corpora.vocabulary import WordVocabulary
from wherewhat.errors import UserError
from wherewhat.names import look_up
from wherewhat.tasks.base import SPLITS, check_split

MOST = 10**6  # examples of one split


@dataclass(frozen=True)
class QuestionCorpus(Corpus):
    """So many examples of a question: a built-in one by its name, or a file of `label<TAB>text` by its path.

    A file has as many examples as lines; the sizes are for built-in questions.

    >>> next(QuestionCorpus("names", test=2).sentences("test")).text
    'sam pushed lucy'
    """

    name: ClassVar[str] = "question"

    question: str
    seed: int = 1
    train: int = 6
    valid: int = 6
    test: int = 6

    def __post_init__(self) -> None:
        path = Path(self.question)
        if not (self.built_in or path.suffix or len(path.parts) > 1 or path.exists()):
            look_up("question", self.question, QUESTIONS)  # a mistyped name, as it does not look like a file
        if self.built_in and self.seed < 0:
            raise UserError(f"a question's seed cannot be {self.seed}; give at least 0")
        for split in SPLITS if self.built_in else ():
            if not 0 < getattr(self, split) <= MOST:
                raise UserError(
                    f"a question cannot have {getattr(self, split)} examples of {split}; give 1 to {MOST:,}"
                )

    @property
    def built_in(self) -> bool:
        """Whether the question is a built-in one about the grammar, rather than that of a file."""
        return self.question in QUESTIONS

    def labelled(self) -> LabelledDataset:
        """All of them, with their labels."""
        if not self.built_in:
            return read_labelled(Path(self.question))
        return labelled(self.question, seed=self.seed, train=self.train, valid=self.valid, test=self.test)

    def sentences(self, split: str) -> Iterator[Sentence]:
        """Those of a split, without their labels."""
        check_split(split)
        corpus = self
        if self.built_in:  # with as few examples of the other splits as possible: drawing them takes time
            few = len(QUESTIONS[self.question].labels)
            sizes = {each: getattr(self, each) if each == split else few for each in SPLITS}
            corpus = QuestionCorpus(self.question, self.seed, **sizes)
        return (Sentence(example.words) for example in getattr(corpus.labelled(), split))

    def some(self, split: str, count: int, *, seed: int) -> list[Sentence]:
        """Those whose texts come first in an order that the seed decides."""
        return sample_of(self.sentences(split), count, seed=seed)

    def words(self) -> WordVocabulary:
        """A vocabulary to read them with: the grammar's, or the training words of a file."""
        if self.built_in:
            return WordVocabulary.learn([Grammar(past=True).vocabulary])
        return WordVocabulary.learn(example.words for example in self.labelled().train)


def question_corpus_from(plain: Mapping[str, Any]) -> QuestionCorpus:
    """Make the corpus again from its `plain` values."""
    sizes = {size: value for size, value in plain.items() if size != "name"}
    check_values(QuestionCorpus.name, QuestionCorpus, sizes)
    return QuestionCorpus(**sizes)
