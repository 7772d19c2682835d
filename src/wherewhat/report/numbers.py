"""How numbers look: few digits, a true minus sign, and nothing where there is nothing."""

import math
from typing import Any

MISSING = "–"
NOTHING = 1e-9  # what is nearer to 0 is 0 but for rounding


class Number(str):
    """A number as a reader sees it, which knows what it is: a table keeps that beside the words, for files."""

    exact: tuple[float | None, ...]

    def __new__(cls, words: str, *exact: float | None) -> "Number":
        """The words, and the number or the ends of the interval they stand for."""
        made = super().__new__(cls, words)
        made.exact = exact
        return made


def short(value: float | None) -> str:
    """Write a score for reading: two decimals, three when it is small.

    >>> short(0.9312), short(0.0164), short(-0.5), short(1234.5), short(None)
    ('0.93', '0.016', '−0.50', '1,234', '–')
    """
    if value is None:
        return MISSING
    size = abs(value)
    decimals = 0 if size >= 100 else 1 if size >= 10 else 2 if size >= 0.0995 or size == 0 else 3
    return Number(f"{value:,.{decimals}f}".replace("-", "−"), value)


def signed(value: float, decimals: int = 1) -> str:
    """With its sign, and digits enough to see it: what is not 0 never looks like it.

    >>> signed(3.12), signed(-0.04), signed(0.0), signed(0.004, 2)
    ('+3.1', '−0.04', '0.0', '+0.004')
    """
    if abs(value) < NOTHING:
        return Number(f"{0:.{decimals}f}", value)
    while not round(value, decimals):
        decimals += 1
    return Number(f"{value:+.{decimals}f}".replace("-", "−"), value)


def percent(value: float) -> str:
    """A share in per cent; what is not all is never said to be.

    >>> percent(0.934), percent(1.0), percent(0.9996)
    ('93\\xa0%', '100\\xa0%', '99.9\\xa0%')
    """
    said = f"{min(100 * value, 99.9):.1f}" if 0.995 <= value < 1 else f"{100 * value:.0f}"
    return f"{said}\N{NO-BREAK SPACE}%"


def tenths(value: float) -> str:
    """A share as a number of per cent with one decimal; what is not all is never said to be.

    >>> tenths(0.9312), tenths(1.0), tenths(0.9998)
    ('93.1', '100.0', '99.9')
    """
    return Number(f"{100 * value if value >= 1 else min(100 * value, 99.9):.1f}".replace("-", "−"), 100 * value)


def interval(low: float | None, high: float | None) -> str:
    """Write an interval, or nothing when there is none.

    >>> interval(0.9, 0.95), interval(None, None)
    ('0.90 to 0.95', '')
    """
    return "" if low is None or high is None else Number(f"{short(low)} to {short(high)}", low, high)


def count(value: Any, one: str, many: str = "") -> str:
    """Say how many there are.

    >>> count(1, "text"), count(12345, "token"), count(2, "entry", "entries")
    ('1 text', '12,345 tokens', '2 entries')
    """
    return f"{value:,} {one if value == 1 else many or one + 's'}"


def rests_on(texts: int | None, windows: int | None, rows: int | None) -> str:
    """What a number rests on; windows are named where they are not whole texts, and what is not known is left out.

    >>> rests_on(20, 20, 1280), rests_on(1, 57, None), rests_on(None, None, None)
    ('20 texts, 1,280 rows', '1 text in 57 windows', '')
    """
    read = "" if texts is None else count(texts, "text")
    cut = f"{read} in {count(windows, 'window')}" if read and windows is not None and windows != texts else read
    return ", ".join(part for part in (cut, "" if rows is None else count(rows, "row")) if part)


def large(value: float) -> str:
    """Write a number of parameters.

    >>> large(109_482_240), large(260_032), large(7.1e9), large(12)
    ('109 M', '260 k', '7.1 G', '12')
    """
    for size, unit in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if value >= size:
            scaled = value / size
            return f"{scaled:.1f}{unit}" if scaled < 10 else f"{scaled:.0f}{unit}"
    return f"{value:g}"


def duration(seconds: float) -> str:
    """Write a span of time.

    >>> duration(0.42), duration(75.2), duration(7260)
    ('0.4 s', '1 min 15 s', '2 h 1 min')
    """
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def memory(size: float) -> str:
    """Write a number of bytes.

    >>> memory(1_300_000_000), memory(2_500_000)
    ('1.3 GB', '2.5 MB')
    """
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{size / 1e6:.1f} MB"


def rounded(value: Any) -> Any:
    """Keep four significant digits of a number; what is not finite becomes nothing.

    >>> rounded(0.123456), rounded(float("nan")), rounded("a"), rounded(12345)
    (0.1235, None, 'a', 12345)
    """
    if not isinstance(value, float):
        return value
    if not math.isfinite(value):
        return None
    return float(f"{value:.4g}")
