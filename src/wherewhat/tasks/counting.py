"""Contextual counting: how many ones are there in each bracketed region? (arXiv 2406.02585)

[ 1 ] 0 [ 0 1 1 ] [ ] 1 [ 1 0 ]        1, 2, 0 and 1
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import numpy as np

from wherewhat.errors import UserError
from wherewhat.tasks.base import Record, check_indices, check_size, check_split
from wherewhat.tasks.stream import Ints, Streams

BIT_ZERO, BIT_ONE, OPEN, CLOSE, BOS = range(5)  # token ids
TOKENS = ("0", "1", "[", "]", "BOS")


@dataclass(frozen=True)
class CountingBatch:
    """Many samples as arrays."""

    input_NT: Ints
    target_NR: Ints  # one count per region
    marks_NM: Ints  # where brackets stand, without counting BOS


@dataclass(frozen=True)
class CountingTask:
    """Fair bits with brackets around some of them; the answers are the counts of ones in each region, in order."""

    tokens: int = 512  # of a sequence, brackets included, BOS not
    regions: int = 4
    bos: bool = False  # whether every sequence begins with one more token that is always the same
    name: ClassVar[str] = "counting"
    manner: ClassVar[str] = "once per region"  # how it answers

    def __post_init__(self) -> None:
        check_size(self.name, "regions", self.regions, 1)
        check_size(self.name, "tokens", self.tokens, 2 * self.regions + 1)

    @property
    def classes(self) -> int:
        """How many values a count can have, from 0 on."""
        return self.tokens - 2 * self.regions + 1

    @property
    def vocabulary(self) -> int:
        """How many token ids there are."""
        return BOS + self.bos

    @property
    def length(self) -> int:
        """Tokens that a net reads."""
        return self.tokens + self.bos

    @property
    def groups(self) -> tuple[str, ...]:
        """The regions, which are measured apart."""
        return tuple(f"region {number}" for number in range(self.regions))

    def batch(self, seed: int, split: str, indices: Sequence[int] | Ints) -> CountingBatch:
        """Many samples at once."""
        check_split(split)
        numbers_N = check_indices(np.asarray(indices, dtype=np.int64))
        streams = Streams(seed, [self.name, split], numbers_N)
        rows, marks = len(numbers_N), 2 * self.regions
        places_NT = np.tile(np.arange(self.tokens), (rows, 1))
        marks_NM = np.sort(streams.sample(places_NT, np.full(rows, marks)), 1)
        input_NT = streams.below(2, draws=self.tokens)
        np.put_along_axis(input_NT, marks_NM, np.tile([OPEN, CLOSE], self.regions)[None], 1)
        ones_NT = np.cumsum(input_NT == BIT_ONE, 1)
        at_marks_NM = np.take_along_axis(ones_NT, marks_NM, 1)
        target_NR = at_marks_NM[:, 1::2] - at_marks_NM[:, ::2]
        if self.bos:
            input_NT = np.concatenate([np.full((rows, 1), BOS), input_NT], 1)
        return CountingBatch(input_NT, target_NR, marks_NM)

    def sample(self, seed: int, split: str, index: int) -> Record:
        """One sample in plain Python."""
        batch = self.batch(seed, split, [index])
        return {
            "input": batch.input_NT[0].tolist(),
            "target": batch.target_NR[0].tolist(),
            "marks": batch.marks_NM[0].tolist(),
        }

    def texts(self, seed: int, split: str, indices: Sequence[int] | Ints) -> list[Ints]:
        """What a net reads of each sample: the whole sequence."""
        return list(self.batch(seed, split, indices).input_NT)

    def solve(self, ids: Sequence[int]) -> list[int]:
        """The count of every region, from the tokens alone.

        >>> CountingTask(tokens=8, regions=2).solve([2, 1, 3, 2, 0, 1, 1, 3])
        [1, 2]
        """
        counts: list[int] = []
        inside = False
        for id in ids:
            if id == OPEN and not inside:
                counts.append(0)
                inside = True
            elif id == CLOSE and inside:
                inside = False
            elif id in (OPEN, CLOSE):
                raise UserError("the counting task has regions one after the other, each with [ and ]; these are not")
            elif inside:
                counts[-1] += id == BIT_ONE
        if inside or len(counts) != self.regions:
            raise UserError(f"the counting task has {self.regions} closed regions and got {len(counts)}")
        return counts

    def sizes(self) -> dict[str, Any]:
        """The sizes as plain values; `any_task(name, **sizes)` makes the task again."""
        return asdict(self)

    def token(self, id: int) -> str:
        """What an id is called when people read it."""
        return TOKENS[id]
