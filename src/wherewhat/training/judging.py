"""A run that learns to answer a question about whole texts, with labels: from scratch, or from a net that has read."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, ClassVar, Self

import torch
from torch import Tensor

from wherewhat.corpora.examples import Examples
from wherewhat.corpora.questions import QUESTIONS, Example, Labelled
from wherewhat.corpora.words import Words
from wherewhat.errors import UserError
from wherewhat.models.folder import Model, Reads, load_model, net_folder
from wherewhat.nets.config import NetConfig
from wherewhat.nets.trunk import Trunk
from wherewhat.tasks.base import SPLITS
from wherewhat.training.finetune import Asked, right
from wherewhat.training.objective import Objective
from wherewhat.training.reading import MANY
from wherewhat.training.settings import Plain, Settings
from wherewhat.training.texts import Order


@dataclass(frozen=True, eq=False)
class Told:
    """What a run was told: the examples of its question, and the words to read them with."""

    labelled: Labelled
    words: Words
    told_as: dict[str, Any]  # all that decided it

    @property
    def examples(self) -> dict[str, tuple[Example, ...]]:
        """The examples of each split."""
        return {split: getattr(self.labelled, split) for split in SPLITS}

    @property
    def digest(self) -> str:
        """The same for the same examples in the same order, and only then."""
        lines = (f"{split}\t{one.label}\t{' '.join(one.words)}\n" for split in SPLITS for one in self.examples[split])
        return sha256("".join(lines).encode()).hexdigest()

    def unknown(self, split: str) -> float:
        """The share of a split's words that are not in the vocabulary."""
        ids = [id for one in self.examples[split] for id in self.words.ids(one.words)]
        return ids.count(self.words.unknown) / len(ids)


