"""The scales of the study: tiny for a first look, small for an hour or two, paper as published where that is known."""

from dataclasses import dataclass, field, replace

from wherewhat.studies.engine.encodings import BERT_BASE, SYMMETRIC, EncodingCondition, NetScale, curve, w_for
from wherewhat.studies.engine.study import OF_STUDY
from wherewhat.studies.word_swap.questions import Passages
from wherewhat.training.finetune import FinetuneSettings
from wherewhat.training.language_modelling import LanguageModelSettings

NO_POSITION = "none"


@dataclass(frozen=True)
class CurveGroup:
    """Curves of one locality, from symmetric to one-sided: by s, the same in all heads, or by leaning heads."""

    locality: float  # over the n tokens of the scale
    sides: tuple[float, ...]  # values of s; w follows from locality and s, so that curves differ in symmetry alone
    leans: tuple[float, ...] = ()  # initial side weights, alternating between heads, at the w of the symmetric curve

    def conditions(self, n: int) -> list[EncodingCondition]:
        """The conditions of the group."""
        sides = [curve("log", w_for(self.locality, n=n, s=s), s) for s in self.sides]
        return [*sides, *(leaning(w_for(self.locality, n=n), lean) for lean in self.leans)]


def leaning(w: float, lean: float) -> EncodingCondition:
    """A symmetric curve whose heads weigh one side more: initially by e^lean, and the other side by e^-lean.

    >>> leaning(0.1, 0.5).name
    'leaning 0.5 w 0.1'
    """
    return EncodingCondition(f"leaning {lean:g} w {w:g}", "ours", "leaning", {"w": w, "start": lean}, w=w)


@dataclass(frozen=True)
class QuestionTraining:
    """A question that nets are fine-tuned on, and for how long."""

    question: str
    premises: int  # training premises, each with one hypothesis per label; for names, minimal pairs
    steps: int


@dataclass(frozen=True, kw_only=True)
class WordSwapScale(NetScale):
    """The encodings that are tried, the nets and their passages (`sentences`), and what they are fine-tuned on."""

    n: int = 16
    held_out: int = 200
    curves: tuple[CurveGroup, ...] = field(metadata=OF_STUDY)
    references: tuple[str, ...] = field(default=("learned", "rope", "deberta", NO_POSITION), metadata=OF_STUDY)
    questions: tuple[QuestionTraining, ...]
    rate: float  # learning rate of fine-tuning
    tuning_batch: int
    tuning_warmup: int
    valid: int = 10  # premises; with one learning rate there is nothing to choose by them
    test: int  # premises of the test examples, original and swapped

    def groups(self) -> list[tuple[float, list[EncodingCondition]]]:
        """Curves of the same locality, with that locality."""
        return [(group.locality, group.conditions(self.n)) for group in self.curves]

    def asymmetric(self) -> list[tuple[float, list[EncodingCondition], EncodingCondition]]:
        """Every asymmetric curve, with its locality and the symmetric curve of that locality, if there is one."""
        return [
            (locality, [curve for curve in group if curve.s == SYMMETRIC], condition)
            for locality, group in self.groups()
            for condition in group
            if condition.s != SYMMETRIC
        ]

    def conditions(self) -> list[EncodingCondition]:
        """All conditions, the curves first."""
        curves = [condition for _, group in self.groups() for condition in group]
        return [*curves, *(EncodingCondition(name, "reference", name) for name in self.references)]

    def pretraining(self, condition: EncodingCondition, seed: int) -> LanguageModelSettings:
        """How one net is pre-trained, with betas as is usual for masked words with few steps."""
        return replace(self.training_settings(condition, Passages(), seed), betas=(0.9, 0.98))

    def finetuning(self, training: QuestionTraining, seed: int) -> FinetuneSettings:
        """How a net is fine-tuned on a question."""
        schedule = {"steps": training.steps, "batch": self.tuning_batch, "warmup": self.tuning_warmup}
        return FinetuneSettings(**schedule, learning_rates=(self.rate,), seed=seed)


def _trainings(pairs: tuple[int, int], names: int) -> tuple[QuestionTraining, ...]:
    """The questions: premises and steps of those about pairs, and the steps of names."""
    content, roles = (QuestionTraining(question, *pairs) for question in ("content", "roles"))
    return content, QuestionTraining("names", 100, names), roles


_TINY = WordSwapScale(
    curves=(CurveGroup(0.3, (SYMMETRIC, 0.5, 0.0), (1.0,)), CurveGroup(0.6, (SYMMETRIC, 4.0))),
    questions=_trainings((1500, 700), 150),
    sentences=1500,
    steps=2000,
    batch=32,
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
    curves=(
        CurveGroup(0.25, (SYMMETRIC, 0.5, 0.1, 0.0, 2.0, 4.0), (0.1, 0.3, 1.0)),
        CurveGroup(0.3, (SYMMETRIC, 0.5, 0.1, 0.0, 2.0, 4.0), (0.1, 0.3, 1.0)),
        CurveGroup(0.4, (SYMMETRIC, 0.5, 0.1, 2.0, 4.0), (0.1, 0.3, 1.0)),
        CurveGroup(0.6, (SYMMETRIC, 0.5, 4.0)),
    ),
    references=("learned", "sinusoidal", "rope", "alibi", "t5_bias", "deberta", NO_POSITION),
    questions=_trainings((6000, 3000), 300),
    layers=3,
    width=96,
    sentences=6000,
    steps=5000,
    test=300,
    chosen="",
)
# The published models are known (BERT, ALBERT, DeBERTa, XLNet, fine-tuned on SNLI), but not how they were trained.
_PAPER = replace(
    _SMALL,
    questions=_trainings((6000, 50_000), 5000),
    **BERT_BASE,
    rate=3e-5,
    tuning_warmup=100,
    unknown=(
        "what was pre-trained how long",
        "rates, steps and batches of fine-tuning",
        "seeds",
        "the number of pairs",
    ),
)
SCALES: dict[str, WordSwapScale] = {"tiny": _TINY, "small": _SMALL, "paper": _PAPER}
