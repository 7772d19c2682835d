"""How large the experiment is: tiny for a first look, small for a laptop, paper as published (arXiv 2406.02585)."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

from wherewhat.encodings.registry import ENCODINGS as REGISTRY
from wherewhat.names import look_up
from wherewhat.nets.config import NetConfig
from wherewhat.studies.counting.names import BIDIRECTIONAL, BY_HAND, CAUSAL, FEWER, SHORTER, SLOW, TRAINED, name_of
from wherewhat.studies.counting.slopes import CountingSize, expected_slopes
from wherewhat.studies.engine.study import OF_STUDY, Request, with_seeds
from wherewhat.tasks.counting import CountingTask
from wherewhat.training.task_training import TaskSettings

KINDS = {CAUSAL: "decoder", BIDIRECTIONAL: "encoder"}
ENCODINGS = ("rope", "none", "learned", "alibi 1", "alibi 0.1", "alibi 0.01")  # of the published grid


@dataclass(frozen=True)
class CountingCondition:
    """An encoder that looks back or both ways, with an encoding, with or without BOS; or the net built by hand."""

    direction: str
    encoding: str
    bos: bool

    @property
    def name(self) -> str:
        """Its name in the table."""
        return name_of(self.direction, self.encoding, self.bos) if self.direction else BY_HAND


HAND_BUILT = CountingCondition("", "none", True)


@dataclass(frozen=True, kw_only=True)
class CountingScale:
    """The sizes of sequences in training and in tests, the nets, and how they are trained."""

    tokens: int = 512
    regions: int = 4
    shorter: int = 300  # tokens of shorter test sequences
    fewer: int = 3  # regions of other test sequences
    nets: tuple[str, ...] = field(default=(), metadata=OF_STUDY)  # by their names
    width: int = 64
    steps: int = 5000
    batch: int = 64
    learning_rate: float = 1e-3
    warmup: int = 100
    samples: int = 1000  # test sequences of every size
    texts: int = 8  # test sequences on which heads are measured
    seeds: int = field(default=3, metadata=OF_STUDY)

    def tasks(self, bos: bool) -> dict[str, CountingTask]:
        """The task as it is trained, and with other sizes for testing."""
        task = CountingTask(tokens=self.tokens, regions=self.regions, bos=bos)
        return {
            TRAINED: task,
            SHORTER: replace(task, tokens=self.shorter),
            FEWER: replace(task, regions=self.fewer),
        }

    @property
    def expected(self) -> dict[str, dict[str, float]]:
        """The slopes on other sizes, by the token that ones are counted against."""
        trained = CountingSize(self.tokens, self.regions)
        others = {SHORTER: replace(trained, tokens=self.shorter), FEWER: replace(trained, regions=self.fewer)}
        return {size: expected_slopes(trained, other) for size, other in others.items()}

    def training(self, condition: CountingCondition, seed: int) -> TaskSettings:
        """One training run, which is evaluated once, at its end."""
        task, steps = self.tasks(condition.bos)[TRAINED], self.steps
        encoding, options = encoding_of(condition.encoding, task.length)
        net = NetConfig(
            vocabulary=task.vocabulary,
            length=task.length,
            width=self.width,
            layers=1,
            heads=1,
            kind=KINDS[condition.direction],
            encoding=encoding,
            encoding_options=options,
            token_sigma=1.0,
            readout_queries=task.regions,
            readout_classes=task.classes,
        )
        return TaskSettings(
            net=net,
            tasks=(task,),
            steps=steps,
            batch=self.batch,
            learning_rate=self.learning_rate,
            warmup=min(self.warmup, steps // 4),
            seed=seed,
            data_seed=seed + 1,
            evaluate_every=steps,
            evaluate_samples=self.samples,
        )


def encoding_of(name: str, length: int) -> tuple[str, Mapping[str, Any]]:
    """An encoding of the grid and its options.

    >>> encoding_of("alibi 0.1", 64)
    ('alibi', {'slope': 0.1})
    """
    if name == SLOW:
        return "band_rope", {"angle": math.pi / (2 * length)}
    encoding, _, slope = name.partition(" ")
    return encoding, {"slope": float(slope)} if slope else {}


def net_names(encodings: Sequence[str], directions: Sequence[str], bos: Sequence[bool]) -> tuple[str, ...]:
    """The names of all combinations."""
    return tuple(name_of(*each) for each in product(directions, encodings, bos))


def condition_of(name: str) -> CountingCondition:
    """The condition of a trained net, by its name.

    >>> condition_of("causal alibi 0.1, BOS")
    CountingCondition(direction='causal', encoding='alibi 0.1', bos=True)
    """
    net, comma, _ = name.partition(",")
    direction, encoding = net.split(" ", 1)
    return CountingCondition(direction, encoding, bool(comma))


def conditions(scale: CountingScale) -> list[CountingCondition]:
    """The net built by hand, and those that are trained."""
    return [HAND_BUILT, *(condition_of(name) for name in scale.nets)]


def prepare(scale: CountingScale, request: Request) -> CountingScale:
    """The scale with the encodings that the user asks for, which are tried with BOS and without, both ways if possible.

    What cannot be trained is refused now.
    """
    scale = with_seeds(scale, request)
    if request.encodings:
        chosen = dict.fromkeys(each for name in request.encodings for each in (REGISTRY if name == ALL else [name]))
        scale = replace(scale, nets=tuple(each for name in chosen for each in nets_with(name)))
    for condition in conditions(scale)[1:]:
        scale.training(condition, request.seed)
    return scale


def nets_with(encoding: str) -> tuple[str, ...]:
    """The names of all nets with an encoding of the grid or of the registry.

    >>> nets_with("cope")
    ('causal cope, BOS', 'causal cope')
    """
    look_up("encoding", encoding, dict.fromkeys((*REGISTRY, *ENCODINGS, SLOW)))
    direction = REGISTRY[encoding_of(encoding, 1)[0]].direction
    return net_names([encoding], [CAUSAL] if direction == "causal only" else tuple(KINDS), BOTH)


ALL = "all"
BOTH = (True, False)
_PAPER = CountingScale(
    nets=(*net_names(ENCODINGS, (CAUSAL, BIDIRECTIONAL), BOTH), *net_names((SLOW,), (BIDIRECTIONAL,), (True,)))
)
_SMALL = replace(
    _PAPER,
    tokens=64,
    shorter=40,
    nets=(
        *net_names(("rope",), (CAUSAL,), BOTH),
        *net_names(("none", "learned", "alibi 1", "alibi 0.01"), (CAUSAL,), (True,)),
        *net_names(("rope", "none", SLOW), (BIDIRECTIONAL,), (True,)),
    ),
    batch=32,
    learning_rate=2e-3,
)
_TINY = replace(
    _SMALL,
    nets=(
        *net_names(("rope",), (CAUSAL,), BOTH),
        *net_names(("none", "alibi 0.01"), (CAUSAL,), (True,)),
        *net_names(("rope", "none"), (BIDIRECTIONAL,), (True,)),
    ),
    seeds=1,
)
SCALES: dict[str, CountingScale] = {"tiny": _TINY, "small": _SMALL, "paper": _PAPER}
