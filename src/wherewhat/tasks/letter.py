"""Letter: go to the pair that begins with the letter you hold, until a pair has an integer. Solved by what tokens say.

c6 b5 e8 d6 c8 b4 h7 b2 | cf hc gd hf ha ee hc cf | fg        g leads to gd, d leads to d6: two hops
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from wherewhat.errors import UserError
from wherewhat.tasks.base import Record, TaskBatch, check_input, check_size, letter
from wherewhat.tasks.hops import Hops
from wherewhat.tasks.stream import Ints, Stream, Streams


@dataclass(frozen=True)
class LetterTask(Hops):
    """Pairs of letter and integer, then pairs of two letters; each pair is one token.

    Ids: 0 padding, `1 + left * n_int + integer - 1` in the window, and behind those `left * n_letters + right`.
    Every (answer slot, letter, integer, hops) comes equally often. Pairs off the path avoid the letters on it, so the
    next pair is always the only one that matches; so do pairs put before the window.

    >>> record = LetterTask().sample(1, "train", 0)
    >>> " ".join(record["tokens"]), record["path"], record["target_token"]
    ('c6 b5 e8 d6 c8 b4 h7 b2 cf hc gd hf ha ee hc cf fg', [16, 10, 3], 'd6')
    """

    n_letters: int = 8
    n_int: int = 8
    name: ClassVar[str] = "letter"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_size(self.name, "n_int", self.n_int, 1)
        check_size(self.name, "n_letters", self.n_letters, self.hops[-1] + 1)  # the path's letters and one to fill with

    @property
    def first_pair(self) -> int:
        """The id of the pair aa: 0 is padding, then come the window's pairs."""
        return 1 + self.n_letters * self.n_int

    @property
    def vocabulary(self) -> int:
        return self.first_pair + self.n_letters**2

    @property
    def cells(self) -> tuple[int, ...]:
        return (self.window, self.n_letters, self.n_int, len(self.hops))

    def draw(self, stream: Stream, cell: list[int]) -> Record:
        slot, answer, integer, which = cell
        alphabet = range(self.n_letters)
        path = self.draw_path(stream, slot, self.hops[which])
        hop_letters = [*stream.sample([k for k in alphabet if k != answer], len(path) - 2), answer]
        pool = [k for k in alphabet if k not in hop_letters]
        left = [stream.pick(pool) for _ in range(self.core)]
        integers = [stream.below(self.n_int) for _ in range(self.window)]
        right = integers + [stream.pick(pool) for _ in range(self.pre + 1)]
        for here, there, letter_there in zip(path, path[1:], hop_letters, strict=False):
            right[here] = left[there] = letter_there
        right[slot] = integer
        ids = [self._id(t, left[t], right[t]) for t in range(self.core)]
        more = [self._id(0, stream.pick(pool), stream.below(self.n_int)) for _ in range(self.before)]
        return self.record(ids, path, more)

    def draws(self, streams: Streams, cell: list[Ints]) -> TaskBatch:
        slot_N, answer_N, integer_N, which_N = cell
        rows_N, hops_N = np.arange(len(slot_N)), np.array(self.hops)[which_N]
        path = self.draw_paths(streams, slot_N, hops_N)
        hop_letters = self._draw_hop_letters(streams, answer_N, hops_N)
        alphabet, pool_size_N1 = np.arange(self.n_letters), (self.n_letters - hops_N)[:, None]
        taken_NM = np.any([letter_N[:, None] == alphabet for letter_N in hop_letters], axis=0)
        pool_NM = np.argsort(taken_NM, axis=1, kind="stable")  # letters that no hop leads to, and behind them the rest
        left_NT = pool_NM[rows_N[:, None], streams.below(pool_size_N1, draws=self.core)]
        integers_NT = streams.below(self.n_int, draws=self.window)
        letters_NT = pool_NM[rows_N[:, None], streams.below(pool_size_N1, draws=self.pre + 1)]
        right_NT = np.concatenate([integers_NT, letters_NT], axis=1)
        for here_N, there_N, letter_N in zip(path, path[1:], hop_letters, strict=False):
            on = there_N >= 0
            right_NT[rows_N[on], here_N[on]] = left_NT[rows_N[on], there_N[on]] = letter_N[on]
        right_NT[rows_N, slot_N] = integer_N
        window_NT = 1 + left_NT * self.n_int + right_NT
        pairs_NT = self.first_pair + left_NT * self.n_letters + right_NT
        core_NT = np.where(np.arange(self.core) < self.window, window_NT, pairs_NT)
        # Before the window come pairs of its own kind: a letter, then an integer, for each.
        bounds_NT = np.tile(np.column_stack([pool_size_N1, np.full_like(pool_size_N1, self.n_int)]), self.before)
        more_NT = streams.below(bounds_NT, draws=2 * self.before)
        more_left_NT = np.take_along_axis(pool_NM, more_NT[:, ::2], axis=1)
        input_NT = self.lengthened(core_NT, 1 + more_left_NT * self.n_int + more_NT[:, 1::2])
        labels = {"hops": hops_N, "answer_pos": self.before + slot_N}
        return TaskBatch(input_NT, core_NT[rows_N, slot_N], which_N, labels)

    def path(self, ids: Sequence[int]) -> list[int]:
        check_input(self, ids)
        path = [self.length - 1]
        while ids[path[-1]] >= self.first_pair:
            wanted = (ids[path[-1]] - self.first_pair) % self.n_letters
            matches = [slot for slot, id in enumerate(ids) if self._left(id) == wanted]
            if len(matches) != 1 or matches[0] >= path[-1]:
                raise UserError(
                    f"the second letter in slot {path[-1]} does not lead to exactly one earlier pair; "
                    "give a whole sequence"
                )
            path += matches
        return path

    def token(self, id: int) -> str:
        if id == 0:
            return "<pad>"
        if id < self.first_pair:
            left, integer = divmod(id - 1, self.n_int)
            return f"{letter(left)}{integer + 1}"
        left, right = divmod(id - self.first_pair, self.n_letters)
        return letter(left) + letter(right)

    def _id(self, slot: int, left: int, right: int) -> int:
        if slot < self.window:
            return 1 + left * self.n_int + right
        return self.first_pair + left * self.n_letters + right

    def _left(self, id: int) -> int:
        return (id - 1) // self.n_int if id < self.first_pair else (id - self.first_pair) // self.n_letters

    def _draw_hop_letters(self, streams: Streams, answer_N: Ints, hops_N: Ints) -> list[Ints]:
        """The letter that each hop leads to, hop by hop; -1 where a path has ended."""
        others_NM = np.tile(np.arange(self.n_letters - 1), (len(answer_N), 1))
        others_NM += others_NM >= answer_N[:, None]
        drawn = streams.sample(others_NM, hops_N - 1)
        letters = np.full((len(answer_N), self.hops[-1]), -1)
        letters[:, : drawn.shape[1]] = drawn
        letters[np.arange(len(answer_N)), hops_N - 1] = answer_N
        return list(letters.T)
