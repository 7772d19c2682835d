"""The table of the experiment, asked for single numbers: means over seeds, shapes over slots, leans and lengths."""

from collections.abc import Iterable
from dataclasses import dataclass

import polars as pl

from wherewhat.report.numbers import tenths
from wherewhat.studies.canonical.measure import interval
from wherewhat.studies.canonical.settings import BASES

LEARNT = 0.95  # accuracy from which a task counts as learnt


@dataclass(frozen=True)
class Mean:
    """A mean over seeds with its interval, where there are several."""

    value: float
    low: float | None
    high: float | None

    @property
    def least(self) -> float:
        return self.value if self.low is None else self.low

    @property
    def most(self) -> float:
        return self.value if self.high is None else self.high

    def __str__(self) -> str:
        """As a share in per cent.

        >>> str(Mean(0.9312, 0.9, 0.96)), str(Mean(1.0, 1.0, 1.0)), str(Mean(0.9998, None, None))
        ('93.1\\xa0% (90.0 to 96.0)', '100.0\\xa0%', '99.9\\xa0%')
        """
        said = f"{tenths(self.value)}\N{NO-BREAK SPACE}%"
        if self.low is None or self.high is None or self.high - self.low < 5e-4:
            return said
        return f"{said} ({tenths(self.low)} to {tenths(self.high)})"


Curve = dict[float, Mean]  # by base angle


def learnt(curve: Curve) -> list[float]:
    """The base angles at which a task is learnt."""
    return [base for base, mean in curve.items() if mean.value >= LEARNT]


@dataclass(frozen=True)
class Measured:
    """The table, taken apart."""

    result: pl.DataFrame

    def curve(self, subject: str, part: str = "accuracy", measure: str = "accuracy") -> Curve:
        """A number over all seeds, at every angle."""
        rows = self._rows(part, subject, measure).filter(pl.col("seed").is_null())
        known = {at: Mean(*three) for at, *three in rows.select("at", "value", "low", "high").iter_rows()}
        return {base: known[base] for base in BASES}

    def bend(self, subject: str, base: float) -> Mean:
        """How much better the answers at both ends of the context are found than those in its middle."""
        first, last = self._over_middle(subject, base)
        return over_seeds((first + last) / 2)

    def bent(self, subject: str, base: float, *, up: bool) -> bool:
        """Whether both ends lie above (or below) the middle, and their mean clearly so over seeds."""
        bend, ends = self.bend(subject, base), [over_seeds(end).value for end in self._over_middle(subject, base)]
        return bend.least > 0 and min(ends) > 0 if up else bend.most < 0 and max(ends) < 0

    def lean(self, subject: str, base: float) -> Mean:
        """Positional minus symbolic score, from 1 (place alone) to -1 (content alone)."""
        place, content = (
            self._seeds("scores", subject, base, measure)["value"] for measure in ("positional", "symbolic")
        )
        return over_seeds(place - content)

    def length(self, subject: str, base: float) -> float:
        """Query times key as learnt, over all seeds."""
        rows = self._rows("lengths", subject, "norm", item="plane 0").filter(pl.col("seed").is_null())
        return float(rows.filter(pl.col("at") == base)["value"].item())

    def asked(self, subject: str, base: float) -> float:
        """Query times key as theory asks for it."""
        rows = self._rows("theory", subject, "norm", item="by formula")
        return float(rows.filter(pl.col("at") == base)["value"].item())

    def _over_middle(self, subject: str, base: float) -> tuple[pl.Series, pl.Series]:
        """How much better the first and the last bin of slots are than the two in the middle, by seed."""
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


def over_seeds(values: Iterable[float]) -> Mean:
    """A mean with its interval; a single seed has none.

    >>> over_seeds([0.5])
    Mean(value=0.5, low=None, high=None)
    """
    value, low, high = interval(list(values))
    return Mean(value, *(None if bound != bound else bound for bound in (low, high)))
