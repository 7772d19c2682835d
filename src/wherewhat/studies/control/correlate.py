"""Rank correlations between how positional or symbolic heads are and which frequencies they use."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import polars as pl

from wherewhat.stats.correlation import spearman_over_heads
from wherewhat.stats.estimate import Estimate
from wherewhat.stats.intervals import mover
from wherewhat.stats.verdict import sign_of
from wherewhat.studies.control.frequency_norms import FrequencyNorms
from wherewhat.studies.control.settings import SIDES, band

BEHAVIOUR = ("position_share", "symbol_share", "positional", "symbolic")
MEAN = "mean_frequency"
MEAN_SPEED = "mean_speed"  # minus the mean frequency's number: the faster, the larger
OF_PAIRS = ("positional", "symbolic", "position_part", "symbol_part")


@dataclass(frozen=True)
class RankCorrelation:
    """A rank correlation with its interval over heads; unknown where there are too few."""

    x: str
    y: str
    rho: Estimate = field(default_factory=Estimate)

    def compare(self, other: "RankCorrelation") -> int:
        """1 or -1 if it is clearly above or below another, else 0; the two are over different heads."""
        return sign_of(*mover(other.rho, self.rho))


@dataclass(frozen=True)
class Correlations:
    """All correlations of one model."""

    pairs: Sequence[RankCorrelation]  # a point is a frequency of a head
    heads: Sequence[RankCorrelation]  # a point is a head
    fastest: tuple[float, float] | None = None  # s_POS and s_SYM of a head's fastest frequency, medians over heads


def correlations(frequencies: pl.DataFrame, heads: pl.DataFrame, share: float, *, seed: int) -> Correlations:
    """All correlations; `heads` is a table from `by_head`."""
    return Correlations(over_pairs(frequencies, seed=seed), over_heads(heads, share, seed=seed), _fastest(frequencies))


def by_head(heads: pl.DataFrame, norms: FrequencyNorms, share: float) -> pl.DataFrame:
    """One row per head of `norms`: its scores, and the shares of its norm in the fast and in the slow band."""
    wide = heads.with_columns(name=pl.format("L{}H{}", "layer", "head")).pivot(
        "score", index=["name", "layer", "head"], values="value"
    )
    bands = {band(side, share): norms.within(band(side, share)) for side in SIDES}
    return pl.DataFrame({"name": norms.names, **bands}).join(wide, on="name", how="left", maintain_order="left")


def over_heads(table: pl.DataFrame, share: float, *, seed: int) -> list[RankCorrelation]:
    """Correlations over heads: each behaviour against each measure of frequency use."""
    table = table.with_columns(-pl.col(MEAN).alias(MEAN_SPEED)) if MEAN in table.columns else table
    xs = (MEAN_SPEED, *(band(side, share) for side in SIDES))
    return [_correlation(table, x, y, seed) for x in xs for y in BEHAVIOUR if {x, y} <= set(table.columns)]


def over_pairs(frequencies: pl.DataFrame, *, seed: int) -> list[RankCorrelation]:
    """Correlations over the frequencies of all heads: the scores of a single frequency against its speed."""
    wide = _wide(frequencies)
    return [_correlation(wide, "theta", y, seed) for y in OF_PAIRS if y in wide.columns]


def _wide(frequencies: pl.DataFrame) -> pl.DataFrame:
    """One row per frequency that rotates."""
    rotating = frequencies.filter(pl.col("theta") > 0)
    return rotating.pivot("measure", index=["layer", "head", "frequency", "theta"], values="value")


def _fastest(frequencies: pl.DataFrame) -> tuple[float, float] | None:
    wide = _wide(frequencies)
    if not {"positional", "symbolic"} <= set(wide.columns):
        return None
    own = wide.drop_nulls(["positional", "symbolic"]).filter(
        pl.col("theta") == pl.col("theta").max().over("layer", "head")
    )
    return None if own.is_empty() else (float(own["positional"].median()), float(own["symbolic"].median()))  # type: ignore[arg-type]


def _correlation(table: pl.DataFrame, x: str, y: str, seed: int) -> RankCorrelation:
    points = table.select("layer", "head", pl.col(x).alias("x"), pl.col(y).alias("y")).drop_nulls()
    heads = points.select("layer", "head").to_numpy()
    estimate = spearman_over_heads(points["x"].to_numpy(), points["y"].to_numpy(), heads, seed=seed)
    return RankCorrelation(x, y, estimate)
