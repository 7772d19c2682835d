"""One run of the study: the net to train, and the sentences to train and probe it on."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from wherewhat.corpora.grammar import Grammar
from wherewhat.corpora.sentence import Sentence
from wherewhat.probing.dependencies.settings import DependencySettings
from wherewhat.studies.conditions import EncodingCondition
from wherewhat.studies.finished_runs import Row
from wherewhat.studies.syntax.settings import SyntaxScale
from wherewhat.training.encoded_corpus import ReadCorpus, read_texts
from wherewhat.training.language_modelling import LanguageModelSettings

CORPUS = Grammar()


@dataclass(frozen=True)
class SyntaxJob:
    """A run of one condition from one seed."""

    scale: SyntaxScale
    condition: EncodingCondition
    seed: int

    @property
    def name(self) -> str:
        """The name under which its outcome is kept."""
        return f"{self.condition.name}, seed {self.seed}"

    @property
    def steps(self) -> int:
        """Its length in training steps."""
        return self.scale.steps

    def plain(self) -> dict[str, Any]:
        """Everything that determines its outcome, ready for JSON."""
        return {
            "run": {**self.condition.plain(), "seed": self.seed},
            "scale": self.scale.run_settings(),
            "corpus": CORPUS.plain(),
        }

    def training_settings(self) -> LanguageModelSettings:
        """How the net is trained, with its sentences loaded."""
        settings = self.scale.training_settings(self.condition, CORPUS, self.seed)
        return replace(settings, texts=_texts(self.scale)).ready()

    def sentences(self) -> Sequence[Sentence]:
        """Held-out sentences with their trees, different ones per seed."""
        return _held_out(self.scale.probed, self.seed)

    def probe_settings(self) -> DependencySettings:
        """How relations are probed; subtypes stay separate, as a passive subject has another position."""
        return DependencySettings(
            copies=self.scale.copies, permutations=self.scale.permutations, subtypes=True, seed=self.seed
        )

    def row(self, part: str, item: str, at: int | None, measure: str, value: float) -> Row:
        """One number of the run."""
        return part, self.condition.name, item, None if at is None else float(at), self.seed, measure, value, None, None


# Successive runs in a process share their sentences.


@lru_cache(maxsize=1)
def _texts(scale: SyntaxScale) -> ReadCorpus:
    return read_texts(
        CORPUS,
        sentences=scale.sentences,
        evaluated=scale.held_out,
        most_words=LanguageModelSettings.most_words,
        longest=scale.longest,
    )


@lru_cache(maxsize=4)
def _held_out(count: int, seed: int) -> list[Sentence]:
    return CORPUS.some("test", count, seed=seed)
