"""The scales of the study: tiny for a first look, small for an hour or two, paper as published where that is known."""

from dataclasses import asdict, dataclass, replace
from typing import Any

from wherewhat.nets.config import NetConfig
from wherewhat.studies.bell_curves import w_for
from wherewhat.studies.conditions import SYMMETRIC, EncodingCondition, curve
from wherewhat.studies.finished_runs import as_json
from wherewhat.studies.word_swap.passages import Passages
from wherewhat.training.finetune import FinetuneSettings
from wherewhat.training.language_modelling import LanguageModelSettings

NO_POSITION = "none"
REFERENCES = ("learned", "rope", "deberta", NO_POSITION)
NOT_OF_A_RUN = ("sweep", "seeds", "unknown", "chosen")  # settings that no single run depends on


@dataclass(frozen=True)
class CurveGroup:
    """Curves of one locality, from symmetric to one-sided: by s, the same in all heads, or by leaning heads."""

    locality: float  # over the n tokens of the sweep
    sides: tuple[float, ...]  # values of s; w follows from locality and s, so that curves differ in symmetry alone
    leans: tuple[float, ...] = ()  # initial side weights, alternating between heads, at the w of the symmetric curve

    def conditions(self, n: int) -> list[EncodingCondition]:
        """The conditions of the group."""
        w = w_for(self.locality, n=n)
        return [
            *(curve("log", w_for(self.locality, n=n, s=s), s) for s in self.sides),
            *(leaning(w, lean) for lean in self.leans),
        ]


def leaning(w: float, lean: float) -> EncodingCondition:
    """A symmetric curve whose heads weigh one side more: initially by e^lean, and the other side by e^-lean.

    >>> leaning(0.1, 0.5).name
    'leaning 0.5 w 0.1'
    """
    return EncodingCondition(f"leaning {lean:g} w {w:g}", "ours", "leaning", {"w": w, "start": lean}, w=w)


@dataclass(frozen=True)
class WordSwapSweep:
    """Which encodings are tried: groups of curves over n tokens, and references."""

    n: int
    curves: tuple[CurveGroup, ...]
    references: tuple[str, ...] = REFERENCES

    def conditions(self) -> list[EncodingCondition]:
        """All conditions, the curves first."""
        of_curves = [condition for _, conditions in self.groups() for condition in conditions]
        return [*of_curves, *(EncodingCondition(name, "reference", name) for name in self.references)]

    def groups(self) -> list[tuple[float, list[EncodingCondition]]]:
        """Curves of the same locality, with that locality."""
        return [(curves.locality, curves.conditions(self.n)) for curves in self.curves]


@dataclass(frozen=True)
class QuestionTraining:
    """A question that nets are fine-tuned on, and for how long."""

    question: str
    premises: int  # training premises, each with one hypothesis per label; for names, minimal pairs
    steps: int


@dataclass(frozen=True, kw_only=True)
class WordSwapScale:
    """The nets, their pre-training, the questions they are fine-tuned on, and which encodings are tried."""

    sweep: WordSwapSweep
    questions: tuple[QuestionTraining, ...]
    seeds: int  # each draws initial weights, the order of training passages and the test examples
    layers: int
    width: int
    heads: int
    # pre-training
    passages: int
    steps: int
    batch: int
    learning_rate: float
    warmup: int
    longest: int = 32  # words
    # fine-tuning
    rate: float  # learning rate of fine-tuning
    tuning_batch: int
    tuning_warmup: int
    valid: int = 10  # premises; with one learning rate there is nothing to choose by them
    test: int  # premises of the test examples, original and swapped
    held_out: int = 200  # passages on which the word loss is measured
    unknown: tuple[str, ...] = ()  # sizes that were never published; these are our choice
    chosen: str = ""  # how settings were chosen, if results were known by then

    def training_settings(self, condition: EncodingCondition, seed: int) -> LanguageModelSettings:
        """How one net is pre-trained. Its vocabulary follows from the passages."""
        net = NetConfig(
            vocabulary=1,
            width=self.width,
            layers=self.layers,
            heads=self.heads,
            kind=condition.kind,
            encoding=condition.encoding,
            encoding_options=condition.options,
            length=self.longest,
        )
        return LanguageModelSettings(
            net=net,
            corpus=Passages(),
            sentences=self.passages,
            longest=self.longest,
            steps=self.steps,
            batch=self.batch,
            learning_rate=self.learning_rate,
            warmup=self.warmup,
            betas=(0.9, 0.98),  # as is usual for masked words with few steps
            seed=seed,
            data_seed=seed,
            evaluate_every=self.steps,
            evaluate_samples=self.held_out,
        )

    def finetuning(self, training: QuestionTraining, seed: int) -> FinetuneSettings:
        """How a net is fine-tuned on a question."""
        return FinetuneSettings(
            steps=training.steps,
            batch=self.tuning_batch,
            learning_rates=(self.rate,),
            warmup=self.tuning_warmup,
            seed=seed,
        )

    def plain(self) -> dict[str, Any]:
        """As plain values, ready for JSON."""
        return as_json(asdict(self))

    def run_settings(self) -> dict[str, Any]:
        """The settings that determine a single run, without those of the study as a whole."""
        return {name: value for name, value in self.plain().items() if name not in NOT_OF_A_RUN}


