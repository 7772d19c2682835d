"""How the page of locality and symmetry writes its numbers. What they answer is worded by the study alone."""

from collections.abc import Iterable, Sequence

from wherewhat.report.locality_study import ALL, DECODER, Locality, Row, Subject
from wherewhat.report.numbers import MISSING, NOTHING, short, signed, tenths
from wherewhat.report.tags import Html, join, tag


def points(row: Row) -> str:
    """A gap in points of accuracy, with its interval.

    >>> points({"value": 0.0312, "low": -0.0004, "high": 0.066}), points({"value": -0.02, "low": None, "high": None})
    ('+3.1 points (−0.04 to +6.6)', '−2.0 points (no interval)')
    """
    return _told(row, 100, 1, " points")


def plain(row: Row) -> str:
    """A correlation or another difference as it stands, with its interval.

    >>> plain({"value": 0.82, "low": 0.5, "high": 0.9})
    '+0.82 (+0.50 to +0.90)'
    """
    return _told(row, 1, 2, "")


def _told(row: Row, times: int, decimals: int, unit: str) -> str:
    value, low, high = (row[end] for end in ("value", "low", "high"))
    told = f"{signed(times * value, decimals)}{unit}"
    if low is None or high is None:
        return f"{told} (no interval)"
    if high - low < NOTHING:
        return f"{told} in every run"
    return f"{told} ({signed(times * low, decimals)} to {signed(times * high, decimals)})"


def right(row: Row) -> str:
    """A share of right answers, with its interval.

    >>> right({"value": 0.931, "low": 0.9, "high": 0.962}), right({"value": 0.5, "low": None, "high": None})
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
    """An accuracy in per cent and, paler, how far its interval reaches.

    >>> str(give_or_take({"value": 0.931, "low": 0.921, "high": 0.941})), give_or_take(None)
    ('93.1<span class="reach"> ± 1.0</span>', '–')
    """
    if row is None:
        return MISSING
    if row["low"] is None or row["high"] is None:
        return tenths(row["value"])
    return join(tenths(row["value"]), tag("span", f" ± {50 * (row['high'] - row['low']):.1f}", class_="reach"))


def left_out(found: Locality) -> str:
    """Which questions do not count where all are counted together."""
    return listed(f"“{question.name}”" for question in found.questions if not question.counted)


def encoders(found: Locality) -> list[Subject]:
    """All but decoders."""
    return [one for one in found.subjects if one.family != DECODER]


def best(found: Locality, item: str = ALL) -> float | None:
    """The most that an encoder gets right on a question."""
    return max((row["value"] for one in encoders(found) if (row := found.mean(one.name, item))), default=None)


def listed(words: Iterable[str]) -> str:
    """Words one after the other.

    >>> listed(["a"]), listed(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    given: Sequence[str] = list(words)
    return " and ".join([", ".join(given[:-1]), given[-1]] if len(given) > 1 else given)
