"""Does what a rotary frequency does go with how fast it turns? Rank correlations, with intervals over heads."""

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import numpy as np
import polars as pl
from scipy.stats import rankdata

RESAMPLES = 400
LEVEL = 0.95
LEAST_HEADS = 3  # fewer heads give no interval

# What is compared with a frequency's speed, out of frequencies.parquet, and with a head's mean speed.
OF_FREQUENCIES = (
    "positional",
    "symbolic",
    "position_part",
    "symbol_part",
    "interaction_part",
    "query_norm",
    "key_norm",
)
SPEED = "mean_speed"  # of a head: its mean frequency, with the fastest as the largest
OF_HEADS = ("position_share", "symbol_share", "interaction_share")


def correspondence(frequencies: pl.DataFrame, heads: pl.DataFrame, *, seed: int) -> list[dict[str, Any]]:
    """Spearman correlations, over all layers (`layer` is None) and layer by layer.

    With `x` theta, a point is a frequency of a head; with `x` mean_speed, a head. Either way a positive correlation
    means more of it where frequencies are faster. Intervals resample whole heads.
    """
    if frequencies.is_empty():
        return []
    turning = frequencies.filter(pl.col("theta") > 0)
    wide = turning.pivot("measure", index=["layer", "head", "frequency", "theta"], values="value")
    by_head = heads.pivot("score", index=["layer", "head"], values="value")
    layers: list[int | None] = [None, *sorted(wide["layer"].unique().to_list())]
    found = [line for layer in layers for line in _lines(_of(wide, layer), layer, "theta", OF_FREQUENCIES, seed)]
    if "mean_frequency" in by_head.columns:
        speeds = by_head.with_columns(-pl.col("mean_frequency").alias(SPEED))  # which counts from the fastest
        found += _lines(speeds, None, SPEED, OF_HEADS, seed)
    return found


def _of(table: pl.DataFrame, layer: int | None) -> pl.DataFrame:
    return table if layer is None else table.filter(pl.col("layer") == layer)


def _lines(table: pl.DataFrame, layer: int | None, x: str, ys: Sequence[str], seed: int) -> Iterator[dict[str, Any]]:
    for y in ys:
        if y in table.columns:
            points = table.select("layer", "head", pl.col(x).alias("x"), pl.col(y).alias("y")).drop_nulls()
            yield {"layer": layer, "x": x, "y": y, "points": points.height, **spearman(points, seed)}


def spearman(points: pl.DataFrame, seed: int) -> dict[str, float | None]:
    """The correlation of ranks; its interval from sums a head, so that resamples cost nothing."""
    if points.height < 3:
        return {"rho": None, "low": None, "high": None}
    x, y = rankdata(points["x"]), rankdata(points["y"])
    x, y = x - x.mean(), y - y.mean()
    moments = np.stack([np.ones_like(x), x, y, x * x, y * y, x * y], axis=1)
    _, owner = np.unique(points.select("layer", "head").to_numpy(), axis=0, return_inverse=True)
    heads = int(owner.max()) + 1
    sums = np.zeros((heads, moments.shape[1]))
    np.add.at(sums, owner.ravel(), moments)
    rho = _correlation(sums.sum(0)[None])[0]
    draws = _correlation(_resampled(heads, seed) @ sums)
    draws = draws[np.isfinite(draws)]
    sure = heads >= LEAST_HEADS and len(draws) > 0 and np.isfinite(rho)
    low, high = np.quantile(draws, [(1 - LEVEL) / 2, (1 + LEVEL) / 2]) if sure else (np.nan, np.nan)
    return {name: _finite(value) for name, value in (("rho", rho), ("low", low), ("high", high))}


@cache
def _resampled(heads: int, seed: int) -> np.ndarray:
    """How often each resample takes each head."""
    return np.random.default_rng(seed).multinomial(heads, np.full(heads, 1 / heads), size=RESAMPLES)


def _correlation(sums: np.ndarray) -> np.ndarray:
    """Pearson correlation from count, sums and sums of products, a row each."""
    count, x, y, xx, yy, xy = sums.T
    with np.errstate(invalid="ignore", divide="ignore"):
        spread = (xx / count - (x / count) ** 2) * (yy / count - (y / count) ** 2)
        result: np.ndarray = (xy / count - x * y / count**2) / np.sqrt(np.where(spread > 1e-12, spread, np.nan))
    return result


def _finite(value: float) -> float | None:
    return round(float(value), 6) if np.isfinite(value) else None
