"""What a net without positions can know of a puzzle: how often each symbol is given, and what the last cell shows."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from fractions import Fraction

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


def keys_and_answers(batch: TaskBatch) -> Iterator[tuple[Key, Kind]]:
    """What is visible of each puzzle without positions, and the kind of the symbol that is its answer."""
    for input_C, target in zip(batch.input_NT.tolist(), batch.target_N.tolist(), strict=True):
        kinds = kinds_of(input_C)
        yield (tuple(sorted(kinds)), input_C[-1] == 0), kinds[target - 1]


def best_guess(fitted: TaskBatch, scored: TaskBatch) -> float:
    """The share of puzzles that guesses from kinds of symbols get right, with the best kind of other puzzles.

    A guess is one symbol of a kind; where the other puzzles have no such combination, it is any symbol.
    """
    tallies: dict[Key, dict[Kind, Fraction]] = defaultdict(
        lambda: defaultdict(Fraction)
    )  # how many puzzles one symbol of a kind gets right
    for key, answer in keys_and_answers(fitted):
        tallies[key][answer] += Fraction(1, key[0].count(answer))
    best = {key: max(tally, key=tally.__getitem__) for key, tally in tallies.items()}
    right = 0.0
    for key, answer in keys_and_answers(scored):
        right += 1 / SIDE if key not in best else (best[key] == answer) / key[0].count(answer)
    return right / len(scored.target_N)
