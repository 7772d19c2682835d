"""Tasks with several answers per sequence: one for every slot, or one for every region of it."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import numpy as np

from wherewhat.tasks.base import Record, check_indices, check_split
from wherewhat.tasks.stream import Ints, Streams


@dataclass(frozen=True)
class AnswersBatch:
    """Many samples as arrays."""

    input_NT: Ints
    target_NA: Ints
    labels: dict[str, Ints]  # what else is known of each sample


class AnswersTask(ABC):
    """A family of sequences with `answers` answers each. Members are frozen dataclasses of their sizes."""

    name: ClassVar[str]

    @property
    @abstractmethod
    def vocabulary(self) -> int:
        """How many token ids there are."""

    @property
    @abstractmethod
    def classes(self) -> int:
        """How many values an answer can have, from 0 on."""

    @property
    @abstractmethod
    def length(self) -> int:
        """Tokens of every sequence."""

    @property
    @abstractmethod
    def groups(self) -> tuple[str, ...]:
        """The kinds of answer that are measured apart; none if all are alike."""

    @property
    @abstractmethod
    def group_A(self) -> Ints:
        """Which of its `groups` each answer belongs to."""

    @property
    @abstractmethod
    def answers(self) -> int:
        """Answers of every sequence."""

    @abstractmethod
    def draws(self, streams: Streams) -> AnswersBatch:
        """Draw one sample per stream: the definition of the task."""

    @abstractmethod
    def solve(self, ids: Sequence[int]) -> list[int]:
        """The answers to a sequence, from its tokens alone."""

    @abstractmethod
    def token(self, id: int) -> str:
        """What an id is called when people read it."""

    def batch(self, seed: int, split: str, indices: Sequence[int] | Ints) -> AnswersBatch:
        """Many samples at once."""
        check_split(split)
        indices_N = check_indices(np.asarray(indices, dtype=np.int64))
        return self.draws(Streams(seed, [self.name, split], indices_N))

    def sample(self, seed: int, split: str, index: int) -> Record:
        """One sample in plain Python."""
        batch = self.batch(seed, split, [index])
        labels = {name: values[0].tolist() for name, values in batch.labels.items()}
        return {"input": batch.input_NT[0].tolist(), "target": batch.target_NA[0].tolist(), **labels}

    def texts(self, seed: int, split: str, indices: Sequence[int] | Ints) -> list[Ints]:
        """What a net reads of each sample: the whole sequence."""
        return list(self.batch(seed, split, indices).input_NT)

    def sizes(self) -> dict[str, Any]:
        """The sizes as plain values."""
        return asdict(self)  # type: ignore[call-overload, no-any-return]  # every member is a dataclass
