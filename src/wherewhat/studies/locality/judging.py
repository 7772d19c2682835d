"""What judges of claims share: a verdict, and how many of several questions speak for something."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from wherewhat.report.numbers import count
from wherewhat.studies.locality.estimate import Estimate
from wherewhat.studies.locality.evidence import Evidence


@dataclass(frozen=True)
class Judged:
    """What was measured, and what it says of a claim."""

    ours: str
    verdict: str
    why: str = ""
    because: str = ""  # half a sentence that the short answer goes on with
    short: str = ""  # a sentence or two of numbers for the short answer; the whole of ours unless said


Ask = Callable[[str], Estimate]  # of a question


def over_questions(seen: Evidence, ask: Ask) -> str:
    """Which questions are clear by themselves for or against something, and how many were tried."""
    return by_themselves(seen, tally(sides_of(seen, ask)))


def by_themselves(seen: Evidence, told: str) -> str:
    """Said of single questions: it is one of several tries."""
    return f"Of {count(len(seen.readable), 'question')}, each by itself and not corrected for their number, {told}."


def sides_of(seen: Evidence, ask: Ask) -> dict[str, int]:
    """By question, whether something is clear, and which way."""
    return {question: ask(question).side for question in seen.readable}


def tally(sides: dict[str, int]) -> str:
    """Which are clear, either way.

    >>> tally({"a": 1, "b": 0, "c": 1}), tally({"a": 1, "b": -1}), tally({"a": 0})
    ('2 are clearly for it (a, c)', '1 is clearly for it (a) and 1 against (b)', 'none is clear')
    """
    for_it, against = ([name for name, side in sides.items() if side == way] for way in (1, -1))
    if not for_it and not against:
        return "none is clear"
    first = f"{len(for_it)} {'is' if len(for_it) == 1 else 'are'} clearly for it ({', '.join(for_it)})"
    return (first if for_it else "none is clearly for it") + (
        f" and {len(against)} against ({', '.join(against)})" if against else ""
    )


def published_verdict(sides: Sequence[int]) -> str:
    """On what was published, from signs that are clearly for it (1), clearly against (-1) or not clear (0).

    >>> [published_verdict(sides) for sides in ([1, 1], [1, 0], [0, 0], [0, -1], [1, -1])]
    ['agrees', 'in part', 'unknown', 'disagrees', 'in part']
    """
    if 1 in sides:
        return "agrees" if set(sides) == {1} else "in part"
    return "disagrees" if -1 in sides else "unknown"


def seen_verdict(held: Sequence[bool]) -> str:
    """On what was never published: all of it, some of it, or none of it was seen."""
    return "seen" if all(held) else "in part" if any(held) else "not seen"
