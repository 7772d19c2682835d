"""How large the experiment is: tiny for a first look, small for a laptop, paper as published (arXiv 2605.31558)."""

import json
from dataclasses import asdict, dataclass, replace
from typing import Any

from wherewhat.nets.config import NetConfig
from wherewhat.tasks.hops import Hops
from wherewhat.tasks.letter import Letter
from wherewhat.tasks.number import Number
from wherewhat.training.answering import Answering

BASE = 10_000.0  # of the rotary frequencies


@dataclass(frozen=True, kw_only=True)
class Scale:
    """The two tasks, the decoder that learns each of them, how it learns, and how closely it is watched."""

    number: Hops
    letter: Hops
    layers: int  # of one head each
    width: int
    steps: int
    batch: int
    learning_rate: float
    warmup: int
    weight_decay: float = 0.01
    betas: tuple[float, float] = (0.9, 0.999)
    seeds: int  # runs of each task, each from other first weights
    every: int  # steps from one look at the heads to the next
    answers: int = 1000  # test sequences that are answered at each look
    texts: int  # test sequences on which heads are measured
    lengths: tuple[int, ...]  # inputs to read after training, all longer than those learnt from
    longer: int = 200  # sequences of each of these lengths that are answered

    def task(self, name: str) -> Hops:
        """The number or the letter task."""
        return {task.name: task for task in (self.number, self.letter)}[name]

    def training(self, name: str, seed: int) -> Answering:
        """One run of one task. The same sequences come in the same order, whatever the seed."""
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
        return Answering(
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
_TINY = Scale(
    number=Number(n_letters=16, **_SHORT),  # type: ignore[arg-type]
    letter=Letter(n_letters=6, n_int=6, **_SHORT),  # type: ignore[arg-type]
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
_SMALL = Scale(
    number=Number(n_letters=26),
    letter=Letter(),
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
    number=Number(),
    layers=12,
    width=128,
    steps=6750,
    learning_rate=1e-4,
    warmup=750,
    weight_decay=1e-4,
    betas=(0.95, 0.999),
    every=250,
)
SCALES: dict[str, Scale] = {"tiny": _TINY, "small": _SMALL, "paper": _PAPER}
