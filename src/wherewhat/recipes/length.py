"""Length generalisation: a small decoder learns a task on short inputs and is tested on longer ones (arXiv 2305.19466).

The encodings that the publication compares, the lengths of every task, and the run that all comparisons share.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from wherewhat.encodings.registry import ENCODINGS
from wherewhat.errors import UserError
from wherewhat.names import look_up
from wherewhat.nets.config import NetConfig
from wherewhat.published.length import GROUPS
from wherewhat.tasks.registry import any_task
from wherewhat.tasks.sequence import SequenceTask
from wherewhat.training.task_training import TaskSettings

LENGTH_TASKS = tuple(name for names in GROUPS.values() for name in names)
_COPY = {"train_length": 10, "test_length": 20, "alphabet": 16}
_MATHS = {"train_length": 6, "test_length": 12}
_LOGIC = {"train_length": 8, "test_length": 16}
_SHORTEST = {"train_length": 4, "test_length": 8}
_FROM_TWO = {"shortest": 2, **_SHORTEST}
# By the name of a choice of lengths, the sizes of each task; those not given are as published.
LENGTHS: dict[str, dict[str, dict[str, int]]] = {
    "published": {},
    "short": {
        **dict.fromkeys(GROUPS["primitive"], _COPY),
        **dict.fromkeys(("poly", "sort_single", "sort_multi", "sum"), _MATHS),
        **dict.fromkeys(("parity", "lego"), _LOGIC),
        "addition": {"train_length": 4, "test_length": 8},
        "scan": {"train_length": 12, "test_length": 24},
        "pcfg": {"train_length": 4, "test_length": 8},
    },
    "shortest": {  # for answers that are several times as long as their inputs, as those with a scratchpad
        **dict.fromkeys(("poly", "sort_single", "sort_multi", "sum"), _SHORTEST),
        **dict.fromkeys(("parity", "lego"), _FROM_TWO),
        "addition": {"train_length": 3, "test_length": 6},
    },
}


@dataclass(frozen=True)
class Arm:
    """An encoding as one side of a comparison."""

    name: str
    encoding: str
    published: str = ""  # what the publication calls it, if it has it
    quarter: bool = False  # rotate only the first quarter of every head
    options: Mapping[str, Any] = field(default_factory=dict)

    def encoding_options(self, head_dim: int) -> dict[str, Any]:
        """The options of the encoding in heads of this width."""
        return {**self.options, **({"rotary_dim": head_dim // 4} if self.quarter else {})}


ARMS: dict[str, Arm] = {
    arm.name: arm
    for arm in (
        Arm("none", "none", "NoPE"),
        Arm("t5_bias", "t5_bias", "T5 bias"),
        Arm("alibi", "alibi", "ALiBi"),
        Arm("rope_quarter", "rope", "RoPE", quarter=True, options={"layout": "interleaved"}),
        Arm("sinusoidal", "sinusoidal", "APE", options={"layout": "concat"}),
        Arm("rope", "rope"),
    )
}


def arm(name: str) -> Arm:
    """One of the arms of the comparison, or any other encoding with its defaults.

    >>> arm("rope_quarter").encoding_options(16)["rotary_dim"], arm("kerple").encoding
    (4, 'kerple')
    """
    known = {**ARMS, **{encoding: Arm(encoding, encoding) for encoding in ENCODINGS if encoding not in ARMS}}
    return look_up("encoding", name, known)


def sized_task(name: str, lengths: str, **sizes: Any) -> SequenceTask:
    """A task of the suite with published or with shorter inputs.

    >>> sized_task("sum", "short").lengths("test")
    (7, 8, 9, 10, 11, 12)
    """
    look_up("task of the suite", name, dict.fromkeys(LENGTH_TASKS))
    task = any_task(name, **{**look_up("choice of lengths", lengths, LENGTHS).get(name, {}), **sizes})
    if not isinstance(task, SequenceTask):
        raise UserError(f"the {name} task has one answer per sequence; choose one of {', '.join(LENGTH_TASKS)}")
    return task


@dataclass(frozen=True, kw_only=True)
class LengthRun:
    """The net of a comparison and how it is trained; the same for every task and encoding."""

    layers: int = 3
    width: int = 64
    heads: int = 4
    steps: int = 1000
    batch: int = 64
    learning_rate: float = 1e-3
    warmup: int = 100
    weight_decay: float = 0.01
    clip: float = 1.0
    samples: int = 500  # per split, after training
    shift: int = 0  # how far positions are moved at random during training

    def settings(self, task: SequenceTask, encoding: Arm, seed: int) -> TaskSettings:
        """One training run, which is evaluated once, at its end."""
        net = NetConfig(
            vocabulary=task.vocabulary,
            length=task.length + self.shift,
            width=self.width,
            layers=self.layers,
            heads=self.heads,
            encoding=encoding.encoding,
            encoding_options=encoding.encoding_options(self.width // self.heads),
        )
        return TaskSettings(
            net=net,
            tasks=(task,),
            steps=self.steps,
            batch=self.batch,
            learning_rate=self.learning_rate,
            warmup=self.warmup,
            weight_decay=self.weight_decay,
            clip=self.clip,
            seed=seed,
            data_seed=seed + 1,
            evaluate_every=self.steps,
            evaluate_samples=self.samples,
            shift=self.shift,
        )


PUBLISHED_RUN = LengthRun(
    layers=12,
    width=768,
    heads=12,
    steps=40_000,
    learning_rate=3e-5,
    warmup=2400,
    weight_decay=0.05,
    samples=10_000,
)
