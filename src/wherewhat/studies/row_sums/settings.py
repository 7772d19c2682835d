"""How large the experiment is: tiny for a first look, small for a laptop, paper as published (arXiv 2205.13401)."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from wherewhat.nets.config import NetConfig
from wherewhat.studies.engine.study import OF_STUDY
from wherewhat.studies.row_sums.names import ADDED, BOUND, FREE, TASKS, name_of
from wherewhat.tasks.slots import EvenTask, PositionTask, SlotTask
from wherewhat.training.task_training import TaskSettings


@dataclass(frozen=True)
class RowSumArm:
    """An encoding, and what it can do about row sums."""

    name: str
    kind: str
    encoding: str
    options: Mapping[str, Any] = field(default_factory=dict)
    bias: bool = False  # whether it is a relative bias, of which the publication speaks

    @property
    def factors(self) -> str:
        """What has a factor of its own with URPE: each offset, or each bucket of distances."""
        return str(self.options.get("kind", "offset"))


ARMS: dict[str, RowSumArm] = {
    arm.name: arm
    for arm in (
        RowSumArm("none", BOUND, "none"),
        RowSumArm("t5_bias", BOUND, "t5_bias", bias=True),
        RowSumArm("toeplitz", BOUND, "toeplitz", bias=True),
        RowSumArm("rope", BOUND, "rope"),
        RowSumArm("alibi", BOUND, "alibi", bias=True),
        RowSumArm("urpe over toeplitz", FREE, "urpe", {"over": "toeplitz"}),
        RowSumArm("urpe over t5_bias", FREE, "urpe", {"over": "t5_bias", "kind": "bucket"}),
        RowSumArm("learned", ADDED, "learned"),
        RowSumArm("sinusoidal", ADDED, "sinusoidal"),
    )
}


@dataclass(frozen=True)
class RowSumCondition:
    """One task learnt with one encoding."""

    task: str
    encoding: str

    @property
    def name(self) -> str:
        """Its name in the table."""
        return name_of(self.task, self.encoding)


@dataclass(frozen=True, kw_only=True)
class RowSumScale:
    """The two tasks, the encoder that learns each of them with every encoding, and how it is trained."""

    position: PositionTask = field(default=PositionTask())
    even: EvenTask = field(default=EvenTask())
    encodings: tuple[str, ...] = field(default=tuple(ARMS), metadata=OF_STUDY)
    layers: int = 3
    width: int = 768
    heads: int = 12
    position_steps: int = 40_000
    even_steps: int = 40_000
    batch: int = 128
    learning_rate: float = 7e-5
    warmup: int = 6000
    samples: int = 6400  # test sequences
    longer: float = 1.5  # times as many tokens as in training, in a second test
    texts: int = 8  # test sequences on which heads are measured
    seeds: int = field(default=3, metadata=OF_STUDY)

    def task(self, name: str) -> SlotTask:
        """The position or the even task."""
        return {"position": self.position, "even": self.even}[name]

    def steps_of(self, name: str) -> int:
        """How many steps a task is trained for."""
        return {"position": self.position_steps, "even": self.even_steps}[name]

    def training(self, condition: RowSumCondition, seed: int) -> TaskSettings:
        """One training run, which is evaluated once, at its end."""
        task, arm, steps = self.task(condition.task), ARMS[condition.encoding], self.steps_of(condition.task)
        net = NetConfig(
            vocabulary=task.vocabulary,
            length=task.length,
            width=self.width,
            layers=self.layers,
            heads=self.heads,
            kind="encoder",
            encoding=arm.encoding,
            encoding_options=arm.options,
        )
        return TaskSettings(
            net=net,
            tasks=(task,),
            steps=steps,
            batch=self.batch,
            learning_rate=self.learning_rate,
            warmup=min(self.warmup, steps // 4),
            weight_decay=0.0,
            seed=seed,
            data_seed=seed + 1,
            evaluate_every=steps,
            evaluate_samples=self.samples,
        )


def conditions(scale: RowSumScale) -> list[RowSumCondition]:
    """Both tasks with every encoding."""
    return [RowSumCondition(task, encoding) for task in TASKS for encoding in scale.encodings]


_SMALL = RowSumScale(
    position=PositionTask(tokens=32, n_tok=64),
    even=EvenTask(tokens=16, n_tok=16),
    layers=2,
    width=64,
    heads=4,
    position_steps=1200,
    even_steps=3000,
    batch=64,
    learning_rate=2e-3,
    warmup=100,
    samples=1000,
    seeds=2,
)
_TINY = replace(
    _SMALL,
    encodings=("none", "t5_bias", "toeplitz", "rope", "urpe over toeplitz", "urpe over t5_bias", "learned"),
    position_steps=800,  # `even` needs as many as at small: URPE has not solved it after 2,000
    seeds=1,
)
SCALES: dict[str, RowSumScale] = {"tiny": _TINY, "small": _SMALL, "paper": RowSumScale()}
