"""The Latin square: a grid of 4 × 4 cells of which some are given, and a cell to fill in (arXiv 2406.08272).

4 . . 1
2 . 3 4
? 4 1 2        every row and every column has each of 1, 2, 3 and 4 once, so the answer is 3
1 . . .
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import permutations, product
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from wherewhat.errors import UserError
from wherewhat.tasks.base import Balanced, Record, TaskBatch, check_input
from wherewhat.tasks.stream import Ints, Stream, Streams

SIDE = 4
CELLS = SIDE * SIDE
BLANK, QUERY = 0, SIDE + 1  # ids besides those of the symbols
FEWEST, MOST = 3, 11  # given cells
CLASSES = ("binary", "ternary", "quaternary")  # row or column; row and column; the whole grid
HELD_OUT = 5  # squares whose number is divisible by this one are for testing


@cache
def squares() -> Ints:
    """squares_SC, every Latin square by rows, in lexicographic order; all callers share it.

    >>> len(squares()), "".join(map(str, squares()[0]))
    (576, '1234214334124321')
    """
    rows = list(permutations(range(1, SIDE + 1)))
    grids = [
        np.concatenate(grid)
        for grid in product(rows, repeat=SIDE)
        if all(len(set(column)) == SIDE for column in zip(*grid, strict=True))
    ]
    return np.array(grids, dtype=np.int64)


@cache
def _candidates(cell: int, symbol: int, test: bool) -> Ints:
    """The numbers of the squares with this symbol in this cell that belong to the test split, or to the others."""
    numbers = np.arange(len(squares()))
    return np.flatnonzero((squares()[:, cell] == symbol) & ((numbers % HELD_OUT == 0) == test))


def class_of(puzzle_NC: Ints, cell_N: Ints) -> Ints:
    """Which of `CLASSES` each puzzle belongs to; -1 for those with more than one answer.

    >>> puzzles = ["4001203404121000", "0102200042000003", "0000002003120230", "1000000000000000"]
    >>> class_of(np.array([list(map(int, each)) for each in puzzles]), np.array([8, 11, 4, 8])).tolist()
    [0, 1, 2, -1]
    """
    rows_N = np.arange(len(puzzle_NC))
    grid_NRC = puzzle_NC.reshape(-1, SIDE, SIDE)
    row_NC, column_NC = grid_NRC[rows_N, cell_N // SIDE], grid_NRC[rows_N, :, cell_N % SIDE]
    symbols = np.arange(1, SIDE + 1)
    in_row_NS, in_column_NS = ((line_NC[:, :, None] == symbols).any(1) for line_NC in (row_NC, column_NC))
    alone_N = (in_row_NS.sum(1) == SIDE - 1) | (in_column_NS.sum(1) == SIDE - 1)
    both_N = (in_row_NS | in_column_NS).sum(1) == SIDE - 1
    left_N = np.flatnonzero(~alone_N & ~both_N)
    class_N = np.where(alone_N, 0, np.where(both_N, 1, -1))
    class_N[left_N[_determined(puzzle_NC[left_N], cell_N[left_N])]] = 2
    return class_N


def _determined(puzzle_NC: Ints, cell_N: Ints) -> NDArray[np.bool_]:
    """Whether all squares with the given cells have the same symbol in the queried one."""
    possible_NS = np.ones((len(puzzle_NC), len(squares())), np.bool_)
    for cell in range(CELLS):  # one cell after the other, so that memory does not grow with cells
        given_N = puzzle_NC[:, cell, None]
        possible_NS &= (given_N == BLANK) | (given_N == squares()[:, cell])
    answer_NS = squares()[:, cell_N].T
    occurs = [(possible_NS & (answer_NS == symbol)).any(1) for symbol in range(1, SIDE + 1)]
    return np.asarray(np.sum(occurs, axis=0) == 1)


@dataclass(frozen=True)
class LatinSquare(Balanced):
    """Sixteen cells in reading order; the answer is the symbol of the queried one, read at the last cell.

    Every class, answer and queried cell comes equally often. Squares of the test split are never seen in training.

    >>> "".join(map(str, LatinSquare().sample(1, "train", 0)["input"]))
    '4001203454121000'
    """

    name: ClassVar[str] = "latin"
    vocabulary: ClassVar[int] = SIDE + 2
    length: ClassVar[int] = CELLS
    groups: ClassVar[tuple[str, ...]] = CLASSES
    cells: ClassVar[tuple[int, ...]] = (len(CLASSES), SIDE, CELLS)

    def draw(self, stream: Stream, cell: list[int]) -> Record:
        kind, answer, target = cell
        candidates = _candidates(target, answer + 1, stream.parts[1] == "test")
        others = [place for place in range(CELLS) if place != target]
        tries = 0
        while True:
            tries += 1
            number = int(candidates[stream.below(len(candidates))])
            given = stream.sample(others, stream.between(FEWEST, MOST))
            puzzle = np.zeros((1, CELLS), np.int64)
            puzzle[0, given] = squares()[number, given]
            if class_of(puzzle, np.array([target]))[0] == kind:
                break
        puzzle[0, target] = QUERY
        input_C = puzzle[0].tolist()
        return {
            "puzzle": "".join(map(str, input_C)),
            "input": input_C,
            "target": answer + 1,
            "target_cell": target,
            "cls": CLASSES[kind],
            "square": number,
            "tries": tries,
        }

    def draws(self, streams: Streams, cell: list[Ints]) -> TaskBatch:
        """As `draw`, for many samples at once: those that do not fit their class are drawn again together."""
        kind_N, answer_N, target_N = cell
        rows = len(kind_N)
        input_NC, square_N, tries_N = (
            np.zeros((rows, CELLS), np.int64),
            np.zeros(rows, np.int64),
            np.zeros(rows, np.int64),
        )
        test = streams.parts[1] == "test"
        lists = [_candidates(target, answer + 1, test) for target, answer in zip(target_N, answer_N, strict=True)]
        left_N = np.arange(rows)
        while left_N.size:
            puzzle_NC, number_N = self._tries(streams, [lists[row] for row in left_N], target_N[left_N])
            input_NC[left_N], square_N[left_N] = puzzle_NC, number_N
            tries_N[left_N] += 1
            fails_N = class_of(puzzle_NC, target_N[left_N]) != kind_N[left_N]
            streams, left_N = streams.some(np.flatnonzero(fails_N)), left_N[fails_N]
        input_NC[np.arange(rows), target_N] = QUERY
        labels = {"target_cell": target_N, "square": square_N, "tries": tries_N}
        return TaskBatch(input_NC, answer_N + 1, kind_N, labels)

    @staticmethod
    def _tries(streams: Streams, lists: Sequence[Ints], target_N: Ints) -> tuple[Ints, Ints]:
        """One more puzzle per stream, of any class: puzzle_NC without its query, and the number of its square."""
        rows_N = np.arange(len(lists))
        size_N = np.array([len(each) for each in lists])
        pick_N = streams.below(size_N[:, None], draws=1)[:, 0]
        number_N = np.array([each[pick] for each, pick in zip(lists, pick_N, strict=True)])
        given_N = streams.between(FEWEST, MOST, draws=1)[:, 0]
        others_NM = np.tile(np.arange(CELLS - 1), (len(lists), 1))
        others_NM += others_NM >= target_N[:, None]  # all cells but the queried one
        chosen_NM = streams.sample(others_NM, given_N)
        shown_NC = np.zeros((len(lists), CELLS + 1), np.bool_)
        shown_NC[rows_N[:, None], chosen_NM] = True  # -1 fills rows up and falls into the last column
        return np.where(shown_NC[:, :CELLS], squares()[number_N], BLANK), number_N

    def solve(self, ids: Sequence[int]) -> int:
        check_input(self, ids)
        if list(ids).count(QUERY) != 1:
            raise UserError(f"a puzzle of the latin task has one cell to fill in, with id {QUERY}; got {list(ids)}")
        puzzle_C, target = np.array(ids), list(ids).index(QUERY)
        given_C = (puzzle_C != BLANK) & (puzzle_C != QUERY)
        answers = np.unique(squares()[(squares()[:, given_C] == puzzle_C[given_C]).all(1), target])
        if len(answers) != 1:
            raise UserError(f"this puzzle of the latin task has {len(answers)} answers; give more cells")
        return int(answers[0])

    def token(self, id: int) -> str:
        return {BLANK: ".", QUERY: "?"}.get(id, str(id))
