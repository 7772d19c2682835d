"""How large the experiment is: tiny for a first look, small for a laptop, paper as published (arXiv 2305.19466)."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from wherewhat.encodings.registry import ENCODINGS
from wherewhat.errors import UserError
from wherewhat.recipes.length import ARMS, LENGTH_TASKS, PUBLISHED_RUN, LengthRun, arm, sized_task
from wherewhat.studies.engine.study import OF_STUDY, Request, with_seeds
from wherewhat.studies.length.names import name_of
from wherewhat.tasks.sequence import SequenceTask
from wherewhat.training.task_training import TaskSettings

ALL = "all"  # stands for every encoding there is


@dataclass(frozen=True)
class LengthCondition:
    """One task learnt with one encoding."""

    task: str
    encoding: str

    @property
    def name(self) -> str:
        """Its name in the table."""
        return name_of(self.task, self.encoding)


@dataclass(frozen=True, kw_only=True)
class LengthScale:
    """The tasks and the encodings, the net that learns each pair, and what is measured of it."""

    tasks: tuple[str, ...] = field(default=LENGTH_TASKS, metadata=OF_STUDY)
    encodings: tuple[str, ...] = field(default=tuple(ARMS), metadata=OF_STUDY)
    lengths: str = "published"
    run: LengthRun = field(default=LengthRun())
    seeds: int = field(default=3, metadata=OF_STUDY)  # runs per task and encoding, each with its own weights and data
    texts: int = 8  # test samples of each of three lengths on which heads are measured

    def task(self, name: str) -> SequenceTask:
        """A task with the lengths of this scale."""
        return sized_task(name, self.lengths)

    def training(self, condition: LengthCondition, seed: int) -> TaskSettings:
        """One training run."""
        return self.run.settings(self.task(condition.task), arm(condition.encoding), seed)


def conditions(scale: LengthScale) -> list[LengthCondition]:
    """Every task with every encoding."""
    return [LengthCondition(task, encoding) for task in scale.tasks for encoding in scale.encodings]


def prepare(scale: LengthScale, request: Request) -> LengthScale:
    """The scale with the encodings and the shift that the user asks for; whatever cannot be trained is refused now."""
    scale = with_seeds(scale, request)
    if request.encodings:
        scale = replace(scale, encodings=chosen_encodings(request.encodings))
    if request.shift:
        scale = replace(scale, run=replace(scale.run, shift=request.shift))
    for condition in conditions(scale):
        scale.training(condition, request.seed)
    return scale


def chosen_encodings(names: Sequence[str]) -> tuple[str, ...]:
    """Encodings by name; `all` stands for every one, after those that the publication compares.

    >>> chosen_encodings(["none", "kerple"])
    ('none', 'kerple')
    """
    chosen = tuple(arm(name).name for name in names if name != ALL)
    if ALL in names:
        return (*ARMS, *(name for name in ENCODINGS if name not in ARMS))
    if twice := sorted({name for name in names if list(names).count(name) > 1}):
        raise UserError(f"the encoding {twice[0]} was named twice; name each encoding once")
    return chosen


_TINY = LengthScale(
    tasks=("copy_repeat", "reverse", "sort_single"),
    lengths="short",
    run=LengthRun(steps=2000, learning_rate=2e-3),
    seeds=1,
)
_SMALL = replace(_TINY, tasks=(*_TINY.tasks, "copy_random", "copy_replace", "sum", "parity", "lego"))
SCALES: dict[str, LengthScale] = {"tiny": _TINY, "small": _SMALL, "paper": LengthScale(run=PUBLISHED_RUN)}
