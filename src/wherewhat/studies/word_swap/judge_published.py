"""Judged here is what was published of shuffled phrases and of exchanged roles."""

from collections.abc import Mapping, Sequence

from wherewhat.report.numbers import count, percent
from wherewhat.studies.locality.estimate import Estimate, over_seeds
from wherewhat.studies.locality.judging import Judged, published_verdict
from wherewhat.studies.locality.trials import Trial
from wherewhat.studies.word_swap.counting import (
    AFTER,
    BEFORE,
    BEYOND_CONTROL,
    CHANGE,
    CONTROL_CHANGE,
    CONTROL_FLIP,
    FLIP,
    FOLLOWED,
)
from wherewhat.studies.word_swap.evidence import PHRASES, Evidence
from wherewhat.studies.word_swap.one_run import EXCHANGE
from wherewhat.studies.word_swap.questions import CONTENT

SMALL = 0.05  # a loss of fewer points is called small
HALF = 0.5  # who follows more than half of the exchanges is said to follow them
WHOLE = "whole"
NOT_LEARNT = "No net that knows of order has learnt"


def shuffles(seen: Evidence) -> Judged:
    """Do phrases whose words are shuffled cost little where roles never counted, and whole sentences more?"""
    trials = able(seen, CONTENT)
    if not trials:
        return Judged(f"{NOT_LEARNT} what words decide.", "unknown")
    phrases = {trial.name: seen.mean([trial], CONTENT, PHRASES, CHANGE) for trial in trials}
    more = {trial.name: beside_phrases(seen, trial) for trial in trials}
    small = {name: above(found, -SMALL) for name, found in phrases.items()}
    dearer = {name: -found.side for name, found in more.items()}
    by_size = "; ".join(f"{size}: {seen.mean(trials, CONTENT, size, CHANGE).points()}" for size in PHRASES)
    whole, control = (
        seen.mean(trials, CONTENT, swap, measure) for swap, measure in ((WHOLE, CHANGE), (PHRASES, CONTROL_CHANGE))
    )
    short = f"Phrases of 3 to 6 words shuffled: {each(phrases)}. The whole sentence beside them: {each(more)}."
    return Judged(
        f"{short} On average over {encodings(trials)}, which are unlike: {by_size}; the whole sentence "
        f"{whole.points()}; stretches that are no phrases, shuffled alike, {control.points()}.",
        published_verdict([*small.values(), *dearer.values()]),
        f"Judged by every encoding for itself. A loss of fewer than {100 * SMALL:g} points is called small here.",
        because=f"the loss is small {sorted_out(small)}; that the whole sentence costs more is clear {_clear(dearer)}",
        short=short,
    )


def beside_phrases(seen: Evidence, trial: Trial) -> Estimate:
    """How much further right answers change when the whole sentence is shuffled than when phrases are, by seed."""
    whole, phrases = (seen.values([trial], CONTENT, swaps, CHANGE) for swaps in ((WHOLE,), PHRASES))
    return over_seeds([one - other for one, other in zip(whole, phrases, strict=True)])


def blindness(seen: Evidence) -> Judged:
    """Do nets that were never rewarded for reading roles overlook that agent and patient have changed places?"""
    trials = able(seen, CONTENT)
    if not trials:
        return Judged(f"{NOT_LEARNT} what words decide.", "unknown")
    before, after = (seen.mean(trials, CONTENT, EXCHANGE, measure) for measure in (BEFORE, AFTER))
    beyond = seen.mean(trials, CONTENT, EXCHANGE, BEYOND_CONTROL)
    blind = {trial.name: overlooks(seen, trial) for trial in trials}
    noticed = [_changes(seen, trial) for side in (-1, 0) for trial in trials if blind[trial.name] == side]
    changed = [_changes(seen, trial) for trial in trials if blind[trial.name] == -1]
    told = f"By encoding: {'; '.join(noticed)}. " if noticed else ""
    followed = share(seen.mean(trials, CONTENT, EXCHANGE, FOLLOWED))
    short = (
        f"Answers stay as they were {sorted_out(blind)} (over {encodings(trials)}). {told}"
        f"Of all right answers whose label changes, {followed} become the new one."
    )
    return Judged(
        f"{short} Right answers fall from {percent(before.value)} to {percent(after.value)}; against a control swap of "
        f"equal size: {beyond.points()}.",
        published_verdict(list(blind.values())),
        f"An exchange counts as overlooked where clearly fewer than {100 * SMALL:g} % of right answers change. An "
        "exchanged pair never stood among those that nets were fine-tuned on, and the new label is our convention: "
        "entailment becomes contradiction and the other labels stay, so that a blind net loses the third that changes, "
        "33 points at most. The published rule is unknown; 58 to 67 points are what is lost if every label becomes "
        "contradiction.",
        because="; ".join([f"they do so {sorted_out(blind)}", *changed]) if len(set(blind.values())) > 1 else "",
        short=short,
    )


def overlooks(seen: Evidence, trial: Trial) -> int:
    """1 if clearly hardly any right answer changes under an exchange, -1 if clearly more do, 0 if neither is clear."""
    flips, followed = (seen.mean([trial], CONTENT, EXCHANGE, measure) for measure in (FLIP, FOLLOWED))
    sides = {above(flips, SMALL), above(followed, SMALL)}
    return -1 if 1 in sides else 1 if sides == {-1} else 0


def _changes(seen: Evidence, trial: Trial) -> str:
    """How many right answers an encoding changes, beside a control swap, and how many become the new label."""
    flips, control, followed = (
        seen.mean([trial], CONTENT, EXCHANGE, measure) for measure in (FLIP, CONTROL_FLIP, FOLLOWED)
    )
    return (
        f"{trial.name} changes {share(flips)} of right answers (under a control swap {share(control)}), "
        f"{share(followed)} to the new label"
    )


def sorted_out(sides: Mapping[str, int]) -> str:
    """With which encodings something clearly holds, with which it clearly does not, and with which it is not clear.

    >>> sorted_out({"a": 1, "b": -1, "c": 0, "d": 1}), sorted_out({"a": 0})
    ('with a, d; not with b; not clearly with c', 'not clearly with a')
    """
    words = {1: "with", -1: "not with", 0: "not clearly with"}
    groups = ((told, [name for name, found in sides.items() if found == side]) for side, told in words.items())
    return "; ".join(f"{told} {', '.join(names)}" for told, names in groups if names)


def _clear(sides: Mapping[str, int]) -> str:
    """With which encodings something clearly holds.

    >>> _clear({"a": 1, "b": 0}), _clear({"a": 0})
    ('with a', 'with none')
    """
    return f"with {', '.join(name for name, side in sides.items() if side == 1) or 'none'}"


def each(found: Mapping[str, Estimate]) -> str:
    """A number of every encoding, one after the other."""
    return "; ".join(f"{name} {one.points()}" for name, one in found.items())


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
    low, high = (f"{100 * min(max(0.0, end), 1.0):.0f}" for end in (found.low, found.high))  # Student's may lie beyond
    ends = f" ({low} to {high})" if found.high > found.low and low != high else ""
    return f"{percent(found.value)}{ends}"
