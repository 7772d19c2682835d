"""Tasks with an answer in every slot: which slot is it, and which tokens stand in even places? (arXiv 2205.13401)"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from wherewhat.errors import UserError
from wherewhat.tasks.answers import AnswersBatch, AnswersTask
from wherewhat.tasks.base import check_size, letter
from wherewhat.tasks.stream import Ints, Streams


@dataclass(frozen=True)
class SlotTask(AnswersTask):
    """Independent random tokens, with one answer per token."""

    tokens: int = 128  # of a sequence
    n_tok: int = 980  # different ones

    def __post_init__(self) -> None:
        check_size(self.name, "tokens", self.tokens, 2)
        check_size(self.name, "n_tok", self.n_tok, 2)

    @property
    def vocabulary(self) -> int:
        return max(self.n_tok, self.classes)

    @property
    def length(self) -> int:
        return self.tokens

    @property
    def answers(self) -> int:
        return self.tokens

    @property
    def groups(self) -> tuple[str, ...]:
        return ()

    @property
    def group_A(self) -> Ints:
        return np.zeros(self.answers, dtype=np.int64)

    def draws(self, streams: Streams) -> AnswersBatch:
        input_NT = streams.below(self.n_tok, draws=self.tokens)
        return AnswersBatch(input_NT, np.array([self.solve(row) for row in input_NT.tolist()], dtype=np.int64), {})

    def token(self, id: int) -> str:
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

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.tokens % 2:
            raise UserError(f"the even task cannot have tokens = {self.tokens}; give an even number")

    @property
    def classes(self) -> int:
        return self.n_tok + 1

    @property
    def groups(self) -> tuple[str, ...]:
        return ("first half", "second half")

    @property
    def group_A(self) -> Ints:
        return np.arange(self.tokens) // (self.tokens // 2)

    def solve(self, ids: Sequence[int]) -> list[int]:
        return [*ids[1::2], *[self.n_tok] * (len(ids) // 2)]
