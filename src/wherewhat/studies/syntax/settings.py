"""The scales of the study: tiny for a first look, small for an hour, paper as published where that is known."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

from wherewhat.corpora.base import Corpus
from wherewhat.nets.config import NetConfig
from wherewhat.studies.bell_curves import w_for
from wherewhat.studies.conditions import EncodingCondition, curve
from wherewhat.studies.finished_runs import as_json
from wherewhat.training.language_modelling import LanguageModelSettings

NOT_OF_A_RUN = ("localities", "sides", "references", "seeds", "unknown", "chosen")  # no single run depends on these


@dataclass(frozen=True, kw_only=True)
class SyntaxScale:
    """The nets, their training, how they are probed, and which encodings are tried."""

    # encodings: curves of every locality (over n tokens) with every s, from which w follows; and references
    n: int = 32
    localities: tuple[float, ...]
    sides: tuple[float, ...]
    references: tuple[str, ...]
    seeds: int  # each draws initial weights, the order of training sentences, and the sentences to probe on
    layers: int
    width: int
    heads: int
    # training
    sentences: int
    steps: int
    batch: int
    learning_rate: float
    warmup: int
    longest: int = 32  # words per sentence
    held_out: int = 500  # sentences on which the word loss is measured
    # probing
    probed: int  # sentences with gold trees
    fewest: int = 20  # a relation with fewer rows is left out
    copies: int = 32  # words that are repeated to measure the positional part of attention
    permutations: int = 16  # of every sentence, to measure the contextual part
    unknown: tuple[str, ...] = ()  # sizes that were never published; these are our choice
    chosen: str = ""  # how settings were chosen, if results were known by then

    def conditions(self) -> list[EncodingCondition]:
        """All conditions, the curves first."""
        conditions = [*self._curves(), *(EncodingCondition(name, "reference", name) for name in self.references)]
        assert len({condition.name for condition in conditions}) == len(conditions), "two conditions have one name"
        return conditions

    def _curves(self) -> Iterator[EncodingCondition]:
        for s in self.sides:
            for locality in self.localities:
                yield curve("log", w_for(locality, n=self.n, s=s), s)

    def training_settings(self, condition: EncodingCondition, corpus: Corpus, seed: int) -> LanguageModelSettings:
        """How one net is trained. Its vocabulary follows from the corpus."""
        net = NetConfig(
            vocabulary=1,
            width=self.width,
            layers=self.layers,
            heads=self.heads,
            kind=condition.kind,
            encoding=condition.encoding,
            encoding_options=condition.options,
            length=max(self.longest, self.n),
        )
        return LanguageModelSettings(
            net=net,
            corpus=corpus,
            sentences=self.sentences,
            longest=self.longest,
            steps=self.steps,
            batch=self.batch,
            learning_rate=self.learning_rate,
            warmup=self.warmup,
            seed=seed,
            data_seed=seed,
            evaluate_every=self.steps,
            evaluate_samples=self.held_out,
        )

    def plain(self) -> dict[str, Any]:
        """As plain values, ready for JSON."""
        return as_json(asdict(self))

    def run_settings(self) -> dict[str, Any]:
        """The settings that determine a single run, without those of the study as a whole."""
        return {name: value for name, value in self.plain().items() if name not in NOT_OF_A_RUN}


_TINY = SyntaxScale(
    localities=(0.35, 0.65, 0.9),
    sides=(1.0, 0.25),
    references=("learned", "rope", "deberta", "none"),
    seeds=3,
    layers=2,
    width=64,
    heads=4,
    sentences=20_000,
    steps=1000,
    batch=64,
    learning_rate=3e-3,
    warmup=40,
    probed=300,
    permutations=8,
    chosen="The number of steps was chosen from the time and the loss of single nets, and the learning rate as the one "
    "of two with the lower loss; both used seed 0, which is among the runs of this scale. After a whole run was known, "
    "one-sided curves were made as local as symmetric ones, and fewer sentences and permutations were probed, to save "
    "time.",
)
_SMALL = replace(
    _TINY,
    chosen="",
    localities=(0.2, 0.35, 0.5, 0.65, 0.8, 0.9),
    sides=(1.0, 0.25, 4.0),
    references=("learned", "sinusoidal", "rope", "deberta", "t5_bias", "alibi", "none"),
    layers=3,
    width=96,
    steps=3000,
    probed=1000,
    permutations=16,
    fewest=50,
)
# Hardly anything is known about the publication's dependency probe; the net has the shape of BERT-base.
_PAPER = replace(
    _SMALL,
    layers=12,
    width=768,
    heads=12,
    longest=512,
    sentences=1_000_000,
    steps=100_000,
    learning_rate=1e-4,
    warmup=10_000,
    probed=2000,
    fewest=100,
    unknown=("layers", "width", "heads", "sentences", "steps", "batch", "learning rate", "warm-up", "seeds"),
)
SCALES: dict[str, SyntaxScale] = {"tiny": _TINY, "small": _SMALL, "paper": _PAPER}
