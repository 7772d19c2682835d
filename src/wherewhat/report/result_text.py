"""How pages of studies write the numbers of result rows, with their intervals."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from wherewhat.formatting import MISSING, short, tenths
from wherewhat.report.tags import Html, join, tag
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


def give_or_take(row: Row | None) -> Html | str:
    """An accuracy in per cent and, paler, half the width of its interval.

    >>> str(give_or_take({"value": 0.931, "low": 0.921, "high": 0.941})), give_or_take(None)
    ('93.1<span class="reach"> ± 1.0</span>', '–')
    """
    if row is None:
        return MISSING
    if row["low"] is None or row["high"] is None:
        return tenths(row["value"])
    return join(tenths(row["value"]), tag("span", f" ± {50 * (row['high'] - row['low']):.1f}", class_="reach"))


def listed(words: Iterable[str]) -> str:
    """A list in words.

    >>> listed(["a"]), listed(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    items: Sequence[str] = list(words)
    return " and ".join([", ".join(items[:-1]), items[-1]] if len(items) > 1 else items)
