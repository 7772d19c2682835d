"""Every score again, in plain loops over plain numbers: slow, and easy to believe."""

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """One attention row with all there is to know of it."""

    weights: list[float]
    query: int
    allowed: list[bool]
    tokens: list[int]

    @property
    def seen(self) -> list[int]:
        return [key for key, may in enumerate(self.allowed) if may]

    @property
    def mass(self) -> float:
        return math.fsum(self.weights[key] for key in self.seen)

    @property
    def pairs(self) -> list[tuple[float, float]]:
        reach = min(self.query, len(self.weights) - 1 - self.query)
        return [(self.weights[self.query - k], self.weights[self.query + k]) for k in range(1, reach + 1)]


Answer = tuple[float, float]  # value and weight
OUT = (0.0, 0.0)


def locality(row: Row) -> Answer:
    return math.fsum(weight / 2 ** abs(row.query - key) for key, weight in enumerate(row.weights)), 1.0


def symmetry(row: Row) -> Answer:
    differences = [abs(left - right) for left, right in row.pairs]
    if not differences:
        return OUT
    least, span = min(differences), max(differences) - min(differences)
    if span < 10 * 2.0**-52:
        return 1.0, len(differences)
    return 1 - math.fsum((d - least) / span for d in differences) / len(differences), len(differences)


def balance(row: Row) -> Answer:
    if not row.pairs:
        return OUT
    mass = max(math.fsum(left + right for left, right in row.pairs), 1e-30)
    return 1 - math.fsum(abs(left - right) for left, right in row.pairs) / mass, mass


def entropy(row: Row) -> Answer:
    if len(row.seen) < 2 or row.mass < 1e-12:
        return OUT
    shares = [row.weights[key] / row.mass for key in row.seen]
    return -math.fsum(p * math.log(p) for p in shares if p > 0) / math.log(len(row.seen)), 1.0


def sink(row: Row) -> Answer:
    return (row.weights[0], 1.0) if 0 in row.seen and len(row.seen) > 1 and row.mass >= 1e-12 else OUT


def pattern(fits: Callable[[Row, int], bool], row: Row) -> Answer:
    keys = [key for key in row.seen if fits(row, key)]
    if not keys or row.mass < 1e-12:
        return OUT
    return math.fsum(row.weights[key] for key in keys) / row.mass, 1.0


def itself(row: Row) -> Answer:
    return pattern(lambda row, key: key == row.query, row) if len(row.seen) > 1 else OUT


def previous(row: Row) -> Answer:
    return pattern(lambda row, key: key == row.query - 1, row)


def following(row: Row) -> Answer:
    return pattern(lambda row, key: key == row.query + 1, row)


def duplicate(row: Row) -> Answer:
    return pattern(lambda row, key: key < row.query and row.tokens[key] == row.tokens[row.query], row)


def induction(row: Row) -> Answer:
    return pattern(lambda row, key: 1 <= key < row.query and row.tokens[key - 1] == row.tokens[row.query], row)


def offset_peak(row: Row) -> Answer:
    if len(row.seen) < 2 or row.mass < 1e-12:
        return OUT
    return row.weights.index(max(row.weights)) - row.query, 1.0


def mean(answers: list[Answer]) -> float:
    total = math.fsum(weight for _, weight in answers)
    return math.fsum(value * weight for value, weight in answers) / total if total else math.nan


def commonest(answers: list[Answer]) -> float:
    votes = Counter(value for value, weight in answers if weight)
    return max(votes.values()) / votes.total() if votes.total() >= 8 else math.nan


ORACLES: dict[str, Callable[[Row], Answer]] = {
    "locality": locality,
    "symmetry": symmetry,
    "balance": balance,
    "entropy": entropy,
    "sink": sink,
    "self": itself,
    "previous": previous,
    "next": following,
    "duplicate": duplicate,
    "induction": induction,
    "offset_peak": offset_peak,
}
