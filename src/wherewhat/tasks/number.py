"""Number: step back by the integer you stand on until you stand on a letter. Solved by where tokens stand.

bf bq dp dg i bt m bd | 3 7 2 3 5 7 1 4 | 2        2 back is 1, 1 back is 7, 7 back is m: three hops
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

import numpy as np

from wherewhat.errors import UserError
from wherewhat.tasks.base import Record, TaskBatch, check_input, check_size, letter
from wherewhat.tasks.hops import Hops
from wherewhat.tasks.stream import Ints, Stream, Streams


@dataclass(frozen=True)
class NumberTask(Hops):
    """A window of letters, then integers that say how far to step back. Ids: 0 padding, the integers, the letters.

    Every (answer slot, letter, hops) comes equally often. Integers off the path are as likely as any, so they give
    nothing away. Letters put before the window are like those in it, but no integer points to them: those off the path,
    too, stay within the shorter input.

    >>> record = NumberTask().sample(1, "train", 0)
    >>> " ".join(record["tokens"]), record["path"], record["target_token"]
    ('bf bq dp dg i bt m bd 3 7 2 3 5 7 1 4 2', [16, 14, 13, 6], 'm')
    """

    n_letters: int = 120
    name: ClassVar[str] = "number"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_size(self.name, "n_letters", self.n_letters, 2)

    @property
    def first_letter(self) -> int:
        """The id of letter a: 0 is padding, 1 .. window + pre are the integers."""
        return 1 + self.window + self.pre

    @property
    def vocabulary(self) -> int:
        return self.first_letter + self.n_letters

    @property
    def cells(self) -> tuple[int, ...]:
        return (self.window, self.n_letters, len(self.hops))

    def draw(self, stream: Stream, cell: list[int]) -> Record:
        slot, answer, which = cell
        path = self.draw_path(stream, slot, self.hops[which])
        letters = [self.first_letter + stream.below(self.n_letters) for _ in range(self.window)]
        letters[slot] = self.first_letter + answer
        ids = letters + [1 + stream.below(p) for p in range(self.window, self.core)]  # back to any earlier slot
        for here, there in pairwise(path):
            ids[here] = here - there
        more = [self.first_letter + stream.below(self.n_letters) for _ in range(self.before)]
        return self.record(ids, path, more)

    def draws(self, streams: Streams, cell: list[Ints]) -> TaskBatch:
        slot_N, answer_N, which_N = cell
        rows_N, hops_N = np.arange(len(slot_N)), np.array(self.hops)[which_N]
        path = self.draw_paths(streams, slot_N, hops_N)
        letters_NT = self.first_letter + streams.below(self.n_letters, draws=self.window)
        letters_NT[rows_N, slot_N] = self.first_letter + answer_N
        integers_NT = 1 + streams.below(np.arange(self.window, self.core), draws=self.pre + 1)
        input_NT = np.concatenate([letters_NT, integers_NT], axis=1)
        for here_N, there_N in pairwise(path):
            on = there_N >= 0
            input_NT[rows_N[on], here_N[on]] = (here_N - there_N)[on]
        input_NT = self.lengthened(input_NT, self.first_letter + streams.below(self.n_letters, draws=self.before))
        labels = {"hops": hops_N, "answer_pos": self.before + slot_N}
        return TaskBatch(input_NT, self.first_letter + answer_N, which_N, labels)

    def path(self, ids: Sequence[int]) -> list[int]:
        check_input(self, ids)
        path = [self.length - 1]
        while ids[path[-1]] < self.first_letter:
            step = ids[path[-1]]
            if not 1 <= step <= path[-1]:
                raise UserError(
                    f"slot {path[-1]} says to step back by {step}, which leads nowhere; give a whole sequence"
                )
            path.append(path[-1] - step)
        return path

    def token(self, id: int) -> str:
        if id == 0:
            return "<pad>"
        return str(id) if id < self.first_letter else letter(id - self.first_letter)
