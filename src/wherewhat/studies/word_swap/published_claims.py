"""Verdicts on what was published: shuffled constituents and swapped roles."""

from collections.abc import Mapping, Sequence

from wherewhat.formatting import count, percent
from wherewhat.stats.estimate import Estimate
from wherewhat.stats.intervals import over_seeds
from wherewhat.stats.verdict import clearly_above, published_verdict
from wherewhat.studies.conditions import EncodingCondition
from wherewhat.studies.verdicts import ClaimVerdict
from wherewhat.studies.word_swap.answer_measures import (
    AFTER,
    BEFORE,
    BEYOND_CONTROL,
    CHANGE,
    CONTROL_CHANGE,
    CONTROL_FLIP,
    FLIP,
    FOLLOWED,
)
from wherewhat.studies.word_swap.questions import CONTENT
from wherewhat.studies.word_swap.results import CONSTITUENTS, WordSwapResults
from wherewhat.studies.word_swap.run import ROLE_SWAP

SMALL = 0.05  # a smaller loss is called small
HALF = 0.5  # a net that follows more than half of the role swaps is said to follow them
WHOLE = "whole"
CONTENT_NOT_LEARNT = "No net with positions has learnt content."


def shuffles(results: WordSwapResults) -> ClaimVerdict:
    """Do shuffled constituents cost little where roles never mattered, and whole sentences more?"""
    conditions = results.ordered_and_learnt(CONTENT)
    if not conditions:
        return ClaimVerdict(CONTENT_NOT_LEARNT, "unknown")
    losses = {condition.name: results.mean([condition], CONTENT, CONSTITUENTS, CHANGE) for condition in conditions}
    further = {condition.name: further_loss(results, condition) for condition in conditions}
    small = {name: above(loss, -SMALL) for name, loss in losses.items()}
    costlier = {name: -loss.side for name, loss in further.items()}
    by_size = "; ".join(f"{size}: {results.mean(conditions, CONTENT, size, CHANGE).points()}" for size in CONSTITUENTS)
    whole = results.mean(conditions, CONTENT, WHOLE, CHANGE)
    control = results.mean(conditions, CONTENT, CONSTITUENTS, CONTROL_CHANGE)
    short = (
        f"Constituents of 3 to 6 words shuffled: {list_gaps(losses)}. The whole sentence, compared with them: "
        f"{list_gaps(further)}."
    )
    return ClaimVerdict(
        f"{short} The mean over {encodings(conditions)}, which differ: {by_size}; the whole sentence "
        f"{whole.points()}; spans that are not constituents, shuffled in the same way, {control.points()}.",
        published_verdict([*small.values(), *costlier.values()]),
        f"Judged separately for every encoding. A loss of fewer than {100 * SMALL:g} points is called small.",
        because=f"the loss is small {sorted_out(small)}; the whole sentence clearly costs more {_clear(costlier)}",
        short=short,
    )


def further_loss(results: WordSwapResults, condition: EncodingCondition) -> Estimate:
    """How much more accuracy changes when the whole sentence is shuffled than when constituents are, seed by seed."""
    whole, constituents = (results.values([condition], CONTENT, swaps, CHANGE) for swaps in ((WHOLE,), CONSTITUENTS))
    return over_seeds([a - b for a, b in zip(whole, constituents, strict=True)])


