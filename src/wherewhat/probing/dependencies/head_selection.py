"""Choose the best head for a relation, and score it on sentences that had no part in the choice."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from wherewhat.tasks.stream import fnv, mix

Hits = NDArray[np.bool_]  # hit_NC: whether a candidate (a head, an offset) found the partner of a row
Ints = NDArray[np.int64]
Selection = Callable[[Hits, Ints], tuple[int, ...]]


def half_of(key: str) -> int:
    """Which half a sentence belongs to, by its id or text.

    The hash is mixed first: its lowest bit alone is the parity of the letters' sum.

    >>> [half_of(f"w{number}") for number in range(8)]
    [0, 1, 0, 1, 1, 1, 0, 1]
    """
    return mix(fnv(key)) & 1


def by_halves(hit_NC: Hits, half_N: Ints) -> tuple[int, ...]:
    """For each half the candidate that is best on the other half."""
    return tuple(_best(hit_NC[half_N != half]) for half in (0, 1))


def by_all(hit_NC: Hits, half_N: Ints) -> tuple[int, ...]:
    """The candidate that is best on the very rows that it is scored on, as Clark et al. (arXiv 1906.04341) do."""
    return (_best(hit_NC),)


SELECTIONS: dict[str, Selection] = {"halves": by_halves, "same": by_all}


def score(chosen: tuple[int, ...], hit_NC: Hits, half_N: Ints) -> Hits:
    """For every row, whether the candidate of its half found the partner."""
    candidate_N = np.asarray(chosen)[half_N % len(chosen)]
    hits: Hits = hit_NC[np.arange(len(hit_NC)), candidate_N]
    return hits


def _best(hit_NC: Hits) -> int:
    """The first of those with most hits."""
    return int(hit_NC.sum(0).argmax())
