"""Verdicts on what was never published: what training decides, and what an encoding without sides cannot represent."""

import math
from collections.abc import Sequence

from wherewhat.formatting import percent
from wherewhat.stats.estimate import Estimate
from wherewhat.stats.intervals import over_seeds
from wherewhat.stats.verdict import open_verdict, seen_verdict
from wherewhat.studies.conditions import EncodingCondition
from wherewhat.studies.verdicts import ClaimVerdict
from wherewhat.studies.word_swap.answer_measures import AFTER, BEFORE, CONTROL_FLIP, FLIP, FOLLOWED, LARGEST
from wherewhat.studies.word_swap.published_claims import CONTENT_NOT_LEARNT, HALF, WHOLE, above, share
from wherewhat.studies.word_swap.questions import CONTENT, NAMES, ROLES
from wherewhat.studies.word_swap.results import BAG, CONSTITUENTS, WordSwapResults
from wherewhat.studies.word_swap.run import BARE_NAMES, ROLE_SWAP

ROUNDING = 1e-4  # a smaller change of a probability is rounding
VOICE = "voice"
COUNTED = (
    "For names, the encodings that tell sides apart count (the others cannot answer); for roles, those that learnt "
    "content, whether or not they learnt the question itself."
)
LABELS = {NAMES: "who does it", ROLES: "roles in pairs"}
REWARDED = {NAMES: "Rewarded for telling who does it", ROLES: "Rewarded for reading roles in pairs"}


def training(results: WordSwapResults) -> ClaimVerdict:
    """Does the same net follow a role swap once it is rewarded for reading who does it?"""
    by_question = {question: conditions for question in REWARDED if (conditions := counted_for(results, question))}
    if not results.ordered_and_learnt(CONTENT) or not by_question:
        return ClaimVerdict(CONTENT_NOT_LEARNT, "unknown")
    signs = {
        question: [(follows(results, question, condition), condition) for condition in conditions]
        for question, conditions in by_question.items()
    }
    following = {question: [condition for sign, condition in pairs if sign == 1] for question, pairs in signs.items()}
    gains = {
        question: gain
        for question, conditions in following.items()
        if (gain := gain_of(results, question, conditions)).known
    }
    short = " ".join(_followed(results, question, conditions) for question, conditions in following.items())
    compared = [_with_content(results, question, following[question], gain) for question, gain in gains.items()]
    controls = [
        _with_control(results, question, conditions) for question, conditions in following.items() if conditions
    ]
    sides = [sign for pairs in signs.values() for sign, _ in pairs]
    return ClaimVerdict(
        " ".join([short, *compared, *controls]),
        open_verdict([*sides, *(gain.side for gain in gains.values())]),
        " ".join([*(spread(results, question) for question in by_question), COUNTED]),
        because="; ".join(
            f"{LABELS[question]} with {_which(results, question, conditions)}"
            for question, conditions in following.items()
        ),
        short=short,
    )


def counted_for(results: WordSwapResults, question: str) -> list[EncodingCondition]:
    """The encodings that could follow: for names those that tell sides apart, for roles those that learnt content."""
    if question == ROLES:
        return results.ordered_and_learnt(CONTENT)
    return [condition for condition in results.ordered if not condition.mirrored]


def follows(results: WordSwapResults, question: str, condition: EncodingCondition) -> int:
    """1 if a question was learnt and role swaps are clearly followed, -1 if they clearly are not, else 0.

    Only a net that beats a bag of words can follow: guessed answers follow some swaps by chance.
    """
    side = above(results.mean([condition], question, ROLE_SWAP, FOLLOWED), HALF)
    return side if condition in results.ordered_and_learnt(question) else min(side, 0)


def gain_of(results: WordSwapResults, question: str, conditions: Sequence[EncodingCondition]) -> Estimate:
    """How many more role swaps nets follow than after learning content with the same encoding, seed by seed."""
    learnt = results.ordered_and_learnt(CONTENT)
    both = [condition for condition in conditions if condition in learnt]
    rewarded, content = (results.values(both, name, (ROLE_SWAP,), FOLLOWED) for name in (question, CONTENT))
    return over_seeds([a - b for a, b in zip(rewarded, content, strict=True)])


def _which(results: WordSwapResults, question: str, following: Sequence[EncodingCondition]) -> str:
    """How many encodings follow, and which; for roles, of all encodings with positions and then of those that count."""
    counted = counted_for(results, question)
    others = ", ".join(condition.name for condition in counted if condition not in following)
    if 2 * len(following) > len(counted):
        names = f"all but {others}" if others else "all"
    else:
        names = ", ".join(condition.name for condition in following) or "none"
    if question != ROLES:
        return f"{len(following)} of {len(counted)} that tell sides apart: {names}"
    fewer = f" ({len(following)} of the {len(counted)} that learnt content)"
    return f"{len(following)} of {len(results.ordered)}: {names}{fewer if len(counted) < len(results.ordered) else ''}"


def _followed(results: WordSwapResults, question: str, following: Sequence[EncodingCondition]) -> str:
    among = f"; these follow {share(results.mean(following, question, ROLE_SWAP, FOLLOWED))}" if following else ""
    return f"{REWARDED[question]}, nets follow role swaps with {_which(results, question, following)}{among}."


