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
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, one_hot
from torch.optim import AdamW

from wherewhat.corpora.questions import Example, Labelled
from wherewhat.corpora.words import Words
from wherewhat.errors import UserError
from wherewhat.names import look_up
from wherewhat.nets.trunk import Trunk
from wherewhat.tasks.stream import Ints
from wherewhat.training.descent import descend, finite, parameter_groups, rate_at
from wherewhat.training.evaluate import reading
from wherewhat.training.guessing import encode_words, in_pieces
from wherewhat.training.texts import Encoded, Order
from wherewhat.training.threads import threads

PENALTIES = (1e-4, 1e-3, 1e-2, 1e-1, 1.0)  # on the squared weights of a layer that learns alone; see `ridge`
Layer = tuple[Tensor, Tensor]  # weight_DV and bias_V
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

    net: Trunk  # a changed copy; the same net where only the layer learnt
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
    def of(cls, net: Trunk, words: Words, examples: Sequence[Example], labels: Sequence[str]) -> "Asked":
        """Examples as the net reads them."""
        number = {label: place for place, label in enumerate(labels)}
        label_N = np.array([look_up("label", example.label, number) for example in examples], np.int64)
        return cls(encode_words(net, words, [example.words for example in examples]), label_N)


class Reader(nn.Module):
    """A net with a layer that reads an answer from the mean of its hidden states over real tokens."""

    def __init__(self, net: Trunk, answers: int, *, seed: int) -> None:
        super().__init__()
        self.net, self.layer = net, nn.utils.skip_init(nn.Linear, net.config.width, answers)
        nn.init.normal_(self.layer.weight, std=0.02, generator=torch.Generator().manual_seed(seed))
        nn.init.zeros_(self.layer.bias)

    def forward(self, texts: Encoded, rows_B: Ints) -> Tensor:
        """logits_BV over the answers."""
        logits_BV: Tensor = self.layer(mean_hidden(self.net, texts, rows_B))
        return logits_BV


def mean_hidden(net: Trunk, texts: Encoded, rows_B: Ints) -> Tensor:
    """x_BD, the mean of the hidden states over the real tokens of some sentences."""
    ids_BT, real_BT = (torch.from_numpy(each) for each in texts.rows(rows_B))
    if real_BT.all():
        return net.hidden(ids_BT).mean(1)
    hidden_BTD = net.hidden(ids_BT, real_BT)
    return (hidden_BTD * real_BT[..., None]).sum(1) / real_BT.sum(1, keepdim=True)


def finetune(net: Trunk, words: Words, labelled: Labelled, how: Finetuning) -> Finetuned:
    """Let a copy of the net learn the answers, once for each learning rate; the copy that does best on valid counts."""
    train, valid, test = _splits(net, words, labelled)

    def learnt(rate: float) -> Reader:
        reader = Reader(deepcopy(net), len(labelled.labels), seed=how.seed)
        _learn(reader, train, how, rate)
        return reader

    with threads(how.threads):
        tried = ((rate, learnt(rate)) for rate in how.learning_rates)
        rate, reader, share = _best(tried, lambda reader: _right(reader, valid))
        right_N = _right(reader, test)
    return Finetuned(reader.net.eval(), rate, tuple(right_N.tolist()), float(right_N.mean()), share)


def probe_frozen(net: Trunk, words: Words, labelled: Labelled) -> Finetuned:
    """What a linear layer alone reads from the net as it is; the penalty on its weights is chosen on valid."""
    splits = _splits(net, words, labelled)
    with threads(1):
        train, valid, test = (_states(net, asked) for asked in splits)
        mean_D, spread_D = train.mean(0), train.std(0, correction=0).clamp(min=1e-6)
        train, valid, test = ((x_ND - mean_D) / spread_D for x_ND in (train, valid, test))
        told_NV = one_hot(torch.from_numpy(splits[0].label_N), len(labelled.labels)).double()
        tried = ((penalty, ridge(train, told_NV, penalty)) for penalty in PENALTIES)
        penalty, layer, share = _best(tried, lambda layer: _agree(layer, valid, splits[1]))
        right_N = _agree(layer, test, splits[2])
    return Finetuned(net, penalty, tuple(right_N.tolist()), float(right_N.mean()), share)


def ridge(x_ND: Tensor, told_NV: Tensor, penalty: float) -> Layer:
    """weight_DV and bias_V that come nearest to what was told: least squares, with a penalty on the squared weights.

    The columns of x_ND have mean 0, so the bias is the mean of what was told and stands apart from the weights.
    """
    count, width = x_ND.shape
    bias_V = told_NV.mean(0)
    alike_DD = x_ND.T @ x_ND / count + penalty * torch.eye(width, dtype=x_ND.dtype)
    weight_DV: Tensor = torch.linalg.solve(alike_DD, x_ND.T @ (told_NV - bias_V) / count)
    return weight_DV, bias_V


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
        Asked.of(net, words, examples, labelled.labels) for examples in (labelled.train, labelled.valid, labelled.test)
    )
    return train, valid, test


def _learn(reader: Reader, train: Asked, how: Finetuning, rate: float) -> None:
    reader.train()
    groups = [*parameter_groups(reader.net), {"params": list(reader.layer.parameters())}]
    optimizer = AdamW(groups, weight_decay=how.weight_decay, fused=True)
    order = Order(train.texts.lengths_N, batch=how.batch, seed=how.seed)
    for step in range(1, how.steps + 1):
        rows_B = order.rows(step)
        loss = cross_entropy(reader(train.texts, rows_B), torch.from_numpy(train.label_N[rows_B]))
        finite(loss.item(), step, rate=rate, warmup=how.warmup)
        descend(loss, optimizer, rate_at(step, peak=rate, warmup=how.warmup, steps=how.steps))


@torch.no_grad()
def _right(reader: Reader, asked: Asked) -> np.ndarray:
    """right_N: whether each sentence is answered right."""
    right_N = np.zeros(len(asked.texts), dtype=bool)
    with reading(reader.net):
        for rows_B in in_pieces(asked.texts):
            right_N[rows_B] = reader(asked.texts, rows_B).argmax(-1).numpy() == asked.label_N[rows_B]
    return right_N


@torch.no_grad()
def _states(net: Trunk, asked: Asked) -> Tensor:
    """x_ND of all sentences, in float64."""
    x_ND = torch.zeros(len(asked.texts), net.config.width, dtype=torch.float64)
    with reading(net):
        for rows_B in in_pieces(asked.texts):
            x_ND[torch.from_numpy(rows_B)] = mean_hidden(net, asked.texts, rows_B).double()
    return x_ND


def _agree(layer: Layer, x_ND: Tensor, asked: Asked) -> np.ndarray:
    weight_DV, bias_V = layer
    right_N: np.ndarray = (x_ND @ weight_DV + bias_V).argmax(-1).numpy() == asked.label_N
    return right_N
