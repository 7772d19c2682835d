"""One net to train and measure, and the rows of the result that it gives."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from wherewhat.studies.dynamics.settings import DynamicsScale
from wherewhat.tasks.hops import Hops

# part, subject, item, at, seed, measure, value, low, high: the columns of a result
Row = tuple[str, str, str, float | None, int | None, str, float | None, float | None, float | None]


@dataclass(frozen=True)
class DynamicsJob:
    """A run of one task from one seed."""

    scale: DynamicsScale
    name: str  # of the task
    seed: int

    @property
    def task(self) -> Hops:
        """What the net learns."""
        return self.scale.task(self.name)

    @property
    def lengths(self) -> tuple[int, ...]:
        """The length of the training inputs, and longer ones."""
        return (self.task.length, *self.scale.lengths)

    def at_length(self, length: int) -> Hops:
        """The same task with inputs of this length."""
        return replace(self.task, before=length - self.task.length)

    def texts(self, length: int) -> list[Tensor]:
        """Test sequences of this length on which heads are measured."""
        data_seed = self.scale.training(self.name, self.seed).data_seed
        return list(torch.from_numpy(self.at_length(length).batch(data_seed, "test", range(self.scale.texts)).input_NT))

    def row(self, part: str, item: str, at: float | None, measure: str, numbers: Sequence[float | None]) -> Row:
        """One row: a value, and its interval if it has one."""
        value, low, high = [*numbers, None, None][:3]
        return part, self.name, item, at, self.seed, measure, value, low, high
