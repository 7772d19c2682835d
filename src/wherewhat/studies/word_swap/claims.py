"""What was published about swapped words, what was not, and how the table decides on each claim."""

import math
from collections.abc import Mapping, Sequence
from functools import partial
from operator import itemgetter

import polars as pl

from wherewhat.formatting import count, percent
from wherewhat.published import word_swaps as published
from wherewhat.stats.estimate import Estimate
from wherewhat.stats.verdict import UNPUBLISHED, clearly_above, open_verdict, published_verdict, seen_verdict
from wherewhat.studies.engine.claims import Claim, Verdict, claim, list_gaps
from wherewhat.studies.engine.encodings import SYMMETRIC, EncodingCondition
from wherewhat.studies.engine.results import ResultTable, over_seeds, paired
from wherewhat.studies.word_swap import names
from wherewhat.studies.word_swap.names import BAG, CONSTITUENTS, CONTENT, FLIP, FOLLOWED, NAMES, ROLES, WHOLE, item_name
from wherewhat.studies.word_swap.results import Conditions, by_seed, mean, mean_of, ordered, ordered_and_learnt

SMALL = 0.05  # a smaller loss is called small
HALF = 0.5  # a net that follows more than half of the role swaps is said to follow them
ROUNDING = 1e-4  # a smaller change of a probability is rounding
CONTENT_NOT_LEARNT = Verdict("No net with positions has learnt content.", "unknown")
IN_THEORY = f"{UNPUBLISHED}; it follows from theory"
MODELS = ", ".join(published.CHANGES)


def between(points: Sequence[float]) -> str:
    """The range of published losses."""
    return f"{-max(points):g} to {-min(points):g}"


@claim(
    "Shuffling words inside constituents hardly matters; shuffling the whole sentence costs more.",
    f"{MODELS} on SNLI lose {between([each for its in published.CHANGES.values() for each in its[:-1]])} points from "
    f"constituents of 3 to 6 words, {between([its[-1] for its in published.CHANGES.values()])} from the whole sentence",
    {
        "agrees": "Shuffled constituents hardly matter",
        "in part": "Shuffled constituents hardly matter in part",
        "disagrees": "Shuffled constituents matter",
        "unknown": "It is unclear whether shuffled constituents matter",
    },
)
def shuffles(table: ResultTable) -> Verdict:
    """Do shuffled constituents cost little where roles never mattered, and whole sentences more?"""
    conditions = ordered_and_learnt(table, CONTENT)
    if not conditions:
        return CONTENT_NOT_LEARNT
    losses, further = dict[str, Estimate](), dict[str, Estimate]()
    for condition in conditions:
        parts, whole = (by_seed(table, [condition], CONTENT, names.CHANGE, *swaps) for swaps in (CONSTITUENTS, [WHOLE]))
        losses[condition.name], further[condition.name] = over_seeds(parts), paired(whole, parts)
    small = {name: above(loss, -SMALL) for name, loss in losses.items()}
    costlier = {name: -loss.side for name, loss in further.items()}
    over_all = partial(mean, table, conditions, CONTENT)
    by_size = {size: over_all(names.CHANGE, size) for size in CONSTITUENTS}
    whole_sentence, control = over_all(names.CHANGE, WHOLE), over_all(names.CONTROL_CHANGE, *CONSTITUENTS)
    short = (
        f"Constituents of 3 to 6 words shuffled: {list_gaps(losses)}. The whole sentence, compared with them: "
        f"{list_gaps(further)}."
    )
    clear = ", ".join(name for name, side in costlier.items() if side == 1) or "none"
    return Verdict(
        f"{short} The mean over {count(len(conditions), 'encoding')} that learnt the question, which differ: "
        f"{'; '.join(f'{size}: {change.points()}' for size, change in by_size.items())}; the whole sentence "
        f"{whole_sentence.points()}; spans that are not constituents, shuffled in the same way, {control.points()}.",
        published_verdict([*small.values(), *costlier.values()]),
        f"Judged separately for every encoding. A loss of fewer than {100 * SMALL:g} points is called small.",
        because=f"the loss is small {sorted_out(small)}; the whole sentence clearly costs more with {clear}",
        short=short,
    )


