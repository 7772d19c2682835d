"""Which token a net counts ones against: by what its read-out attends to, and by how it errs on other sizes.

A query looks at the n ones of its region and at b tokens of some other kind. What it gathers is a function of n / b
alone, so that a net trained with b of them and tested with b' reads n · b / b' ones. Torch-free, for the page too.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from wherewhat.studies.counting.names import LEARNT, OWN, SLOPE, TOKEN_TYPES, TRAINED, accuracy
from wherewhat.studies.engine.results import Cell, ResultTable

CLOSE = 0.15  # by how much a slope may miss an expected one, as a share of it
FEW_MASS = 0.05  # attention on ones, or on all possible bias tokens, below which a query does not compare the two
OWN_SHARE = 0.8  # of the attention on brackets, from which those of other regions hardly count
ENCODER = "counted in the encoder"  # in place of a bias: a query reads the count from tokens that are no ones
Expected = Mapping[str, Mapping[str, float]]  # slope by size and bias token


@dataclass(frozen=True)
class CountingSize:
    """How long sequences are and how many regions they have."""

    tokens: int
    regions: int


def expected_slopes(trained: CountingSize, other: CountingSize) -> dict[str, float]:
    """By what a net counts against, its predicted count over the true one when sequences change.

    >>> slopes = expected_slopes(CountingSize(512, 4), CountingSize(300, 4))
    >>> {bias: round(slope, 2) for bias, slope in slopes.items()}
    {'BOS': 1.0, 'own brackets': 1.0, 'all brackets': 1.0, 'zeros': 1.73}
    """
    zeros, fewer = (size.tokens - 2 * size.regions for size in (trained, other))
    own = {"BOS": 1.0, "own brackets": 1.0}  # there is always one of them for a region
    return {**own, "all brackets": trained.regions / other.regions, "zeros": zeros / fewer}


def bias_by_mass(masses: Mapping[str, float]) -> str:
    """What a query compares ones with, if its other attention goes mostly to one kind of token; else empty.

    >>> bias_by_mass({"0": 0.02, "1": 0.6, "[": 0.0, "]": 0.37, "BOS": 0.01, "] of its region": 0.36})
    'own brackets'
    """
    brackets = masses["["] + masses["]"]
    shares = {"BOS": masses["BOS"], "all brackets": brackets, "zeros": masses["0"]}
    best, total = max(shares, key=lambda name: shares[name]), sum(shares.values())
    if masses["1"] < FEW_MASS:
        return ENCODER
    if total < FEW_MASS or shares[best] <= total / 2:
        return ""
    own = sum(masses.get(f"{bracket}{OWN}", 0.0) for bracket in "[]")
    return "own brackets" if best == "all brackets" and own > OWN_SHARE * brackets else best


def biases_by_slopes(slopes: Mapping[str, float], expected: Mapping[str, Mapping[str, float]]) -> tuple[str, ...]:
    """The biases whose expected slopes are all close to the measured ones.

    >>> expected = {"shorter": {"BOS": 1.0, "zeros": 1.75}, "fewer regions": {"BOS": 1.0, "zeros": 0.97}}
    >>> biases_by_slopes({"shorter": 1.8, "fewer regions": 0.95}, expected)
    ('zeros',)
    """
    return tuple(
        bias
        for bias in next(iter(expected.values()), {})
        if slopes and all(abs(slope / expected[size][bias] - 1) < CLOSE for size, slope in slopes.items())
    )


class BiasNames(NamedTuple):
    """What a learnt region is counted against, by the attention of its query and by its slopes."""

    net: str
    region: int
    by_mass: str
    by_slopes: tuple[str, ...]

    @property
    def compares(self) -> bool:
        """Whether its query compares ones with one kind of token."""
        return self.by_mass not in ("", ENCODER)

    @property
    def agree(self) -> bool:
        """Whether both name the same token."""
        return self.by_mass in self.by_slopes


def bias_names(table: ResultTable, nets: Sequence[str], regions: int, expected: Expected) -> Iterator[BiasNames]:
    """What every learnt region of these nets is counted against."""
    for name in nets:
        for region in range(regions):
            if table.value(name, accuracy(TRAINED, region)) > LEARNT:
                kinds = (*TOKEN_TYPES, f"[{OWN}", f"]{OWN}")
                masses = {kind: mass(table, name, kind, region) for kind in kinds}
                slopes = {size: table.value(name, Cell("slope", SLOPE, size, float(region))) for size in expected}
                known = {size: slope for size, slope in slopes.items() if not math.isnan(slope)}
                yield BiasNames(name, region, bias_by_mass(masses), biases_by_slopes(known, expected))


def mass(table: ResultTable, net: str, kind: str, region: int) -> float:
    """How much of the attention of a region's query goes to a kind of token."""
    return table.value(net, Cell("attention", "mass", kind, float(region)))
