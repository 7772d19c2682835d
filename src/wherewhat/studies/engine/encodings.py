"""For studies that train one small net per encoding of position: the encodings, the nets, and curves set by hand."""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from typing import Any

import torch
from scipy.optimize import brentq
from torch import Tensor

from wherewhat.corpora.base import Corpus
from wherewhat.encodings.attenuated import Attenuated
from wherewhat.encodings.base import Context
from wherewhat.encodings.registry import Shape, encoding_for
from wherewhat.errors import UserError
from wherewhat.nets.config import NetConfig
from wherewhat.profiling.positional_part.repeated_word import WordProbe, read_repeated_words
from wherewhat.scores.positional_part import measures
from wherewhat.studies.engine.results import Row
from wherewhat.studies.engine.study import OF_STUDY
from wherewhat.training.encoded_corpus import ReadCorpus, read_texts
from wherewhat.training.language_modelling import LanguageModelSettings

# Hardly anything is published about the nets of these studies: this has the shape of BERT-base.
BERT_BASE: dict[str, Any] = {"layers": 12, "width": 768, "heads": 12}
BERT_BASE |= {"steps": 100_000, "learning_rate": 1e-4, "warmup": 10_000}
SYMMETRIC = 1.0  # the value of s at which both sides fall off equally
FLATTEST, STEEPEST = 1e-7, 50.0  # the range of w that is searched
MEASURES = ("locality", "balance", "symmetry")


@dataclass(frozen=True)
class EncodingCondition:
    """An encoding in a net: its name in the tables, and how it is built."""

    name: str
    family: str
    encoding: str
    options: Mapping[str, Any] = field(default_factory=dict)
    kind: str = "encoder"
    w: float | None = None  # of curves that are set by hand or start from a given w
    s: float | None = None

    @property
    def mirrored(self) -> bool:
        """Whether it treats both sides alike whatever it learns, so that a reversed text looks the same to it."""
        shape = Shape(width=8, heads=2, head_dim=4, length=8)
        return encoding_for(shape, self.encoding, self.options).mirror_invariant

    def bias_measures(self, n: int) -> Mapping[str, float]:
        """Locality and symmetry of the curve by itself over n tokens; empty if no curve is fixed."""
        if self.encoding != "attenuated" or self.w is None or self.s is None or "learn" in self.options:
            return {}
        return curve_measures(self.w, self.s, n=n, causal=self.kind == "decoder")


def curve(inject: str, w: float, s: float = SYMMETRIC, *, kind: str = "encoder") -> EncodingCondition:
    """A bell curve of distance that is set by hand.

    >>> curve("log", 0.5, 0.25).name, curve("log", 0.5, kind="decoder").name
    ('log w 0.5 s 0.25', 'decoder w 0.5')
    """
    options = {"w": w, "s": s, "inject": inject}
    side = "" if s == SYMMETRIC else f" s {s:g}"
    family = "decoder" if kind == "decoder" else inject
    return EncodingCondition(f"{family} w {w:g}{side}", family, "attenuated", options, kind, w, s)


def bias_rows(conditions: Iterable[EncodingCondition], n: int) -> Iterator[Row]:
    """Locality and symmetry of every curve set by hand, by itself."""
    for condition in conditions:
        for name, value in condition.bias_measures(n).items():
            yield "encoding", condition.name, "", None, None, f"bias.{name}", value, None, None


