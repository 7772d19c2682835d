"""What the number and the letter task share: a path that hops from the query to an answer in the target window.

    slots   0 .. window - 1     the target window: possible answers
            window .. + pre     the pre-target tokens: stepping stones
            the last            the query, where every path starts

A path of h hops visits h - 1 stepping stones, always going back, and ends in the window.
"""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from wherewhat.errors import UserError
from wherewhat.tasks.base import Balanced, Record, check_size
from wherewhat.tasks.stream import Ints, Stream, Streams


@dataclass(frozen=True)
class Hops(Balanced):
    """A task that is solved by following a path."""

    window: int = 8
    pre: int = 8
    hops: tuple[int, ...] = (1, 2, 3, 4)  # how many hops samples take, equally often

    def __post_init__(self) -> None:
        check_size(self.name, "window", self.window, 1)
        check_size(self.name, "pre", self.pre, 0)
        if not _rising(self.hops):
            raise UserError(
                f"the {self.name} task cannot have hops = {self.hops}; "
                "give different numbers from 1 up, the smallest first"
            )
        if self.hops[-1] > self.pre + 1:
            raise UserError(
                f"the {self.name} task cannot make {self.hops[-1]} hops over pre = {self.pre} stepping stones; "
                f"give pre at least {self.hops[-1] - 1} or at most {self.pre + 1} hops"
            )

    @property
    def length(self) -> int:
        return self.window + self.pre + 1

    @property
    def groups(self) -> tuple[str, ...]:
        return tuple(f"{self.name} {hops} hop{'s' * (hops > 1)}" for hops in self.hops)

    @abstractmethod
    def path(self, ids: Sequence[int]) -> list[int]:
        """Follow the tokens alone from the query to the answer: the slots visited, both ends included."""

    def solve(self, ids: Sequence[int]) -> int:
        return ids[self.path(ids)[-1]]

    def draw_path(self, stream: Stream, slot: int, hops: int) -> list[int]:
        """Choose the stepping stones of one sample: query, stones from right to left, answer slot."""
        stones = stream.sample(range(self.window, self.window + self.pre), hops - 1)
        return [self.length - 1, *sorted(stones, reverse=True), slot]

    def record(self, ids: list[int], path: list[int]) -> Record:
        """A sample with its books: the answer stands where the path ends, and a hop is one step of it."""
        answer = ids[path[-1]]
        return {
            "input": ids,
            "tokens": [self.token(id) for id in ids],
            "target": answer,
            "target_token": self.token(answer),
            "path": path,
            "hops": len(path) - 1,
        }

    def draw_paths(self, streams: Streams, slot_N: Ints, hops_N: Ints) -> list[Ints]:
        """Choose them for many samples: slot_N at each stage of the longest path, -1 where a path has ended."""
        rows_N = np.arange(len(slot_N))
        slots_NM = np.tile(np.arange(self.window, self.window + self.pre), (len(slot_N), 1))
        stones = -np.sort(-streams.sample(slots_NM, hops_N - 1), axis=1)  # from right to left, then the -1s
        path = np.full((len(slot_N), self.hops[-1] + 1), -1)
        path[:, 0] = self.length - 1
        path[:, 1 : 1 + stones.shape[1]] = stones
        path[rows_N, hops_N] = slot_N
        return list(path.T)


def _rising(hops: object) -> bool:
    """Whether these are different whole numbers from 1 up, the smallest first."""
    if not isinstance(hops, tuple) or not hops or not all(isinstance(number, int) for number in hops):
        return False
    return hops[0] >= 1 and list(hops) == sorted(set(hops))
