"""From numbers to sentences: what a claim may say, and how sure one has to be of it."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from wherewhat.probes.swapped.numbers import Measured
from wherewhat.probes.swapped.outcome import ACCURACY, DISTANCE, FLIP, KEPT, NATS, OLD

LEAST = 30  # cases below which an interval over cases says too little for a verdict
YES, NO, OPEN = "yes", "no", "open"
PUBLISHED = {YES: "agrees", NO: "disagrees", OPEN: "unknown"}
UNPUBLISHED = {YES: "seen", NO: "not seen", OPEN: "unknown"}
NOBODY = "unknown: nothing was published"
RULE_OF_THREE = 3  # of n cases that all did the same, up to 3 / n of all others may do otherwise (95 %)
SHARES = (ACCURACY, KEPT, FLIP, OLD)


@dataclass(frozen=True)
class Claim:
    """One line of published | ours | verdict."""

    claim: str
    published: str
    ours: str
    verdict: str
    why: str = ""
    data: str = ""
    item: str = ""

    @property
    def told(self) -> dict[str, str]:
        """As the manifest tells it."""
        return asdict(self)


@dataclass(frozen=True)
class Found:
    """All numbers of one data set, to be asked for by name."""

    rows: tuple[Measured, ...]

    def at(self, item: str, kind: str, measure: str, side: str | None = None) -> Measured | None:
        """One number, if there is one."""
        wanted = (item, kind, measure, side)
        return next((row for row in self.rows if (row.item, row.kind, row.measure, row.side) == wanted), None)

    def __contains__(self, measure: str) -> bool:
        return any(row.measure == measure for row in self.rows)


def span(row: Measured) -> tuple[float, float]:
    """The interval to judge by. Cases that all did the same have none of their own: then it is the rule of three."""
    if row.low == row.high and row.measure in SHARES:
        return row.low - RULE_OF_THREE / row.count, row.high + RULE_OF_THREE / row.count
    return row.low, row.high


def above(row: Measured | None, bound: float, *, nearly: float = 0.0) -> str:
    """Whether a number is surely above a bound; surely not if all of its interval is less than `nearly` above it."""
    if row is None or not enough(row):
        return OPEN
    low, high = span(row)
    return YES if low > bound else NO if high < bound + nearly else OPEN


def below(row: Measured | None, bound: float, *, nearly: float = 0.0) -> str:
    """The same the other way round."""
    if row is None or not enough(row):
        return OPEN
    low, high = span(row)
    return YES if high < bound else NO if low > bound - nearly else OPEN


def together(answers: Sequence[str]) -> str:
    """Several answers to one claim: it holds for all, for some and not for others, or it cannot be told."""
    if YES in answers and NO in answers:
        return "in part"
    if NO in answers:
        return NO
    return YES if answers and set(answers) == {YES} else OPEN


def verdict(answers: Sequence[str], published: str) -> str:
    """What to write beside a claim."""
    words = UNPUBLISHED if published == NOBODY else PUBLISHED
    return words.get(answer := together(answers), answer)


def enough(row: Measured | None) -> bool:
    """Whether a number rests on cases enough to be judged."""
    return row is not None and row.count >= LEAST


def too_few(names: Sequence[str]) -> str:
    """What to say where cases were too few.

    >>> too_few(["phrases of 6"])
    'Left out of the verdict, as fewer than 30 cases tell too little: phrases of 6.'
    """
    return f"Left out of the verdict, as fewer than {LEAST} cases tell too little: {', '.join(names)}." if names else ""


def number(row: Measured, *, signed: bool = False) -> str:
    """A number with its interval, in the unit of its measure.

    >>> number(Measured("3", None, "change", "accuracy", -0.004, -0.009, 0.001, 500), signed=True)
    '−0.4 points (−0.9 to +0.1)'
    """
    scale, digits, unit = UNITS[row.measure]
    unit = " points" if signed and unit == " %" else unit
    shown = [f"{scale * value:{'+' if signed else ''}.{digits}f}" for value in (row.value, row.low, row.high)]
    value, low, high = (_plain(each).replace("-", "−") for each in shown)
    return f"{value}{unit}" if row.low != row.low else f"{value}{unit} ({low} to {high})"


def _plain(shown: str) -> str:
    """No sign before a zero."""
    return shown.lstrip("+-") if not shown.strip("+-0.") else shown


NAMES = {KEPT: "answers kept", NATS: "surprise", DISTANCE: "distance (1 is another sentence)"}  # in a sentence
UNITS = {  # what it is multiplied by, digits, and the unit behind it
    ACCURACY: (100, 1, " %"),
    KEPT: (100, 1, " %"),
    FLIP: (100, 1, " %"),
    OLD: (100, 1, " %"),
    NATS: (1, 3, " nats"),
    DISTANCE: (1, 3, ""),
}