@dataclass(frozen=True, kw_only=True)
class Judging(Settings):
    """One run on a question. The net's labels follow the question, its vocabulary the words that it reads.

    With a `start`, the folder of a net that has read, that net goes on learning, with its own words, sizes and
    encoding. `ready` gets the examples and carries them in `told`.
    """

    learns: ClassVar[str] = "question"
    ends: ClassVar[Mapping[str, str]] = {"accuracy": "accuracy test", "accuracy_valid": "accuracy valid"}
    decided: ClassVar[Mapping[str, str]] = {
        "vocabulary": "it follows the words that are read",
        "labels": "they follow the question",
    }

    question: str = "roles"  # one of ours, or a file of label<TAB>text
    train: int  # examples to learn from; they come again and again. Of a file all are taken
    valid: int  # examples that the curve is judged by; as many as `evaluate_samples` are of the test split
    start: str = ""  # the folder of a training run whose net goes on learning; none: a new net
    told: Told | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("train", "valid"):
            self._check(name, getattr(self, name) >= 1, "at least 1")
        # Whole paths, so that the run's folder finds them from anywhere.
        if not self.examples.ours:
            object.__setattr__(self, "question", str(Path(self.question).resolve()))
        if self.start:
            object.__setattr__(self, "start", str(Path(self.start).resolve()))
        if self.told is not None and self.told.told_as != self._what():
            object.__setattr__(self, "told", None)

    @property
    def examples(self) -> Examples:
        """The examples of the question: how many, and which."""
        return Examples(self.question, self.data_seed, self.train, self.valid, self.evaluate_samples)

    def _what(self) -> dict[str, Any]:
        """All that decides what is read, and with which words."""
        return {"examples": self.examples, "start": self.start}

    @property
    def words(self) -> Words | None:
        return None if self.told is None else self.told.words

    def ready(self) -> Self:
        if self.told is not None:
            return self.fitted(self.told.words)
        labelled = self.examples.labelled()
        words = _started(self.start).words if self.start else self.examples.words()
        assert words is not None  # else the start has been refused
        ready = replace(self.fitted(words), told=Told(labelled, words, self._what()))
        _check_lengths(ready.net, labelled)
        return ready

    def fitted(self, words: Words | None) -> Self:
        net = _started(self.start).net.config if self.start else self.net
        size = net.vocabulary if words is None else len(words)
        return replace(self, net=replace(net, vocabulary=size, labels=self._labels()))

    def _labels(self) -> tuple[str, ...]:
        if self.told is not None:
            return self.told.labelled.labels
        return QUESTIONS[self.question].labels if self.examples.ours else self.examples.labelled().labels

    def first_net(self) -> Trunk:
        if not self.start:
            return super().first_net()
        net = _started(self.start).net
        net.ask(self.net.labels, generator=torch.Generator().manual_seed(self.seed))
        return net.train()

    def to_dict(self) -> Plain:
        plain = super().to_dict()
        # Named even where there are none yet, so that whoever sets them is told what they follow.
        return {**plain, "net": {**plain["net"], "labels": plain["net"].get("labels", [])}}

    def objective(self) -> Objective:
        ready = self.ready()
        assert ready.told is not None
        return Judgements(ready, ready.told)

    def ending(self, ends: Mapping[str, float]) -> str:
        chance = f"{1 / len(self.net.labels):.1%} would be chance"
        return f"{ends['accuracy']:.1%} of {self.evaluated} fresh texts judged right, where {chance}"

    @property
    def evaluated(self) -> int:
        """How many texts of the test split there are."""
        return self.evaluate_samples if self.told is None else len(self.told.labelled.test)

    def belongings(self) -> Plain:
        return {"reads": None if self.words is None else Reads(self.words, asked=self.examples)}

    def read(self) -> Plain:
        if self.told is None:
            return {}
        sizes = {
            split: {"sentences": len(found), "unknown": self.told.unknown(split)}
            for split, found in self.told.examples.items()
        }
        return {"digest": self.told.digest, **sizes}

    def left_out(self) -> list[str]:
        if self.told is None or (unknown := self.told.unknown("test")) <= MANY:
            return []
        return [f"{unknown:.0%} of the words of the test texts are unknown to the net"]

    def changed_texts(self, before: Plain) -> str | None:
        if self.examples.ours or "digest" not in before:
            return None
        return None if before["digest"] == self.ready().read()["digest"] else f"the text {self.question}"

    @classmethod
    def learnt_to(cls, learnt: str) -> str:
        return learnt

    @classmethod
    def learnt_from(cls, plain: str) -> str:
        return plain

    @classmethod
    def parts(cls, plain: Plain) -> list[tuple[str, Plain]]:
        return []

    @classmethod
    def chosen(cls, text: str, plain: Plain) -> str:
        """By name, or the path of a file."""
        return text.strip()

    @classmethod
    def follows(cls, plain: Plain, before: Plain) -> Plain:
        """Nothing: the net of a start is taken as it is, so that no field of it can be told."""
        if plain["start"]:
            for name, value in plain["net"].items():
                if before["net"].get(name) != value:
                    raise UserError(f"the net of {plain['start']} is taken as it is; leave {name}={value} out")
        return {}


def _started(folder: str) -> Model:
    """The net that has read, with its words."""
    place = net_folder(folder)
    if place is None:
        raise UserError(f"{folder} holds no net to start from; name the folder of a training run that read, or none")
    model = load_model(place)
    if model.words is None:
        raise UserError(f"the net of {folder} reads no words, so it cannot be asked; start from a run that read text")
    return model


def _check_lengths(net: NetConfig, labelled: Labelled) -> None:
    """A text that is cut is another one."""
    longest = max(len(one.words) for split in SPLITS for one in getattr(labelled, split))
    if longest > net.length:
        raise UserError(
            f"the longest text of {labelled.name} has {longest} words and the net reads {net.length}; "
            f"give it length={longest}, or leave longer texts out"
        )


class Judgements(Objective):
    """Tell the label of whole texts, in an order that follows from the seed and the step alone."""

    def __init__(self, settings: Judging, told: Told) -> None:
        labels = told.labelled.labels
        self.asked = {
            split: Asked.of(settings.net, told.words, examples, labels) for split, examples in told.examples.items()
        }
        self.order = Order(self.asked["train"].texts.lengths_N, batch=settings.batch, seed=settings.data_seed)

    def loss(self, net: Trunk, step: int) -> Tensor:
        return self.asked["train"].loss(net, self.order.rows(step))

    def evaluate(self, net: Trunk) -> dict[str, float]:
        return {f"accuracy {split}": float(right(net, self.asked[split]).mean()) for split in ("valid", "test")}