@dataclass(frozen=True, kw_only=True)
class NetScale:
    """The nets of such a study, and how they are trained on the words of a corpus."""

    n: int = 32  # tokens over which locality is measured
    seeds: int = field(
        default=3, metadata=OF_STUDY
    )  # each draws initial weights, the order of training texts, and test examples
    layers: int = 2
    width: int = 64
    heads: int = 4
    sentences: int
    steps: int
    batch: int = 64
    learning_rate: float = 3e-3
    warmup: int = 40
    longest: int = 32  # words per text
    held_out: int = 500  # texts on which the word loss is measured
    unknown: tuple[str, ...] = field(default=(), metadata=OF_STUDY)  # sizes never published, chosen by us
    chosen: str = field(default="", metadata=OF_STUDY)  # how settings were chosen, if results were known by then

    def training_settings(self, condition: EncodingCondition, corpus: Corpus, seed: int) -> LanguageModelSettings:
        """How one net is trained, with its texts loaded; successive runs in a process share them."""
        net = NetConfig(
            vocabulary=1,  # follows from the corpus
            width=self.width,
            layers=self.layers,
            heads=self.heads,
            kind=condition.kind,
            encoding=condition.encoding,
            encoding_options=condition.options,
            length=max(self.longest, self.n),
        )
        settings = LanguageModelSettings(
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
        texts = corpus_texts(corpus, self.sentences, self.held_out, self.longest)
        return replace(settings, texts=texts).ready()

    def size_notes(self, size: str) -> tuple[str, ...]:
        """Notes on the sizes of this scale: a sentence, how they were chosen, and what was never published."""
        unknown = f"Not published, and chosen by us: {', '.join(self.unknown)}." if self.unknown else ""
        return tuple(note for note in (size, self.chosen, unknown) if note)


@lru_cache(maxsize=1)
def corpus_texts(corpus: Corpus, sentences: int, held_out: int, longest: int) -> ReadCorpus:
    """The texts that nets are trained on; successive runs in a process share them."""
    most_words = LanguageModelSettings.most_words
    return read_texts(corpus, sentences=sentences, evaluated=held_out, most_words=most_words, longest=longest)


@cache
def curve_measures(w: float, s: float, *, n: int, causal: bool = False) -> Mapping[str, float]:
    """Locality, balance and symmetry of the attention that the curve alone gives over n tokens.

    Balance and symmetry compare the two sides; a causal query has only one, so only its locality is returned.

    >>> {name: round(value, 6) for name, value in curve_measures(0.5, 1.0, n=64).items()}
    {'locality': 0.672897, 'balance': 1.0, 'symmetry': 1.0}
    """
    context = Context.of(n, causal=causal)
    by_measure = measures(_attention(w, s, context), context.allowed_BHQK[0, 0])
    return {name: float(by_measure[name][0]) for name in MEASURES if name in by_measure}


def attention_measures(probe: WordProbe) -> list[dict[str, float]]:
    """By layer, locality and symmetry of attention over copies of one word, the means over heads."""
    matrices = [sums.mean() for sums in read_repeated_words(probe).identical.values()]
    by_layer = [measures(matrix.attention_HTT, matrix.allowed_TT) for matrix in matrices]
    return [{name: float(value_H.mean()) for name, value_H in layer.items()} for layer in by_layer]


def w_for(target: float, *, n: int, s: float = 1.0) -> float:
    """The w at which a curve over n tokens has this locality, to three digits; the curve is symmetric by default.

    >>> w_for(0.672897, n=64)
    0.5
    """
    ends = [curve_measures(w, s, n=n)["locality"] for w in (FLATTEST, STEEPEST)]
    if not ends[0] < target < ends[1]:
        raise UserError(f"no curve over {n} tokens has locality {target}; give one from {ends[0]:.4f} to {ends[1]:.4f}")
    log_w = brentq(
        lambda log_w: curve_measures(math.exp(log_w), s, n=n)["locality"] - target,
        math.log(FLATTEST),
        math.log(STEEPEST),
        xtol=1e-6,
    )
    return float(f"{math.exp(log_w):.3g}")


def _attention(w: float, s: float, context: Context) -> Tensor:
    """attention_HTT of one head without content."""
    n = context.allowed_BHQK.shape[-1]
    zeros_BHTC = torch.zeros(1, 1, n, 1, dtype=torch.float64)
    bias_BHQK = Attenuated(heads=1, length=n, w=w, s=s, inject="log").bias(zeros_BHTC, zeros_BHTC, context)
    return bias_BHQK.masked_fill(~context.allowed_BHQK, -torch.inf).softmax(-1)[0]
