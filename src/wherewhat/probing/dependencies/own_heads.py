"""All relations together, each by its own best head: so that a head knows which relation is meant, but not how far.

The best head for words at one distance would be told the distance with the question: of two neighbours one needs only
to choose the side. Chosen for a relation over all distances, a head has to find near and far partners alike.
"""

from collections.abc import Sequence

import numpy as np

from wherewhat.probing.dependencies.gold import ALL, DISTANCES, SIDES
from wherewhat.probing.dependencies.scoring import Group, Held, Scoring

EACH = "each relation"  # as an item


def each_by_its_own(scoring: Scoring, all_held: Sequence[dict[str, Held]]) -> list[dict[str, Held]]:
    """By side and distance, rows of all relations that are told, each scored by the heads of its relation."""
    found = []
    for side in SIDES:
        relations = [held for held in all_held if _is_relation(next(iter(held.values())).group, side)]
        for distance in DISTANCES:
            here = _at(scoring, relations, side, distance)
            if here:
                found.append(here)
    return found


def _is_relation(group: Group, side: str) -> bool:
    return group.item != ALL and group.distance == ALL and group.side == side


def _at(scoring: Scoring, relations: Sequence[dict[str, Held]], side: str, distance: str) -> dict[str, Held]:
    """One distance; nothing where rows are too few."""
    low, high = DISTANCES[distance]
    found = {}
    for kind in dict.fromkeys(kind for held in relations for kind in held):
        those = [held[kind] for held in relations if kind in held]
        rows_N, value_N = np.concatenate([one.rows_N for one in those]), np.concatenate([one.value_N for one in those])
        order_N = rows_N.argsort()  # sentence by sentence, as rows come
        rows_N, value_N = rows_N[order_N], value_N[order_N]
        distance_N = scoring.rows.distance_N[rows_N]
        near_N = (distance_N >= low) & (distance_N <= high)
        if scoring.enough(rows_N[near_N]):
            group = Group(EACH, side, distance, rows_N[near_N])
            found[kind] = Held(kind, group, (), value_N[near_N], rows_N[near_N])
    return found
