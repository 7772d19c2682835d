"""How a claim is judged: by the nets that learnt the task it is about, and never to the end by a single seed."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from wherewhat.report.numbers import percent
from wherewhat.studies.base import Claim
from wherewhat.studies.dynamics.evidence import Evidence

TIED = "\u00a0"  # a space at which no line breaks


@dataclass(frozen=True)
class Judged:
    """What was measured, and what it says of a claim."""

    ours: str
    verdict: str
    why: str = ""


@dataclass(frozen=True)
class Question:
    """A published claim and how to judge it."""

    claim: str
    published: str
    judge: Callable[[Evidence], Judged]
    tasks: tuple[str, ...] = ()  # that must have been learnt; only seeds that learnt them are judged


def answered(question: Question, seen: Evidence) -> Claim:
    """The claim with its verdict. It is unknown where nothing was learnt, and no more than in part where not by all."""
    unlearnt = [task for task in question.tasks if not seen.learners(task)]
    if unlearnt:
        ours = "; ".join(_never(seen, task) for task in unlearnt)
        return Claim(question.claim, question.published, ours, "unknown")
    found, doubts = question.judge(seen), _doubts(seen, question.tasks)
    verdict = "in part" if found.verdict == "agrees" and doubts else found.verdict
    why = " ".join(filter(None, [found.why, *doubts]))
    return Claim(question.claim, question.published, found.ours, verdict, why)


def _never(seen: Evidence, task: str) -> str:
    return f"no seed learnt the {task} task ({percent(seen.curve('accuracy', task, 'all', None)[seen.last])} right)"


def _doubts(seen: Evidence, tasks: Iterable[str]) -> list[str]:
    """What keeps nets from speaking for all others."""
    every = len(seen.seeds)
    found = ["A single seed cannot tell what others would do."] if every == 1 else []
    for task in tasks:
        if missing := every - len(seen.learners(task)):
            are = "is" if missing == 1 else "are"
            found.append(f"{missing} of {every} seeds did not learn the {task} task and {are} left out.")
    return found


def number(value: float) -> str:
    """Two decimals and a true minus sign, but none before 0.

    >>> number(-0.4449), number(-0.001)
    ('−0.44', '0.00')
    """
    return f"{round(value, 2) + 0.0:.2f}".replace("-", "−")
