"""What the number and the letter task share: a path that hops from the query to an answer in the target window.

    slots   0 .. window - 1     the target window: possible answers
            window .. + pre     the pre-target tokens: stepping stones
            the last            the query, where every path starts

A path of h hops visits h - 1 stepping stones, always going back, and ends in the window.

Longer inputs have more of the window's kind of token before all this. No path leads there and every distance on a path
stays as it was, so the same sample can be asked at any length: without its first `before` tokens it is what it was.
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
    before: int = 0  # tokens put before the window to make inputs longer; neither vocabulary nor path feels them

    def __post_init__(self) -> None:
        check_size(self.name, "window", self.window, 1)
        check_size(self.name, "pre", self.pre, 0)
        check_size(self.name, "before", self.before, 0)
        numbers = isinstance(self.hops, tuple) and bool(self.hops) and all(type(each) is int for each in self.hops)
        if not numbers or self.hops[0] < 1 or list(self.hops) != sorted(set(self.hops)):
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
    def core(self) -> int:
        """Tokens from the window on: all but those put before it. Samples are drawn in slots counted from there."""
        return self.window + self.pre + 1

    @property
    def length(self) -> int:
        return self.before + self.core

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
        return [self.core - 1, *sorted(stones, reverse=True), slot]

    def record(self, ids: list[int], path: list[int], nearest_first: list[int]) -> Record:
        """A sample as a record: the answer is the token at which the path ends, and a hop is one step of the path.

        `nearest_first` are the tokens put before it, from the window outwards: a longer input only goes on at its left.
        """
        ids, path = [*reversed(nearest_first), *ids], [self.before + slot for slot in path]
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
        path[:, 0] = self.core - 1
        path[:, 1 : 1 + stones.shape[1]] = stones
        path[rows_N, hops_N] = slot_N
        return list(path.T)

    def lengthened(self, input_NT: Ints, nearest_first_NT: Ints) -> Ints:
        """Many samples with the tokens put before them, as in `record`."""
        return np.concatenate([nearest_first_NT[:, ::-1], input_NT], axis=1)
