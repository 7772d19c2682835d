"""The scales of the study: tiny for a first look, small for an hour, paper as published where that is known."""

from dataclasses import asdict, dataclass, replace
from typing import Any

from wherewhat.corpora.base import Corpus
from wherewhat.nets.config import NetConfig
from wherewhat.studies.conditions import EncodingCondition
from wherewhat.studies.finished_runs import as_json
from wherewhat.studies.locality.sweep import LocalitySweep
from wherewhat.training.finetune import FinetuneSettings
from wherewhat.training.language_modelling import LanguageModelSettings

REFERENCES = ("learned", "sinusoidal", "rope", "alibi", "t5_bias", "deberta", "none")
DECODER_REFERENCES = ("none", "alibi", "rope")
NOT_OF_A_RUN = ("sweep", "seeds", "unknown", "chosen")  # settings that no single run depends on
QUESTIONS = ("number", "tense", "voice", "agent", "acceptable", "names")


@dataclass(frozen=True, kw_only=True)
class LocalityScale:
    """The nets, their pre-training, their fine-tuning on questions, and which encodings are tried."""

    sweep: LocalitySweep
    questions: tuple[str, ...] = QUESTIONS
    seeds: int  # each draws initial weights, the order of training sentences, and the sentences of the questions
    layers: int
    width: int
    heads: int
    # pre-training
    sentences: int
    steps: int
    batch: int
    learning_rate: float
    warmup: int
    longest: int = 32  # words per sentence
    # fine-tuning on a question
    train: int  # sentences to fine-tune on
    valid: int  # to choose the learning rate by
    test: int
    tuning: FinetuneSettings
    # measuring
    held_out: int = 500  # sentences on which the word loss is measured, before and after fine-tuning
    copied: int = 20  # words that are repeated to measure the positional part of attention
    unknown: tuple[str, ...] = ()  # sizes that were never published; these are our choice
    chosen: str = ""  # how settings were chosen, if results were known by then

    def training_settings(self, condition: EncodingCondition, corpus: Corpus, seed: int) -> LanguageModelSettings:
        """How one net is pre-trained. Its vocabulary follows from the corpus."""
        net = NetConfig(
            vocabulary=1,
            width=self.width,
            layers=self.layers,
            heads=self.heads,
            kind=condition.kind,
            encoding=condition.encoding,
            encoding_options=condition.options,
            length=max(self.longest, self.sweep.n),
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

    def finetuning(self, seed: int) -> FinetuneSettings:
        """How a net is fine-tuned."""
        return replace(self.tuning, seed=seed)

    def plain(self) -> dict[str, Any]:
        """As plain values, ready for JSON."""
        return as_json(asdict(self))

    def run_settings(self) -> dict[str, Any]:
        """The settings that determine a single run, without those of the study as a whole."""
        return {name: value for name, value in self.plain().items() if name not in NOT_OF_A_RUN} | {"n": self.sweep.n}


_FEW = LocalitySweep(
    n=32,
    localities=(0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.99),
    sided=(0.35, 0.65),
    sides=(0.0, 0.25, 0.5, 2.0, 4.0),
    raw=(0.35, 0.65),
    learned=("ws", "table"),
    references=REFERENCES,
    decoder=(0.1, 0.35, 0.65, 0.99),
    decoder_references=DECODER_REFERENCES,
)
_MORE = replace(
    _FEW,
    localities=(0.1, 0.15, 0.2, 0.3, 0.35, 0.4, 0.5, 0.6, 0.65, 0.7, 0.8, 0.9, 0.99),
    sides=(0.0, 0.1, 0.25, 0.5, 0.75, 2.0, 4.0),
    raw=(0.2, 0.35, 0.65, 0.9),
    decoder=(0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.99),
)
_TINY = LocalityScale(
    sweep=_FEW,
    seeds=3,
    layers=2,
    width=64,
    heads=4,
    sentences=4000,
    steps=400,
    batch=64,
    learning_rate=3e-3,
    warmup=40,
    train=800,
    valid=100,
    test=400,
    tuning=FinetuneSettings(steps=70, batch=32, learning_rates=(2e-3,), warmup=5, seed=0),
    chosen="The fine-tuning settings were chosen after about three variants had been tried on seed 0, which is among "
    "the runs of this scale.",
)
_SMALL = replace(
    _TINY,
    sweep=_MORE,
    seeds=3,
    layers=3,
    width=96,
    sentences=20_000,
    steps=800,
    train=1000,
    valid=200,
    test=1000,
    tuning=FinetuneSettings(steps=150, batch=32, learning_rates=(1e-3, 3e-4), warmup=15, seed=0),
    chosen="",
)
# The released code gives length, rates, batch and seed of fine-tuning; hardly anything is known about the nets.
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
    tuning=FinetuneSettings(steps=1000, batch=32, learning_rates=(3e-4, 1e-4, 5e-5, 3e-5, 1e-5), warmup=100, seed=42),
    unknown=("layers", "width", "heads", "sentences", "steps", "batch", "learning rate", "warm-up", "seeds"),
)
SCALES: dict[str, LocalityScale] = {"tiny": _TINY, "small": _SMALL, "paper": _PAPER}
