"""What counts of symbols say about an answer: without positions, and once row and column have ruled symbols out."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from wherewhat.tasks.base import TaskBatch
from wherewhat.tasks.latin import CELLS, QUERY, SIDE

Kind = tuple[int, bool]  # of a symbol: how often it is given, and one thing more that is known of it
View = tuple[list[Kind], bool]  # the kinds of all symbols, and one thing more that is known of the puzzle
Key = tuple[tuple[Kind, ...], bool]  # the same without what the symbols are called
Viewing = Callable[[Sequence[int]], View]


def without_positions(input_C: Sequence[int]) -> View:
    """How often each symbol is given and whether the last cell has it; and whether the last cell is blank.

    All that is visible without positions: symbols of the same kind cannot be told apart.

    >>> without_positions([1, 1, 0, 3, 5, 3])
    ([(2, False), (0, False), (2, True), (0, False)], False)
    """
    given = list(input_C)
    return [(given.count(symbol), given[-1] == symbol) for symbol in range(1, SIDE + 1)], given[-1] == 0


def by_row_and_column(input_C: Sequence[int]) -> View:
    """Whether the row or the column of the queried cell rules a symbol out, and how often each other symbol is given.

    >>> by_row_and_column([5, 1, 0, 0] + [2, 0, 3, 0] + [0, 3, 0, 0] + [0, 0, 0, 3])
    ([(0, True), (0, True), (3, False), (0, False)], False)
    """
    given = list(input_C)
    row, column = divmod(given.index(QUERY), SIDE)
    excluded = {given[cell] for cell in range(CELLS) if cell // SIDE == row or cell % SIDE == column}
    return [
        (0 if symbol in excluded else given.count(symbol), symbol in excluded) for symbol in range(1, SIDE + 1)
    ], False


def keys_and_answers(batch: TaskBatch, viewing: Viewing) -> Iterator[tuple[Key, Kind]]:
    """What is visible of each puzzle, and the kind of the symbol that is its answer."""
    for input_C, target in zip(batch.input_NT.tolist(), batch.target_N.tolist(), strict=True):
        kinds, more = viewing(input_C)
        yield (tuple(sorted(kinds)), more), kinds[target - 1]


def best_guess(fitted: TaskBatch, scored: TaskBatch, viewing: Viewing = without_positions) -> NDArray[np.float64]:
    """right_N: how likely a guess from kinds of symbols is right, with the best kind of other puzzles.

    A guess is one symbol of a kind; where the other puzzles have no such combination, it is any symbol.
    """
    tallies: dict[Key, dict[Kind, Fraction]] = defaultdict(
        lambda: defaultdict(Fraction)
    )  # how many puzzles one symbol of a kind gets right
    for key, answer in keys_and_answers(fitted, viewing):
        tallies[key][answer] += Fraction(1, key[0].count(answer))
    best = {key: max(tally, key=tally.__getitem__) for key, tally in tallies.items()}
    right = [
        1 / SIDE if key not in best else (best[key] == answer) / key[0].count(answer)
        for key, answer in keys_and_answers(scored, viewing)
    ]
    return np.array(right)
