"""Rules and phrases that the claims of this study share: whether two shares are equal, and counts over relations."""

from collections.abc import Mapping

from wherewhat.formatting import count
from wherewhat.stats.estimate import Estimate
from wherewhat.studies.syntax.results import FREE, SyntaxResults
from wherewhat.studies.verdicts import describe_sides

NEAR = 0.05  # shares whose difference is clearly smaller than this are called equal


def nearly_equal(gap: Estimate) -> int:
    """1 if a difference is clearly small, -1 if it is clearly not, 0 if neither is clear.

    >>> [nearly_equal(Estimate(0, *ends)) for ends in ((-0.02, 0.02), (-0.4, -0.2), (-0.1, 0.1))]
    [1, -1, 0]
    """
    if gap.low > -NEAR and gap.high < NEAR:
        return 1
    return -1 if gap.low > NEAR or gap.high < -NEAR else 0


def free_encodings(results: SyntaxResults) -> str:
    """The names of the encodings with free heads, over which most means are taken."""
    return ", ".join(condition.name for condition in results.group(FREE)) or "no encodings"


def over_relations(gaps: Mapping[str, Estimate]) -> str:
    """Which single relations are clearly for or against a claim, and how many were tried."""
    sides = {name: gap.side for name, gap in gaps.items()}
    return (
        f"Of {count(len(gaps), 'relation')}, taken singly and not corrected for their number, {describe_sides(sides)}."
    )


def list_gaps(gaps: Mapping[str, Estimate]) -> str:
    """Differences in points, one after the other."""
    return "; ".join(f"{name} {gap.points()}" for name, gap in gaps.items())
