"""What limits a verdict: short training, nets that have learnt less, few seeds, and a norm that leaves nothing to see.

Torch-free.
"""

from collections.abc import Sequence
from dataclasses import replace
from math import isfinite

from wherewhat.formatting import listed, percent
from wherewhat.stats.estimate import Estimate
from wherewhat.stats.verdict import published_verdict
from wherewhat.studies.engine.claims import FEWEST_SEEDS, Claim, Verdict
from wherewhat.studies.engine.results import ResultTable
from wherewhat.studies.latin_square.contrasts import accuracies, behind, better, leads
from wherewhat.studies.latin_square.names import (
    LARGE_SLOW,
    LEARNT,
    NONE,
    SMALL,
    SMALL_ARMS,
    SMALL_SLOW,
    SQUARES,
    accuracy,
    chance,
    label,
    name_of,
)

SLOW_ARMS = (SMALL_SLOW, LARGE_SLOW)
AT_MOST = {"agrees": "in part", "seen": "in part"}  # verdicts that something limits to a part
AGAINST_A_LATE_ONE = {"disagrees": "unknown", "not seen": "unknown"}  # when it is the small table
LIMITED = {**AT_MOST, **AGAINST_A_LATE_ONE}  # with few seeds, or where something else was measured


def too_short(table: ResultTable, arms: Sequence[str] = (SMALL,)) -> Verdict | None:
    """The verdict where none of the small tables that a claim is about has learnt the task."""
    shares = accuracies(table, arms)
    if not shares:
        return Verdict("The small table was not trained", "unknown")
    best = better(table, arms)
    if shares[best] >= LEARNT:
        return None
    words = f"{label(best)} answers only {percent(shares[best])}"
    if any(share >= LEARNT for share in accuracies(table, SMALL_ARMS).values()):
        return Verdict(f"{words} at the usual learning rate", "unknown")
    return Verdict(f"Training was too short to judge: even {words}", "unknown")


def capped(table: ResultTable, arms: Sequence[str], verdict: Verdict, small: str = SMALL) -> Verdict:
    """A verdict that training limits: nets that have learnt less of it cannot be compared with others.

    What is for a small table is at most a part where others have learnt less, what is against it is open where it has.
    """
    late, early = behind(table, arms, small), leads(table, arms, small)
    most, reasons = verdict.verdict, [verdict.why]
    rates = {arm in SLOW_ARMS for arm in (small, *arms)}
    here = f"At this {'learning rate and ' if len(rates) == 1 else ''}length of training"
    if late and most not in AGAINST_A_LATE_ONE:
        have = "has" if len(late) == 1 else "have"
        reasons.append(f"{here}, {listed([label(arm) for arm in late])} {have} also learnt fewer training puzzles.")
        most = AT_MOST.get(most, most)
    if early and most not in AT_MOST:
        others = listed([label(arm) for arm in early])
        reasons.append(f"{here}, {label(small)} has learnt fewer training puzzles than {others}.")
        most = AGAINST_A_LATE_ONE.get(most, most)
    return replace(verdict, verdict=most, why=" ".join(reason for reason in reasons if reason))


def limited_by_seeds(claim: Claim) -> Claim:
    """The same claim, of which fewer than three seeds decide no more than a part: they have few initial weights."""

    def test(table: ResultTable) -> Verdict:
        verdict, seeds = claim.test(table), len(table.seeds)
        if seeds >= FEWEST_SEEDS or verdict.verdict == "unknown":
            return verdict
        why = f"There are fewer than {FEWEST_SEEDS} seeds: nets with other initial weights may differ."
        most = LIMITED.get(verdict.verdict, verdict.verdict)
        lead = verdict.answer or claim.answers.get(verdict.verdict, "")
        lead = claim.answers.get("unknown", "") if most == "unknown" else lead
        return replace(
            verdict,
            verdict=most,
            why=f"{verdict.why} {why}".strip(),
            answer=lead and f"With {'a single seed' if seeds == 1 else f'{seeds} seeds'}, {lead[0].lower()}{lead[1:]}",
        )

    return replace(claim, test=test)


def only_small(small: int, large: int) -> str:
    """By whether small and large tables show something, each 1, -1 or open, what that says of "only small ones do"."""
    return published_verdict([small, -large]) if small == 1 else "disagrees" if small == -1 else "unknown"


def norm_verdict(by_norm: Estimate, by_ratio: Estimate, more_by_norm: Estimate) -> str:
    """Seen if the effect of the norm alone is clear, and clearly larger than that of the ratio; or the opposite."""
    if by_norm.side == 1 and by_ratio.side != 0:
        return "in part"
    if by_norm.side == 1 and more_by_norm.side == 1:
        return "seen"
    return "not seen" if by_ratio.side == 1 and more_by_norm.side == -1 else "unknown"


def no_better_than_counting(table: ResultTable, arms: Sequence[str]) -> bool:
    """Whether none of these arms clearly answers more test puzzles than counts of symbols give."""
    counted = table.value(NONE, chance("accuracy"))
    estimates = [table.estimate(name_of(SQUARES, arm), accuracy()) for arm in arms]
    return all((each.low if isfinite(each.low) else each.value) <= counted for each in estimates)
