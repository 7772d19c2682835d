"""Judged here is what was never published: whose doing blindness is, and what no encoding without sides can see."""

import math
from collections.abc import Sequence

from wherewhat.report.numbers import percent
from wherewhat.studies.locality.estimate import Estimate, over_seeds
from wherewhat.studies.locality.judging import Judged, published_verdict, seen_verdict
from wherewhat.studies.locality.trials import Trial
from wherewhat.studies.word_swap.counting import AFTER, BEFORE, CONTROL_FLIP, FLIP, FOLLOWED, LARGEST
from wherewhat.studies.word_swap.evidence import BAG, PHRASES, Evidence
from wherewhat.studies.word_swap.judge_published import (
    HALF,
    NOT_LEARNT,
    WHOLE,
    able,
    above,
    share,
)
from wherewhat.studies.word_swap.one_run import BARE, EXCHANGE
from wherewhat.studies.word_swap.questions import CONTENT, NAMES, ROLES

ROUNDING = 1e-4  # a probability that moves less has moved by rounding alone
VOICE = "voice"
SEEN = {"agrees": "seen", "disagrees": "not seen", "in part": "in part", "unknown": "unknown"}
COUNTED = (
    "Counted are, of names, encodings with sides (the others cannot tell) and, of roles, those with which content was "
    "learnt, whether or not the question itself was."
)
CALLED = {NAMES: "who does it", ROLES: "roles in pairs"}
REWARDED = {NAMES: "Rewarded for telling who does it", ROLES: "Rewarded for reading roles in pairs"}


def training(seen: Evidence) -> Judged:
    """Does the same net follow an exchange once it is rewarded for reading who does it?"""
    asked = {question: trials for question in REWARDED if (trials := counted_for(seen, question))}
    if not able(seen, CONTENT) or not asked:
        return Judged(f"{NOT_LEARNT} what words decide.", "unknown")
    following = {question: [(follows(seen, question, trial), trial) for trial in asked[question]] for question in asked}
    held = {question: [trial for side, trial in of if side == 1] for question, of in following.items()}
    gains = {question: gain_of(seen, question, trials) for question, trials in held.items()}
    known = {question: gain for question, gain in gains.items() if gain.known}
    short = " ".join(_followed(seen, question, trials) for question, trials in held.items())
    sides = [side for of in following.values() for side, _ in of]
    told = [_beside_content(seen, question, held[question], gain) for question, gain in known.items()]
    beside = [_beside(seen, question, trials) for question, trials in held.items() if trials]
    return Judged(
        " ".join([short, *told, *beside]),
        SEEN[published_verdict([*sides, *(gain.side for gain in known.values())])],
        " ".join([*(spread(seen, question) for question in asked), COUNTED]),
        because="; ".join(
            f"{CALLED[question]} with {_of(seen, question, trials)}" for question, trials in held.items()
        ),
        short=short,
    )


def counted_for(seen: Evidence, question: str) -> list[Trial]:
    """The encodings that could follow: of names those with sides, of roles those with which content was learnt."""
    return able(seen, CONTENT) if question == ROLES else [trial for trial in seen.ordered if not trial.mirrored]


def follows(seen: Evidence, question: str, trial: Trial) -> int:
    """1 if a question was learnt and exchanges are clearly followed, -1 if they clearly are not, 0 if it is not clear.

    Only who answers more than words alone give can follow: where answers are guessed, some follow by chance.
    """
    side = above(seen.mean([trial], question, EXCHANGE, FOLLOWED), HALF)
    return min(side, 0) if trial not in able(seen, question) else side


def gain_of(seen: Evidence, question: str, trials: Sequence[Trial]) -> Estimate:
    """How many more exchanges nets follow than those that learnt content with the same encoding, seed by seed."""
    both = [trial for trial in trials if trial in able(seen, CONTENT)]
    one, other = (seen.values(both, asked, (EXCHANGE,), FOLLOWED) for asked in (question, CONTENT))
    return over_seeds([rewarded - not_so for rewarded, not_so in zip(one, other, strict=True)])


def _of(seen: Evidence, question: str, held: Sequence[Trial]) -> str:
    """How many encodings follow, and which.

    Of roles it is said of all that know of order, and then of those that count.
    """
    counted = counted_for(seen, question)
    others = ", ".join(trial.name for trial in counted if trial not in held)
    most_do = 2 * len(held) > len(counted)
    names = (f"all but {others}" if others else "all") if most_do else ", ".join(one.name for one in held) or "none"
    if question != ROLES:
        return f"{len(held)} of {len(counted)} with sides: {names}"
    fewer = f" ({len(held)} of the {len(counted)} that learnt content)" if len(counted) < len(seen.ordered) else ""
    return f"{len(held)} of {len(seen.ordered)}: {names}{fewer}"


def _followed(seen: Evidence, question: str, held: Sequence[Trial]) -> str:
    among = f"; these follow {share(seen.mean(held, question, EXCHANGE, FOLLOWED))}" if held else ""
    return f"{REWARDED[question]}, nets follow exchanges with {_of(seen, question, held)}{among}."


