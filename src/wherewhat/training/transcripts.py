"""From classes of tokens to words, and how wrong they are."""

from collections.abc import Sequence
from itertools import groupby

from wherewhat.corpora.speech.base import BLANK


def collapsed(classes: Sequence[int]) -> list[int]:
    """What a net says by the likeliest class of every token: repeats count once, blanks not at all.

    >>> collapsed([0, 3, 3, 0, 3, 7, 7, 0])
    [3, 3, 7]
    """
    return [number for number, _ in groupby(classes) if number != BLANK]


def edit_distance(first: Sequence[int], second: Sequence[int]) -> int:
    """The fewest insertions, deletions and substitutions from one sequence to the other.

    >>> edit_distance([1, 2, 3], [1, 3, 3, 4])
    2
    """
    row = list(range(len(second) + 1))
    for number, left in enumerate(first, start=1):
        corner, row[0] = row[0], number
        for place, right in enumerate(second, start=1):
            corner, row[place] = row[place], min(row[place] + 1, row[place - 1] + 1, corner + (left != right))
    return row[-1]
