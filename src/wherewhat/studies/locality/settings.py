"""Which encodings are tried at which scale, on which texts and questions; the files of a user become part of it."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from itertools import islice
from pathlib import Path
from typing import Any

from wherewhat.corpora.base import Corpus
from wherewhat.corpora.files import numbered_lines
from wherewhat.corpora.grammar import Grammar
from wherewhat.corpora.plain_text import PlainText
from wherewhat.corpora.questions import QUESTIONS as BUILT_IN
from wherewhat.corpora.questions import LabelledDataset, labelled, read_labelled
from wherewhat.corpora.registry import corpus_from
from wherewhat.corpora.vocabulary import WordVocabulary
from wherewhat.errors import UserError
from wherewhat.formatting import percent
from wherewhat.studies.engine.encodings import BERT_BASE, EncodingCondition, NetScale, corpus_texts, curve, w_for
from wherewhat.studies.engine.study import OF_STUDY, Request, with_seeds
from wherewhat.studies.locality.sets import LEFT_OUT, MANY_UNKNOWN, RESERVED
from wherewhat.training.finetune import FinetuneSettings

QUESTIONS = ("number", "tense", "voice", "agent", "acceptable", "names")
FAMILIES = {
    "log": "a bell curve of distance, added as its logarithm, so that attention without content is the curve itself",
    "raw": "the same curve added without the logarithm, as published",
    "learned": "the same curve, learned",
    "reference": "encodings of others, and no encoding at all",
    "decoder": "the curve, and some of the others, under a causal mask",
    "ours": "the curve with a learned side weight per head",
    "control": "the same with side weights that keep their initial values",
}


@dataclass(frozen=True, kw_only=True)
class LocalitySweep:
    """Which encodings are tried. Localities are those of a symmetric curve; w follows from them."""

    localities: tuple[float, ...] = ()
    sided: tuple[float, ...] = ()  # localities at which s is varied too, and at which our own encoding is tried
    sides: tuple[float, ...] = ()  # values of s other than 1
    raw: tuple[float, ...] = ()
    learned: tuple[str, ...] = ()  # which part of the curve is learned: ws, table
    references: tuple[str, ...] = ()
    decoder: tuple[float, ...] = ()
    decoder_references: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class LocalityScale(NetScale):
    """The nets, their pre-training, their fine-tuning on questions, and which encodings are tried."""

    sweep: LocalitySweep = field(metadata=OF_STUDY)
    questions: tuple[str, ...] = QUESTIONS
    train: int  # sentences to fine-tune on
    valid: int  # to choose the learning rate by
    test: int
    tuning: FinetuneSettings
    copied: int = 20  # words that are repeated to measure the positional part of attention
    corpus: Mapping[str, Any] = field(default_factory=Grammar(past=True).plain)  # what nets are trained on
    tasks: tuple[str, ...] = ()  # files with further questions, which are called after them
    hashes: Mapping[str, str] = field(default_factory=dict)  # of every file of the user, by path

    @property
    def texts(self) -> Corpus:
        """What nets are trained on."""
        return corpus_from(self.corpus)

    @property
    def unseen(self) -> Sequence[Sequence[str]]:
        """Sentences not trained on, whose word loss measures forgetting."""
        return _unseen(self.texts, self.held_out, self.longest)

    @property
    def run_steps(self) -> int:
        """The length of a run in training steps."""
        return self.steps + len(self.questions) * self.tuning.steps * len(self.tuning.learning_rates)

    def dataset(self, question: str, seed: int) -> LabelledDataset:
        """Sentences labelled with the answers to a question."""
        if path := {Path(task).stem: task for task in self.tasks}.get(question):
            return _from_file(path, self.hashes[path], 10 * self.test)  # a tenth of them are test sentences
        return _from_grammar(question, seed=seed, train=self.train, valid=self.valid, test=self.test)

    def chance(self, question: str, seed: int) -> float:
        """The accuracy of guessing: the share of the most frequent label among test sentences."""
        dataset = self.dataset(question, seed)
        labels = [example.label for example in dataset.test]
        return max(labels.count(label) for label in dataset.labels) / len(labels)

    def conditions(self) -> list[EncodingCondition]:
        """All conditions, the most informative first, as a long study may be stopped early."""
        sweep, w_of = self.sweep, partial(w_for, n=self.n)
        conditions = [curve("log", w_of(locality)) for locality in sweep.localities]
        conditions += [curve("log", w, s) for w in map(w_of, sweep.sided) for s in sweep.sides]
        for w in map(w_of, sweep.sided):
            fixed = {"w": w, "learn": "none"}
            conditions += [EncodingCondition(f"leaning w {w:g}", "ours", "leaning", {"w": w}, w=w)]
            conditions += [EncodingCondition(f"leaning, not learned w {w:g}", "control", "leaning", fixed, w=w)]
        conditions += [curve("raw", w_of(locality)) for locality in sweep.raw]
        for learn in sweep.learned:
            name, w = f"log, learned {'w and s' if learn == 'ws' else learn}", w_of(sweep.sided[0])
            options = {"w": w, "inject": "log", "learn": learn}
            conditions += [EncodingCondition(name, "learned", "attenuated", options, w=w)]
        conditions += [EncodingCondition(name, "reference", name) for name in sweep.references]
        conditions += [curve("log", w_of(locality), kind="decoder") for locality in sweep.decoder]
        for name in sweep.decoder_references:
            conditions += [EncodingCondition(f"decoder {name}", "decoder", name, kind="decoder")]
        assert len({condition.name for condition in conditions}) == len(conditions), "two conditions have one name"
        return conditions


_from_grammar = lru_cache(maxsize=32)(labelled)  # successive runs in a process share their sentences and questions


@lru_cache(maxsize=1)
def _unseen(corpus: Corpus, most: int, longest: int) -> list[Sequence[str]]:
    sentences = (sentence.words for sentence in corpus.sentences("test"))
    return list(islice((words[:longest] for words in sentences if len(words) > 1), most))


@lru_cache(maxsize=32)
def _from_file(path: str, digest: str, most: int) -> LabelledDataset:
    return read_labelled(Path(path), limit=most)


def with_files(scale: LocalityScale, request: Request) -> LocalityScale:
    """The scale with the files of a request. Those that are unusable are refused, before any net is trained."""
    texts, tasks = tuple(map(str, request.files)), tuple(map(str, request.tasks))
    scale = replace(
        with_seeds(scale, request),
        corpus=PlainText(files=texts).plain() if texts else scale.corpus,
        tasks=tasks,
        hashes={path: _hash(path) for path in (*texts, *tasks)},
        questions=_questions(scale.questions, tasks),
    )
    corpus_texts.cache_clear()  # a file of the same name may have other words by now
    _unseen.cache_clear()
    _ = scale.unseen
    words = corpus_texts(scale.texts, scale.sentences, scale.held_out, scale.longest).words
    for question in scale.questions:
        if (share := unknown_words(words, scale.dataset(question, request.seed))) > MANY_UNKNOWN:
            request.warn(f"{percent(share)} of the words of {question} are not in the training text; {LEFT_OUT}")
    return scale


def unknown_words(words: WordVocabulary, dataset: LabelledDataset) -> float:
    """The share of test words that are not in the vocabulary."""
    ids = [id for example in dataset.test for id in words.ids(example.words)]
    return ids.count(words.unknown) / len(ids)


def _questions(built_in: tuple[str, ...], tasks: Sequence[str]) -> tuple[str, ...]:
    """The questions of the grammar, and those of files."""
    names: list[str] = []
    for path in tasks:
        name = Path(path).stem
        if name in RESERVED:
            raise UserError(f"a question cannot be called '{name}', which the tables use; rename {path}")
        if name in BUILT_IN or name in names:
            raise UserError(f"two questions are called '{name}'; rename {path}")
        names.append(name)
    return (*built_in, *names)


def _hash(path: str) -> str:
    """SHA-256 of the lines of a text file."""
    digest = hashlib.sha256()
    for _, line in numbered_lines(Path(path)):
        digest.update(f"{line}\n".encode())
    return digest.hexdigest()


_FEW = LocalitySweep(
    localities=(0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.99),
    sided=(0.35, 0.65),
    sides=(0.0, 0.25, 0.5, 2.0, 4.0),
    raw=(0.35, 0.65),
    learned=("ws", "table"),
    references=("learned", "sinusoidal", "rope", "alibi", "t5_bias", "deberta", "none"),
    decoder=(0.1, 0.35, 0.65, 0.99),
    decoder_references=("none", "alibi", "rope"),
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
    sentences=4000,
    steps=400,
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
    **BERT_BASE,
    longest=512,
    sentences=1_000_000,
    tuning=FinetuneSettings(steps=1000, batch=32, learning_rates=(3e-4, 1e-4, 5e-5, 3e-5, 1e-5), warmup=100, seed=42),
    unknown=("layers", "width", "heads", "sentences", "steps", "batch", "learning rate", "warm-up", "seeds"),
)
SCALES: dict[str, LocalityScale] = {"tiny": _TINY, "small": _SMALL, "paper": _PAPER}
