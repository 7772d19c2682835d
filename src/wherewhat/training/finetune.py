"""Fine-tune a trained language model on a question with a few labels.

A sentence is represented by the mean of its hidden states, and a linear layer predicts its label. In fine-tuning the
whole net is trained; with a frozen net only the layer is.
"""

from collections.abc import Callable, Iterable, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy, one_hot
from torch.optim import AdamW

from wherewhat.corpora.questions import Example, LabelledDataset
from wherewhat.corpora.vocabulary import WordVocabulary
from wherewhat.errors import UserError
from wherewhat.names import look_up
from wherewhat.nets.config import NetConfig
from wherewhat.nets.trunk import Trunk, evaluating
from wherewhat.tasks.base import SPLITS
from wherewhat.tasks.stream import Ints
from wherewhat.training.encoded_corpus import BatchOrder, EncodedCorpus
from wherewhat.training.language_modelling import encode_words, in_pieces
from wherewhat.training.loop import descend, finite, parameter_groups, rate_at, threads

PENALTIES = (1e-4, 1e-3, 1e-2, 1e-1, 1.0)  # on the squared weights of a layer on a frozen net; see `ridge`
Layer = tuple[Tensor, Tensor]  # weight_DA and bias_A
Candidate = TypeVar("Candidate")  # a net or a layer


@dataclass(frozen=True, kw_only=True)
class FinetuneSettings:
    """How a net is fine-tuned. Of several learning rates the best on the validation split is used, never on test."""

    steps: int
    batch: int
    learning_rates: tuple[float, ...]
    warmup: int
    seed: int = 0  # of the layer's initial weights and of the order of the examples
    weight_decay: float = 0.01
    threads: int = 1

    def __post_init__(self) -> None:
        least = {"steps": 1, "batch": 1, "warmup": 0, "seed": 0, "threads": 1}
        for name, value in least.items():
            if getattr(self, name) < value:
                raise UserError(f"fine-tuning cannot have {name} {getattr(self, name)}; give at least {value}")
        if not self.learning_rates or min(self.learning_rates) <= 0:
            raise UserError(f"fine-tuning cannot have learning rates {self.learning_rates}; give one or more above 0")


@dataclass(frozen=True)
class FinetuneResult:
    """A fine-tuned net, and how well it does."""

    net: Trunk  # a fine-tuned copy with labels; the same net where it was frozen
    rate: float  # the chosen learning rate, or the penalty for a frozen net
    right_N: tuple[bool, ...]  # whether each test example was classified correctly
    accuracy: float  # on test
    valid: float  # on valid


@dataclass(frozen=True, eq=False)
class LabelledSentences:
    """Encoded sentences with the number of their label."""

    texts: EncodedCorpus
    label_N: Ints

    @classmethod
    def of(
        cls, net: NetConfig, words: WordVocabulary, examples: Sequence[Example], labels: Sequence[str]
    ) -> "LabelledSentences":
        """Examples encoded for a net."""
        number = {label: place for place, label in enumerate(labels)}
        label_N = np.array([look_up("label", example.label, number) for example in examples], np.int64)
        return cls(encode_words(net, words, [example.words for example in examples]), label_N)

    def loss(self, net: Trunk, rows_B: Ints) -> Tensor:
        """The loss of a classifier on some of the sentences, in nats."""
        return cross_entropy(net.label_logits(*_tensors(self.texts, rows_B)), torch.from_numpy(self.label_N[rows_B]))


def answered(net: Trunk, words: WordVocabulary, sentences: Sequence[Sequence[str]]) -> Tensor:
    """logits_NA of a classifier for sentences as words; those longer than the net's length are cut."""
    return _in_pieces(net, encode_words(net.config, words, sentences), net.label_logits)


def finetune(net: Trunk, words: WordVocabulary, labelled: LabelledDataset, how: FinetuneSettings) -> FinetuneResult:
    """Fine-tune a copy of the net for each learning rate, and keep the one that does best on the validation split."""
    train, valid, test = _splits(net, words, labelled)

    def learnt(rate: float) -> Trunk:
        copy = deepcopy(net)
        copy.add_label_layer(labelled.labels, generator=torch.Generator().manual_seed(how.seed))
        copy.train()
        optimizer = AdamW(parameter_groups(copy), weight_decay=how.weight_decay, fused=True)
        order = BatchOrder(train.texts.lengths_N, batch=how.batch, seed=how.seed)
        for step in range(1, how.steps + 1):
            loss = train.loss(copy, order.rows(step))
            finite(loss.item(), step, rate=rate, warmup=how.warmup)
            descend(loss, optimizer, rate_at(step, peak=rate, warmup=how.warmup, steps=how.steps))
        return copy

    with threads(how.threads):
        tried = ((rate, learnt(rate)) for rate in how.learning_rates)
        rate, best, share = _best(tried, lambda tuned: right(tuned, valid))
        right_N = right(best, test)
    return FinetuneResult(best.eval(), rate, tuple(right_N.tolist()), float(right_N.mean()), share)