_TINY = WordSwapScale(
    sweep=WordSwapSweep(
        n=16,
        curves=(CurveGroup(0.3, (SYMMETRIC, 0.5, 0.0), (1.0,)), CurveGroup(0.6, (SYMMETRIC, 4.0))),
    ),
    questions=(
        QuestionTraining("content", 1500, 700),
        QuestionTraining("names", 100, 150),
        QuestionTraining("roles", 1500, 700),
    ),
    seeds=3,
    layers=2,
    width=64,
    heads=4,
    passages=1500,
    steps=2000,
    batch=32,
    learning_rate=3e-3,
    warmup=40,
    rate=2e-3,
    tuning_batch=32,
    tuning_warmup=10,
    test=200,
    chosen="The passages, the premises about names, steps, learning rates and localities were chosen after some 30 "
    "single nets were known, nearly all from seed 0, which is among the runs of this scale. Curves with leaning heads "
    "were added, and judged separately, after one such net had learnt roles in pairs and curves with s other than 1 "
    "had not; four later nets with leaning heads did not learn them. The question who does it (`names`) was added, and "
    "the verdict on symmetry rests on it, after pairs about roles had been too hard for curves. Its steps and its rule "
    "were chosen when eight nets from seed 0 were known: s 0.5 at locality 0.3 and s 4 at 0.25 stayed at chance, as "
    "their two sides hardly differ within three words; both at 0.6 did not, so s 4 is tried at 0.6. The other rules "
    "were written before any whole run.",
)
_SMALL = replace(
    _TINY,
    sweep=WordSwapSweep(
        n=16,
        curves=(
            CurveGroup(0.25, (SYMMETRIC, 0.5, 0.1, 0.0, 2.0, 4.0), (0.1, 0.3, 1.0)),
            CurveGroup(0.3, (SYMMETRIC, 0.5, 0.1, 0.0, 2.0, 4.0), (0.1, 0.3, 1.0)),
            CurveGroup(0.4, (SYMMETRIC, 0.5, 0.1, 2.0, 4.0), (0.1, 0.3, 1.0)),
            CurveGroup(0.6, (SYMMETRIC, 0.5, 4.0)),
        ),
        references=("learned", "sinusoidal", "rope", "alibi", "t5_bias", "deberta", NO_POSITION),
    ),
    questions=(
        QuestionTraining("content", 6000, 3000),
        QuestionTraining("names", 100, 300),
        QuestionTraining("roles", 6000, 3000),
    ),
    layers=3,
    width=96,
    passages=6000,
    steps=5000,
    test=300,
    chosen="",
)
# The published models are known (BERT, ALBERT, DeBERTa, XLNet, fine-tuned on SNLI), but not how they were trained.
_PAPER = replace(
    _SMALL,
    layers=12,
    width=768,
    heads=12,
    passages=6000,
    steps=100_000,
    batch=32,
    learning_rate=1e-4,
    warmup=10_000,
    rate=3e-5,
    tuning_batch=32,
    tuning_warmup=100,
    questions=(
        QuestionTraining("content", 6000, 50_000),
        QuestionTraining("names", 100, 5000),
        QuestionTraining("roles", 6000, 50_000),
    ),
    unknown=(
        "what was pre-trained how long",
        "rates, steps and batches of fine-tuning",
        "seeds",
        "the number of pairs",
    ),
)
SCALES: dict[str, WordSwapScale] = {"tiny": _TINY, "small": _SMALL, "paper": _PAPER}
