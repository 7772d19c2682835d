"""How a net counts: which token it compares ones with, or which tokens hold the count already.

A query looks at the n ones of its region and at b tokens of some other kind. What it gathers is a function of n / b
alone, so that a net trained with b of them and tested with b' reads n · b / b' ones. This holds if those tokens say
nothing about the count themselves, which an intervention on their states shows. Otherwise the encoder has counted: its
brackets hold the count, or running counts whose difference it is. Torch-free, for the page too.
"""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from wherewhat.studies.counting.names import (
    CLOSING,
    COMPARABLE,
    KEPT,
    LEARNT,
    MOVED,
    OPENING,
    OWN,
    SLOPE,
    SUBTRACTED,
    SWAPPED,
    TOKEN_TYPES,
    TRAINED,
    accuracy,
)
from wherewhat.studies.engine.results import Cell, ResultTable

SLOPE_TOLERANCE = 0.15  # by how much a slope may miss an expected one, as a share of it
FEW_MASS = 0.05  # attention on ones, or on all possible bias tokens, below which a query does not compare the two
OWN_SHARE = 0.8  # of the attention on brackets, from which those of other regions hardly count
MOST = 0.5  # of answers with the states of another sequence, above which they move
NEARLY_ALL = 0.9  # of them, that stay if the states do not matter
NO_ONES = "hardly any ones"  # in place of a bias, where a query attends to hardly any
# What the states of the tokens do that a query attends to beside ones. The last four are counts of the encoder.
INERT, PARTLY, MATTER, UNCLEAR = "do not matter", "matter in part", "matter", "unclear"
RUNNING, OPENED, CLOSED, HELD = (
    "are running counts",
    "are counts of opened regions",
    "are counts of closed regions",
    "are counts",
)
ENCODED, COUNTED_AGAINST = (RUNNING, OPENED, CLOSED, HELD), (INERT, PARTLY)
Shares = Mapping[tuple[str, str], float]  # of answers, by whose states are exchanged and what they become
BRACKETS, MEASURES = "brackets", (KEPT, MOVED, SUBTRACTED)
Expected = Mapping[str, Mapping[str, float]]  # slope by size and bias token


def bias_by_mass(masses: Mapping[str, float]) -> str:
    """What a query compares ones with, if its other attention goes mostly to one kind of token; else empty.

    The brackets of other regions enter only where they get more than a fifth of the attention on brackets.

    >>> bias_by_mass({"0": 0.02, "1": 0.6, "[": 0.0, "]": 0.37, "BOS": 0.01, "] of its region": 0.36})
    'own brackets'
    """
    brackets = masses["["] + masses["]"]
    shares = {"BOS": masses["BOS"], "all brackets": brackets, "zeros": masses["0"]}
    best, total = max(shares, key=lambda name: shares[name]), sum(shares.values())
    if masses["1"] < FEW_MASS:
        return NO_ONES
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
        if slopes and all(abs(slope / expected[size][bias] - 1) < SLOPE_TOLERANCE for size, slope in slopes.items())
    )


class LearntRegion(NamedTuple):
    """A region that one run has learnt, and how it is counted: by attention, by slopes and by an intervention."""

    net: str
    seed: int
    region: int
    by_mass: str
    by_slopes: tuple[str, ...]
    kind: str  # of the tokens that its query attends to most, but for ones
    swapped: Shares  # with the states of another sequence

    def share(self, measure: str, kind: str | None = None) -> float:
        """Of answers that stay or change in some way, if tokens have the states of another sequence."""
        return self.swapped.get((kind or self.kind, measure), math.nan)

    @property
    def states(self) -> str:
        """Whether the states of those tokens matter to the answer, and whether they are counts themselves."""
        if self.kind == BRACKETS:
            if all(self.share(SUBTRACTED, each) > MOST for each in (OPENING, CLOSING)):
                return RUNNING
            alone = {OPENED: self.share(MOVED, OPENING) > MOST, CLOSED: self.share(MOVED, CLOSING) > MOST}
            if sum(alone.values()) == 1:
                return OPENED if alone[OPENED] else CLOSED
        if self.share(MOVED) > MOST:
            return HELD
        if self.by_mass in ("", NO_ONES):
            return UNCLEAR
        kept = self.share(KEPT)
        return INERT if kept >= NEARLY_ALL else PARTLY if kept > MOST else MATTER

    @property
    def has_bias(self) -> bool:
        """Whether ones are compared with a bias token: its states matter at most in part, its number decides slopes."""
        return self.states in COUNTED_AGAINST and self.by_mass in self.by_slopes


def learnt_regions(table: ResultTable, nets: Sequence[str], regions: int, expected: Expected) -> list[LearntRegion]:
    """How every region that these nets have learnt is counted, run by run, as seeds may differ in it."""
    return [
        _learnt_region(table, expected, name, seed, region)
        for name in nets
        for seed in table.seeds
        for region in range(regions)
        if table.value(name, accuracy(TRAINED, region), seed) > LEARNT
    ]


def _learnt_region(table: ResultTable, expected: Expected, net: str, seed: int, region: int) -> LearntRegion:
    at = float(region)
    kinds = (*TOKEN_TYPES, f"[{OWN}", f"]{OWN}")
    masses = {kind: table.value(net, Cell("attention", "mass", kind, at), seed) for kind in kinds}
    attended = max(COMPARABLE, key=lambda kind: sum(masses[token] for token in COMPARABLE[kind]))
    cells = {(kind, measure): Cell("swap", measure, kind, at) for kind in SWAPPED for measure in MEASURES}
    swapped = {key: table.value(net, cell, seed) for key, cell in cells.items()}
    fitting = biases_by_slopes(relative_slopes(table, net, seed, region, list(expected)), possible(expected, net))
    return LearntRegion(net, seed, region, bias_by_mass(masses), fitting, attended, swapped)


def possible(expected: Expected, net: str) -> Expected:
    """The slopes of the tokens that a net has: without BOS it cannot be one that ones are compared with."""
    none = () if net.endswith("BOS") else ("BOS",)
    return {size: {bias: slope for bias, slope in its.items() if bias not in none} for size, its in expected.items()}


def relative_slopes(table: ResultTable, net: str, seed: int, region: int, sizes: Sequence[str]) -> dict[str, float]:
    """By size, the slope over the one on sequences as in training, where a net may already be off."""
    trained, *others = (table.value(net, slope_cell(size, region), seed) for size in (TRAINED, *sizes))
    pairs = zip(sizes, others, strict=True)
    return {size: slope / trained for size, slope in pairs if trained and not math.isnan(slope)}


def slope_cell(size: str, region: int) -> Cell:
    """The slope of predicted against true counts of a region."""
    return Cell("slope", SLOPE, size, float(region))
