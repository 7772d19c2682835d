"""How pages write the numbers of rows, with their intervals."""

import math
from collections.abc import Callable, Mapping
from typing import Any

from wherewhat.formatting import MISSING, NOTHING, short, signed, tenths
from wherewhat.report.core.html import Html, join, tag
from wherewhat.stats.estimate import Estimate

Row = Mapping[str, Any]  # of a result


def estimate(row: Row) -> Estimate:
    """The number of a row with its interval."""
    return Estimate(*(math.nan if row[end] is None else row[end] for end in ("value", "low", "high")))


def points(row: Row) -> str:
    """A difference in points of accuracy, with its interval.

    >>> points({"value": 0.0312, "low": -0.0004, "high": 0.066}), points({"value": -0.02, "low": None, "high": None})
    ('+3.1 points (−0.04 to +6.6)', '−2.0 points (no interval)')
    """
    return estimate(row).points()


def plain(row: Row) -> str:
    """A correlation or another difference, with its interval.

    >>> plain({"value": 0.82, "low": 0.5, "high": 0.9})
    '+0.82 (+0.50 to +0.90)'
    """
    return estimate(row).plain()


def share(row: Row) -> str:
    """A share in per cent, with its interval.

    >>> share({"value": 0.931, "low": 0.9, "high": 0.962}), share({"value": 0.5, "low": None, "high": None})
    ('93.1\\xa0% (90.0 to 96.2)', '50.0\\xa0%')
    """
    ends = "" if row["low"] is None or row["high"] is None else f" ({tenths(row['low'])} to {tenths(row['high'])})"
    return f"{tenths(row['value'])}\N{NO-BREAK SPACE}%{ends}"


def nats(row: Row) -> str:
    """A loss, with its interval.

    >>> nats({"value": 2.31, "low": 2.2, "high": 2.42})
    '2.31 (2.20 to 2.42) nats'
    """
    ends = "" if row["low"] is None or row["high"] is None else f" ({short(row['low'])} to {short(row['high'])})"
    return f"{short(row['value'])}{ends} nats"


def plus_minus(row: Row | None, write: Callable[[float], str] = tenths) -> Html | str:
    """A share in per cent and, paler, half the width of its interval; `in_points` writes a difference.

    >>> str(plus_minus({"value": 0.931, "low": 0.921, "high": 0.941})), plus_minus(None)
    ('93.1<span class="reach"> ± 1.0</span>', '–')
    """
    if row is None:
        return MISSING
    if row["low"] is None or row["high"] is None:
        return write(row["value"])
    return join(write(row["value"]), tag("span", f" ± {50 * (row['high'] - row['low']):.1f}", class_="reach"))


def per_cent(value: float | None) -> str:
    """A share as a number of per cent.

    >>> per_cent(0.512), per_cent(None)
    ('51.2', '–')
    """
    return MISSING if value is None else tenths(value)


def in_points(value: float | None) -> str:
    """A difference of shares in points of a hundred, with its sign.

    >>> in_points(-0.0123), in_points(None)
    ('−1.2', '–')
    """
    return MISSING if value is None else signed(100 * value)


def small_interval(low: object, high: object) -> Html | str:
    """An interval behind its number, small; nothing where there is none."""
    return tag("span", f" {low} to {high}", class_="reach") if MISSING not in (low, high) else ""


def clear(row: Row) -> bool:
    """Whether an interval leaves out 0."""
    low, high = row.get("low"), row.get("high")
    return low is not None and high is not None and (low > NOTHING or high < -NOTHING)


def lacks_interval(row: Row) -> bool:
    """Whether a number has no interval, as a single text gives none."""
    return row.get("low") is None or row.get("high") is None


def fixed(value: float) -> str:
    """A number with three decimals.

    >>> fixed(-0.25)
    '−0.250'
    """
    return f"{value:.3f}".replace("-", "−")


def spaced(name: str) -> str:
    """The name of a score or measure as words.

    >>> spaced("position_share")
    'position share'
    """
    return name.replace("_", " ")


def side(row: Row | None, value: str = "value") -> str:
    """Whether a number is clearly above or below 0, as charts colour it.

    >>> side({"value": 0.2, "low": 0.1, "high": 0.4}), side({"value": 0.2, "low": -0.1, "high": 0.4}), side(None)
    ('above', 'unclear', 'unclear')
    """
    return "unclear" if row is None or not clear(row) else "above" if row[value] > 0 else "below"


def capital(words: str) -> str:
    """Words with a capital at the start."""
    return f"{words[:1].upper()}{words[1:]}"
