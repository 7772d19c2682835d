"""One run of the study: the net to train, its passages, its questions, and its test examples."""

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from wherewhat.corpora.questions import Example, LabelledDataset
from wherewhat.corpora.sentence_pairs import joined
from wherewhat.probing.swap_probe.datasets import GRAMMAR, ProbeDataset
from wherewhat.probing.swap_probe.swapped_example import SwapItem
from wherewhat.studies.conditions import EncodingCondition
from wherewhat.studies.finished_runs import Row
from wherewhat.studies.word_swap.passages import Passages
from wherewhat.studies.word_swap.questions import QUESTIONS
from wherewhat.studies.word_swap.settings import QuestionTraining, WordSwapScale
from wherewhat.tasks.base import SPLITS
from wherewhat.training.encoded_corpus import ReadCorpus, read_texts
from wherewhat.training.language_modelling import LanguageModelSettings

TRAINING_SEED = Passages().seed  # of all training examples, the same for all runs: generating them takes seconds


@dataclass(frozen=True)
class WordSwapJob:
    """A run of one condition from one seed."""

    scale: WordSwapScale
    condition: EncodingCondition
    seed: int

    @property
    def name(self) -> str:
        """The name under which its outcome is kept."""
        return f"{self.condition.name}, seed {self.seed}"

    @property
    def steps(self) -> int:
        """Its length in training steps."""
        return self.scale.steps + sum(training.steps for training in self.scale.questions)

    def plain(self) -> dict[str, Any]:
        """Everything that determines its outcome, ready for JSON."""
        return {"run": {**self.condition.plain(), "seed": self.seed}, "scale": self.scale.run_settings()}

    def training_settings(self) -> LanguageModelSettings:
        """How the net is pre-trained, with its passages loaded."""
        scale = self.scale
        texts = _texts(scale.passages, scale.held_out, scale.longest)
        return replace(scale.training_settings(self.condition, self.seed), texts=texts).ready()

    def dataset(self, training: QuestionTraining) -> LabelledDataset:
        """The examples it is fine-tuned on."""
        return _labelled(training, self.scale.valid)

    def data(self, question: str) -> ProbeDataset:
        """The test examples of a question."""
        return data_of(question, self.seed, self.scale.test)

    def items(self, question: str) -> list[SwapItem]:
        """The same examples under every swap."""
        return items_of(question, self.seed, self.scale.test)

    def row(self, item: str, measure: str, *numbers: float | None) -> Row:
        """One number of the run, with its interval over examples if it has one."""
        value, low, high = (*numbers, None, None)[:3]
        return "run", self.condition.name, item, None, self.seed, measure, value, low, high


# Successive runs in a process share their passages and examples.
CACHED = len(QUESTIONS)


@lru_cache(maxsize=1)
def _texts(passages: int, held_out: int, longest: int) -> ReadCorpus:
    return read_texts(
        Passages(), sentences=passages, evaluated=held_out, most_words=LanguageModelSettings.most_words, longest=longest
    )


@lru_cache(maxsize=CACHED)
def _labelled(training: QuestionTraining, valid: int) -> LabelledDataset:
    question = QUESTIONS[training.question]
    splits = {
        split: tuple(Example(joined(pair).words, pair.label) for pair in question.examples(TRAINING_SEED, split, count))
        for split, count in zip(SPLITS, (training.premises, valid, valid), strict=True)
    }
    return LabelledDataset(training.question, question.labels, **splits)


@lru_cache(maxsize=CACHED)
def data_of(question: str, seed: int, premises: int) -> ProbeDataset:
    """The test examples of a question."""
    examples = tuple(QUESTIONS[question].examples(seed, "test", premises))
    return ProbeDataset(GRAMMAR, GRAMMAR, examples, labelled=True, question=question)


@lru_cache(maxsize=CACHED)
def items_of(question: str, seed: int, premises: int) -> list[SwapItem]:
    """Every swap of these examples."""
    return QUESTIONS[question].items(data_of(question, seed, premises), seed)