def _beside_content(seen: Evidence, question: str, held: Sequence[Trial], gain: Estimate) -> str:
    """What the same encodings do after learning content, and which of them never learnt it."""
    learnt = able(seen, CONTENT)
    content = seen.mean([trial for trial in held if trial in learnt], CONTENT, EXCHANGE, FOLLOWED)
    never = ", ".join(trial.name for trial in held if trial not in learnt)
    but = f" (without {never}, which never learnt content)" if never else ""
    cases = "; three words and pairs are different cases" if question == NAMES else ""
    return (
        f"Beside {CALLED[question]}: fine-tuned on content, the same encodings{but} follow {share(content)}, a gain of "
        f"{gain.points()}{cases}."
    )


def _beside(seen: Evidence, question: str, trials: Sequence[Trial]) -> str:
    """What an exchange changes beyond a control swap, and what the other voice does where it was asked about."""
    flips, control = (seen.mean(trials, question, EXCHANGE, measure) for measure in (FLIP, CONTROL_FLIP))
    before, after = (seen.mean(trials, question, VOICE, measure) for measure in (BEFORE, AFTER))
    voice = (
        f"; said in the other voice, which changes no role, {percent(before.value)} right answers become "
        f"{percent(after.value)}"
    )
    return (
        f"Right answers about {question} change in {share(flips)} of exchanges and in {share(control)} of control "
        f"swaps of equal size{voice if after.known else ''}."
    )


def spread(seen: Evidence, question: str) -> str:
    """How far encodings differ after the same training."""
    by_trial = {trial.name: seen.mean([trial], question, EXCHANGE, FOLLOWED).value for trial in seen.ordered}
    known = {name: value for name, value in by_trial.items() if math.isfinite(value)}
    if not known:
        return ""
    least, most = min(known, key=lambda name: known[name]), max(known, key=lambda name: known[name])
    return (
        f"After the same training for {question}, encodings follow from {percent(known[least])} ({least}) to "
        f"{percent(known[most])} ({most}) of exchanges."
    )


def no_position(seen: Evidence) -> Judged:
    """Are nets without positions exactly unmoved by shuffles?"""
    if not seen.without:
        return Judged("It was not tried.", "unknown")
    largest = most(seen, {trial.name for trial in seen.without}, (*PHRASES, WHOLE, EXCHANGE))
    if not math.isfinite(largest):
        return Judged("It was not measured.", "unknown")
    others = most(seen, {trial.name for trial in seen.ordered}, (*PHRASES, WHOLE, EXCHANGE))
    return Judged(
        f"Over all shuffles and exchanges no probability of a label moves by more than {tiny(largest)}; with positions "
        f"by up to {others:.2f}.",
        seen_verdict([largest <= ROUNDING]),
        "It is a theorem: what such a net sees is a bag of words.",
    )


def bare_names(seen: Evidence) -> Judged:
    """Can an encoding that knows distances but no sides tell `maria sees peter` from `peter sees maria`?"""
    mirrored = [trial for trial in seen.ordered if trial.mirrored]
    alike, others = {trial.name for trial in mirrored}, {trial.name for trial in seen.ordered if not trial.mirrored}
    if not alike or not others:
        return Judged("Encodings with and without sides were not both tried.", "unknown")
    most_alike, least_other = most(seen, alike, (BARE,)), least(seen, others)
    followed = [
        value
        for trial in mirrored
        for value in seen.values([trial], NAMES, (EXCHANGE,), FOLLOWED)
        if math.isfinite(value)
    ]
    asked = f" Fine-tuned on who does it, they follow {percent(max(followed))} of exchanges." if followed else ""
    return Judged(
        f"Where distances count and sides do not ({', '.join(sorted(alike))}), no probability moves by more than "
        f"{tiny(most_alike)}; with every other encoding some does by {least_other:.2g} or more.{asked}",
        seen_verdict([most_alike <= ROUNDING and not any(followed), least_other > ROUNDING]),
        "It is a theorem for three words that are read as one text, without a full stop. In pairs there are full "
        "stops, which stand on one side.",
    )


def most(seen: Evidence, names: set[str], swaps: tuple[str, ...]) -> float:
    """The most that any probability moves under these swaps, with any of these encodings."""
    return max(_moves(seen, names, swaps), default=math.nan)


def least(seen: Evidence, names: set[str]) -> float:
    """The least that bare names move any encoding among these at the most."""
    by_name = [max(_moves(seen, {name}, (BARE,)), default=math.nan) for name in sorted(names)]
    return min(by_name, default=math.nan)


def _moves(seen: Evidence, names: set[str], swaps: tuple[str, ...]) -> list[float]:
    trials = [trial for trial in seen.trials if trial.name in names]
    found = [
        seen.value(trial, question, swap, LARGEST, seed)
        for trial in trials
        for question in BAG
        for swap in swaps
        for seed in seen.seeds
    ]
    return [value for value in found if math.isfinite(value)]


def tiny(value: float) -> str:
    """A number that may be nothing but rounding.

    >>> tiny(0.0), tiny(3e-7), tiny(0.25)
    ('0', '3e-07', '0.25')
    """
    return f"{value:.2g}" if value < 1 else f"{value:.0f}"
