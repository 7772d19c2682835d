"""What the page of a sweep reads from its table and manifest."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import polars as pl

from wherewhat.stats.estimate import Estimate
from wherewhat.stats.intervals import over_seeds, wilson
from wherewhat.tables.manifest.sweep import SweepManifest

FALLING = ("loss", "error")  # measures of which less is better
DONE = "done"
OF_LENGTH = re.compile(r"(.+) length (\d+(?:x\d+)*)")  # a measure of the samples of one length, or of several lengths


@dataclass(frozen=True)
class SweepData:
    """The finished runs of a sweep, by point and by measure."""

    rows: pl.DataFrame
    manifest: SweepManifest

    @property
    def fields(self) -> list[str]:
        """The settings that change."""
        return list(self.manifest.over)

    @cached_property
    def finished(self) -> pl.DataFrame:
        """The numbers of finished runs, with the name of their point."""
        point = pl.concat_str([pl.format("{}={}", pl.lit(name), pl.col(name)) for name in self.fields], separator=", ")
        named = self.rows.with_columns((point if self.fields else pl.lit("as the recipe says")).alias("point"))
        return named.filter((pl.col("status") == DONE) & pl.col("measure").is_not_null())

    @property
    def measures(self) -> list[str]:
        """What was measured over all lengths, the one that runs are compared by first."""
        known = self.finished["measure"].unique(maintain_order=True).to_list()
        whole = [measure for measure in known if not OF_LENGTH.fullmatch(measure)]
        return sorted(whole, key=lambda measure: measure != self.manifest.measure)

    def is_better_low(self, measure: str) -> bool:
        """Whether less of a measure is better."""
        return measure.partition(" ")[0] in FALLING

    def within(self, measure: str) -> tuple[float, float]:
        """What a measure can be: shares are between 0 and 1, a loss is not negative."""
        return (0.0, float("inf")) if self.is_better_low(measure) else (0.0, 1.0)

    def estimate(self, values: Sequence[float], measure: str, samples: int | None = None) -> Estimate:
        """The mean over seeds with its interval; of a single seed, the interval over test samples where it has one."""
        estimate = over_seeds(values, within=self.within(measure))
        samples = self.manifest.samples.get(measure) if samples is None else samples
        if len(values) != 1 or not samples:
            return estimate
        return Estimate(estimate.value, *wilson(estimate.value, samples))

    @property
    def intervals(self) -> str:
        """What intervals are over."""
        return "seeds" if len(self.manifest.seeds) > 1 else "test samples"

    @cached_property
    def last(self) -> pl.DataFrame:
        """The last value of every measure of every finished run."""
        return self.finished.sort("step").group_by("run", "measure", maintain_order=True).last()

    def ends(self, measure: str) -> list[dict[str, Any]]:
        """Of every point the last value of a measure, as the mean over seeds with its interval; the best first."""
        rows = []
        for (point,), runs in self.last.filter(measure=measure).group_by("point", maintain_order=True):
            values = runs["value"].drop_nulls().to_list()
            value, low, high = self.estimate(values, measure).numbers
            if value is not None:
                settings = {name: runs[name][0] for name in self.fields}
                seconds = runs["seconds"].mean()
                rows.append(
                    {"point": point, **settings, "value": value, "low": low, "high": high, "seeds": len(values)}
                    | {"seconds": seconds, "values": values}
                )
        return sorted(rows, key=lambda row: row["value"], reverse=not self.is_better_low(measure))

    def by_length(self, kind: str, lengths: Mapping[str, int]) -> list[dict[str, Any]]:
        """Of every point the last values of a kind of measure, from short to long; `lengths` has them by measure."""
        samples = {measure: self.manifest.samples.get(measure, 0) for measure in lengths}
        weight = pl.col("samples").clip(1)
        of_runs = (
            self.last.filter(pl.col("measure").is_in(list(lengths)))
            .with_columns(
                length=pl.col("measure").replace_strict(lengths, return_dtype=pl.Int64),
                samples=pl.col("measure").replace_strict(samples, return_dtype=pl.Int64),
            )
            .group_by("point", "run", "length", maintain_order=True)
            .agg(value=(pl.col("value") * weight).sum() / weight.sum(), samples=pl.col("samples").sum())
        )
        rows = []
        for (point, length), runs in of_runs.sort("length", maintain_order=True).group_by(
            "point", "length", maintain_order=True
        ):
            value, low, high = self.estimate(runs["value"].drop_nulls().to_list(), kind, runs["samples"][0]).numbers
            rows.append({"point": point, "length": length, "value": value, "low": low, "high": high})
        return rows
