"""How large the experiment is: tiny for a first look, small for a laptop, paper as published (arXiv 2605.31558)."""

from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor

from wherewhat.nets.config import NetConfig
from wherewhat.scores.swaps import PUBLISHED
from wherewhat.studies.engine.study import OF_STUDY
from wherewhat.tasks.hops import Hops
from wherewhat.tasks.letter import LetterTask
from wherewhat.tasks.number import NumberTask
from wherewhat.training.task_training import TaskSettings

TASKS = ("number", "letter")


@dataclass(frozen=True)
class TaskCondition:
    """Which of the two tasks a net learns."""

    name: str


@dataclass(frozen=True, kw_only=True)
class DynamicsScale:
    """The two tasks, the decoder that learns each of them, its training, and how often it is measured; as published."""

    number: NumberTask = field(default=NumberTask())
    letter: LetterTask = field(default=LetterTask())
    layers: int = 12  # with one head each
    width: int = 128
    steps: int = 6750
    batch: int = 64
    learning_rate: float = 1e-4
    warmup: int = 750
    weight_decay: float = 1e-4
    betas: tuple[float, float] = (0.95, 0.999)
    seeds: int = field(default=3, metadata=OF_STUDY)  # runs per task, each with its own initial weights
    every: int = 250  # steps between evaluations
    answers: int = 1000  # test sequences for accuracy at each evaluation
    texts: int = 48  # test sequences on which heads are measured
    lengths: tuple[int, ...] = (24, 32, 48, 64, 100, 200, 400, 850)  # of test inputs after training, all longer
    longer: int = 200  # test sequences for accuracy at each of these lengths
    base: float = 10_000.0  # of the rotary frequencies
    tau: float = PUBLISHED  # the temperature of the published scores
    gamma: tuple[float, ...] = field(default=(0.1, 0.05), metadata=OF_STUDY)  # how far from pure a head may be

    @property
    def most_hops(self) -> int:
        """The largest number of hops."""
        return self.number.hops[-1]

    def task(self, name: str, length: int | None = None) -> Hops:
        """The number or the letter task, with inputs of this length if one is given."""
        task: Hops = {"number": self.number, "letter": self.letter}[name]
        return task if length is None else replace(task, before=length - task.length)

    def lengths_of(self, name: str) -> tuple[int, ...]:
        """The length of the training inputs of a task, and longer ones."""
        return (self.task(name).length, *self.lengths)

    def sequences(self, name: str, length: int) -> list[Tensor]:
        """Test sequences of this length on which heads are measured; they are the same for every seed."""
        batch = self.task(name, length).batch(TaskSettings.data_seed, "test", range(self.texts))
        return list(torch.from_numpy(batch.input_NT))

    def training(self, name: str, seed: int) -> TaskSettings:
        """One training run on one task. The sequences and their order do not depend on the seed."""
        task = self.task(name)
        rope: dict[str, Any] = {"encoding": "rope", "encoding_options": {"base": self.base}}
        net = NetConfig(
            vocabulary=task.vocabulary, length=task.length, width=self.width, layers=self.layers, heads=1, **rope
        )
        same = ("steps", "batch", "learning_rate", "warmup", "weight_decay", "betas")
        options: dict[str, Any] = {each: getattr(self, each) for each in same}
        return TaskSettings(
            net=net, tasks=(task,), seed=seed, evaluate_every=self.every, evaluate_samples=self.answers, **options
        )


_SMALL = DynamicsScale(
    number=NumberTask(n_letters=26),
    layers=6,
    width=64,
    steps=4000,
    learning_rate=1e-3,
    warmup=200,
    weight_decay=0.01,
    betas=(0.9, 0.999),
    every=200,
)
_TINY = replace(
    _SMALL,
    number=NumberTask(window=4, pre=4, hops=(1, 2), n_letters=16),
    letter=LetterTask(window=4, pre=4, hops=(1, 2), n_letters=6, n_int=6),
    layers=4,
    steps=600,
    batch=128,
    warmup=100,
    every=50,
    texts=32,
    lengths=(12, 17, 24, 32, 48, 64, 100, 200),
)
SCALES: dict[str, DynamicsScale] = {"tiny": _TINY, "small": _SMALL, "paper": DynamicsScale()}
