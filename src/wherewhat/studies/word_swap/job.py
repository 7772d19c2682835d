"""One net to train, and what it reads, is fine-tuned on and is judged by."""

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from wherewhat.corpora.pairs import joined
from wherewhat.corpora.questions import Example, Labelled
from wherewhat.probing.swapped.data import GRAMMAR, Data
from wherewhat.probing.swapped.outcome import Item
from wherewhat.studies.locality.evidence import Row
from wherewhat.studies.locality.trials import Trial
from wherewhat.studies.word_swap.passages import Passages
from wherewhat.studies.word_swap.questions import QUESTIONS
from wherewhat.studies.word_swap.settings import Asking, Scale
from wherewhat.tasks.base import SPLITS
from wherewhat.training.reading import Reading
from wherewhat.training.texts import Texts, read_texts

LEARNT = Passages().seed  # of what nets read and are fine-tuned on, the same for all: it takes seconds to make


@dataclass(frozen=True)
class Job:
    """A run of one encoding from one seed."""

    scale: Scale
    trial: Trial
    seed: int

    @property
    def name(self) -> str:
        """What the run is called where its outcome is kept."""
        return f"{self.trial.name}, seed {self.seed}"

    @property
    def steps(self) -> int:
        """How far it is to go, in steps of learning."""
        return self.scale.steps + sum(asking.steps for asking in self.scale.askings)

    def plain(self) -> dict[str, Any]:
        """Everything that decides its outcome, ready for JSON."""
        return {"run": {**self.trial.plain(), "seed": self.seed}, "scale": self.scale.of_a_run()}

    def reading(self) -> Reading:
        """How it learns to read, with its passages at hand."""
        scale = self.scale
        texts = _texts(scale.passages, scale.judged, scale.longest)
        return replace(scale.reading(self.trial, self.seed), texts=texts).ready()

    def asked(self, asking: Asking) -> Labelled:
        """What it is fine-tuned on."""
        return _labelled(asking, self.scale.valid)

    def data(self, question: str) -> Data:
        """The cases it is judged by."""
        return data_of(question, self.seed, self.scale.test)

    def items(self, question: str) -> list[Item]:
        """The same cases under every swap."""
        return items_of(question, self.seed, self.scale.test)

    def row(self, item: str, measure: str, *numbers: float | None) -> Row:
        """One number of the run, with its interval over cases where it has one."""
        value, low, high = (*numbers, None, None)[:3]
        return "run", self.trial.name, item, None, self.seed, measure, value, low, high


# Runs that follow each other in a process read the same passages and are asked about the same cases.
ASKED = len(QUESTIONS)  # of which so many are remembered


@lru_cache(maxsize=1)
def _texts(passages: int, judged: int, longest: int) -> Texts:
    return read_texts(Passages(), sentences=passages, judged=judged, most_words=Reading.most_words, longest=longest)


@lru_cache(maxsize=ASKED)
def _labelled(asking: Asking, valid: int) -> Labelled:
    question = QUESTIONS[asking.question]
    splits = {
        split: tuple(Example(joined(one).words, one.label) for one in question.cases(LEARNT, split, count))
        for split, count in zip(SPLITS, (asking.premises, valid, valid), strict=True)
    }
    return Labelled(asking.question, question.labels, **splits)


@lru_cache(maxsize=ASKED)
def data_of(question: str, seed: int, premises: int) -> Data:
    """Cases that nobody learnt from."""
    found = tuple(QUESTIONS[question].cases(seed, "test", premises))
    return Data(GRAMMAR, GRAMMAR, found, labelled=True, question=question)


@lru_cache(maxsize=ASKED)
def items_of(question: str, seed: int, premises: int) -> list[Item]:
    """Every swap of these cases."""
    return QUESTIONS[question].items(data_of(question, seed, premises), seed)
