"""Build the tables of a profile from what was measured, and correlate what frequencies do with their speed."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import polars as pl

from wherewhat.capture.hooks.reader import AttentionSite
from wherewhat.profiling.accumulate import Summary
from wherewhat.profiling.reading import AttentionReading
from wherewhat.stats.correlation import spearman_over_heads
from wherewhat.tables.manifest.scores import CorrespondenceSection
from wherewhat.tables.schema import FREQUENCIES, HEADS, OFFSETS, frame, without_nan

Summaries = Mapping[AttentionSite, Mapping[str, Summary]]  # by site and score
# What is compared with a frequency's speed, from frequencies.parquet, and with a head's mean speed.
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


def heads_table(model: str, reading: AttentionReading, results: Sequence[Summaries]) -> pl.DataFrame:
    """heads.parquet: one row per head and score; `untrained` is filled in later, where it is measured."""
    rows = []
    for site, layer, _, heads in reading.chosen():
        by_name = {name: summary for result in results for name, summary in result.get(site, {}).items()}
        for head in heads:
            for name, summary in by_name.items():
                columns = (summary.value_H, summary.low_H, summary.high_H, summary.chance_H)
                counts = (int(summary.texts_H[head]), int(summary.windows_H[head]), int(summary.rows_H[head]) or None)
                numbers = [float(column_H[head]) for column_H in columns]
                rows.append((model, layer, head, name, *numbers, None, *counts, site.part))
    return frame(rows, HEADS)


def offsets_table(reading: AttentionReading) -> pl.DataFrame:
    """offsets.parquet: mean mass at every relative offset that some row could see."""
    tables = [pl.DataFrame(schema=OFFSETS)]
    for _, layer, scores, heads in reading.chosen():
        if scores.mass_HO is None or scores.windows_O is None or scores.rows_O is None:
            continue
        visible_O = scores.windows_O.nonzero()[0]
        mean_HO = scores.mass_HO[:, visible_O] / scores.windows_O[visible_O]
        offsets_O = visible_O - scores.mass_HO.shape[1] // 2
        columns = {"model": reading.model.id, "layer": layer, "head": np.repeat(heads, len(offsets_O))}
        columns |= {"offset": np.tile(offsets_O, len(heads)), "mass": mean_HO[heads].ravel()}
        columns |= {"rows": np.tile(scores.rows_O[visible_O], len(heads))}
        tables.append(pl.DataFrame(columns, schema=OFFSETS))
    return without_nan(pl.concat(tables))


def frequencies_table(reading: AttentionReading) -> pl.DataFrame:
    """frequencies.parquet: what every rotary frequency of every head carries."""
    rows = []
    for _, layer, scores, heads in reading.chosen():
        if scores.frequencies is None:
            continue
        theta_F, measures = scores.frequencies.theta_F.tolist(), scores.frequencies.values()
        for head in heads:
            for name, value_HF in measures.items():
                values = enumerate(zip(theta_F, value_HF[head].tolist(), strict=True))
                rows += [
                    (reading.model.id, layer, head, number, theta, name, value) for number, (theta, value) in values
                ]
    return frame(rows, FREQUENCIES)


def frequency_correlations(frequencies: pl.DataFrame, heads: pl.DataFrame, *, seed: int) -> list[CorrespondenceSection]:
    """Spearman correlations of what a frequency does with its speed, over all layers (`layer` is None) and in each.

    With `x` theta, a point is a frequency of a head; with `x` mean_speed, a head. Either way a positive correlation
    means more of it where frequencies are faster. Intervals resample whole heads.
    """
    if frequencies.is_empty():
        return []
    rotating = frequencies.filter(pl.col("theta") > 0)
    wide = rotating.pivot("measure", index=["layer", "head", "frequency", "theta"], values="value")
    by_head = heads.pivot("score", index=["layer", "head"], values="value")
    correlations = [*_correlations(wide, None, "theta", OF_FREQUENCIES, seed)]
    for layer in sorted(wide["layer"].unique().to_list()):
        correlations += _correlations(wide.filter(pl.col("layer") == layer), layer, "theta", OF_FREQUENCIES, seed)
    if "mean_frequency" in by_head.columns:
        speeds = by_head.with_columns(-pl.col("mean_frequency").alias(SPEED))  # 0 is the fastest frequency
        correlations += _correlations(speeds, None, SPEED, OF_HEADS, seed)
    return correlations


def _correlations(
    table: pl.DataFrame, layer: int | None, x: str, ys: Sequence[str], seed: int
) -> Iterator[CorrespondenceSection]:
    for y in ys:
        if y in table.columns:
            points = table.select("layer", "head", pl.col(x).alias("x"), pl.col(y).alias("y")).drop_nulls()
            heads = points.select("layer", "head").to_numpy()
            estimate = spearman_over_heads(points["x"].to_numpy(), points["y"].to_numpy(), heads, seed=seed)
            rho, low, high = estimate.numbers
            yield CorrespondenceSection(layer=layer, x=x, y=y, points=points.height, rho=rho, low=low, high=high)
