"""What a net without positions can know of a puzzle: how often each symbol is given, and what the last cell shows."""

from collections import Counter, defaultdict
from collections.abc import Sequence

from wherewhat.tasks.base import TaskBatch
from wherewhat.tasks.latin import SIDE

Kind = tuple[int, bool]  # of a symbol: how often it is given, and whether the last cell has it
Key = tuple[tuple[Kind, ...], bool]  # all symbols of a puzzle, and whether the last cell is blank


def kinds_of(input_C: Sequence[int]) -> list[Kind]:
    """Of every symbol, all that is visible without positions; symbols of the same kind cannot be told apart.

    >>> kinds_of([1, 1, 0, 3, 5, 3])
    [(2, False), (0, False), (2, True), (0, False)]
    """
    return [(list(input_C).count(symbol), input_C[-1] == symbol) for symbol in range(1, SIDE + 1)]


def best_guess(batch: TaskBatch) -> float:
    """The share of these puzzles that guesses from kinds of symbols get right, if each combination has its best one."""
    tallies: dict[Key, Counter[Kind]] = defaultdict(Counter)
    for input_C, target in zip(batch.input_NT.tolist(), batch.target_N.tolist(), strict=True):
        kinds = kinds_of(input_C)
        tallies[tuple(sorted(kinds)), input_C[-1] == 0][kinds[target - 1]] += 1
    right = sum(max(count / key[0].count(kind) for kind, count in tally.items()) for key, tally in tallies.items())
    return right / len(batch.target_N)
