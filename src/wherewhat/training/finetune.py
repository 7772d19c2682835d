"""From guessing words to telling sentences apart: a net that has read is asked questions with a few possible answers.

A sentence is the mean of its hidden states, and a linear layer reads the answer from that. Fine-tuned, the net learns
too; frozen, it stays as it is and only the layer learns.
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

from wherewhat.corpora.questions import Example, Labelled
from wherewhat.corpora.words import Words
from wherewhat.errors import UserError
from wherewhat.names import look_up
from wherewhat.nets.config import NetConfig
from wherewhat.nets.trunk import Trunk
from wherewhat.tasks.stream import Ints
from wherewhat.training.descent import descend, finite, parameter_groups, rate_at
from wherewhat.training.evaluate import reading
from wherewhat.training.guessing import encode_words, in_pieces
from wherewhat.training.texts import Encoded, Order
from wherewhat.training.threads import threads

PENALTIES = (1e-4, 1e-3, 1e-2, 1e-1, 1.0)  # on the squared weights of a layer that learns alone; see `ridge`
Layer = tuple[Tensor, Tensor]  # weight_DA and bias_A
Way = TypeVar("Way")  # something that answers


@dataclass(frozen=True, kw_only=True)
class Finetuning:
    """How a net learns to answer. Of several learning rates the best by the valid split counts, never by test."""

    steps: int
    batch: int
    learning_rates: tuple[float, ...]
    warmup: int
    seed: int = 0  # of the layer's first weights and of the order of the examples
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
class Finetuned:
    """A net that answers, and how well."""

    net: Trunk  # a changed copy with the labels, which judges by itself; the same net where only the layer learnt
    rate: float  # that was chosen: the learning rate, or the penalty where only the layer learnt
    right_N: tuple[bool, ...]  # whether each test example was answered right
    accuracy: float  # on test
    valid: float  # on valid


@dataclass(frozen=True, eq=False)
class Asked:
    """Sentences and the number of each one's label."""

    texts: Encoded
    label_N: Ints

    @classmethod
    def of(cls, net: NetConfig, words: Words, examples: Sequence[Example], labels: Sequence[str]) -> "Asked":
        """Examples as such a net reads them."""
        number = {label: place for place, label in enumerate(labels)}
        label_N = np.array([look_up("label", example.label, number) for example in examples], np.int64)
        return cls(encode_words(net, words, [example.words for example in examples]), label_N)

    def loss(self, net: Trunk, rows_B: Ints) -> Tensor:
        """By how many nats the labels of some of them surprise a net that has labels."""
        return cross_entropy(net.judge(*_tensors(self.texts, rows_B)), torch.from_numpy(self.label_N[rows_B]))


def answered(net: Trunk, words: Words, sentences: Sequence[Sequence[str]]) -> Tensor:
    """logits_NA of the labels of a net that has some, for sentences as words; longer than the net was made for: cut."""
    return _logits(net, encode_words(net.config, words, sentences))


def finetune(net: Trunk, words: Words, labelled: Labelled, how: Finetuning) -> Finetuned:
    """Let a copy of the net learn the answers, once for each learning rate; the copy that does best on valid counts."""
    train, valid, test = _splits(net, words, labelled)

    def learnt(rate: float) -> Trunk:
        copy = deepcopy(net)
        copy.ask(labelled.labels, generator=torch.Generator().manual_seed(how.seed))
        _learn(copy, train, how, rate)
        return copy

    with threads(how.threads):
        tried = ((rate, learnt(rate)) for rate in how.learning_rates)
        rate, best, share = _best(tried, lambda tuned: right(tuned, valid))
        right_N = right(best, test)
    return Finetuned(best.eval(), rate, tuple(right_N.tolist()), float(right_N.mean()), share)


def probe_frozen(net: Trunk, words: Words, labelled: Labelled) -> Finetuned:
    """What a linear layer alone reads from the net as it is; the penalty on its weights is chosen on valid."""
    splits = _splits(net, words, labelled)
    with threads(1):
        train, valid, test = (_states(net, asked) for asked in splits)
        mean_D, spread_D = train.mean(0), train.std(0, correction=0).clamp(min=1e-6)
        train, valid, test = ((x_ND - mean_D) / spread_D for x_ND in (train, valid, test))
        told_NA = one_hot(torch.from_numpy(splits[0].label_N), len(labelled.labels)).double()
        tried = ((penalty, ridge(train, told_NA, penalty)) for penalty in PENALTIES)
        penalty, layer, share = _best(tried, lambda layer: _agree(layer, valid, splits[1]))
        right_N = _agree(layer, test, splits[2])
    return Finetuned(net, penalty, tuple(right_N.tolist()), float(right_N.mean()), share)


