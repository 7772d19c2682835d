"""From who finds what to shares: a head is chosen in one half of the sentences and scored in the other."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wherewhat.probing.dependencies.choosing import Hits, by_halves, score
from wherewhat.probing.dependencies.gold import ALL, Rows
from wherewhat.probing.dependencies.gold import DISTANCES as REACHES

Ints = NDArray[np.int64]
Shares = NDArray[np.float64]

EACH = "each"  # each relation by its own head, counted together; ALL is one head for all relations
DISTANCES = {reach[0]: name for name, reach in REACHES.items() if name != ALL}  # by their first number
PARTS = ("full", "positional", "contextual")
# What is told of a choice: whose hits choose the head, and whose hits are counted.
CHOICES: dict[str, tuple[str, str]] = {
    **{part: (part, part) for part in PARTS},
    "offset": ("offset", "offset"),
    "shuffled": ("full", "shuffled"),
    "by position": ("positional", "full"),
    "by position, shuffled": ("positional", "shuffled"),
    "by content": ("contextual", "full"),
    "by content, shuffled": ("contextual", "shuffled"),
}
UNIFORM = "uniform"
KINDS = (*CHOICES, UNIFORM)
Told = tuple[str, int | None, str, float]  # relation, distance (None: any), kind, number


@dataclass(frozen=True)
class Asked:
    """Rows of one side, and who finds their partners: heads by part of attention, and fixed offsets."""

    rows: Rows
    hits: Mapping[str, Hits]  # each hit_NC

    def take(self, these_N: Hits | Ints) -> "Asked":
        """Some of the rows."""
        return Asked(self.rows.take(these_N), {name: hit_NC[these_N] for name, hit_NC in self.hits.items()})

    def found(self) -> dict[str, Shares]:
        """Of every row whether it is found, by kind. One choice holds for all rows."""
        half_N = self.rows.half_N
        chosen = {by: by_halves(self.hits[by], half_N) for by, _ in CHOICES.values()}
        told = {
            kind: score(chosen[by], self.hits[counted], half_N).astype(np.float64)
            for kind, (by, counted) in CHOICES.items()
        }
        return {**told, UNIFORM: self.rows.chance_N}


def frequent(rows: Rows, fewest: int) -> list[str]:
    """The relations with rows enough, of which both halves have some."""
    names = [str(name) for name in np.unique(rows.relation_N)]
    halves = {name: rows.half_N[rows.relation_N == name] for name in names}
    return [name for name, half_N in halves.items() if len(half_N) >= fewest and len(np.unique(half_N)) == 2]


def shares(asked: Asked, *, fewest: int) -> Iterator[Told]:
    """What is found of every relation, and of all that have rows enough, near and far.

    A head is chosen for a relation whatever its distance. Were it chosen at each distance, one that always looks two
    words on would be right at distance 2, and nothing would have been found.
    """
    relations = frequent(asked.rows, fewest)
    asked = asked.take(np.isin(asked.rows.relation_N, relations))
    each = {kind: np.zeros(len(asked.rows)) for kind in KINDS}
    for relation in relations:
        here_N = asked.rows.relation_N == relation
        found = asked.take(here_N).found()
        yield from _told(relation, None, found)
        yield relation, None, "distance", float(asked.rows.distance_N[here_N].mean())
        for kind, found_N in found.items():
            each[kind][here_N] = found_N
    yield from _told(ALL, None, asked.found())
    yield from _told(EACH, None, each)
    for at, name in DISTANCES.items():
        first, last = REACHES[name]
        near_N = (asked.rows.distance_N >= first) & (asked.rows.distance_N <= last)
        if near_N.any():
            yield from _told(EACH, at, {kind: found_N[near_N] for kind, found_N in each.items()})


def _told(item: str, at: int | None, found: Mapping[str, Shares]) -> Iterator[Told]:
    for kind, found_N in found.items():
        yield item, at, kind, float(found_N.mean())
    yield item, at, "rows", float(len(found[UNIFORM]))
