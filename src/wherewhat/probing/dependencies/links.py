"""What treebanks have in common: whether scores go along with word order from one to the next."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import atanh, sqrt, tanh

import numpy as np

from wherewhat.probing.dependencies.gold import ALL, SIDES
from wherewhat.probing.dependencies.lines import NOTHING, Line
from wherewhat.probing.dependencies.own_heads import EACH
from wherewhat.probing.dependencies.scoring import OFFSET
from wherewhat.probing.dependencies.settings import CONTEXTUAL, POSITIONAL

LEAST = 3  # treebanks
Z = 1.959963984540054  # of a normal distribution, 2.5 % lie above it
BY_RELATION = ", by relation"

Key = tuple[str, str | None, str, str]  # item, side, kind and measure of a line over all distances
Numbers = Mapping[Key, float]
Point = tuple[float, float]


def numbers_of(lines: Sequence[Line]) -> Numbers:
    """The lines of a treebank that are about the best head or word order, over all distances."""
    whole = (line for line in lines if line.head is None and line.distance == ALL)
    return {(line.item, line.side, line.kind, line.measure): line.value for line in whole}


def _offset_with_positional(numbers: Numbers, item: str, side: str) -> Point:
    return numbers[item, side, OFFSET, "accuracy"], numbers[item, side, POSITIONAL, "accuracy"]


def _content_with_distance(numbers: Numbers, item: str, side: str) -> Point:
    ahead = numbers[item, side, CONTEXTUAL, "accuracy"] - numbers[item, side, POSITIONAL, "accuracy"]
    return numbers[item, side, "order", "distance"], ahead


LINKS: dict[str, Callable[[Numbers, str, str], Point]] = {
    "offset with positional": _offset_with_positional,
    "contextual beyond positional with distance": _content_with_distance,
}


def links(treebanks: Sequence[Numbers]) -> Iterator[Line]:
    """Correlations over treebanks, and over the relations of all treebanks; nothing if there are fewer than three."""
    if len(treebanks) < LEAST:
        return
    relations = sorted({key[0] for numbers in treebanks for key in numbers} - {ALL, EACH})
    for name, point in LINKS.items():
        for side in SIDES:
            for suffix, items in (("", [ALL]), (BY_RELATION, relations)):
                points = [
                    found for numbers in treebanks for item in items if (found := _try(point, numbers, item, side))
                ]
                if len(points) >= LEAST:
                    r, low, high = pearson(points)
                    yield Line(name + suffix, None, None, side, "link", ALL, "pearson", r, low, high, len(points))


def _try(point: Callable[[Numbers, str, str], Point], numbers: Numbers, item: str, side: str) -> Point | None:
    """A point, unless the treebank has no such numbers."""
    try:
        return point(numbers, item, side)
    except KeyError:
        return None


def pearson(points: Sequence[Point]) -> tuple[float, float, float]:
    """Pearson's r with its 95 % interval by Fisher's z; no interval of fewer than four points, or of points in a line.

    >>> [round(number, 3) for number in pearson([(0, 0), (1, 2), (2, 1), (3, 3), (4, 5)])]
    [0.904, 0.108, 0.994]
    """
    x, y = np.array(points, dtype=np.float64).T
    if np.ptp(x) == 0 or np.ptp(y) == 0:
        return NOTHING, NOTHING, NOTHING
    r = float(np.corrcoef(x, y)[0, 1])
    if len(points) < 4 or abs(r) >= 1:
        return r, NOTHING, NOTHING
    reach = Z / sqrt(len(points) - 3)
    return r, tanh(atanh(r) - reach), tanh(atanh(r) + reach)
