"""A run that reads a corpus and learns its words: hidden ones if the net looks both ways, else the next one."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
from torch import Tensor
from torch.nn.functional import cross_entropy

from wherewhat.corpora.base import Corpus
from wherewhat.corpora.files import named
from wherewhat.corpora.registry import corpus, corpus_from
from wherewhat.corpora.words import Words
from wherewhat.errors import UserError
from wherewhat.models.folder import Reads
from wherewhat.nets.trunk import Trunk
from wherewhat.training.guessing import Guess, answers, guess_for, word_logits
from wherewhat.training.objective import Objective
from wherewhat.training.settings import Plain, Settings
from wherewhat.training.texts import LEARNING, SHORTEST, Order, Texts, read_texts

MANY = 0.05  # unknown words are worth a word from this share on


@dataclass(frozen=True, kw_only=True)
class Reading(Settings):
    """One run on a corpus. The net's vocabulary follows the words that are learnt, whatever number it began with.

    `ready` reads the corpus and carries what was read in `texts`; runs that are made from it with
    `dataclasses.replace` need not read again, unless they read something else.
    """

    learns: ClassVar[str] = "corpus"
    ends: ClassVar[Mapping[str, str]] = {"accuracy": "accuracy valid", "loss": "loss valid"}
    decided: ClassVar[Mapping[str, str]] = {"vocabulary": "it follows the words that are learnt, give most_words"}

    corpus: Corpus
    sentences: int  # of the training split at most; they are read again and again
    longest: int  # words of a sentence; a longer one is cut into several
    most_words: int = 8000  # in the vocabulary, the most frequent ones
    texts: Texts | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check("sentences", self.sentences >= 1, "at least 1")
        self._check("longest", self.longest >= SHORTEST, f"at least {SHORTEST}")
        self._check("most_words", self.most_words >= 2, "at least 2")
        if self.net.length < self.longest:
            raise UserError(
                f"the net's length {self.net.length} is too small; sentences have up to {self.longest} words"
            )
        if self.texts is not None and self.texts.read_as != self._what():
            object.__setattr__(self, "texts", None)

    def _what(self) -> dict[str, Any]:
        """All that decides what is read."""
        sizes = {"sentences": self.sentences, "judged": self.evaluate_samples}
        return {"corpus": self.corpus, **sizes, "most_words": self.most_words, "longest": self.longest}

    @property
    def words(self) -> Words | None:
        return None if self.texts is None else self.texts.words

    def ready(self) -> Self:
        texts = read_texts(**self._what()) if self.texts is None else self.texts
        return replace(self.fitted(texts.words), texts=texts)

    def fitted(self, words: Words | None) -> Self:
        return self if words is None else replace(self, net=replace(self.net, vocabulary=len(words)))

    def objective(self) -> Objective:
        ready = self.ready()
        assert ready.texts is not None
        return Guesses(ready, ready.texts)

    def ending(self, ends: Mapping[str, float]) -> str:
        asked = "next" if self.net.causal else "hidden"
        return f"{ends['accuracy']:.1%} of {asked} words of fresh sentences guessed, with a loss of {ends['loss']:.3f}"

    def belongings(self) -> Plain:
        return {"reads": None if self.words is None else Reads(self.words, self.corpus)}

    def read(self) -> Plain:
        if self.texts is None:
            return {}
        return {"digest": self.texts.digest} | {split: asdict(extent) for split, extent in self.texts.extent.items()}

    def left_out(self) -> list[str]:
        if self.texts is None or self.corpus.endless:
            return []
        train, lines = self.texts.extent["train"], list[str]()
        if train.more:
            lines += [
                f"only the first {train.sentences:,} sentences to learn from were read; --set sentences=N reads more"
            ]
        if train.left_out:
            lines += [f"{train.left_out:,} words were left out: they stand alone, or beside unknown words only"]
        if train.unknown > MANY:
            lines += [f"{train.unknown:.0%} of the words are unknown; --set most_words=N learns more of them"]
        return lines

    def changed_texts(self, before: Plain) -> str | None:
        if self.corpus.endless or "digest" not in before:  # the settings decide all; a folder of an earlier version
            return None
        same = before["digest"] == self.ready().read()["digest"]
        return None if same else f"the text {named(self.corpus.plain()['files'])}"

    @classmethod
    def learnt_to(cls, learnt: Corpus) -> Plain:
        return learnt.plain()

    @classmethod
    def learnt_from(cls, plain: Plain) -> Corpus:
        return corpus_from(plain)

    @classmethod
    def parts(cls, plain: Plain) -> list[tuple[str, Plain]]:
        return [("corpus", plain["corpus"])]

    @classmethod
    def chosen(cls, text: str, plain: Plain) -> Plain:
        """By name; the one that is there already keeps its sizes."""
        here: Plain = plain["corpus"]
        return here if text.strip() == here["name"] else _corpus(text.strip()).plain()

    @classmethod
    def follows(cls, plain: Plain, before: Plain) -> Plain:
        return {"length": plain["longest"]} if plain["longest"] != before["longest"] else {}


def _corpus(name: str) -> Corpus:
    try:
        return corpus(name)
    except TypeError:  # it cannot be made from its name alone
        raise UserError(f"the corpus {name} is made of files; name them with --text FILE") from None


class Guesses(Objective):
    """Guess words of sentences, in an order and with words hidden that follow from the seed and the step alone."""

    def __init__(self, settings: Reading, texts: Texts) -> None:
        self.texts, self.seed = texts, settings.data_seed
        self.order = Order(texts.train.lengths_N, batch=settings.batch, seed=settings.data_seed)

    def loss(self, net: Trunk, step: int) -> Tensor:
        guess = self.guess(step, causal=net.config.causal)
        return cross_entropy(word_logits(net, guess), guess.target_G)

    def guess(self, step: int, *, causal: bool) -> Guess:
        """What is read and asked at a step."""
        rows = self.texts.train.rows(self.order.rows(step))
        return guess_for(rows, self.texts.words, np.random.default_rng([self.seed, LEARNING, step]), causal=causal)

    def evaluate(self, net: Trunk) -> dict[str, float]:
        loss, right, count = 0.0, 0, 0
        for _, guess, logits_GV in answers(net, self.texts.words, self.texts.valid, seed=self.seed):
            loss += cross_entropy(logits_GV, guess.target_G, reduction="sum").item()
            right += int((logits_GV.argmax(-1) == guess.target_G).sum())
            count += len(guess.target_G)
        return {"loss valid": loss / count, "accuracy valid": right / count}