def probe_frozen(net: Trunk, words: WordVocabulary, labelled: LabelledDataset) -> FinetuneResult:
    """Train only a linear layer on the frozen net; the penalty on its weights is chosen on the validation split."""
    splits = _splits(net, words, labelled)
    with threads(1):
        train, valid, test = (_in_pieces(net, split.texts, net.mean_hidden).double() for split in splits)
        mean_D, spread_D = train.mean(0), train.std(0, correction=0).clamp(min=1e-6)
        train, valid, test = ((x_ND - mean_D) / spread_D for x_ND in (train, valid, test))
        label_NA = one_hot(torch.from_numpy(splits[0].label_N), len(labelled.labels)).double()
        tried = ((penalty, ridge(train, label_NA, penalty)) for penalty in PENALTIES)
        penalty, layer, share = _best(tried, lambda layer: _agree(layer, valid, splits[1]))
        right_N = _agree(layer, test, splits[2])
    return FinetuneResult(net, penalty, tuple(right_N.tolist()), float(right_N.mean()), share)


def ridge(x_ND: Tensor, label_NA: Tensor, penalty: float) -> Layer:
    """weight_DA and bias_A of ridge regression: least squares, with a penalty on the squared weights.

    The columns of x_ND have mean 0, so the bias is the mean label and independent of the weights.
    """
    count, width = x_ND.shape
    bias_A = label_NA.mean(0)
    gram_DD = x_ND.T @ x_ND / count + penalty * torch.eye(width, dtype=x_ND.dtype)
    weight_DA: Tensor = torch.linalg.solve(gram_DD, x_ND.T @ (label_NA - bias_A) / count)
    return weight_DA, bias_A


def _best(
    tried: Iterable[tuple[float, Candidate]], right_on_valid: Callable[[Candidate], np.ndarray]
) -> tuple[float, Candidate, float]:
    """The candidate with the highest validation accuracy, the first of equals; with its number and accuracy."""
    shares = ((number, candidate, float(right_on_valid(candidate).mean())) for number, candidate in tried)
    return max(shares, key=lambda each: each[2])


def _splits(net: Trunk, words: WordVocabulary, labelled: LabelledDataset) -> list[LabelledSentences]:
    if len(labelled.labels) < 2:
        raise UserError(f"{labelled.name} has the label {labelled.labels[0]} only; give examples of at least 2")
    for name in SPLITS:
        if not getattr(labelled, name):
            raise UserError(f"{labelled.name} has no {name} examples; give more, a tenth each is valid and test")
    return [LabelledSentences.of(net.config, words, getattr(labelled, name), labelled.labels) for name in SPLITS]


def right(net: Trunk, sentences: LabelledSentences) -> np.ndarray:
    """right_N: whether each sentence is classified correctly."""
    right_N: np.ndarray = _in_pieces(net, sentences.texts, net.label_logits).argmax(-1).numpy() == sentences.label_N
    return right_N


@torch.no_grad()
def _in_pieces(net: Trunk, texts: EncodedCorpus, read: Callable[[Tensor, Tensor], Tensor]) -> Tensor:
    """The output of `read` for each sentence, in the order of the sentences."""
    with evaluating(net):
        pieces = [(rows_B, read(*_tensors(texts, rows_B))) for rows_B in in_pieces(texts)]
    outputs_NX = torch.cat([piece for _, piece in pieces])
    order_N = torch.from_numpy(np.concatenate([rows_B for rows_B, _ in pieces]))
    return torch.empty_like(outputs_NX).index_copy_(0, order_N, outputs_NX)


def _tensors(texts: EncodedCorpus, rows_B: Ints) -> tuple[Tensor, Tensor]:
    """ids_BT and real_BT of some sentences."""
    ids_BT, real_BT = texts.rows(rows_B)
    return torch.from_numpy(ids_BT), torch.from_numpy(real_BT)


def _agree(layer: Layer, x_ND: Tensor, sentences: LabelledSentences) -> np.ndarray:
    weight_DA, bias_A = layer
    right_N: np.ndarray = (x_ND @ weight_DA + bias_A).argmax(-1).numpy() == sentences.label_N
    return right_N
