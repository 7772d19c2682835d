"""What judges of these claims share: whether two numbers are the same, and how many relations speak for something."""

from collections.abc import Mapping, Sequence

from wherewhat.report.numbers import count
from wherewhat.studies.locality.estimate import Estimate
from wherewhat.studies.locality.judging import published_verdict, tally
from wherewhat.studies.syntax.evidence import FREE, Evidence

NEAR = 0.05  # shares that lie surely nearer than this are called the same
OPEN = {"agrees": "seen", "disagrees": "not seen"}  # what verdicts are called on what was never published


def the_same(gap: Estimate) -> int:
    """1 if a difference is surely small, -1 if it is surely not, 0 if it cannot be told.

    >>> the_same(Estimate(0.0, -0.02, 0.02)), the_same(Estimate(-0.3, -0.4, -0.2)), the_same(Estimate(0, -0.1, 0.1))
    (1, -1, 0)
    """
    if gap.low > -NEAR and gap.high < NEAR:
        return 1
    return -1 if gap.low > NEAR or gap.high < -NEAR else 0


def open_verdict(sides: Sequence[int]) -> str:
    """On what was never published, from signs that are clearly for it, clearly against, or not clear.

    >>> [open_verdict(sides) for sides in ([1, 1], [1, 0], [0, 0], [0, -1], [1, -1])]
    ['seen', 'in part', 'unknown', 'not seen', 'in part']
    """
    found = published_verdict(sides)
    return OPEN.get(found, found)


def whole_verdict(sides: Sequence[int]) -> str:
    """On what was published of several things, as above; it disagrees only where each of them is clearly against it.

    >>> [whole_verdict(sides) for sides in ([1, 1], [1, 0], [0, 0], [0, -1], [1, -1], [-1, -1])]
    ['agrees', 'in part', 'unknown', 'unknown', 'in part', 'disagrees']
    """
    found = published_verdict(sides)
    return "unknown" if found == "disagrees" and 0 in sides else found


def names(seen: Evidence) -> str:
    """The encodings with free heads, which most numbers are means over."""
    return ", ".join(trial.name for trial in seen.group(FREE)) or "no encodings"


def over_relations(gaps: Mapping[str, Estimate]) -> str:
    """Which relations are clear by themselves for or against something, and how many were tried."""
    sides = {name: gap.side for name, gap in gaps.items()}
    return f"Of {count(len(gaps), 'relation')}, each by itself and not corrected for their number, {tally(sides)}."


def listed(gaps: Mapping[str, Estimate]) -> str:
    """Differences in points, one after the other."""
    return "; ".join(f"{name} {gap.points()}" for name, gap in gaps.items())
