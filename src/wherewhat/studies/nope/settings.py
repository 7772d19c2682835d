"""How large the experiment is: which tasks, at which lengths, and the nets that learn them."""

from dataclasses import dataclass, field, replace

from wherewhat.errors import UserError
from wherewhat.recipes.length import PUBLISHED_RUN, LengthRun, arm, sized_task
from wherewhat.studies.engine.study import OF_STUDY
from wherewhat.studies.nope.results import AGAIN, ARMS, NOPE
from wherewhat.tasks.sequence import SequenceTask
from wherewhat.training.task_training import TaskSettings

OTHER_SEED = 10_000  # added to the seed of a run for all nets but the first


@dataclass(frozen=True)
class NopeTask:
    """Which task the nets of a run learn."""

    name: str


@dataclass(frozen=True, kw_only=True)
class NopeScale:
    """The tasks, the nets, and how many samples are measured."""

    tasks: tuple[str, ...] = field(default=("copy_repeat", "sort_single"), metadata=OF_STUDY)
    lengths: str = "short"  # of the samples, or `published`
    seeds: int = field(default=1, metadata=OF_STUDY)
    net: LengthRun = field(default=LengthRun(samples=200))
    texts: int = 300  # samples of training lengths and longer ones on which nets are measured; equal ones count once

    def task(self, name: str) -> SequenceTask:
        """A task with its lengths."""
        task = sized_task(name, self.lengths)
        if not all(isinstance(length, int) for length in task.lengths("test")):
            raise UserError(f"samples of {name} have several lengths each; choose a task whose samples have one")
        return task

    def training(self, name: str, encoding: str, seed: int) -> TaskSettings:
        """How one of the nets of a run is trained.

        The net that all others are compared with has a seed of its own. Nets with the same seed start from the same
        weights and read the same samples, and resemble each other for that reason alone.
        """
        known = arm(NOPE if encoding == AGAIN else encoding)
        return self.net.settings(self.task(name), known, seed if encoding == NOPE else seed + OTHER_SEED)

    @property
    def steps(self) -> int:
        """Training steps of a run, over all its nets."""
        return self.net.steps * len(ARMS)


TINY = NopeScale()
SMALL = replace(TINY, tasks=("copy_repeat", "sort_single", "scan"), seeds=3)
# The published net has 12 layers of width 768 with 12 heads and is trained for 40,000 steps of 64, at 3e-5.
PAPER = NopeScale(
    tasks=("scan",),
    lengths="published",
    seeds=3,
    net=replace(PUBLISHED_RUN, samples=1_000),
    texts=400,
)
SCALES: dict[str, NopeScale] = {"tiny": TINY, "small": SMALL, "paper": PAPER}
