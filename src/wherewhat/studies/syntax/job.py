"""One net to train and to probe, and the sentences for both."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from wherewhat.corpora.grammar import Grammar
from wherewhat.corpora.sentence import Sentence
from wherewhat.probing.dependencies.settings import Asking
from wherewhat.studies.locality.evidence import Row
from wherewhat.studies.locality.trials import Trial
from wherewhat.studies.syntax.settings import Scale
from wherewhat.training.reading import Reading
from wherewhat.training.texts import Texts, read_texts

CORPUS = Grammar()


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
        return self.scale.steps

    def plain(self) -> dict[str, Any]:
        """Everything that decides its outcome, ready for JSON."""
        return {
            "run": {**self.trial.plain(), "seed": self.seed},
            "scale": self.scale.of_a_run(),
            "corpus": CORPUS.plain(),
        }

    def reading(self) -> Reading:
        """How it learns to read, with its sentences at hand."""
        return replace(self.scale.reading(self.trial, CORPUS, self.seed), texts=_texts(self.scale)).ready()

    def sentences(self) -> Sequence[Sentence]:
        """Sentences with their trees that nobody learnt from, other ones for each seed."""
        return _fresh(self.scale.probed, self.seed)

    def asking(self) -> Asking:
        """How its attention is asked for relations; subtypes stay apart, as a passive subject stands elsewhere."""
        return Asking(copies=self.scale.copies, permutations=self.scale.permutations, subtypes=True, seed=self.seed)

    def row(self, part: str, item: str, at: int | None, measure: str, value: float) -> Row:
        """One number of the run."""
        return part, self.trial.name, item, None if at is None else float(at), self.seed, measure, value, None, None


# Runs that follow each other in a process read the same sentences.


@lru_cache(maxsize=1)
def _texts(scale: Scale) -> Texts:
    return read_texts(
        CORPUS,
        sentences=scale.sentences,
        judged=scale.judged,
        most_words=Reading.most_words,
        longest=scale.longest,
    )


@lru_cache(maxsize=4)
def _fresh(count: int, seed: int) -> list[Sentence]:
    return CORPUS.some("test", count, seed=seed)
