"""Language modelling on a corpus: masked words if the net looks both ways, else the next word."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from wherewhat.corpora.base import Corpus
from wherewhat.corpora.files import named
from wherewhat.corpora.registry import corpus, corpus_from
from wherewhat.corpora.vocabulary import SPECIAL, WordVocabulary
from wherewhat.errors import UserError
from wherewhat.models.folder import NetTexts
from wherewhat.nets.config import NetConfig
from wherewhat.nets.trunk import Trunk, evaluating
from wherewhat.tasks.stream import Ints
from wherewhat.training.encoded_corpus import (
    EVALUATION,
    SHORTEST,
    TRAINING,
    BatchOrder,
    Bools,
    EncodedCorpus,
    ReadCorpus,
    has_targets,
    read_texts,
)
from wherewhat.training.settings import Objective, Plain, TrainingSettings

SHARE = 0.15  # of a sentence's words that are predicted, at least one
HIDDEN, REPLACED = 0.8, 0.1  # of these: as [mask], as another word; the rest are left as they are
AT_ONCE = 256  # sentences per batch in evaluation
MANY = 0.05  # the share of unknown words above which a note is given


@dataclass(frozen=True, kw_only=True)
class LanguageModelSettings(TrainingSettings):
    """One training run on a corpus. The net's vocabulary follows from the words that are learnt.

    `ready` reads the corpus into `texts`; variants made with `dataclasses.replace` read it again only if they read
    something else.
    """

    learns: ClassVar[str] = "corpus"
    ends: ClassVar[Mapping[str, str]] = {"accuracy": "accuracy valid", "loss": "loss valid"}
    decided: ClassVar[Mapping[str, str]] = {"vocabulary": "it follows the words that are learnt, give most_words"}

    corpus: Corpus
    sentences: int  # of the training split at most, used for several epochs
    longest: int  # words per sentence; a longer one is cut into several
    most_words: int = 8000  # size of the vocabulary, by frequency
    texts: ReadCorpus | None = field(default=None, compare=False, repr=False)

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
        """All settings that determine what is read."""
        sizes = {"sentences": self.sentences, "evaluated": self.evaluate_samples}
        return {"corpus": self.corpus, **sizes, "most_words": self.most_words, "longest": self.longest}

    @property
    def words(self) -> WordVocabulary | None:
        return None if self.texts is None else self.texts.words

    def ready(self) -> Self:
        texts = read_texts(**self._what()) if self.texts is None else self.texts
        return replace(self.fitted(texts.words), texts=texts)

    def fitted(self, words: WordVocabulary | None) -> Self:
        return self if words is None else replace(self, net=replace(self.net, vocabulary=len(words)))

    def objective(self) -> Objective:
        ready = self.ready()
        assert ready.texts is not None
        return WordObjective(ready, ready.texts)

    def ending(self, ends: Mapping[str, float]) -> str:
        kind = "next" if self.net.causal else "masked"
        return (
            f"{ends['accuracy']:.1%} of {kind} words in held-out sentences predicted, with a loss of {ends['loss']:.3f}"
        )

    def saved_with_net(self) -> Plain:
        return {"reads": None if self.words is None else NetTexts(self.words, self.corpus)}

    def read(self) -> Plain:
        if self.texts is None:
            return {}
        return {"digest": self.texts.digest} | {split: asdict(extent) for split, extent in self.texts.extent.items()}

    def left_out(self) -> list[str]:
        if self.texts is None or self.corpus.endless:
            return []
        train, lines = self.texts.extent["train"], list[str]()
        if train.more:
            lines += [f"only the first {train.sentences:,} training sentences were read; --set sentences=N reads more"]
        if train.left_out:
            lines += [f"{train.left_out:,} words were left out: their sentences have no other known word"]
        if train.unknown > MANY:
            lines += [f"{train.unknown:.0%} of the words are unknown; --set most_words=N learns more of them"]
        return lines

    def changed_texts(self, before: Plain) -> str | None:
        if self.corpus.endless or "digest" not in before:  # or a folder of an earlier version
            return None
        same = before["digest"] == self.ready().read()["digest"]
        return None if same else f"the text {named(self.corpus.plain()['files'])}"

    @classmethod
    def target_to_plain(cls, learnt: Corpus) -> Plain:
        return learnt.plain()

    @classmethod
    def target_from_plain(cls, plain: Plain) -> Corpus:
        return corpus_from(plain)

    @classmethod
    def parts(cls, plain: Plain) -> list[tuple[str, Plain]]:
        return [("corpus", plain["corpus"])]

    @classmethod
    def chosen(cls, text: str, plain: Plain) -> Plain:
        """A corpus by name; the one that is already there keeps its sizes."""
        here: Plain = plain["corpus"]
        if text.strip() == here["name"]:
            return here
        try:
            return corpus(text.strip()).plain()
        except TypeError:  # it needs more than a name
            raise UserError(f"the corpus {text.strip()} consists of files; name them with --text FILE") from None

    @classmethod
    def follows(cls, plain: Plain, before: Plain) -> Plain:
        return {"length": plain["longest"]} if plain["longest"] != before["longest"] else {}


class WordObjective(Objective):
    """Predict words of sentences; their order and the masked words depend on the seed and the step only."""

    def __init__(self, settings: LanguageModelSettings, texts: ReadCorpus) -> None:
        self.texts, self.seed = texts, settings.data_seed
        self.order = BatchOrder(texts.train.lengths_N, batch=settings.batch, seed=settings.data_seed)

    def loss(self, net: Trunk, step: int) -> Tensor:
        targets = self.targets(step, causal=net.config.causal)
        return cross_entropy(word_logits(net, targets), targets.target_G)

    def targets(self, step: int, *, causal: bool) -> "WordTargets":
        """What is read and predicted at a step."""
        rows = self.texts.train.rows(self.order.rows(step))
        return targets_for(rows, self.texts.words, np.random.default_rng([self.seed, TRAINING, step]), causal=causal)

    def evaluate(self, net: Trunk) -> dict[str, float]:
        loss, right, count = 0.0, 0, 0
        for _, targets, logits_GV in predictions(net, self.texts.words, self.texts.valid, seed=self.seed):
            loss += cross_entropy(logits_GV, targets.target_G, reduction="sum").item()
            right += int((logits_GV.argmax(-1) == targets.target_G).sum())
            count += len(targets.target_G)
        return {"loss valid": loss / count, "accuracy valid": right / count}


@dataclass(frozen=True)
class WordTargets:
    """What a net reads, and the words to be predicted, of which there are G."""

    input_BT: Tensor
    real_BT: Tensor | None  # None: no padding
    slots_G: Tensor  # where each is predicted, in the flattened batch
    target_G: Tensor


def masked_words(ids_BT: Ints, real_BT: Bools, words: WordVocabulary, rng: np.random.Generator) -> WordTargets:
    """Mask 15 % of the words of every sentence, at least one: most as [mask], some as another word, some not at all.

    Unknown words are never masked. Their number is rounded at random, so that it is 15 % on average at any length.
    """
    known_BT = real_BT & (ids_BT != words.unknown)
    known_B = known_BT.sum(1)
    count_B = np.minimum(known_B, np.maximum(1, np.floor(SHARE * known_B + rng.random(len(known_B)))))
    draw_BT = np.where(known_BT, rng.random(real_BT.shape), 2.0)
    chosen_BT = draw_BT.argsort(1).argsort(1) < count_B[:, None]
    how_BT = rng.random(real_BT.shape)
    other_BT = rng.integers(len(SPECIAL), len(words), real_BT.shape)
    input_BT = np.where(chosen_BT & (how_BT < HIDDEN), words.mask, ids_BT)
    input_BT = np.where(chosen_BT & (how_BT >= 1 - REPLACED), other_BT, input_BT)
    return _targets(input_BT, real_BT, chosen_BT, ids_BT)


def next_words(ids_BT: Ints, real_BT: Bools, words: WordVocabulary, rng: np.random.Generator) -> WordTargets:
    """Predict every known word except the first from those before it."""
    known_BT = real_BT & (ids_BT != words.unknown)
    return _targets(ids_BT[:, :-1], real_BT[:, :-1], known_BT[:, 1:], ids_BT[:, 1:])


def _targets(input_BT: Ints, real_BT: Bools, predicted_BT: Bools, target_BT: Ints) -> WordTargets:
    real = None if real_BT.all() else torch.from_numpy(real_BT)
    slots_G = torch.from_numpy(predicted_BT.ravel().nonzero()[0])
    return WordTargets(torch.from_numpy(input_BT), real, slots_G, torch.from_numpy(target_BT[predicted_BT]))


def targets_for(
    rows: tuple[Ints, Bools], words: WordVocabulary, rng: np.random.Generator, *, causal: bool
) -> WordTargets:
    """The targets in some sentences, for a net that only looks back or one that looks both ways."""
    make = next_words if causal else masked_words
    return make(*rows, words, rng)


def word_logits(net: Trunk, targets: WordTargets) -> Tensor:
    """logits_GV where a word is predicted; those of the other tokens are not computed."""
    hidden_BTD = net.hidden(targets.input_BT, targets.real_BT)
    logits_GV: Tensor = net.head(hidden_BTD.flatten(0, 1)[targets.slots_G])
    return logits_GV


def word_losses(net: Trunk, words: WordVocabulary, sentences: Sequence[Sequence[str]], *, seed: int) -> list[float]:
    """The mean loss of the predicted words of each sentence, in nats; the same seed predicts the same words.

    Sentences without a known word to predict are left out.
    """
    encoded = encode_words(net.config, words, sentences, shortest=SHORTEST)
    encoded = encoded.kept(has_targets(encoded, words))
    if not len(encoded):
        raise UserError("no sentence has a word that the net knows; give sentences like those it was trained on")
    loss_N = np.zeros(len(encoded))
    for rows_B, targets, logits_GV in predictions(net, words, encoded, seed=seed):
        loss_G = cross_entropy(logits_GV, targets.target_G, reduction="none").double().numpy()
        row_G = (targets.slots_G // targets.input_BT.shape[1]).numpy()
        count_B = np.bincount(row_G, minlength=len(rows_B))
        loss_N[rows_B] = np.bincount(row_G, loss_G, minlength=len(rows_B)) / count_B
    return [float(loss) for loss in loss_N]


@torch.no_grad()
def predictions(
    net: Trunk, words: WordVocabulary, encoded: EncodedCorpus, *, seed: int
) -> Iterator[tuple[Ints, WordTargets, Tensor]]:
    """Batches of sentences from short to long: which sentences, their targets, and logits_GV."""
    with evaluating(net):
        for number, rows_B in enumerate(in_pieces(encoded)):
            rng = np.random.default_rng([seed, EVALUATION, number])
            targets = targets_for(encoded.rows(rows_B), words, rng, causal=net.config.causal)
            yield rows_B, targets, word_logits(net, targets)


def in_pieces(encoded: EncodedCorpus) -> list[Ints]:
    """The numbers of all sentences in batches of similar length."""
    order_N = encoded.lengths_N.argsort(kind="stable")
    return [order_N[first : first + AT_ONCE] for first in range(0, len(order_N), AT_ONCE)]


def encode_words(
    net: NetConfig, words: WordVocabulary, sentences: Sequence[Sequence[str]], *, shortest: int = 1
) -> EncodedCorpus:
    """Sentences as token ids, cut to the net's length."""
    if len(words) != net.vocabulary:
        raise UserError(
            f"the net has {net.vocabulary} token ids and the vocabulary {len(words)}; "
            "use the vocabulary that the net was trained with"
        )
    encoded = EncodedCorpus.of(words.ids(sentence)[: net.length] for sentence in sentences)
    if not len(encoded):
        raise UserError("there is no sentence to read; give at least one")
    if encoded.lengths_N.min() < shortest:
        number = int(encoded.lengths_N.argmin())
        raise UserError(
            f"sentence {number} has {encoded.lengths_N[number]} word(s); give sentences of at least {shortest}"
        )
    return encoded
