"""One net to train and to ask, and what it reads and is asked."""

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
from wherewhat.corpora.plain import PlainText
from wherewhat.corpora.questions import QUESTIONS, Labelled, labelled, read_labelled
from wherewhat.corpora.words import Words
from wherewhat.errors import UserError
from wherewhat.studies.locality.evidence import ALL, OTHERS, Row
from wherewhat.studies.locality.links import BESIDE
from wherewhat.studies.locality.settings import Scale
from wherewhat.studies.locality.trials import Trial
from wherewhat.training.reading import Reading
from wherewhat.training.texts import Texts, read_texts

TAKEN = (ALL, OTHERS, *BESIDE)  # what stands in the place of a question in some rows


@dataclass(frozen=True)
class Sources:
    """Where sentences and questions come from beside the grammar."""

    texts: tuple[str, ...] = ()  # files to read instead of the grammar
    tasks: tuple[str, ...] = ()  # files with more questions
    prints: tuple[tuple[str, str], ...] = ()  # a hash of what each file said at the start

    @classmethod
    def of(cls, texts: Iterable[Path], tasks: Iterable[Path]) -> "Sources":
        """These files, as they are now."""
        reads, asks = tuple(map(str, texts)), tuple(map(str, tasks))
        return cls(reads, asks, tuple((path, fingerprint(path)) for path in (*reads, *asks)))

    @property
    def corpus(self) -> Corpus:
        """What nets learn to read from."""
        return PlainText(files=self.texts) if self.texts else Grammar(past=True)

    def files(self) -> dict[str, str]:
        """The files with questions by what each is called."""
        found: dict[str, str] = {}
        for path in self.tasks:
            name = Path(path).stem
            if name in TAKEN:
                raise UserError(f"a question cannot be called '{name}', which the tables use; rename {path}")
            if name in QUESTIONS or name in found:
                raise UserError(f"two questions are called '{name}'; rename {path}")
            found[name] = path
        return found


@dataclass(frozen=True)
class Job:
    """A run of one encoding from one seed."""

    scale: Scale
    trial: Trial
    seed: int
    sources: Sources = Sources()

    @property
    def name(self) -> str:
        """What the run is called where its outcome is kept."""
        return f"{self.trial.name}, seed {self.seed}"

    @property
    def questions(self) -> tuple[str, ...]:
        """What is asked: the grammar's own questions, and those of files."""
        return (*self.scale.questions, *self.sources.files())

    @property
    def steps(self) -> int:
        """How far it is to go, in steps of learning."""
        tuning = self.scale.tuning
        return self.scale.steps + len(self.questions) * tuning.steps * len(tuning.learning_rates)

    def plain(self) -> dict[str, Any]:
        """Everything that decides its outcome, ready for JSON."""
        return {
            "run": {**self.trial.plain(), "seed": self.seed},
            "scale": self.scale.of_a_run(),
            "corpus": self.sources.corpus.plain(),
            "questions": list(self.questions),
            "files": dict(self.sources.prints),
        }

    def reading(self) -> Reading:
        """How it learns to read, with its sentences at hand."""
        settings = self.scale.reading(self.trial, self.sources.corpus, self.seed)
        return replace(settings, texts=_texts(self.scale, self.sources)).ready()

    def words(self) -> Words:
        """The words it can read."""
        return _texts(self.scale, self.sources).words

    def judged(self) -> Sequence[Sequence[str]]:
        """Sentences nobody learnt from, by whose words forgetting is told."""
        return _fresh(self.scale, self.sources)

    def asked(self, question: str) -> Labelled:
        """Sentences with the answers to a question."""
        if question in (files := self.sources.files()):
            return _from_file(self.sources, files[question], 10 * self.scale.test)  # a tenth of them falls to test
        return _from_grammar(question, self.seed, (self.scale.train, self.scale.valid, self.scale.test))

    def row(self, part: str, item: str, measure: str, value: float) -> Row:
        """One number of the run."""
        return part, self.trial.name, item, None, self.seed, measure, float(value), None, None


# Runs that follow each other in a process read the same sentences and are asked the same questions.


@lru_cache(maxsize=1)
def _texts(scale: Scale, sources: Sources) -> Texts:
    return read_texts(
        sources.corpus,
        sentences=scale.sentences,
        judged=scale.judged,
        most_words=Reading.most_words,
        longest=scale.longest,
    )


@lru_cache(maxsize=1)
def _fresh(scale: Scale, sources: Sources) -> list[Sequence[str]]:
    long_enough = (one.words[: scale.longest] for one in sources.corpus.sentences("test") if len(one.words) > 1)
    return list(islice(long_enough, scale.judged))


@lru_cache(maxsize=32)
def _from_grammar(question: str, seed: int, sizes: tuple[int, int, int]) -> Labelled:
    train, valid, test = sizes
    return labelled(question, seed=seed, train=train, valid=valid, test=test)


@lru_cache(maxsize=32)
def _from_file(sources: Sources, path: str, most: int) -> Labelled:
    return read_labelled(Path(path), limit=most)


def fingerprint(path: str) -> str:
    """A hash of what a text file says."""
    digest = hashlib.sha256()
    for _, line in numbered_lines(Path(path)):
        digest.update(f"{line}\n".encode())
    return digest.hexdigest()
