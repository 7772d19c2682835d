"""Whether what a head goes by goes with the frequencies it uses: rank correlations over heads."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import polars as pl

from wherewhat.profiling.correspondence import spearman
from wherewhat.studies.control.settings import SIDES, band
from wherewhat.studies.control.use import Use

BEHAVIOUR = ("position_share", "symbol_share", "positional", "symbolic")
MEAN = "mean_frequency"
MEAN_SPEED = "mean_speed"  # the mean frequency turned round: the faster, the larger
OF_PAIRS = ("positional", "symbolic", "position_part", "symbol_part")


@dataclass(frozen=True)
class Line:
    """One correlation, with its interval over heads; nothing where there are too few."""

    x: str
    y: str
    rho: float | None
    low: float | None
    high: float | None

    @property
    def side(self) -> int:
        """1 or -1 if the interval is clear of 0 on that side, else 0."""
        if self.low is None or self.high is None:
            return 0
        return 1 if self.low > 0 else -1 if self.high < 0 else 0

    def beyond(self, other: "Line") -> int:
        """1 or -1 if it is clearly above or below another, else 0; the two are of different heads."""
        if (own := self._arms()) is None or (theirs := other._arms()) is None:
            return 0
        (rho, down, up), (than, its_down, its_up) = own, theirs
        return 1 if rho - than > math.hypot(down, its_up) else -1 if than - rho > math.hypot(up, its_down) else 0

    def _arms(self) -> tuple[float, float, float] | None:
        """The correlation, and how far its interval reaches down and up."""
        if self.rho is None or self.low is None or self.high is None:
            return None
        return self.rho, self.rho - self.low, self.high - self.rho


@dataclass(frozen=True)
class Correlations:
    """What goes with what in one model."""

    pairs: Sequence[Line]  # a point is a frequency of a head
    heads: Sequence[Line]  # a point is a head
    fastest: tuple[float, float] | None = None  # s_POS and s_SYM of a head's fastest frequency, medians over heads


def correlations(frequencies: pl.DataFrame, heads: pl.DataFrame, share: float, *, seed: int) -> Correlations:
    """Everything there is to correlate; `heads` is what `by_head` gives."""
    return Correlations(over_pairs(frequencies, seed=seed), over_heads(heads, share, seed=seed), _fastest(frequencies))


def by_head(heads: pl.DataFrame, used: Use, share: float) -> pl.DataFrame:
    """One row a head of `used`: its scores, and how much of its norm lies in the fast and in the slow band."""
    wide = heads.with_columns(name=pl.format("L{}H{}", "layer", "head")).pivot(
        "score", index=["name", "layer", "head"], values="value"
    )
    bands = {band(side, share): used.within(band(side, share)) for side in SIDES}
    return pl.DataFrame({"name": used.names, **bands}).join(wide, on="name", how="left", maintain_order="left")


def over_heads(table: pl.DataFrame, share: float, *, seed: int) -> list[Line]:
    """Each kind of behaviour against each sign of frequency use."""
    table = table.with_columns(-pl.col(MEAN).alias(MEAN_SPEED)) if MEAN in table.columns else table
    xs = (MEAN_SPEED, *(band(side, share) for side in SIDES))
    return [_line(table, x, y, seed) for x in xs for y in BEHAVIOUR if {x, y} <= set(table.columns)]


def over_pairs(frequencies: pl.DataFrame, *, seed: int) -> list[Line]:
    """Each frequency of each head as a point: what it does alone against how fast it turns."""
    return list(_there(_wide(frequencies), seed))


def _wide(frequencies: pl.DataFrame) -> pl.DataFrame:
    """One row a frequency that turns."""
    turning = frequencies.filter(pl.col("theta") > 0)
    return turning.pivot("measure", index=["layer", "head", "frequency", "theta"], values="value")


def _fastest(frequencies: pl.DataFrame) -> tuple[float, float] | None:
    wide = _wide(frequencies)
    if not {"positional", "symbolic"} <= set(wide.columns):
        return None
    own = wide.drop_nulls(["positional", "symbolic"]).filter(
        pl.col("theta") == pl.col("theta").max().over("layer", "head")
    )
    return None if own.is_empty() else (float(own["positional"].median()), float(own["symbolic"].median()))  # type: ignore[arg-type]


def _there(wide: pl.DataFrame, seed: int) -> Iterator[Line]:
    for y in OF_PAIRS:
        if y in wide.columns:
            yield _line(wide, "theta", y, seed)


def _line(table: pl.DataFrame, x: str, y: str, seed: int) -> Line:
    points = table.select("layer", "head", pl.col(x).alias("x"), pl.col(y).alias("y")).drop_nulls()
    found = spearman(points, seed)
    return Line(x, y, found["rho"], found["low"], found["high"])
