"""One run of the study: the net to train, the sentences it is trained on, and the questions it is asked."""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any

from wherewhat.corpora.base import Corpus
from wherewhat.corpora.files import numbered_lines
from wherewhat.corpora.grammar import Grammar
from wherewhat.corpora.plain_text import PlainText
from wherewhat.corpora.questions import QUESTIONS, LabelledDataset, labelled, read_labelled
from wherewhat.corpora.vocabulary import WordVocabulary
from wherewhat.errors import UserError
from wherewhat.studies.conditions import EncodingCondition
from wherewhat.studies.finished_runs import Row
from wherewhat.studies.locality.predictors import OTHER_OUTCOMES
from wherewhat.studies.locality.results import ALL, OTHERS
from wherewhat.studies.locality.settings import LocalityScale
from wherewhat.training.encoded_corpus import ReadCorpus, read_texts
from wherewhat.training.language_modelling import LanguageModelSettings

RESERVED = (ALL, OTHERS, *OTHER_OUTCOMES)  # used in place of a question in some rows


@dataclass(frozen=True)
class QuestionSources:
    """Files with sentences and questions of the user."""

    texts: tuple[str, ...] = ()  # files to train on instead of the grammar
    tasks: tuple[str, ...] = ()  # files with further questions
    prints: tuple[tuple[str, str], ...] = ()  # the path and hash of every file

    @classmethod
    def of(cls, texts: Iterable[Path], tasks: Iterable[Path]) -> "QuestionSources":
        """These files with their present hashes."""
        text_paths, task_paths = tuple(map(str, texts)), tuple(map(str, tasks))
        prints = tuple((path, fingerprint(path)) for path in (*text_paths, *task_paths))
        return cls(text_paths, task_paths, prints)

    @property
    def corpus(self) -> Corpus:
        """What nets are trained on."""
        return PlainText(files=self.texts) if self.texts else Grammar(past=True)

    def files(self) -> dict[str, str]:
        """The files with questions, by the name of the question."""
        paths: dict[str, str] = {}
        for path in self.tasks:
            name = Path(path).stem
            if name in RESERVED:
                raise UserError(f"a question cannot be called '{name}', which the tables use; rename {path}")
            if name in QUESTIONS or name in paths:
                raise UserError(f"two questions are called '{name}'; rename {path}")
            paths[name] = path
        return paths


@dataclass(frozen=True)
class LocalityJob:
    """A run of one condition from one seed."""

    scale: LocalityScale
    condition: EncodingCondition
    seed: int
    sources: QuestionSources = QuestionSources()

    @property
    def name(self) -> str:
        """The name under which its outcome is kept."""
        return f"{self.condition.name}, seed {self.seed}"

    @property
    def questions(self) -> tuple[str, ...]:
        """The questions of the grammar, and those of files."""
        return (*self.scale.questions, *self.sources.files())

    @property
    def steps(self) -> int:
        """Its length in training steps."""
        tuning = self.scale.tuning
        return self.scale.steps + len(self.questions) * tuning.steps * len(tuning.learning_rates)

    def plain(self) -> dict[str, Any]:
        """Everything that determines its outcome, ready for JSON."""
        return {
            "run": {**self.condition.plain(), "seed": self.seed},
            "scale": self.scale.run_settings(),
            "corpus": self.sources.corpus.plain(),
            "questions": list(self.questions),
            "files": dict(self.sources.prints),
        }

    def training_settings(self) -> LanguageModelSettings:
        """How the net is pre-trained, with its sentences loaded."""
        settings = self.scale.training_settings(self.condition, self.sources.corpus, self.seed)
        return replace(settings, texts=_texts(self.scale, self.sources)).ready()

    def words(self) -> WordVocabulary:
        """The vocabulary of the net."""
        return _texts(self.scale, self.sources).words

    def held_out(self) -> Sequence[Sequence[str]]:
        """Sentences not trained on, whose word loss measures forgetting."""
        return _held_out(self.scale, self.sources)

    def dataset(self, question: str) -> LabelledDataset:
        """Sentences labelled with the answers to a question."""
        if question in (files := self.sources.files()):
            return _from_file(self.sources, files[question], 10 * self.scale.test)  # a tenth of them are test sentences
        return _from_grammar(question, self.seed, (self.scale.train, self.scale.valid, self.scale.test))

    def row(self, part: str, item: str, measure: str, value: float) -> Row:
        """One number of the run."""
        return part, self.condition.name, item, None, self.seed, measure, float(value), None, None


# Successive runs in a process share their sentences and questions.


@lru_cache(maxsize=1)
def _texts(scale: LocalityScale, sources: QuestionSources) -> ReadCorpus:
    return read_texts(
        sources.corpus,
        sentences=scale.sentences,
        evaluated=scale.held_out,
        most_words=LanguageModelSettings.most_words,
        longest=scale.longest,
    )


@lru_cache(maxsize=1)
def _held_out(scale: LocalityScale, sources: QuestionSources) -> list[Sequence[str]]:
    sentences = (sentence.words for sentence in sources.corpus.sentences("test"))
    long_enough = (words[: scale.longest] for words in sentences if len(words) > 1)
    return list(islice(long_enough, scale.held_out))


@lru_cache(maxsize=32)
def _from_grammar(question: str, seed: int, sizes: tuple[int, int, int]) -> LabelledDataset:
    train, valid, test = sizes
    return labelled(question, seed=seed, train=train, valid=valid, test=test)


@lru_cache(maxsize=32)
def _from_file(sources: QuestionSources, path: str, most: int) -> LabelledDataset:
    return read_labelled(Path(path), limit=most)


def fingerprint(path: str) -> str:
    """A hash of the contents of a text file."""
    digest = hashlib.sha256()
    for _, line in numbered_lines(Path(path)):
        digest.update(f"{line}\n".encode())
    return digest.hexdigest()
