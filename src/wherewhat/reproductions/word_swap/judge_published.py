"""Judged here is what was published of shuffled phrases and of exchanged roles."""

from collections.abc import Sequence

from wherewhat.report.numbers import count, percent
from wherewhat.reproductions.locality.estimate import Estimate, over_seeds
from wherewhat.reproductions.locality.judging import Judged, published_verdict
from wherewhat.reproductions.locality.trials import Trial
from wherewhat.reproductions.word_swap.counting import (
    AFTER,
    BEFORE,
    BEYOND_CONTROL,
    CHANGE,
    CONTROL_CHANGE,
    FOLLOWED,
)
from wherewhat.reproductions.word_swap.evidence import PHRASES, Evidence
from wherewhat.reproductions.word_swap.one_run import EXCHANGE
from wherewhat.reproductions.word_swap.questions import CONTENT

SMALL = 0.05  # a loss of fewer points is called small
HALF = 0.5  # who follows less than half of the exchanges is called blind
WHOLE = "whole"
NOT_LEARNT = "No net that knows of order has learnt"


def shuffles(seen: Evidence) -> Judged:
    """Do phrases whose words are shuffled cost little where roles never counted, and whole sentences more?"""
    trials = able(seen, CONTENT)
    if not trials:
        return Judged(f"{NOT_LEARNT} what words decide.", "unknown")
    phrases, whole = (seen.mean(trials, CONTENT, swap, CHANGE) for swap in (PHRASES, WHOLE))
    more = over_seeds(
        [
            one - other
            for one, other in zip(
                seen.values(trials, CONTENT, (WHOLE,), CHANGE),
                seen.values(trials, CONTENT, PHRASES, CHANGE),
                strict=True,
            )
        ]
    )
    by_size = "; ".join(f"{size}: {seen.mean(trials, CONTENT, size, CHANGE).points()}" for size in PHRASES)
    control = seen.mean(trials, CONTENT, PHRASES, CONTROL_CHANGE)
    short = (
        f"Phrases of 3 to 6 words shuffled: {phrases.points()} on average over {encodings(trials)}; the whole "
        f"sentence: {whole.points()}."
    )
    return Judged(
        f"{short} By size: {by_size}. Stretches that are no phrases, shuffled alike: {control.points()}.",
        published_verdict([above(phrases, -SMALL), -more.side]),
        f"A loss of fewer than {100 * SMALL:g} points is called small here. The whole "
        f"sentence costs {more.points()} beside phrases.",
        because=_costs(phrases, more),
        short=short,
    )


def _costs(phrases: Estimate, more: Estimate) -> str:
    """What keeps the claim from holding as a whole, if anything does."""
    told = {
        -1: "phrases cost more than a little",
        0: "whether phrases cost only a little cannot be told",
    }.get(above(phrases, -SMALL), "")
    rest = {1: "the whole sentence costs less than phrases", 0: "that the whole sentence costs more is not clear"}
    return " and ".join(part for part in (told, rest.get(more.side, "")) if part)


def blindness(seen: Evidence) -> Judged:
    """Do nets that were never rewarded for reading roles overlook that agent and patient have changed places?"""
    trials = able(seen, CONTENT)
    if not trials:
        return Judged(f"{NOT_LEARNT} what words decide.", "unknown")
    before, after = (seen.mean(trials, CONTENT, EXCHANGE, measure) for measure in (BEFORE, AFTER))
    change, beyond = (seen.mean(trials, CONTENT, EXCHANGE, measure) for measure in (CHANGE, BEYOND_CONTROL))
    followed = seen.mean(trials, CONTENT, EXCHANGE, FOLLOWED)
    short = (
        f"Right answers fall from {percent(before.value)} to {percent(after.value)}, by {change.points()}. Of right "
        f"answers whose label changes, {share(followed)} become the new one (over {encodings(trials)})."
    )
    return Judged(
        f"{short} Against a control swap of equal size: {beyond.points()}.",
        published_verdict([-above(followed, HALF), -beyond.side]),
        "By our rule an exchange turns entailment into contradiction and leaves the other labels, so that a blind net "
        "loses the third that changes, 33 points at most; the published rule is unknown, and 58 to 67 points are what "
        "is lost if every label becomes contradiction.",
        short=short,
    )


def able(seen: Evidence, question: str) -> list[Trial]:
    """The encodings that know of order and with which a question was learnt."""
    learnt = {trial.name for trial in seen.learnt(question)}
    return [trial for trial in seen.ordered if trial.name in learnt]


def above(found: Estimate, line: float) -> int:
    """1 if a whole interval lies above a line, -1 if below it, 0 if neither.

    >>> [above(Estimate(0.5, low, high), 0.4) for low, high in ((0.45, 0.6), (0.3, 0.6), (0.1, 0.2))]
    [1, 0, -1]
    """
    return 1 if found.low > line else -1 if found.high < line else 0


def encodings(trials: Sequence[Trial]) -> str:
    """How many encodings it is the mean of."""
    return f"{count(len(trials), 'encoding')} that learnt the question"


def share(found: Estimate) -> str:
    """A share with its interval.

    >>> share(Estimate(0.5, 0.25, 0.75)), share(Estimate(1.0, 1.0, 1.0)), share(Estimate())
    ('50\\xa0% (25 to 75)', '100\\xa0%', 'an unknown share')
    """
    if not found.known:
        return "an unknown share"
    low, high = (100 * min(max(end, 0.0), 1.0) for end in (found.low, found.high))  # Student's may lie beyond
    ends = f" ({low:.0f} to {high:.0f})" if high > low else ""
    return f"{percent(found.value)}{ends}"
