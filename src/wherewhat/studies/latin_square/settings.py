"""How large the experiment is: tiny for a first look, small for a laptop, paper as published (arXiv 2406.08272)."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from wherewhat.nets.config import NetConfig
from wherewhat.published.latin_square import SIGMAS
from wherewhat.studies.engine.study import OF_STUDY
from wherewhat.studies.latin_square.names import (
    FIXED,
    LARGE,
    LARGE_SLOW,
    LARGE_WIDE,
    LEARNED,
    LINE_SINUSOID,
    NETWORK,
    NONE,
    OTHER,
    PRE_NORM,
    ROPE,
    SINUSOID,
    SMALL,
    SMALL_NARROW,
    SMALL_SLOW,
    SQUARES,
    T5,
    VARIANT,
    name_of,
    sigma_name,
)
from wherewhat.studies.latin_square.network import NetworkTraining
from wherewhat.tasks.latin import CELLS, SIDE, LatinSquare
from wherewhat.training.task_training import TaskSettings

# A linear layer that reads one of n symbols draws its weights uniformly from ±1/√n: their deviation is 1/√(3n).
LINEAR_SIGMA = 3**-0.5
SLOWER = 1 / 3  # times the learning rate
T5_BUCKETS = 4 * CELLS  # of which a quarter, on each side, hold one distance each: all that occur
TENFOLD = 10.0  # from one sigma to the other, and so from one ratio of table to tokens to the other


@dataclass(frozen=True)
class LatinArm:
    """Where positions come from, and the block that they are added in."""

    name: str
    kind: str
    encoding: str
    options: Mapping[str, Any] = field(default_factory=dict)
    block: str = "post_norm"
    tokens: float = 1.0  # times the usual deviation of token embeddings
    rate: float = 1.0  # times the usual learning rate


def learned(sigma: float, change: str = "", **different: Any) -> LatinArm:
    """An arm with a learned table per block that starts from N(0, sigma²)."""
    kind, options = VARIANT if change else LEARNED, {"place": "block", "sigma": sigma}
    return LatinArm(sigma_name(sigma, change), kind, "learned", options, **different)


ARMS: dict[str, LatinArm] = {
    arm.name: arm
    for arm in (
        *(learned(sigma) for sigma in SIGMAS),
        LatinArm(SINUSOID, FIXED, "sinusoidal", {"grid": [SIDE, SIDE], "place": "block"}),
        LatinArm(NONE, OTHER, "none"),
        LatinArm(ROPE, OTHER, "rope"),
        LatinArm(T5, OTHER, "t5_bias", {"buckets": T5_BUCKETS}),
        learned(0.2, "pre-norm", block="pre_norm"),
        learned(2.0, "wide tokens", tokens=TENFOLD),
        learned(0.2, "narrow tokens", tokens=1 / TENFOLD),
        learned(2.0, "slower", rate=SLOWER),
        learned(0.2, "slower", rate=SLOWER),
        LatinArm(LINE_SINUSOID, FIXED, "sinusoidal", {"place": "block"}),
    )
}
RELATIVE = (NONE, ROPE, T5)
CONTROLS = (PRE_NORM, LARGE_WIDE, SMALL_NARROW, LARGE_SLOW, SMALL_SLOW)


@dataclass(frozen=True)
class LatinCondition:
    """One task learnt with one arm."""

    task: str
    arm: str

    @property
    def name(self) -> str:
        """Its name in the table."""
        return name_of(self.task, self.arm)


@dataclass(frozen=True, kw_only=True)
class LatinScale:
    """The puzzles, the encoder that learns them with every arm, how it is trained, and the simulated network."""

    arms: tuple[str, ...] = field(
        default=(*(sigma_name(sigma) for sigma in SIGMAS), SINUSOID, *RELATIVE, *CONTROLS), metadata=OF_STUDY
    )
    network_arms: tuple[str, ...] = field(default=(SMALL, LARGE, LINE_SINUSOID, NONE), metadata=OF_STUDY)
    layers: int = 4
    width: int = 160
    steps: int = 281_250  # 4,000 times all puzzles
    batch: int = 128
    learning_rate: float = 1e-4
    warmup: int = 100
    puzzles: int = 9000  # of training, used again and again
    samples: int = 960  # test puzzles: each class, answer and cell five times
    snapshots: int = 20  # of the table, over training, beside its start
    noise: tuple[float, ...] = (0.0, 0.05, 0.1, 0.2)
    attended: int = 192  # test puzzles on which attention is measured: each class, answer and cell once
    texts: int = 8  # test puzzles on which heads are profiled
    network: NetworkTraining = field(default=NetworkTraining())
    seeds: int = field(default=15, metadata=OF_STUDY)

    def net(self, arm: LatinArm, symbols: int) -> NetConfig:
        """An encoder with one head whose input is a linear layer of so many channels."""
        task = LatinSquare()
        return NetConfig(
            vocabulary=task.vocabulary,
            length=task.length,
            width=self.width,
            layers=self.layers,
            heads=1,
            kind="encoder",
            block=arm.block,
            encoding=arm.encoding,
            encoding_options=arm.options,
            token_sigma=arm.tokens * LINEAR_SIGMA * symbols**-0.5,
        )

    def training(self, condition: LatinCondition, seed: int) -> TaskSettings:
        """One training run on puzzles, which keeps the net at even intervals."""
        arm, task = ARMS[condition.arm], LatinSquare()
        every = max(1, self.steps // self.snapshots)
        return TaskSettings(
            net=self.net(arm, task.vocabulary),
            tasks=(task,),
            train_samples=self.puzzles,
            steps=self.steps,
            batch=self.batch,
            learning_rate=arm.rate * self.learning_rate,
            warmup=min(self.warmup, self.steps // 4),
            weight_decay=0.0,
            seed=seed,
            data_seed=seed + 1,
            evaluate_every=every,
            evaluate_samples=self.samples,
            keep_every=every,
        )

    def network_net(self, condition: LatinCondition) -> NetConfig:
        """The encoder of the network simulation."""
        return self.network.config(self.net(ARMS[condition.arm], self.network.network.values + 1))


def conditions(scale: LatinScale) -> list[LatinCondition]:
    """Puzzles with every arm, and the network with some."""
    arms = {SQUARES: scale.arms, NETWORK: scale.network_arms}
    return [LatinCondition(task, arm) for task, its in arms.items() for arm in its]


_SMALL = LatinScale(
    arms=(*map(sigma_name, (0.2, 0.5, 1.0, 1.5, 2.0)), SINUSOID, *RELATIVE, *CONTROLS),
    layers=2,
    width=64,
    steps=2000,
    learning_rate=3e-3,
    puzzles=18_432,
    snapshots=8,
    seeds=3,
)
_TINY = replace(
    _SMALL, arms=(*map(sigma_name, (0.2, 0.5, 1.0, 2.0)), SINUSOID, *RELATIVE, *CONTROLS), steps=1400, seeds=1
)
SCALES: dict[str, LatinScale] = {"tiny": _TINY, "small": _SMALL, "paper": LatinScale()}
