"""A claim of a publication, or one of ours, and how the result table decides on it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from wherewhat.formatting import percent
from wherewhat.stats.estimate import Estimate
from wherewhat.stats.verdict import UNPUBLISHED, ClaimResult
from wherewhat.studies.engine.results import ResultTable

FEWEST_SEEDS = 3


@dataclass(frozen=True)
class Verdict:
    """What was measured, and what it says about a claim."""

    ours: str
    verdict: str
    why: str = ""
    because: str = ""  # half a sentence that continues the short answer
    short: str = ""  # a sentence or two of numbers for the short answer; all of `ours` if empty
    answer: str = ""  # the short answer, where it is not one of the claim's by verdict


@dataclass(frozen=True)
class Claim:
    """A claim, what was published about it, and a test of the result table."""

    text: str
    published: str
    test: Callable[[Any], Verdict]  # of the `ResultTable` that the study hands to it
    answers: Mapping[str, str] = field(default_factory=dict)  # the short answer by verdict, if it has one


def claim(
    text: str, published: str = UNPUBLISHED, answers: Mapping[str, str] | None = None
) -> Callable[[Callable[[Any], Verdict]], Claim]:
    """Make a claim of the function below that tests it, so that text and rule are read together."""
    return lambda test: Claim(text, published, test, answers or {})


def judge(claim: Claim, table: ResultTable, fewest: int = FEWEST_SEEDS) -> Verdict:
    """The verdict on a claim; it stays unknown if there are too few seeds."""
    verdict = claim.test(table)
    if len(table.seeds) >= fewest:
        return verdict
    too_few = f"Fewer than {fewest} seeds decide nothing."
    short = f"{too_few} {verdict.short or verdict.ours}"
    return replace(verdict, verdict="unknown", why=too_few, because="", answer="", short=short)


def claim_result(claim: Claim, verdict: Verdict) -> ClaimResult:
    """A claim with its verdict, as the manifest has it."""
    return ClaimResult(claim.text, claim.published, verdict.ours, verdict.verdict, verdict.why)


def short_answer(claim: Claim, verdict: Verdict) -> dict[str, str]:
    """The answer in a short sentence without its full stop, and the numbers it rests on."""
    lead = verdict.answer or claim.answers[verdict.verdict]
    lead += f": {verdict.because}" if verdict.because else ""
    return {"lead": lead, "rest": verdict.short or verdict.ours}


def describe_sides(sides: Mapping[str, int]) -> str:
    """Which of several questions or relations are clearly for a claim, and which against it.

    >>> describe_sides({"a": 1, "b": 0, "c": 1}), describe_sides({"a": 1, "b": -1}), describe_sides({"a": 0})
    ('2 are clearly for it (a, c)', '1 is clearly for it (a) and 1 against (b)', 'none is clear')
    """
    for_it, against = ([name for name, side in sides.items() if side == way] for way in (1, -1))
    if not for_it and not against:
        return "none is clear"
    first = f"{len(for_it)} {'is' if len(for_it) == 1 else 'are'} clearly for it ({', '.join(for_it)})"
    return (first if for_it else "none is clearly for it") + (
        f" and {len(against)} against ({', '.join(against)})" if against else ""
    )


def list_shares(shares: Mapping[str, float]) -> str:
    """Shares in per cent, one after the other.

    >>> list_shares({"none": 0.748, "rope": 0.0})
    'none 75\\xa0%, rope 0\\xa0%'
    """
    return ", ".join(f"{name} {percent(share)}" for name, share in shares.items())


def list_gaps(gaps: Mapping[str, Estimate]) -> str:
    """Differences in points, one after the other.

    >>> list_gaps({"rope": Estimate(0.03, 0.01, 0.05), "none": Estimate(-0.02)})
    'rope +3.0 points (+1.0 to +5.0); none −2.0 points (no interval)'
    """
    return "; ".join(f"{name} {gap.points()}" for name, gap in gaps.items())
