"""What a task is: numbered sequences of token ids, each with one answer, read at its last token."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from math import prod
from typing import Any, ClassVar

import numpy as np

from wherewhat.errors import UserError
from wherewhat.names import look_up
from wherewhat.tasks.cells import block_order, cells_of, factors
from wherewhat.tasks.stream import Ints, Stream, Streams

SPLITS = ("train", "valid", "test")  # part of every stream's name, so splits never share a random number
Record = dict[str, Any]  # one sample in plain Python values: input, target, and what the task keeps books of


@dataclass(frozen=True)
class TaskBatch:
    """Many samples as arrays."""

    input_NT: Ints
    target_N: Ints
    group_N: Ints  # which of its task's `groups` a sample belongs to
    labels: Mapping[str, Ints]  # what else is known of each sample: hops, answer_pos, ...


class Task(ABC):
    """A family of sequences with one answer each. Sample `index` of a split is always the same sequence."""

    @property
    @abstractmethod
    def name(self) -> str:
        """What the task is called."""

    @property
    @abstractmethod
    def vocabulary(self) -> int:
        """How many token ids there are; answers are among them."""

    @property
    @abstractmethod
    def length(self) -> int:
        """Tokens in every sequence."""

    @property
    @abstractmethod
    def groups(self) -> tuple[str, ...]:
        """The kinds of sample that are worth measuring apart, such as one per number of hops."""

    @abstractmethod
    def sample(self, seed: int, split: str, index: int) -> Record:
        """One sample in plain Python: the definition of the task."""

    @abstractmethod
    def batch(self, seed: int, split: str, indices: Sequence[int] | Ints) -> TaskBatch:
        """The same samples, many at once."""

    def texts(self, seed: int, split: str, indices: Sequence[int] | Ints) -> list[Ints]:
        """What a net reads of each sample: here the whole sequence."""
        return list(self.batch(seed, split, indices).input_NT)

    @abstractmethod
    def solve(self, ids: Sequence[int]) -> int:
        """Answer a sequence from its tokens alone."""

    @abstractmethod
    def token(self, id: int) -> str:
        """What an id is called when people read it."""


class Balanced(Task):
    """A task whose samples go evenly through a grid of cells. Members are frozen dataclasses of their sizes."""

    name: ClassVar[str]
    streams: ClassVar[str] = ""  # what its random streams are called, where that is not the task's name

    @property
    @abstractmethod
    def cells(self) -> tuple[int, ...]:
        """The sizes of the grid's factors."""

    @abstractmethod
    def draw(self, stream: Stream, cell: list[int]) -> Record:
        """Make one sample of a cell."""

    @abstractmethod
    def draws(self, streams: Streams, cell: list[Ints]) -> TaskBatch:
        """Make many samples, row n of the cell whose factors are cell[0][n], cell[1][n], ..."""

    def sample(self, seed: int, split: str, index: int) -> Record:
        check_split(split)
        check_indices(np.array([index]))
        count = prod(self.cells)
        key = self.streams or self.name
        cell = block_order(seed, key, split, index // count, count)[index % count]
        return self.draw(Stream(seed, key, split, index), factors(cell, self.cells))

    def batch(self, seed: int, split: str, indices: Sequence[int] | Ints) -> TaskBatch:
        check_split(split)
        indices_N = check_indices(np.asarray(indices, dtype=np.int64))
        key = self.streams or self.name
        cell_N = cells_of(seed, key, split, indices_N, prod(self.cells))
        return self.draws(Streams(seed, [key, split], indices_N), factors(cell_N, self.cells))

    def sizes(self) -> dict[str, Any]:
        """The sizes as plain values; `task(name, **sizes)` makes the task again."""
        return asdict(self)  # type: ignore[call-overload, no-any-return]  # every member is a dataclass


def check_split(split: str) -> None:
    """Refuse a split that does not exist."""
    look_up("split", split, dict.fromkeys(SPLITS))


def check_indices(indices_N: Ints) -> Ints:
    """Refuse samples before the first one."""
    if (indices_N < 0).any():
        raise UserError(f"sample index {indices_N.min()} does not exist; count samples from 0")
    return indices_N


def check_size(task: str, field: str, value: int, least: int) -> None:
    """Refuse a size that leaves nothing to draw from."""
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise UserError(f"the {task} task cannot have {field} = {value!s:.40}; give a whole number of at least {least}")


def check_input(task: Task, ids: Sequence[int]) -> None:
    """Refuse a sequence that this task cannot have made."""
    if len(ids) != task.length:
        raise UserError(f"the {task.name} task reads {task.length} tokens and got {len(ids)}; give one whole sequence")
    for id in ids:
        if not 0 <= id < task.vocabulary:
            raise UserError(f"the {task.name} task has ids 0 to {task.vocabulary - 1} and got {id}")


def letter(k: int) -> str:
    """The k-th of a, b, ... z, aa, ab, ...

    >>> [letter(k) for k in (0, 25, 26, 119)]
    ['a', 'z', 'aa', 'dp']
    """
    text = ""
    while k >= 0:
        k, place = k // 26 - 1, k % 26
        text = chr(ord("a") + place) + text
    return text