def ridge(x_ND: Tensor, told_NA: Tensor, penalty: float) -> Layer:
    """weight_DA and bias_A that come nearest to what was told: least squares, with a penalty on the squared weights.

    The columns of x_ND have mean 0, so the bias is the mean of what was told and stands apart from the weights.
    """
    count, width = x_ND.shape
    bias_A = told_NA.mean(0)
    alike_DD = x_ND.T @ x_ND / count + penalty * torch.eye(width, dtype=x_ND.dtype)
    weight_DA: Tensor = torch.linalg.solve(alike_DD, x_ND.T @ (told_NA - bias_A) / count)
    return weight_DA, bias_A


def _best(tried: Iterable[tuple[float, Way]], right_on_valid: Callable[[Way], np.ndarray]) -> tuple[float, Way, float]:
    """Of several ways the one with the most right answers on valid, the first of equals; its number and its share."""
    shares = ((number, way, float(right_on_valid(way).mean())) for number, way in tried)
    return max(shares, key=lambda each: each[2])


def _splits(net: Trunk, words: Words, labelled: Labelled) -> tuple[Asked, Asked, Asked]:
    if len(labelled.labels) < 2:
        raise UserError(f"{labelled.name} has the label {labelled.labels[0]} only; give examples of at least 2")
    for name in ("train", "valid", "test"):
        if not getattr(labelled, name):
            raise UserError(f"{labelled.name} has no {name} examples; give more, a tenth each is valid and test")
    train, valid, test = (
        Asked.of(net.config, words, examples, labelled.labels)
        for examples in (labelled.train, labelled.valid, labelled.test)
    )
    return train, valid, test


def _learn(net: Trunk, train: Asked, how: Finetuning, rate: float) -> None:
    net.train()
    optimizer = AdamW(parameter_groups(net), weight_decay=how.weight_decay, fused=True)
    order = Order(train.texts.lengths_N, batch=how.batch, seed=how.seed)
    for step in range(1, how.steps + 1):
        loss = train.loss(net, order.rows(step))
        finite(loss.item(), step, rate=rate, warmup=how.warmup)
        descend(loss, optimizer, rate_at(step, peak=rate, warmup=how.warmup, steps=how.steps))


def right(net: Trunk, asked: Asked) -> np.ndarray:
    """right_N: whether each sentence is answered right."""
    right_N: np.ndarray = _logits(net, asked.texts).argmax(-1).numpy() == asked.label_N
    return right_N


def _logits(net: Trunk, texts: Encoded) -> Tensor:
    """logits_NA of all sentences."""
    return _in_pieces(net, texts, net.judge)


def _states(net: Trunk, asked: Asked) -> Tensor:
    """x_ND of all sentences, in float64."""
    return _in_pieces(net, asked.texts, net.mean_hidden).double()


@torch.no_grad()
def _in_pieces(net: Trunk, texts: Encoded, read: Callable[[Tensor, Tensor], Tensor]) -> Tensor:
    """What is read from each sentence, in the order of the sentences."""
    with reading(net):
        pieces = [(rows_B, read(*_tensors(texts, rows_B))) for rows_B in in_pieces(texts)]
    found = torch.cat([piece for _, piece in pieces])
    order_N = torch.from_numpy(np.concatenate([rows_B for rows_B, _ in pieces]))
    return torch.empty_like(found).index_copy_(0, order_N, found)


def _tensors(texts: Encoded, rows_B: Ints) -> tuple[Tensor, Tensor]:
    """ids_BT and real_BT of some sentences."""
    ids_BT, real_BT = texts.rows(rows_B)
    return torch.from_numpy(ids_BT), torch.from_numpy(real_BT)


def _agree(layer: Layer, x_ND: Tensor, asked: Asked) -> np.ndarray:
    weight_DA, bias_A = layer
    right_N: np.ndarray = (x_ND @ weight_DA + bias_A).argmax(-1).numpy() == asked.label_N
    return right_N
