"""How large the experiment is: tiny for a first look, small for a laptop, paper as published (arXiv 2305.19466)."""

from dataclasses import dataclass, field, replace

from wherewhat.published.length import GROUPS
from wherewhat.published.scratchpads import ACCURACY
from wherewhat.recipes.length import ARMS, PUBLISHED_RUN, LengthRun, arm, sized_task
from wherewhat.studies.engine.study import OF_STUDY, Request, with_seeds
from wherewhat.studies.scratchpad.names import name_of
from wherewhat.tasks.scratchpad import FORMATS
from wherewhat.tasks.sequence import SequenceTask
from wherewhat.training.task_training import TaskSettings


@dataclass(frozen=True)
class ScratchpadCondition:
    """One task learnt with one format of scratchpad and one encoding."""

    task: str
    format: str
    encoding: str

    @property
    def name(self) -> str:
        """Its name in the table."""
        return name_of(self.task, self.format, self.encoding)


@dataclass(frozen=True, kw_only=True)
class ScratchpadScale:
    """The tasks, formats and encodings, and the net that learns each of their combinations."""

    tasks: tuple[str, ...] = field(default=GROUPS["maths"], metadata=OF_STUDY)
    formats: tuple[str, ...] = field(default=tuple(FORMATS), metadata=OF_STUDY)
    encodings: tuple[str, ...] = field(default=tuple(ARMS), metadata=OF_STUDY)
    lengths: str = "published"
    run: LengthRun = field(default=LengthRun())
    seeds: int = field(default=3, metadata=OF_STUDY)

    def task(self, condition: ScratchpadCondition) -> SequenceTask:
        """A task with the lengths of this scale and the format of a condition."""
        return sized_task(condition.task, self.lengths, scratchpad=condition.format)

    def training(self, condition: ScratchpadCondition, seed: int) -> TaskSettings:
        """One training run."""
        return self.run.settings(self.task(condition), arm(condition.encoding), seed)


def formats_of(scale: ScratchpadScale, task: str) -> list[str]:
    """The formats that a task can have: leaving out a part that it lacks, or that says nothing, is no format of it.

    >>> "no_variables" in formats_of(ScratchpadScale(), "lego")
    False
    """
    reported = {each for row in ACCURACY[task].values() for each in row}
    return [each for each in scale.formats if each in reported]


def conditions(scale: ScratchpadScale) -> list[ScratchpadCondition]:
    """Every task with each of its formats and every encoding."""
    return [
        ScratchpadCondition(task, format_name, encoding)
        for task in scale.tasks
        for format_name in formats_of(scale, task)
        for encoding in scale.encodings
    ]


def prepare(scale: ScratchpadScale, request: Request) -> ScratchpadScale:
    """The scale with the requested seeds; whatever cannot be trained is refused now."""
    scale = with_seeds(scale, request)
    for condition in conditions(scale):
        scale.training(condition, request.seed)
    return scale


_TINY = ScratchpadScale(
    tasks=("addition", "sum"),
    formats=("none", "minimal", "full"),
    encodings=("none", "rope"),
    lengths="shortest",
    run=LengthRun(steps=1000, learning_rate=2e-3, samples=200),
    seeds=1,
)
_SMALL = replace(
    _TINY,
    tasks=("addition", "sum", "parity", "sort_single"),
    formats=("none", "minimal", "full", "no_rest"),
    encodings=("none", "alibi", "rope"),
)
SCALES: dict[str, ScratchpadScale] = {"tiny": _TINY, "small": _SMALL, "paper": ScratchpadScale(run=PUBLISHED_RUN)}