@claim(
    "Models miss that agent and patient were swapped.",
    f"{MODELS} on SNLI lose {between([change for _, change in published.ROLES.values()])} points; the rule for the new "
    "labels is unknown",
    {
        "agrees": "Fine-tuned on content, nets miss that roles were swapped",
        "in part": "Fine-tuned on content, nets miss swapped roles in part",
        "disagrees": "Fine-tuned on content, nets notice that roles were swapped",
        "unknown": "It is unclear whether nets fine-tuned on content miss swapped roles",
    },
)
def blindness(table: ResultTable) -> Verdict:
    """Do nets that were never rewarded for reading roles miss that agent and patient were swapped?

    A net misses a role swap if clearly hardly any right answer changes, and notices it if clearly more do.
    """
    conditions = ordered_and_learnt(table, CONTENT)
    if not conditions:
        return CONTENT_NOT_LEARNT
    blind, changes = dict[str, int](), dict[str, str]()
    for condition in conditions:
        role_swap = partial(mean, table, [condition], CONTENT)
        flips, control, followed = map(role_swap, (FLIP, names.CONTROL_FLIP, FOLLOWED))
        sides = {above(flips, SMALL), above(followed, SMALL)}
        blind[condition.name] = -1 if 1 in sides else 1 if sides == {-1} else 0
        changes[condition.name] = (
            f"{condition.name} changes {share(flips)} of right answers (under a control swap {share(control)}), "
            f"{share(followed)} to the new label"
        )
    noticing, unclear = ([changes[name] for name, side in blind.items() if side == which] for which in (-1, 0))
    by_encoding = f"By encoding: {'; '.join([*noticing, *unclear])}. " if noticing or unclear else ""
    role_swap = partial(mean, table, conditions, CONTENT)
    before, after, beyond, followed = map(role_swap, (names.BEFORE, names.AFTER, names.BEYOND_CONTROL, FOLLOWED))
    short = (
        f"Answers stay the same {sorted_out(blind)} (over {count(len(conditions), 'encoding')} that learnt the "
        f"question). {by_encoding}Of all right answers whose label changes, {share(followed)} become the new label."
    )
    return Verdict(
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


Pair = tuple[list[EncodingCondition], EncodingCondition]  # symmetric curves of a locality, and an asymmetric one


@claim(
    "The more symmetric an encoding is, the more it misses.",
    f"reported so; over {len(published.ROLES)} models the correlation of symmetry with the cost of a role swap is "
    "−0.49, from which nothing follows",
    {
        "agrees": "Symmetric curves miss more than asymmetric ones",
        "in part": "Symmetric curves miss more than asymmetric ones in part",
        "disagrees": "Symmetric curves do not miss more than asymmetric ones",
        "unknown": "It is unclear whether symmetry is to blame",
    },
)
def symmetry(table: ResultTable) -> Verdict:
    """At the same locality, do asymmetric curves follow swapped names more often than symmetric ones?"""
    kinds = kinds_of(table)
    known = {name: gap for name, pairs in kinds.items() if (gap := mean_gap(table, pairs, NAMES, FOLLOWED)).known}
    if not known:
        return Verdict("Symmetric and asymmetric curves were not both tried.", "unknown")
    curves = [condition for _, group in table.scale.groups() for condition in group]
    readers = ordered_and_learnt(table, NAMES)
    able = [condition for condition in curves if condition in readers]
    follow = mean(table, [condition for condition in curves if condition.s == SYMMETRIC], NAMES, FOLLOWED)
    short = (
        f"Asked who does it in “maria sees peter”, symmetric curves follow {share(follow)} of role swaps. Compared "
        f"with the equally local symmetric curve: {list_gaps(known)}."
    )
    in_pairs = pairs_about_roles(table, kinds)
    if not able:
        return Verdict(
            f"{short} None of {count(len(curves), 'curve')} beats a bag of words on it. {in_pairs}",
            "unknown",
            "If no curve can tell who does it, nothing can be concluded about symmetry.",
            because="no curve can tell who does it",
            short=short,
        )
    sides = {
        name: side_of(gap) if all(condition in able for _, condition in kinds[name]) else min(side_of(gap), 0)
        for name, gap in known.items()
    }
    words = {1: "{} follows more", 0: "for {} it is not clear", -1: "{} does not follow more"}
    which = ", ".join(words[side].format(name) for name, side in sides.items())
    return Verdict(
        f"{short} Of {count(len(curves), 'curve')}, {len(able)} clearly beat a bag of words ({listed(able)}). "
        f"{in_pairs}",
        published_verdict(list(sides.values())),
        "The verdict rests on who does it, which small nets learn. That symmetric curves follow no role swap is a "
        "theorem: three words reversed are their own role swap. A net that guesses follows some by chance, so only "
        "curves that clearly beat a bag of words count for the claim. Sides are said to make no difference if it is "
        f"clearly below {100 * SMALL:g} points.",
        because=which if len(set(sides.values())) > 1 else "",
        short=short,
    )


def kinds_of(table: ResultTable) -> dict[str, list[Pair]]:
    """By what distinguishes a curve from the symmetric one of its locality: both, for every locality."""
    pairs = [(symmetric, curve) for _, symmetric, curve in table.scale.asymmetric() if symmetric]
    kinds: dict[str, list[Pair]] = {}
    for symmetric, curve in sorted(pairs, key=lambda pair: math.inf if pair[1].s is None else pair[1].s):
        name = f"s {curve.s:g}" if curve.s is not None else curve.name.partition(" w ")[0]
        kinds.setdefault(name, []).append((symmetric, curve))
    return kinds


def mean_gap(table: ResultTable, pairs: Sequence[Pair], question: str, measure: str) -> Estimate:
    """By how much curves exceed the symmetric curve of their locality, seed by seed; the mean over localities."""
    by_pair = []
    for symmetric, curve in pairs:
        both = (by_seed(table, conditions, question, measure) for conditions in ([curve], symmetric))
        by_pair.append([curved - mirrored for curved, mirrored in zip(*both, strict=True)])
    return over_seeds([mean_of(gaps) for gaps in zip(*by_pair, strict=True)])


def side_of(gap: Estimate) -> int:
    """1 if asymmetry clearly helps, -1 if it clearly helps hardly at all or hurts, 0 if neither is clear.

    >>> [side_of(Estimate(0.1, low, high)) for low, high in ((0.01, 0.2), (-0.01, 0.02), (-0.1, 0.3))]
    [1, -1, 0]
    """
    return 1 if gap.side == 1 else -1 if gap.high < SMALL else 0


def pairs_about_roles(table: ResultTable, kinds: Mapping[str, Sequence[Pair]]) -> str:
    """The same on pairs about roles, which are harder."""
    able = listed(ordered_and_learnt(table, ROLES)) or "no encoding"
    gaps = {name: mean_gap(table, pairs, ROLES, names.AFTER) for name, pairs in kinds.items()}
    known = list_gaps({name: gap for name, gap in gaps.items() if gap.known})
    compared = f" Accuracy after the role swap, compared with the symmetric curve: {known}." if known else ""
    return f"Pairs about roles, which are harder, were clearly learnt with {able}.{compared}"


LABELS = {NAMES: "who does it", ROLES: "roles in pairs"}
COUNTED = (
    "For names, the encodings that tell sides apart count (the others cannot answer); for roles, those that learnt "
    "content, whether or not they learnt the question itself."
)
REWARDED = {NAMES: "Rewarded for telling who does it", ROLES: "Rewarded for reading roles in pairs"}


@claim(
    "Nets that are rewarded for reading roles follow the role swap: training decides it.",
    UNPUBLISHED,
    {
        "seen": "Rewarded for reading roles, the same nets follow the role swap",
        "in part": "Rewarded for reading roles, the same nets follow the role swap in part",
        "not seen": "Even rewarded for reading roles, nets do not follow the role swap",
        "unknown": "It is unclear whether a reward for reading roles would help",
    },
)
def training(table: ResultTable) -> Verdict:
    """Does the same net follow a role swap once it is rewarded for reading who does it?"""
    counted = {question: conditions for question in REWARDED if (conditions := counted_for(table, question))}
    if not ordered_and_learnt(table, CONTENT) or not counted:
        return CONTENT_NOT_LEARNT
    sides, leads, shares, compared, controls, spreads = [], [], [], [], [], []
    for question, conditions in counted.items():
        able = ordered_and_learnt(table, question)
        following = []
        for condition in conditions:  # guessed answers follow some by chance: only a net that learnt the question can
            side = above(mean(table, [condition], question, FOLLOWED), HALF)
            sides.append(side if condition in able else min(side, 0))
            following += [condition] if sides[-1] == 1 else []
        which = _which(table, question, following)
        leads.append(f"{LABELS[question]} with {which}")
        among = f"; these follow {share(mean(table, following, question, FOLLOWED))}" if following else ""
        shares.append(f"{REWARDED[question]}, nets follow role swaps with {which}{among}.")
        gain, sentence = _against_content(table, question, following)
        if gain.known:
            sides.append(gain.side)
            compared.append(sentence)
        controls += [_against_control(table, question, following)] if following else []
        spreads.append(_spread(table, question))
    return Verdict(
        " ".join([*shares, *compared, *controls]),
        open_verdict(sides),
        " ".join([*filter(None, spreads), COUNTED]),
        because="; ".join(leads),
        short=" ".join(shares),
    )


def counted_for(table: ResultTable, question: str) -> list[EncodingCondition]:
    """The encodings that could follow: for names those that tell sides apart, for roles those that learnt content."""
    if question == ROLES:
        return ordered_and_learnt(table, CONTENT)
    return [condition for condition in ordered(table) if not condition.mirrored]


def _which(table: ResultTable, question: str, following: Conditions) -> str:
    """How many encodings follow, and which; for roles, of all encodings with positions and then of those that count."""
    counted, every = counted_for(table, question), len(ordered(table))
    others = listed([condition for condition in counted if condition not in following])
    most = f"all but {others}" if others else "all"
    which = most if 2 * len(following) > len(counted) else listed(following) or "none"
    if question != ROLES:
        return f"{len(following)} of {len(counted)} that tell sides apart: {which}"
    fewer = f" ({len(following)} of the {len(counted)} that learnt content)" if len(counted) < every else ""
    return f"{len(following)} of {every}: {which}{fewer}"


def _against_content(table: ResultTable, question: str, following: Conditions) -> tuple[Estimate, str]:
    """How many more role swaps the same encodings follow than after learning content, and that in a sentence."""
    able = ordered_and_learnt(table, CONTENT)
    both = [condition for condition in following if condition in able]
    rewarded, content = (by_seed(table, both, name, FOLLOWED) for name in (question, CONTENT))
    gain = paired(rewarded, content)
    never = listed([condition for condition in following if condition not in able])
    without = f" (without {never}, which never learnt content)" if never else ""
    examples = "; three words and pairs are different examples" if question == NAMES else ""
    return gain, (
        f"For comparison with {LABELS[question]}: fine-tuned on content, the same encodings{without} follow "
        f"{share(over_seeds(content))}, a gain of {gain.points()}{examples}."
    )


def _against_control(table: ResultTable, question: str, conditions: Conditions) -> str:
    """What a role swap changes beyond a control swap, and what the other voice does if it was tested."""
    of = partial(mean, table, conditions, question)
    before, after = (of(measure, names.VOICE) for measure in (names.BEFORE, names.AFTER))
    levels = f"{percent(before.value)} to {percent(after.value)}" if after.known else ""
    voice = f"; in the other voice, which changes no role, accuracy goes from {levels}" if levels else ""
    return (
        f"Right answers about {question} change under {share(of(FLIP))} of role swaps and "
        f"{share(of(names.CONTROL_FLIP))} of control swaps of equal size{voice}."
    )


def _spread(table: ResultTable, question: str) -> str:
    """How far encodings differ after the same training."""
    means = [(mean(table, [condition], question, FOLLOWED).value, condition.name) for condition in ordered(table)]
    known = [each for each in means if math.isfinite(each[0])]
    if not known:
        return ""
    ends = (pick(known, key=itemgetter(0)) for pick in (min, max))
    least, most = (f"{percent(value)} ({name})" for value, name in ends)
    return f"After the same training on {question}, encodings follow from {least} to {most} of role swaps."


@claim("A net without positions is not affected by word order.", IN_THEORY)
def no_position(table: ResultTable) -> Verdict:
    """Are nets without positions exactly unaffected by word order?"""
    with_positions = ordered(table)
    without = [condition for condition in table.conditions if condition not in with_positions]
    if not without:
        return Verdict("It was not tried.", "unknown")
    swaps = (*CONSTITUENTS, WHOLE, names.ROLE_SWAP)
    largest, others = (largest_change(table, conditions, swaps) for conditions in (without, with_positions))
    if not math.isfinite(largest):
        return Verdict("It was not measured.", "unknown")
    return Verdict(
        f"Over all shuffles and role swaps, no probability of a label changes by more than {largest:.2g}; with "
        f"positions by up to {others:.2f}.",
        seen_verdict([largest <= ROUNDING]),
        "It is a theorem: the input of such a net is a bag of words.",
    )


@claim("An encoding that knows distances but not sides cannot tell two swapped bare names apart.", IN_THEORY)
def bare_names(table: ResultTable) -> Verdict:
    """Can an encoding that knows distances but not sides tell `maria sees peter` from `peter sees maria`?"""
    by_name = sorted(ordered(table), key=lambda condition: condition.name)
    mirrored = [condition for condition in by_name if condition.mirrored]
    others = [condition for condition in by_name if not condition.mirrored]
    if not mirrored or not others:
        return Verdict("Encodings with and without sides were not both tried.", "unknown")
    most = largest_change(table, mirrored, [names.BARE_NAMES])
    least = min(largest_change(table, [condition], [names.BARE_NAMES]) for condition in others)
    values = [value for condition in mirrored for value in by_seed(table, [condition], NAMES, FOLLOWED)]
    followed = [value for value in values if math.isfinite(value)]
    tuned = f" Fine-tuned on who does it, they follow {percent(max(followed))} of role swaps." if followed else ""
    return Verdict(
        f"Where distances count and sides do not ({listed(mirrored)}), no probability changes by more than "
        f"{most:.2g}; with every other encoding some probability changes by {least:.2g} or more.{tuned}",
        seen_verdict([most <= ROUNDING and not any(followed), least > ROUNDING]),
        "It is a theorem for three words that are read as one text, without a full stop. Pairs have full stops, which "
        "are on one side.",
    )


def largest_change(table: ResultTable, conditions: Conditions, swaps: Sequence[str]) -> float:
    """The largest change of any probability, over these conditions and swaps, all questions and all seeds."""
    items = [item_name(question, swap) for question in BAG for swap in swaps]
    subjects = [condition.name for condition in conditions]
    chosen = pl.col("subject").is_in(subjects) & pl.col("item").is_in(items)
    return max(table.where(part="run", measure=names.LARGEST).filter(chosen)["value"].drop_nulls(), default=math.nan)


def sorted_out(sides: Mapping[str, int]) -> str:
    """With which encodings something clearly holds, with which it clearly does not, and with which it is not clear.

    >>> sorted_out({"a": 1, "b": -1, "c": 0, "d": 1}), sorted_out({"a": 0})
    ('with a, d; not with b; not clearly with c', 'not clearly with a')
    """
    words = {1: "with", -1: "not with", 0: "not clearly with"}
    groups = ((word, [name for name, other in sides.items() if other == side]) for side, word in words.items())
    return "; ".join(f"{word} {', '.join(its)}" for word, its in groups if its)


def listed(conditions: Conditions) -> str:
    """Their names."""
    return ", ".join(condition.name for condition in conditions)


def above(estimate: Estimate, bound: float) -> int:
    """1 if the whole interval is above a bound, -1 if below it, 0 if neither.

    >>> [above(Estimate(0.5, low, high), 0.4) for low, high in ((0.45, 0.6), (0.3, 0.6), (0.1, 0.2))]
    [1, 0, -1]
    """
    return clearly_above(estimate.low, estimate.high, bound)


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


CLAIMS: dict[str, Claim] = {
    each.test.__name__: each for each in (shuffles, blindness, symmetry, training, no_position, bare_names)
}
