"""How numbers are written: few digits, a true minus sign, and a dash where there is none."""

import math
from collections.abc import Sequence
from typing import Any

MISSING = "–"
NOTHING = 1e-9  # what is nearer to 0 is 0 but for rounding


class Number(str):
    """A number as text that also keeps its exact value, so that a table can store both."""

    exact: tuple[float | None, ...]

    def __new__(cls, words: str, *exact: float | None) -> "Number":
        """The text, and the number or the ends of the interval that it stands for."""
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
    """Write a number with its sign, and with enough digits that a number other than 0 never looks like 0.

    >>> signed(3.12), signed(-0.04), signed(0.0), signed(0.004, 2)
    ('+3.1', '−0.04', '0.0', '+0.004')
    """
    if abs(value) < NOTHING:
        return Number(f"{0:.{decimals}f}", value)
    while not round(value, decimals):
        decimals += 1
    return Number(f"{value:+.{decimals}f}".replace("-", "−"), value)


def percent(value: float) -> str:
    """Write a share in per cent; less than 1 is never rounded to 100 %.

    >>> percent(0.934), percent(1.0), percent(0.9996)
    ('93\\xa0%', '100\\xa0%', '99.9\\xa0%')
    """
    digits = f"{min(100 * value, 99.9):.1f}" if 0.995 <= value < 1 else f"{100 * value:.0f}"
    return f"{digits}\N{NO-BREAK SPACE}%"


def tenths(value: float) -> str:
    """Write a share in per cent with one decimal, without the sign; less than 1 is never rounded to 100.

    >>> tenths(0.9312), tenths(1.0), tenths(0.9998)
    ('93.1', '100.0', '99.9')
    """
    return Number(f"{100 * value if value >= 1 else min(100 * value, 99.9):.1f}".replace("-", "−"), 100 * value)


def interval(low: float | None, high: float | None) -> str:
    """Write an interval, or nothing if there is none.

    >>> interval(0.9, 0.95), interval(None, None)
    ('0.90 to 0.95', '')
    """
    return "" if low is None or high is None else Number(f"{short(low)} to {short(high)}", low, high)


def count(value: Any, singular: str, plural: str = "") -> str:
    """Write a count with its noun.

    >>> count(1, "text"), count(12345, "token"), count(2, "entry", "entries")
    ('1 text', '12,345 tokens', '2 entries')
    """
    return f"{value:,} {singular if value == 1 else plural or singular + 's'}"


def rests_on(texts: int | None, windows: int | None, rows: int | None) -> str:
    """What a number is computed from; windows are named if they are not whole texts, and unknown counts are left out.

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


def listed(words: Sequence[str]) -> str:
    """Words with commas and a final "and".

    >>> listed(["a"]), listed(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
