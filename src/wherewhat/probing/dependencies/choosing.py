"""Choose the best head for a relation, and score it on sentences that had no part in the choice."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wherewhat.tasks.stream import fnv, mix

Hits = NDArray[np.bool_]  # hit_NC: whether a candidate (a head, an offset) found the partner of a row
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Choice:
    """The candidates that were chosen, and which rows they got right: each row by one that it did not choose."""

    chosen: tuple[int, ...]
    hit_N: Hits


Select = Callable[[Hits, Ints], tuple[int, ...]]


def half_of(key: str) -> int:
    """Which half a sentence belongs to, by its id or text; mixed first, for the lowest bit of the hash alone is
    whether the letters' sum is even.

    >>> [half_of(f"w{number}") for number in range(8)]
    [0, 1, 0, 1, 1, 1, 0, 1]
    """
    return mix(fnv(key)) & 1


def by_halves(hit_NC: Hits, half_N: Ints) -> tuple[int, ...]:
    """For each half the candidate that is best on the other one."""
    return tuple(_best(hit_NC[half_N != half]) for half in (0, 1))


def by_all(hit_NC: Hits, half_N: Ints) -> tuple[int, ...]:
    """The candidate that is best on the very rows that it is scored on, as Clark et al. (arXiv 1906.04341) do."""
    return (_best(hit_NC),)


SELECTIONS: dict[str, Select] = {"halves": by_halves, "same": by_all}


def choose(select: Select, hit_NC: Hits, half_N: Ints) -> Choice:
    """Choose, then score."""
    chosen = select(hit_NC, half_N)
    return Choice(chosen, score(chosen, hit_NC, half_N))


def score(chosen: tuple[int, ...], hit_NC: Hits, half_N: Ints) -> Hits:
    """Of every row, whether the candidate for its half got it right."""
    candidate_N = np.asarray(chosen)[half_N % len(chosen)]
    hits: Hits = hit_NC[np.arange(len(hit_NC)), candidate_N]
    return hits


def _best(hit_NC: Hits) -> int:
    """Of equally good ones the first."""
    return int(hit_NC.sum(0).argmax())
