"""How a claim is judged: only by nets that learnt its task, and never fully by a single seed."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from wherewhat.formatting import percent
from wherewhat.stats.verdict import Claim
from wherewhat.studies.dynamics.results import DynamicsResults

TIED = "\u00a0"  # a no-break space


@dataclass(frozen=True)
class DynamicsVerdict:
    """What was measured, and the verdict on a claim that follows."""

    ours: str
    verdict: str
    why: str = ""


@dataclass(frozen=True)
class DynamicsClaim:
    """A published claim, and the function that judges it."""

    claim: str
    published: str
    judge: Callable[[DynamicsResults], DynamicsVerdict]
    tasks: tuple[str, ...] = ()  # that must have been learnt: only seeds that learnt them count


def judge_claim(claim: DynamicsClaim, results: DynamicsResults) -> Claim:
    """The claim with its verdict: unknown if no seed learnt its tasks, and at most in part if only some did."""
    unlearnt = [task for task in claim.tasks if not results.learners(task)]
    if unlearnt:
        ours = "; ".join(_never_learnt(results, task) for task in unlearnt)
        return Claim(claim.claim, claim.published, ours, "unknown")
    judgement, caveats = claim.judge(results), _caveats(results, claim.tasks)
    verdict = "in part" if judgement.verdict == "agrees" and caveats else judgement.verdict
    why = " ".join(filter(None, [judgement.why, *caveats]))
    return Claim(claim.claim, claim.published, judgement.ours, verdict, why)


def _never_learnt(results: DynamicsResults, task: str) -> str:
    accuracy = results.curve("accuracy", task, "all", None)[results.last]
    return f"no seed learnt the {task} task ({percent(accuracy)} correct)"


def _caveats(results: DynamicsResults, tasks: Iterable[str]) -> list[str]:
    """Why these nets may not represent others."""
    seeds = len(results.seeds)
    caveats = ["A single seed does not show what other seeds would do."] if seeds == 1 else []
    for task in tasks:
        if missing := seeds - len(results.learners(task)):
            are = "is" if missing == 1 else "are"
            caveats.append(f"{missing} of {seeds} seeds did not learn the {task} task and {are} excluded.")
    return caveats


def number(value: float) -> str:
    """Two decimals and a proper minus sign, except before 0.

    >>> number(-0.4449), number(-0.001)
    ('−0.44', '0.00')
    """
    return f"{round(value, 2) + 0.0:.2f}".replace("-", "−")
