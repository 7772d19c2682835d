"""Tasks with an answer in every slot: which slot is it, and which tokens stand in even places? (arXiv 2205.13401)"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import numpy as np

from wherewhat.errors import UserError
from wherewhat.tasks.base import Record, check_indices, check_size, check_split, letter
from wherewhat.tasks.stream import Ints, Streams


@dataclass(frozen=True)
class SlotBatch:
    """Many samples as arrays."""

    input_NT: Ints
    target_NT: Ints


@dataclass(frozen=True)
class SlotTask(ABC):
    """Independent random tokens, with one answer per token. Members are frozen dataclasses of their sizes."""

    tokens: int = 128  # of a sequence
    n_tok: int = 980  # different ones
    name: ClassVar[str]
    manner: ClassVar[str] = "in every slot"  # how it answers
    groups: ClassVar[tuple[str, ...]] = ()  # the kinds of slot that are measured apart

    def __post_init__(self) -> None:
        check_size(self.name, "tokens", self.tokens, 2)
        check_size(self.name, "n_tok", self.n_tok, 2)

    @property
    @abstractmethod
    def classes(self) -> int:
        """How many values an answer can have, from 0 on."""

    @abstractmethod
    def solve(self, ids: Sequence[int]) -> list[int]:
        """The answers to a sequence, from its tokens alone."""

    @property
    def vocabulary(self) -> int:
        """How many token ids there are; answers are among them."""
        return max(self.n_tok, self.classes)

    @property
    def length(self) -> int:
        """Tokens of every sequence."""
        return self.tokens

    @property
    def group_T(self) -> Ints:
        """Which of its `groups` each slot belongs to."""
        return np.arange(self.tokens) * max(1, len(self.groups)) // self.tokens

    def sample(self, seed: int, split: str, index: int) -> Record:
        """One sample in plain Python."""
        batch = self.batch(seed, split, [index])
        return {"input": batch.input_NT[0].tolist(), "target": batch.target_NT[0].tolist()}

    def batch(self, seed: int, split: str, indices: Sequence[int] | Ints) -> SlotBatch:
        """Many samples at once."""
        check_split(split)
        streams = Streams(seed, [self.name, split], check_indices(np.asarray(indices, dtype=np.int64)))
        input_NT = streams.below(self.n_tok, draws=self.tokens)
        return SlotBatch(input_NT, np.array([self.solve(row) for row in input_NT.tolist()], dtype=np.int64))

    def texts(self, seed: int, split: str, indices: Sequence[int] | Ints) -> list[Ints]:
        """What a net reads of each sample: the whole sequence."""
        return list(self.batch(seed, split, indices).input_NT)

    def sizes(self) -> dict[str, Any]:
        """The sizes as plain values; `any_task(name, **sizes)` makes the task again."""
        return asdict(self)

    def token(self, id: int) -> str:
        """What an id is called when people read it."""
        return letter(id) if id < self.n_tok else "."


@dataclass(frozen=True)
class PositionTask(SlotTask):
    """The answer in every slot is its number, whatever the tokens."""

    name: ClassVar[str] = "position"

    @property
    def classes(self) -> int:
        return self.tokens

    def solve(self, ids: Sequence[int]) -> list[int]:
        return list(range(len(ids)))


@dataclass(frozen=True)
class EvenTask(SlotTask):
    """The first half answers with the tokens at even places, counted from 1; the second half with a filler.

    >>> EvenTask(tokens=6, n_tok=9).solve([5, 1, 7, 2, 8, 3])
    [1, 2, 3, 9, 9, 9]
    """

    name: ClassVar[str] = "even"
    groups: ClassVar[tuple[str, ...]] = ("first half", "second half")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.tokens % 2:
            raise UserError(f"the even task cannot have tokens = {self.tokens}; give an even number")

    @property
    def classes(self) -> int:
        return self.n_tok + 1

    def solve(self, ids: Sequence[int]) -> list[int]:
        return [*ids[1::2], *[self.n_tok] * (len(ids) // 2)]
