"""The share of relations that heads find: a head is chosen on one half of the sentences and scored on the other."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wherewhat.probing.dependencies.head_selection import Hits, by_halves, score
from wherewhat.probing.dependencies.relation_rows import ALL, RelationRows
from wherewhat.probing.dependencies.relation_rows import DISTANCES as REACHES

Ints = NDArray[np.int64]
Shares = NDArray[np.float64]

EACH = "each"  # all relations together, each by its own head; ALL is one head for all relations
DISTANCES = {reach[0]: name for name, reach in REACHES.items() if name != ALL}  # by the smallest distance of each group
PARTS = ("full", "positional", "contextual")
# By kind of share: whose hits choose the head, and whose hits are counted.
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
ShareRow = tuple[str, int | None, str, float]  # relation, distance (None: any), kind, number


@dataclass(frozen=True)
class ScoredRows:
    """Rows of one direction, and which heads and fixed offsets find the partner, by part of attention."""

    rows: RelationRows
    hits: Mapping[str, Hits]  # each hit_NC

    def take(self, these_N: Hits | Ints) -> "ScoredRows":
        """Some of the rows."""
        return ScoredRows(self.rows.take(these_N), {name: hit_NC[these_N] for name, hit_NC in self.hits.items()})

    def hits_by_kind(self) -> dict[str, Shares]:
        """By kind, whether each row is found. One head is chosen for all rows."""
        half_N = self.rows.half_N
        chosen = {by: by_halves(self.hits[by], half_N) for by, _ in CHOICES.values()}
        hits = {
            kind: score(chosen[by], self.hits[counted], half_N).astype(np.float64)
            for kind, (by, counted) in CHOICES.items()
        }
        return {**hits, UNIFORM: self.rows.chance_N}


def frequent(rows: RelationRows, fewest: int) -> list[str]:
    """The relations with enough rows, and some in both halves."""
    names = [str(name) for name in np.unique(rows.relation_N)]
    halves = {name: rows.half_N[rows.relation_N == name] for name in names}
    return [name for name, half_N in halves.items() if len(half_N) >= fewest and len(np.unique(half_N)) == 2]


def shares(scored: ScoredRows, *, fewest: int) -> Iterator[ShareRow]:
    """The share found of every relation with enough rows, and of all of them together, by distance.

    A head is chosen per relation, whatever the distance. If it were chosen per distance, a head that always attends two
    words ahead would be right at distance 2 without having found anything.
    """
    relations = frequent(scored.rows, fewest)
    scored = scored.take(np.isin(scored.rows.relation_N, relations))
    each = {kind: np.zeros(len(scored.rows)) for kind in KINDS}
    for relation in relations:
        here_N = scored.rows.relation_N == relation
        hits = scored.take(here_N).hits_by_kind()
        yield from _share_rows(relation, None, hits)
        yield relation, None, "distance", float(scored.rows.distance_N[here_N].mean())
        for kind, hit_N in hits.items():
            each[kind][here_N] = hit_N
    yield from _share_rows(ALL, None, scored.hits_by_kind())
    yield from _share_rows(EACH, None, each)
    for at, name in DISTANCES.items():
        first, last = REACHES[name]
        near_N = (scored.rows.distance_N >= first) & (scored.rows.distance_N <= last)
        if near_N.any():
            yield from _share_rows(EACH, at, {kind: hit_N[near_N] for kind, hit_N in each.items()})


def _share_rows(item: str, at: int | None, hits: Mapping[str, Shares]) -> Iterator[ShareRow]:
    for kind, hit_N in hits.items():
        yield item, at, kind, float(hit_N.mean())
    yield item, at, "rows", float(len(hits[UNIFORM]))