def blindness(results: WordSwapResults) -> ClaimVerdict:
    """Do nets that were never rewarded for reading roles miss that agent and patient were swapped?"""
    conditions = results.ordered_and_learnt(CONTENT)
    if not conditions:
        return ClaimVerdict(CONTENT_NOT_LEARNT, "unknown")
    before, after, beyond, followed = (
        results.mean(conditions, CONTENT, ROLE_SWAP, measure) for measure in (BEFORE, AFTER, BEYOND_CONTROL, FOLLOWED)
    )
    blind = {condition.name: misses(results, condition) for condition in conditions}
    noticing = [_changes(results, condition) for condition in conditions if blind[condition.name] == -1]
    unclear = [_changes(results, condition) for condition in conditions if blind[condition.name] == 0]
    by_encoding = f"By encoding: {'; '.join([*noticing, *unclear])}. " if noticing or unclear else ""
    short = (
        f"Answers stay the same {sorted_out(blind)} (over {encodings(conditions)}). {by_encoding}"
        f"Of all right answers whose label changes, {share(followed)} become the new label."
    )
    return ClaimVerdict(
        f"{short} Accuracy falls from {percent(before.value)} to {percent(after.value)}; compared with a control swap "
        f"of equal size: {beyond.points()}.",
        published_verdict(list(blind.values())),
        f"A role swap counts as missed if clearly fewer than {100 * SMALL:g} % of right answers change. Nets were "
        "never fine-tuned on a swapped pair, and the new label is our convention: entailment becomes contradiction and "
        "the other labels stay, so a blind net loses the third that changes, 33 points at most. The published rule is "
        "unknown; 58 to 67 points are lost if every label becomes contradiction.",
        because="; ".join([f"they do so {sorted_out(blind)}", *noticing]) if len(set(blind.values())) > 1 else "",
        short=short,
    )


def misses(results: WordSwapResults, condition: EncodingCondition) -> int:
    """1 if clearly hardly any right answer changes under a role swap, -1 if clearly more do, 0 if neither is clear."""
    flips, followed = (results.mean([condition], CONTENT, ROLE_SWAP, measure) for measure in (FLIP, FOLLOWED))
    sides = {above(flips, SMALL), above(followed, SMALL)}
    return -1 if 1 in sides else 1 if sides == {-1} else 0


def _changes(results: WordSwapResults, condition: EncodingCondition) -> str:
    """How many right answers an encoding changes, compared with a control swap, and how many to the new label."""
    flips, control, followed = (
        results.mean([condition], CONTENT, ROLE_SWAP, measure) for measure in (FLIP, CONTROL_FLIP, FOLLOWED)
    )
    return (
        f"{condition.name} changes {share(flips)} of right answers (under a control swap {share(control)}), "
        f"{share(followed)} to the new label"
    )


def sorted_out(sides: Mapping[str, int]) -> str:
    """With which encodings something clearly holds, with which it clearly does not, and with which it is not clear.

    >>> sorted_out({"a": 1, "b": -1, "c": 0, "d": 1}), sorted_out({"a": 0})
    ('with a, d; not with b; not clearly with c', 'not clearly with a')
    """
    words = {1: "with", -1: "not with", 0: "not clearly with"}
    groups = ((word, [name for name, other in sides.items() if other == side]) for side, word in words.items())
    return "; ".join(f"{word} {', '.join(names)}" for word, names in groups if names)


def _clear(sides: Mapping[str, int]) -> str:
    """With which encodings something clearly holds.

    >>> _clear({"a": 1, "b": 0}), _clear({"a": 0})
    ('with a', 'with none')
    """
    return f"with {', '.join(name for name, side in sides.items() if side == 1) or 'none'}"


def list_gaps(gaps: Mapping[str, Estimate]) -> str:
    """Differences in points, one after the other."""
    return "; ".join(f"{name} {gap.points()}" for name, gap in gaps.items())


def above(estimate: Estimate, bound: float) -> int:
    """1 if the whole interval is above a bound, -1 if below it, 0 if neither.

    >>> [above(Estimate(0.5, low, high), 0.4) for low, high in ((0.45, 0.6), (0.3, 0.6), (0.1, 0.2))]
    [1, 0, -1]
    """
    return clearly_above(estimate.low, estimate.high, bound)


def encodings(conditions: Sequence[EncodingCondition]) -> str:
    """Over how many encodings a mean is taken."""
    return f"{count(len(conditions), 'encoding')} that learnt the question"


def share(estimate: Estimate) -> str:
    """A share with its interval.

    >>> share(Estimate(0.5, 0.25, 0.75)), share(Estimate(1.0, 1.0, 1.0)), share(Estimate())
    ('50\\xa0% (25 to 75)', '100\\xa0%', 'an unknown share')
    """
    if not estimate.known:
        return "an unknown share"
    # Student's interval may extend beyond 0 to 1.
    low, high = (f"{100 * min(max(0.0, end), 1.0):.0f}" for end in (estimate.low, estimate.high))
    ends = f" ({low} to {high})" if estimate.high > estimate.low and low != high else ""
    return f"{percent(estimate.value)}{ends}"
