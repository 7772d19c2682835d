"""The verdict on symmetry: symmetric and asymmetric curves that are equally local."""

import math
from collections.abc import Mapping, Sequence

from wherewhat.formatting import count
from wherewhat.stats.estimate import Estimate
from wherewhat.stats.intervals import over_seeds
from wherewhat.stats.verdict import published_verdict
from wherewhat.studies.conditions import EncodingCondition
from wherewhat.studies.verdicts import ClaimVerdict
from wherewhat.studies.word_swap.answer_measures import AFTER, FOLLOWED
from wherewhat.studies.word_swap.published_claims import SMALL, share
from wherewhat.studies.word_swap.questions import NAMES, ROLES
from wherewhat.studies.word_swap.results import WordSwapResults, by_symmetry, mean_of
from wherewhat.studies.word_swap.run import ROLE_SWAP

Pair = tuple[list[EncodingCondition], EncodingCondition]  # symmetric curves of a locality, and an asymmetric one


def symmetry(results: WordSwapResults) -> ClaimVerdict:
    """At the same locality, do asymmetric curves follow swapped names more often than symmetric ones?"""
    kinds = kinds_of(results)
    gaps = {name: mean_gap(results, pairs, NAMES, FOLLOWED) for name, pairs in kinds.items()}
    known = {name: gap for name, gap in gaps.items() if gap.known}
    if not known:
        return ClaimVerdict("Symmetric and asymmetric curves were not both tried.", "unknown")
    curves = [condition for _, group in results.groups for condition in group]
    learnt = [condition for condition in curves if condition in results.ordered_and_learnt(NAMES)]
    symmetric = [condition for _, group in results.groups for condition in by_symmetry(group)[0]]
    short = (
        "Asked who does it in “maria sees peter”, symmetric curves follow "
        f"{share(results.mean(symmetric, NAMES, ROLE_SWAP, FOLLOWED))} of role swaps. Compared with the equally local "
        f"symmetric curve: {'; '.join(f'{name} {gap.points()}' for name, gap in known.items())}."
    )
    if not learnt:
        return ClaimVerdict(
            f"{short} None of {count(len(curves), 'curve')} beats a bag of words on it. "
            f"{pairs_about_roles(results, kinds)}",
            "unknown",
            "If no curve can tell who does it, nothing can be concluded about symmetry.",
            because="no curve can tell who does it",
            short=short,
        )
    sides = {
        name: side_of(gap) if all(condition in learnt for _, condition in kinds[name]) else min(side_of(gap), 0)
        for name, gap in known.items()
    }
    names = ", ".join(condition.name for condition in learnt)
    return ClaimVerdict(
        f"{short} Of {count(len(curves), 'curve')}, {len(learnt)} clearly beat a bag of words ({names}). "
        f"{pairs_about_roles(results, kinds)}",
        published_verdict(list(sides.values())),
        "The verdict rests on who does it, which small nets learn. That symmetric curves follow no role swap is a "
        "theorem: three words reversed are their own role swap. A net that guesses follows some by chance, so only "
        "curves that clearly beat a bag of words count for the claim. Sides are said to make no difference if it is "
        f"clearly below {100 * SMALL:g} points.",
        because=which(sides),
        short=short,
    )


def kinds_of(results: WordSwapResults) -> dict[str, list[Pair]]:
    """By what distinguishes a curve from the symmetric one of its locality: both, for every locality."""
    groups = [by_symmetry(group) for _, group in results.groups]
    pairs = [(symmetric, curve) for symmetric, others in groups if symmetric for curve in others]
    kinds: dict[str, list[Pair]] = {}
    for symmetric, curve in sorted(pairs, key=lambda pair: math.inf if pair[1].s is None else pair[1].s):
        name = f"s {curve.s:g}" if curve.s is not None else curve.name.partition(" w ")[0]
        kinds.setdefault(name, []).append((symmetric, curve))
    return kinds


def side_of(gap: Estimate) -> int:
    """1 if asymmetry clearly helps, -1 if it clearly helps hardly at all or hurts, 0 if neither is clear.

    >>> [side_of(Estimate(0.1, low, high)) for low, high in ((0.01, 0.2), (-0.01, 0.02), (-0.1, 0.3))]
    [1, -1, 0]
    """
    return 1 if gap.side == 1 else -1 if gap.high < SMALL else 0


def which(sides: Mapping[str, int]) -> str:
    """Which curves follow more than symmetric ones, if they differ."""
    if len(set(sides.values())) < 2:
        return ""
    words = {1: "{} follows more", 0: "for {} it is not clear", -1: "{} does not follow more"}
    return ", ".join(words[side].format(name) for name, side in sides.items())


def pairs_about_roles(results: WordSwapResults, kinds: Mapping[str, Sequence[Pair]]) -> str:
    """The same on pairs about roles, which are harder."""
    learnt = ", ".join(condition.name for condition in results.ordered_and_learnt(ROLES)) or "no encoding"
    gaps = {name: mean_gap(results, pairs, ROLES, AFTER) for name, pairs in kinds.items()}
    known = "; ".join(f"{name} {gap.points()}" for name, gap in gaps.items() if gap.known)
    compared = f" Accuracy after the role swap, compared with the symmetric curve: {known}." if known else ""
    return f"Pairs about roles, which are harder, were clearly learnt with {learnt}.{compared}"


def mean_gap(results: WordSwapResults, pairs: Sequence[Pair], question: str, measure: str) -> Estimate:
    """By how much curves exceed the symmetric curve of their locality, seed by seed; the mean over localities."""
    gaps = [
        [
            a - b
            for a, b in zip(
                results.values([curve], question, (ROLE_SWAP,), measure),
                results.values(symmetric, question, (ROLE_SWAP,), measure),
                strict=True,
            )
        ]
        for symmetric, curve in pairs
    ]
    return over_seeds([mean_of(values) for values in zip(*gaps, strict=True)]) if gaps else Estimate()
