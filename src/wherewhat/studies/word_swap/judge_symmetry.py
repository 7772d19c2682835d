"""Judged here is what symmetry has to do with it: curves that look equally near, with sides and without."""

import math
from collections.abc import Mapping, Sequence

from wherewhat.report.numbers import count
from wherewhat.studies.locality.estimate import Estimate, over_seeds
from wherewhat.studies.locality.judging import Judged, published_verdict
from wherewhat.studies.locality.trials import Trial
from wherewhat.studies.word_swap.counting import AFTER, FOLLOWED
from wherewhat.studies.word_swap.evidence import Evidence, mean_of, sided
from wherewhat.studies.word_swap.judge_published import SMALL, able, share
from wherewhat.studies.word_swap.one_run import EXCHANGE
from wherewhat.studies.word_swap.questions import NAMES, ROLES

Sides = tuple[list[Trial], list[Trial]]  # of one locality the symmetric curve, and others


def symmetry(seen: Evidence) -> Judged:
    """At the same locality, do curves with sides follow exchanged names more often than symmetric ones?"""
    kinds = kinds_of(seen)
    gaps = {name: pooled(seen, pairs, NAMES, FOLLOWED) for name, pairs in kinds.items()}
    known = {name: gap for name, gap in gaps.items() if gap.known}
    if not known:
        return Judged("Curves with and without sides were not both tried.", "unknown")
    curves = [trial for _, group in seen.groups for trial in group]
    able_ones = [trial for trial in curves if trial in able(seen, NAMES)]
    symmetric = [trial for _, group in seen.groups for trial in sided(group)[0]]
    short = (
        "Asked who does it in “maria sees peter”, symmetric curves follow "
        f"{share(seen.mean(symmetric, NAMES, EXCHANGE, FOLLOWED))} of exchanges. Beside the symmetric curve that looks "
        f"as near: {'; '.join(f'{name} {gap.points()}' for name, gap in known.items())}."
    )
    sides = {
        name: side_of(gap) if all(trial in able_ones for _, others in kinds[name] for trial in others) else no_more(gap)
        for name, gap in known.items()
    }
    return Judged(
        f"{short} {able_curves(able_ones, curves)} {harder(seen, kinds)}",
        published_verdict(list(sides.values())) if able_ones else "unknown",
        "Judged by who does it, which small nets learn. That symmetric curves follow none is a theorem: three words "
        "read backwards are their exchange. Who guesses follows some by chance, so only curves that clearly answer "
        "more than words alone give count for the claim. That sides make no difference is said where it is clearly "
        f"less than {100 * SMALL:g} points."
        if able_ones
        else "Where no curve can tell who does it, nothing can be said of what symmetry does to it.",
        because=which(sides) if able_ones else "no curve can tell here who does it",
        short=short,
    )


def kinds_of(seen: Evidence) -> dict[str, list[Sides]]:
    """By what sets curves apart from the symmetric one of their locality: that one, and they."""
    halves = [sided(group) for _, group in seen.groups]
    pairs = [(symmetric, trial) for symmetric, others in halves if symmetric for trial in others]
    kinds: dict[str, list[Sides]] = {}
    for symmetric, trial in sorted(pairs, key=lambda pair: math.inf if pair[1].s is None else pair[1].s):
        kinds.setdefault(called(trial), []).append((symmetric, [trial]))
    return kinds


def side_of(gap: Estimate) -> int:
    """1 if sides clearly make a difference, -1 if they clearly make hardly any or the opposite one, 0 if neither.

    >>> [side_of(Estimate(0.1, low, high)) for low, high in ((0.01, 0.2), (-0.01, 0.02), (-0.1, 0.3))]
    [1, -1, 0]
    """
    return 1 if gap.side == 1 else -1 if gap.high < SMALL else 0


def no_more(gap: Estimate) -> int:
    """The same of a curve that may be guessing: what it follows by chance never speaks for sides.

    >>> [no_more(Estimate(0.5, low, high)) for low, high in ((0.4, 0.6), (-0.01, 0.02))]
    [0, -1]
    """
    return min(side_of(gap), 0)


def which(sides: Mapping[str, int]) -> str:
    """Which curves follow more than symmetric ones, where not all do and not none does."""
    if len(set(sides.values())) < 2:
        return ""
    words = {1: "{} follows more", 0: "of {} it is not clear", -1: "{} does not follow more"}
    return ", ".join(words[side].format(name) for name, side in sides.items())


def able_curves(able_ones: Sequence[Trial], curves: Sequence[Trial]) -> str:
    """Which curves can tell who does it."""
    names = ", ".join(trial.name for trial in able_ones)
    if not able_ones:
        return f"None of {count(len(curves), 'curve')} answers more about it than words alone give."
    return f"Of {count(len(curves), 'curve')}, {len(able_ones)} clearly answer more than words alone give ({names})."


def harder(seen: Evidence, kinds: Mapping[str, Sequence[Sides]]) -> str:
    """What is seen in pairs about roles, which are harder."""
    learnt = ", ".join(trial.name for trial in able(seen, ROLES)) or "no encoding"
    gaps = {name: pooled(seen, pairs, ROLES, AFTER) for name, pairs in kinds.items()}
    told = "; ".join(f"{name} {gap.points()}" for name, gap in gaps.items() if gap.known)
    beside = f" Right answers after the exchange, beside the symmetric curve: {told}." if told else ""
    return f"Pairs about roles, which are harder, were clearly learnt with {learnt}.{beside}"


def called(trial: Trial) -> str:
    """What sets a curve apart among those of its locality."""
    return f"s {trial.s:g}" if trial.s is not None else trial.name.partition(" w ")[0]


def pooled(seen: Evidence, pairs: Sequence[Sides], question: str, measure: str) -> Estimate:
    """How far others lie above the symmetric curve of their locality, seed by seed; the mean of localities."""
    gaps = [
        [
            one - other
            for one, other in zip(
                seen.values(others, question, (EXCHANGE,), measure),
                seen.values(symmetric, question, (EXCHANGE,), measure),
                strict=True,
            )
        ]
        for symmetric, others in pairs
    ]
    return over_seeds([mean_of(values) for values in zip(*gaps, strict=True)]) if gaps else Estimate()
