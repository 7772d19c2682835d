"""What measured numbers say about a claim: the record of a claim, the verdicts, and the rules that lead to them.

Rules take signs: 1 where an interval is clearly for the claim, -1 where it is clearly against it, 0 where it is
neither. On what was published, numbers agree or disagree; what never was published is seen or not seen.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

VERDICTS = ("agrees", "in part", "disagrees", "seen", "not seen", "unknown")
UNPUBLISHED = "unknown"  # how the published side of a claim begins where nothing was published
_IF_UNPUBLISHED = {"agrees": "seen", "disagrees": "not seen"}


@dataclass(frozen=True)
class ClaimResult:
    """One line of published | ours | verdict."""

    claim: str  # a whole sentence about the world
    published: str  # what the paper says of it
    ours: str  # what was measured here
    verdict: str  # one of VERDICTS
    why: str = ""  # a sentence, if there is something to explain
    about: Mapping[str, Any] = field(default_factory=dict)  # what else the manifest says of it, such as its data

    def __post_init__(self) -> None:
        assert self.verdict in VERDICTS, self.verdict

    @property
    def entry(self) -> dict[str, Any]:
        """As the manifest has it."""
        columns = {column.name: getattr(self, column.name) for column in fields(self) if column.name != "about"}
        return {**columns, **self.about}


def if_unpublished(verdict: str) -> str:
    """What a verdict is called on something that was never published.

    >>> [if_unpublished(verdict) for verdict in ("agrees", "in part", "disagrees", "unknown")]
    ['seen', 'in part', 'not seen', 'unknown']
    """
    return _IF_UNPUBLISHED.get(verdict, verdict)


def sign_of(low: float, high: float, *, negligible: float = 0.0) -> int:
    """1 if an interval is above 0 by more than what is negligible, -1 if it is below, else 0.

    >>> sign_of(0.1, 0.2), sign_of(-0.2, -0.1), sign_of(-0.1, 0.1), sign_of(0.01, 0.2, negligible=0.05)
    (1, -1, 0, 0)
    """
    return 1 if low > negligible else -1 if high < -negligible else 0


def interval_verdict(low: float, high: float) -> str:
    """By one interval of a difference: above 0 is what was claimed, below 0 the opposite; one that holds 0 is open.

    >>> interval_verdict(0.1, 0.2), interval_verdict(-0.2, -0.1), interval_verdict(-0.1, 0.1)
    ('agrees', 'disagrees', 'unknown')
    """
    return published_verdict([sign_of(low, high)])


def clearly_above(low: float, high: float, bound: float, *, nearly: float = 0.0) -> int:
    """1 if an interval is above a bound; -1 if it is below, or within `nearly` of the bound on both sides; else 0.

    >>> clearly_above(0.6, 0.7, 0.5), clearly_above(0.4, 0.7, 0.5), clearly_above(0.49, 0.52, 0.5, nearly=0.05)
    (1, 0, -1)
    """
    same = bound - nearly < low and high < bound + nearly
    return 1 if low > bound else -1 if high < bound or same else 0


def published_verdict(sides: Sequence[int]) -> str:
    """By several signs: one that is for the claim is enough for a part of it, one against it decides if none is for it.

    >>> [published_verdict(sides) for sides in ([1, 1], [1, 0], [0, 0], [0, -1], [1, -1])]
    ['agrees', 'in part', 'unknown', 'disagrees', 'in part']
    """
    if 1 in sides:
        return "agrees" if set(sides) == {1} else "in part"
    return "disagrees" if -1 in sides else "unknown"


def open_verdict(sides: Sequence[int]) -> str:
    """As `published_verdict`, in the words for what was never published.

    >>> [open_verdict(sides) for sides in ([1, 1], [1, 0], [0, 0], [0, -1], [1, -1])]
    ['seen', 'in part', 'unknown', 'not seen', 'in part']
    """
    return if_unpublished(published_verdict(sides))


def lenient_verdict(sides: Sequence[int]) -> str:
    """As `published_verdict`, but it disagrees only if every sign is clearly against the claim.

    >>> [lenient_verdict(sides) for sides in ([1, 1], [1, 0], [0, 0], [0, -1], [1, -1], [-1, -1])]
    ['agrees', 'in part', 'unknown', 'unknown', 'in part', 'disagrees']
    """
    verdict = published_verdict(sides)
    return "unknown" if verdict == "disagrees" and 0 in sides else verdict


def unanimous_verdict(sides: Sequence[int]) -> str:
    """It agrees or disagrees only if every sign does; in part takes clear signs both ways.

    >>> [unanimous_verdict(sides) for sides in ([1, 1], [1, 0], [0, 0], [0, -1], [1, -1], [-1, -1])]
    ['agrees', 'unknown', 'unknown', 'unknown', 'in part', 'disagrees']
    """
    if 1 in sides and -1 in sides:
        return "in part"
    return {frozenset({1}): "agrees", frozenset({-1}): "disagrees"}.get(frozenset(sides), "unknown")


def all_or_some(observations: Sequence[bool]) -> str:
    """By several yes-or-no observations.

    >>> [all_or_some(observations) for observations in ([True, True], [True, False], [False])]
    ['agrees', 'in part', 'disagrees']
    """
    return "agrees" if all(observations) else "in part" if any(observations) else "disagrees"


def seen_verdict(observations: Sequence[bool]) -> str:
    """As `all_or_some`, in the words for what was never published."""
    return if_unpublished(all_or_some(observations))
