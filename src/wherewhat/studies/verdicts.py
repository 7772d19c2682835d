"""How a study judges a claim: the rule, the verdict it leads to, and which signs speak for it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from wherewhat.stats.verdict import Claim

FEWEST_SEEDS = 3
TOO_FEW = f"Fewer than {FEWEST_SEEDS} seeds decide nothing."


class SeededResults(Protocol):
    """The results of a study, which come from several seeds."""

    @property
    def seeds(self) -> Sequence[int]:
        """The seeds of the runs."""


@dataclass(frozen=True)
class ClaimVerdict:
    """What was measured, and what it says about a claim."""

    ours: str
    verdict: str
    why: str = ""
    because: str = ""  # half a sentence that continues the short answer
    short: str = ""  # a sentence or two of numbers for the short answer; all of `ours` if empty


@dataclass(frozen=True)
class StudyClaim:
    """A claim, what was published about it, and how to judge it from the results."""

    claim: str
    published: str
    judge: Callable[[Any], ClaimVerdict]


def judge_claim(claim: StudyClaim, results: SeededResults) -> ClaimVerdict:
    """The verdict on a claim; it stays unknown if there are too few seeds."""
    verdict = claim.judge(results)
    if len(results.seeds) >= FEWEST_SEEDS:
        return verdict
    return ClaimVerdict(verdict.ours, "unknown", TOO_FEW, short=f"{TOO_FEW} {verdict.short or verdict.ours}")


def judge_claims(claims: Mapping[str, StudyClaim], results: SeededResults) -> tuple[Claim, ...]:
    """Every claim with its verdict."""
    verdicts = [(claim, judge_claim(claim, results)) for claim in claims.values()]
    return tuple(
        Claim(claim.claim, claim.published, verdict.ours, verdict.verdict, verdict.why) for claim, verdict in verdicts
    )


def short_answer(claim: StudyClaim, results: SeededResults, leads: Mapping[str, str]) -> dict[str, str]:
    """The answer in a short sentence, chosen by verdict, and the numbers it rests on."""
    verdict = judge_claim(claim, results)
    lead = leads[verdict.verdict] + (f": {verdict.because}" if verdict.because else "")
    return {"lead": f"{lead}.", "rest": verdict.short or verdict.ours}


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
