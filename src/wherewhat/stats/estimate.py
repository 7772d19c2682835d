"""A number with its 95 % interval, and how to write it in a sentence."""

import math
from dataclasses import dataclass, field

from wherewhat.formatting import NOTHING, signed

LEVEL = 0.95  # of every interval


@dataclass(frozen=True)
class Estimate:
    """A value with its 95 % interval; NaN where there is none."""

    value: float = math.nan
    low: float = math.nan
    high: float = math.nan
    count: int = field(default=0, kw_only=True)  # rows or examples that it is a mean of, where they are counted
    exact: bool = field(default=False, kw_only=True)  # read off weights: it needs no interval

    @property
    def known(self) -> bool:
        """Whether there is a number at all."""
        return math.isfinite(self.value)

    @property
    def side(self) -> int:
        """1 if the whole interval is above 0, -1 if it is below 0, else 0."""
        return 1 if self.low > NOTHING else -1 if self.high < -NOTHING else 0

    @property
    def numbers(self) -> tuple[float | None, float | None, float | None]:
        """Value, low and high as a row of a table has them: None where there is no number."""
        value, low, high = ((number if math.isfinite(number) else None) for number in (self.value, self.low, self.high))
        return value, low, high

    @property
    def arms(self) -> tuple[float, float]:
        """How far the interval extends below and above the value."""
        return (0.0, 0.0) if self.exact else (self.value - self.low, self.high - self.value)

    def points(self) -> str:
        """As percentage points. No end is rounded to 0 or across it.

        >>> Estimate(0.0312, -0.004, 0.066).points(), Estimate(-0.02).points(), Estimate().points()
        ('+3.1 points (−0.4 to +6.6)', '−2.0 points (no interval)', 'an unknown amount')
        >>> Estimate(0.01, 0.0002, 0.02).points(), Estimate(0.5, 0.5, 0.5).points()
        ('+1.0 points (+0.02 to +2.0)', '+50.0 points in every run')
        """
        return self._written(100, 1, " points")

    def plain(self) -> str:
        """As it is, with two decimals.

        >>> Estimate(0.5, 0.1234, 0.9).plain()
        '+0.50 (+0.12 to +0.90)'
        """
        return self._written(1, 2, "")

    def _written(self, times: int, decimals: int, unit: str) -> str:
        if not self.known:
            return "an unknown amount"
        value = f"{signed(times * self.value, decimals)}{unit}"
        if not math.isfinite(self.low):
            return f"{value} (no interval)"
        if self.high - self.low < NOTHING:
            return f"{value} in every run"
        return f"{value} ({signed(times * self.low, decimals)} to {signed(times * self.high, decimals)})"
