"""The result table, read by its claims: means over seeds, curves by angle, shapes over slots."""

from collections.abc import Iterable
from dataclasses import dataclass

import polars as pl

from wherewhat.formatting import tenths
from wherewhat.stats import intervals
from wherewhat.studies.canonical.settings import BASES

LEARNT = 0.95  # accuracy from which a task counts as learnt


@dataclass(frozen=True)
class SeedMean:
    """A mean over seeds, with its interval if there are several."""

    value: float
    low: float | None
    high: float | None

    @property
    def least(self) -> float:
        """The lower end of the interval, or the value itself."""
        return self.value if self.low is None else self.low

    @property
    def most(self) -> float:
        """The upper end of the interval, or the value itself."""
        return self.value if self.high is None else self.high

    def __str__(self) -> str:
        """As a percentage.

        >>> str(SeedMean(0.9312, 0.9, 0.96)), str(SeedMean(1.0, 1.0, 1.0)), str(SeedMean(0.9998, None, None))
        ('93.1\\xa0% (90.0 to 96.0)', '100.0\\xa0%', '99.9\\xa0%')
        """
        percentage = f"{tenths(self.value)}\N{NO-BREAK SPACE}%"
        if self.low is None or self.high is None or self.high - self.low < 5e-4:
            return percentage
        return f"{percentage} ({tenths(self.low)} to {tenths(self.high)})"


Curve = dict[float, SeedMean]  # by base angle


def learnt(curve: Curve) -> list[float]:
    """The base angles at which a task is learnt."""
    return [base for base, mean in curve.items() if mean.value >= LEARNT]


@dataclass(frozen=True)
class CanonicalResults:
    """The result table and the numbers that claims need from it."""

    result: pl.DataFrame

    def curve(self, subject: str, part: str = "accuracy", measure: str = "accuracy") -> Curve:
        """A mean over seeds at every angle."""
        rows = self._rows(part, subject, measure).filter(pl.col("seed").is_null())
        means = {at: SeedMean(*numbers) for at, *numbers in rows.select("at", "value", "low", "high").iter_rows()}
        return {base: means[base] for base in BASES}

    def bend(self, subject: str, base: float) -> SeedMean:
        """Accuracy at the two ends of the context minus accuracy in its middle."""
        first, last = self._over_middle(subject, base)
        return over_seeds((first + last) / 2)

    def is_bent(self, subject: str, base: float, *, up: bool) -> bool:
        """Whether both ends are above (or below) the middle, and the interval of their mean over seeds excludes 0."""
        bend, ends = self.bend(subject, base), [over_seeds(end).value for end in self._over_middle(subject, base)]
        return bend.least > 0 and min(ends) > 0 if up else bend.most < 0 and max(ends) < 0

    def score_difference(self, subject: str, base: float) -> SeedMean:
        """Positional minus symbolic score, from 1 (position alone) to -1 (content alone)."""
        positional, symbolic = (
            self._seeds("scores", subject, base, measure)["value"] for measure in ("positional", "symbolic")
        )
        return over_seeds(positional - symbolic)

    def length(self, subject: str, base: float) -> float:
        """The learnt length of query times key, over all seeds."""
        rows = self._rows("lengths", subject, "norm", item="plane 0").filter(pl.col("seed").is_null())
        return float(rows.filter(pl.col("at") == base)["value"].item())

    def required_length(self, subject: str, base: float) -> float:
        """The length of query times key that theory requires."""
        rows = self._rows("theory", subject, "norm", item="by formula")
        return float(rows.filter(pl.col("at") == base)["value"].item())

    def _over_middle(self, subject: str, base: float) -> tuple[pl.Series, pl.Series]:
        """Accuracy in the first and in the last bin of slots minus that in the two middle bins, by seed."""
        bins = self._seeds("by_slot", subject, base, "accuracy").pivot("item", index="seed", values="value")
        names = bins.columns[1:]
        half = len(names) // 2
        middle = (bins[names[half - 1]] + bins[names[half]]) / 2
        return bins[names[0]] - middle, bins[names[-1]] - middle

    def _seeds(self, part: str, subject: str, base: float, measure: str) -> pl.DataFrame:
        rows = self._rows(part, subject, measure, item=None).filter(pl.col("at") == base)
        return rows.filter(pl.col("seed").is_not_null()).sort("seed", maintain_order=True)

    def _rows(self, part: str, subject: str, measure: str, item: str | None = "") -> pl.DataFrame:
        rows = self.result.filter(part=part, subject=subject, measure=measure)
        return rows if item is None else rows.filter(item=item)


def over_seeds(values: Iterable[float]) -> SeedMean:
    """A mean with its interval; a single seed has none.

    >>> over_seeds([0.5])
    SeedMean(value=0.5, low=None, high=None)
    """
    mean = intervals.over_seeds(list(values))
    return SeedMean(mean.value, *mean.numbers[1:])