def _with_content(
    results: WordSwapResults, question: str, following: Sequence[EncodingCondition], gain: Estimate
) -> str:
    """The same encodings after learning content, and which of them never learnt it."""
    learnt = results.ordered_and_learnt(CONTENT)
    both = [condition for condition in following if condition in learnt]
    content = results.mean(both, CONTENT, ROLE_SWAP, FOLLOWED)
    never = ", ".join(condition.name for condition in following if condition not in learnt)
    without = f" (without {never}, which never learnt content)" if never else ""
    examples = "; three words and pairs are different examples" if question == NAMES else ""
    return (
        f"For comparison with {LABELS[question]}: fine-tuned on content, the same encodings{without} follow "
        f"{share(content)}, a gain of {gain.points()}{examples}."
    )


def _with_control(results: WordSwapResults, question: str, conditions: Sequence[EncodingCondition]) -> str:
    """What a role swap changes beyond a control swap, and what the other voice does if it was tested."""
    flips, control = (results.mean(conditions, question, ROLE_SWAP, measure) for measure in (FLIP, CONTROL_FLIP))
    before, after = (results.mean(conditions, question, VOICE, measure) for measure in (BEFORE, AFTER))
    voice = (
        f"; in the other voice, which changes no role, accuracy goes from {percent(before.value)} to "
        f"{percent(after.value)}"
    )
    return (
        f"Right answers about {question} change under {share(flips)} of role swaps and {share(control)} of control "
        f"swaps of equal size{voice if after.known else ''}."
    )


def spread(results: WordSwapResults, question: str) -> str:
    """How far encodings differ after the same training."""
    means = {
        condition.name: results.mean([condition], question, ROLE_SWAP, FOLLOWED).value for condition in results.ordered
    }
    known = {name: value for name, value in means.items() if math.isfinite(value)}
    if not known:
        return ""
    least, most = min(known, key=lambda name: known[name]), max(known, key=lambda name: known[name])
    return (
        f"After the same training on {question}, encodings follow from {percent(known[least])} ({least}) to "
        f"{percent(known[most])} ({most}) of role swaps."
    )


def no_position(results: WordSwapResults) -> ClaimVerdict:
    """Are nets without positions exactly unaffected by word order?"""
    if not results.without:
        return ClaimVerdict("It was not tried.", "unknown")
    swaps = (*CONSTITUENTS, WHOLE, ROLE_SWAP)
    largest = max(largest_changes(results, results.without, swaps), default=math.nan)
    if not math.isfinite(largest):
        return ClaimVerdict("It was not measured.", "unknown")
    others = max(largest_changes(results, results.ordered, swaps), default=math.nan)
    return ClaimVerdict(
        f"Over all shuffles and role swaps, no probability of a label changes by more than {tiny(largest)}; with "
        f"positions by up to {others:.2f}.",
        seen_verdict([largest <= ROUNDING]),
        "It is a theorem: the input of such a net is a bag of words.",
    )


def bare_names(results: WordSwapResults) -> ClaimVerdict:
    """Can an encoding that knows distances but not sides tell `maria sees peter` from `peter sees maria`?"""
    mirrored = [condition for condition in results.ordered if condition.mirrored]
    others = [condition for condition in results.ordered if not condition.mirrored]
    if not mirrored or not others:
        return ClaimVerdict("Encodings with and without sides were not both tried.", "unknown")
    most = max(largest_changes(results, mirrored, (BARE_NAMES,)), default=math.nan)
    least = min(
        max(largest_changes(results, [condition], (BARE_NAMES,)), default=math.nan)
        for condition in sorted(others, key=lambda condition: condition.name)
    )
    followed = [
        value
        for condition in mirrored
        for value in results.values([condition], NAMES, (ROLE_SWAP,), FOLLOWED)
        if math.isfinite(value)
    ]
    tuned = f" Fine-tuned on who does it, they follow {percent(max(followed))} of role swaps." if followed else ""
    names = ", ".join(sorted(condition.name for condition in mirrored))
    return ClaimVerdict(
        f"Where distances count and sides do not ({names}), no probability changes by more than {tiny(most)}; with "
        f"every other encoding some probability changes by {least:.2g} or more.{tuned}",
        seen_verdict([most <= ROUNDING and not any(followed), least > ROUNDING]),
        "It is a theorem for three words that are read as one text, without a full stop. Pairs have full stops, which "
        "are on one side.",
    )


def largest_changes(
    results: WordSwapResults, conditions: Sequence[EncodingCondition], swaps: Sequence[str]
) -> list[float]:
    """The largest change of any probability, for each of these conditions, questions, swaps and seeds."""
    changes = [
        results.value(condition, question, swap, LARGEST, seed)
        for condition in conditions
        for question in BAG
        for swap in swaps
        for seed in results.seeds
    ]
    return [change for change in changes if math.isfinite(change)]


def tiny(value: float) -> str:
    """A number that may be nothing but rounding.

    >>> tiny(0.0), tiny(3e-7), tiny(0.25)
    ('0', '3e-07', '0.25')
    """
    return f"{value:.2g}" if value < 1 else f"{value:.0f}"
