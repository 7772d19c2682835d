"""How large the experiment is: tiny for a first look, small for a laptop, paper as published (arXiv 2605.31558)."""

import json
from dataclasses import asdict, dataclass, replace
from typing import Any

from wherewhat.nets.config import NetConfig
from wherewhat.tasks.hops import Hops
from wherewhat.tasks.letter import LetterTask
from wherewhat.tasks.number import NumberTask
from wherewhat.training.task_training import TaskSettings

BASE = 10_000.0  # of the rotary frequencies


@dataclass(frozen=True, kw_only=True)
class DynamicsScale:
    """The two tasks, the decoder that learns each of them, its training, and how often it is measured."""

    number: Hops
    letter: Hops
    layers: int  # with one head each
    width: int
    steps: int
    batch: int
    learning_rate: float
    warmup: int
    weight_decay: float = 0.01
    betas: tuple[float, float] = (0.9, 0.999)
    seeds: int  # runs per task, each with its own initial weights
    every: int  # steps between evaluations
    answers: int = 1000  # test sequences for accuracy at each evaluation
    texts: int  # test sequences on which heads are measured
    lengths: tuple[int, ...]  # of test inputs after training, all longer than the training inputs
    longer: int = 200  # test sequences for accuracy at each of these lengths

    def task(self, name: str) -> Hops:
        """The number or the letter task."""
        return {task.name: task for task in (self.number, self.letter)}[name]

    def training(self, name: str, seed: int) -> TaskSettings:
        """One training run on one task. The sequences and their order do not depend on the seed."""
        task = self.task(name)
        net = NetConfig(
            vocabulary=task.vocabulary,
            length=task.length,
            width=self.width,
            layers=self.layers,
            heads=1,
            encoding="rope",
            encoding_options={"base": BASE},
        )
        return TaskSettings(
            net=net,
            tasks=(task,),
            steps=self.steps,
            batch=self.batch,
            learning_rate=self.learning_rate,
            warmup=self.warmup,
            weight_decay=self.weight_decay,
            betas=self.betas,
            seed=seed,
            evaluate_every=self.every,
            evaluate_samples=self.answers,
        )

    def plain(self) -> dict[str, Any]:
        """As plain values, ready for JSON."""
        plain: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        return plain


_SHORT = {"window": 4, "pre": 4, "hops": (1, 2)}
_TINY = DynamicsScale(
    number=NumberTask(n_letters=16, **_SHORT),  # type: ignore[arg-type]
    letter=LetterTask(n_letters=6, n_int=6, **_SHORT),  # type: ignore[arg-type]
    layers=4,
    width=64,
    steps=600,
    batch=128,
    learning_rate=1e-3,
    warmup=100,
    seeds=3,
    every=50,
    texts=32,
    lengths=(12, 17, 24, 32, 48, 64, 100, 200),
)
_SMALL = DynamicsScale(
    number=NumberTask(n_letters=26),
    letter=LetterTask(),
    layers=6,
    width=64,
    steps=4000,
    batch=64,
    learning_rate=1e-3,
    warmup=200,
    seeds=3,
    every=200,
    texts=48,
    lengths=(24, 32, 48, 64, 100, 200, 400, 850),
)
_PAPER = replace(
    _SMALL,
    number=NumberTask(),
    layers=12,
    width=128,
    steps=6750,
    learning_rate=1e-4,
    warmup=750,
    weight_decay=1e-4,
    betas=(0.95, 0.999),
    every=250,
)
SCALES: dict[str, DynamicsScale] = {"tiny": _TINY, "small": _SMALL, "paper": _PAPER}
