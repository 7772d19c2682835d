"""A number and how sure it is, and what may be said of it in words."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from wherewhat.report.numbers import NOTHING, signed
from wherewhat.studies.intervals import of_mean


@dataclass(frozen=True)
class Estimate:
    """A value with its 95 % interval; NaN where there is none."""

    value: float = math.nan
    low: float = math.nan
    high: float = math.nan

    @property
    def known(self) -> bool:
        """Whether there is a number at all."""
        return math.isfinite(self.value)

    @property
    def side(self) -> int:
        """1 or -1 if the interval is clear of 0 on that side, else 0."""
        return 1 if self.low > NOTHING else -1 if self.high < -NOTHING else 0

    @property
    def numbers(self) -> tuple[float | None, float | None, float | None]:
        """For a row of the table."""
        value, low, high = ((number if math.isfinite(number) else None) for number in (self.value, self.low, self.high))
        return value, low, high

    def points(self) -> str:
        """As points of accuracy. No end is rounded onto 0 or across it.

        >>> Estimate(0.0312, -0.004, 0.066).points(), Estimate(-0.02).points(), Estimate().points()
        ('+3.1 points (−0.4 to +6.6)', '−2.0 points (no interval)', 'an unknown amount')
        >>> Estimate(0.01, 0.0002, 0.02).points(), Estimate(0.5, 0.5, 0.5).points()
        ('+1.0 points (+0.02 to +2.0)', '+50.0 points in every run')
        """
        return self._told(100, 1, " points")

    def plain(self) -> str:
        """As it stands, with two decimals.

        >>> Estimate(0.5, 0.1234, 0.9).plain()
        '+0.50 (+0.12 to +0.90)'
        """
        return self._told(1, 2, "")

    def _told(self, times: int, decimals: int, unit: str) -> str:
        if not self.known:
            return "an unknown amount"
        value = f"{signed(times * self.value, decimals)}{unit}"
        if not math.isfinite(self.low):
            return f"{value} (no interval)"
        if self.high - self.low < NOTHING:
            return f"{value} in every run"
        return f"{value} ({signed(times * self.low, decimals)} to {signed(times * self.high, decimals)})"


def over_seeds(values: Sequence[float]) -> Estimate:
    """The mean over runs from several seeds (Student's t); a single one has no interval.

    >>> over_seeds([0.8, 0.9, 1.0]).plain()
    '+0.90 (+0.65 to +1.15)'
    """
    finite = [value for value in values if math.isfinite(value)]
    if len(finite) < 2:
        return Estimate(finite[0]) if finite else Estimate()
    return Estimate(*of_mean(finite))
