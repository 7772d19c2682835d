"""Judged here is what was never published: whose doing blindness is, and what no encoding without sides can see."""

import math
from collections.abc import Sequence

from wherewhat.report.numbers import percent
from wherewhat.reproductions.locality.estimate import Estimate, over_seeds
from wherewhat.reproductions.locality.judging import Judged, seen_verdict
from wherewhat.reproductions.locality.trials import Trial
from wherewhat.reproductions.word_swap.counting import AFTER, BEFORE, CONTROL_FLIP, FLIP, FOLLOWED, LARGEST
from wherewhat.reproductions.word_swap.evidence import BAG, PHRASES, Evidence
from wherewhat.reproductions.word_swap.judge_published import (
    HALF,
    NOT_LEARNT,
    WHOLE,
    able,
    encodings,
    share,
)
from wherewhat.reproductions.word_swap.one_run import BARE, EXCHANGE
from wherewhat.reproductions.word_swap.questions import CONTENT, NAMES, ROLES

ROUNDING = 1e-4  # a probability that moves less has moved by rounding alone
VOICE = "voice"
REWARDED = {NAMES: "Rewarded for telling who does it", ROLES: "Rewarded for reading roles in pairs"}


def training(seen: Evidence) -> Judged:
    """Does the same net follow an exchange once it is rewarded for reading who does it?"""
    learnt = {question: trials for question in REWARDED if (trials := able(seen, question))}
    if not learnt:
        return Judged(f"{NOT_LEARNT} to read roles, as far as can be told.", "unknown")
    gains = {question: gain_of(seen, question, trials) for question, trials in learnt.items()}
    short = " ".join(_followed(seen, question, trials) for question, trials in learnt.items())
    told = "; ".join(f"{question} {gain.points()}" for question, gain in gains.items())
    checks = [
        held
        for question, trials in learnt.items()
        for held in (seen.mean(trials, question, EXCHANGE, FOLLOWED).low > HALF, gains[question].side == 1)
    ]
    rewards = "So far as encodings can follow at all, what they were rewarded for decides whether they do."
    return Judged(
        f"{short} Beside content: {told}. {' '.join(_beside(seen, *each) for each in learnt.items())}",
        seen_verdict(checks),
        " ".join([spread(seen, question) for question in learnt] + [rewards] * all(checks)),
        short=short,
    )


def gain_of(seen: Evidence, question: str, trials: Sequence[Trial]) -> Estimate:
    """How many more exchanges nets follow than the same nets do that were fine-tuned on content, seed by seed."""
    one, other = (seen.values(trials, asked, (EXCHANGE,), FOLLOWED) for asked in (question, CONTENT))
    return over_seeds([rewarded - not_so for rewarded, not_so in zip(one, other, strict=True)])


def _followed(seen: Evidence, question: str, trials: Sequence[Trial]) -> str:
    rewarded, other = (seen.mean(trials, asked, EXCHANGE, FOLLOWED) for asked in (question, CONTENT))
    return (
        f"{REWARDED[question]}, nets follow {share(rewarded)} of exchanges; the same nets fine-tuned on content "
        f"follow {share(other)} ({encodings(trials)}: {', '.join(trial.name for trial in trials)})."
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
