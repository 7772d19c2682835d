"""From numbers to sentences: what a claim may say, and how sure one has to be of it."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

from wherewhat.probing.bootstrap import LEAST, to_judge_by
from wherewhat.probing.swapped.numbers import ALONE, CONTROL, ONE_ANSWER, ORIGINAL, SWAPPED, Measured
from wherewhat.probing.swapped.outcome import ACCURACY, DISTANCE, FLIP, KEPT, NATS, OLD

YES, NO, OPEN = "yes", "no", "open"
PUBLISHED = {YES: "agrees", NO: "disagrees", OPEN: "unknown"}
UNPUBLISHED = {YES: "seen", NO: "not seen", OPEN: "unknown"}
NOBODY = "unknown: nothing was published"
CHANGED = "changed"  # answers: those that are not kept
SHARES = (ACCURACY, KEPT, CHANGED, FLIP, OLD)


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

    def changed(self, item: str, kind: str) -> Measured | None:
        """Answers that change, from those that are kept."""
        row = self.at(item, kind, KEPT)
        if row is None:
            return None
        whole = 1.0 if kind in (SWAPPED, CONTROL) else 0.0  # a difference of shares has none
        return replace(row, measure=CHANGED, value=whole - row.value, low=whole - row.high, high=whole - row.low)

    def __contains__(self, measure: str) -> bool:
        return any(row.measure == measure for row in self.rows)


def span(row: Measured) -> tuple[float, float]:
    """The interval to judge by. Cases that all did the same have none of their own: then it is the rule of three."""
    return to_judge_by(row.low, row.high, row.count) if row.measure in SHARES else (row.low, row.high)


def above(row: Measured | None, bound: float, *, nearly: float = 0.0) -> str:
    """Whether a number is surely above a bound; surely not if it is surely below, or surely `nearly` the bound."""
    if row is None or not enough(row):
        return OPEN
    low, high = span(row)
    same = bound - nearly < low and high < bound + nearly
    return YES if low > bound else NO if high < bound or same else OPEN


def below(row: Measured | None, bound: float, *, nearly: float = 0.0) -> str:
    """The same the other way round."""
    if row is None or not enough(row):
        return OPEN
    low, high = span(row)
    same = bound - nearly < low and high < bound + nearly
    return YES if high < bound else NO if low > bound or same else OPEN


def together(answers: Sequence[str]) -> str:
    """Several answers to one claim: all the same, some yes and some no, or it cannot be told."""
    if YES in answers and NO in answers:
        return "in part"
    return answers[0] if len(set(answers)) == 1 else OPEN


def verdict(answers: Sequence[str], published: str) -> str:
    """What to write beside a claim."""
    words = UNPUBLISHED if published == NOBODY else PUBLISHED
    return words.get(answer := together(answers), answer)


def unlearnt(found: Found, item: str, side: str | None = None) -> str:
    """Why right answers tell nothing: as it is, the model has not surely more of them than come without reading.

    Empty where it has, or where nothing is known of that.
    """
    for where in dict.fromkeys((side, None)):
        rows = [found.at(item, kind, ACCURACY, where) for kind in WITHOUT_READING]
        beside = [row for row in rows if row is not None and row.value < 1]
        original = found.at(item, ORIGINAL, ACCURACY, where)
        if beside and original is not None:
            most = max(beside, key=lambda row: row.value)
            return "" if above(original, most.value) == YES else _not_more(original, most)
    return ""


def _not_more(original: Measured, most: Measured) -> str:
    return (
        f"As it is, {number(original)} are right, not surely more than {WITHOUT_READING[most.kind]} "
        f"({number(most)}): what the model has not learnt, a swap cannot take from it."
    )


WITHOUT_READING = {ALONE: "by the words alone, whatever their order", ONE_ANSWER: "by one answer to everything"}


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
    CHANGED: (100, 1, " %"),
    NATS: (1, 3, " nats"),
    DISTANCE: (1, 3, ""),
}
