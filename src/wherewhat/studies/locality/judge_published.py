"""Judged here is what was published: locality, symmetry, curves set by hand, and roles."""

from collections.abc import Sequence
from functools import partial

from wherewhat.report.numbers import count, tenths
from wherewhat.studies.locality.contrasts import FLATTER, STEEPER, contrast, matched, one_sided
from wherewhat.studies.locality.estimate import Estimate, over_seeds
from wherewhat.studies.locality.evidence import ALL, EVEN, NEAR_CHANCE, SHARP, Evidence
from wherewhat.studies.locality.judging import (
    Judged,
    by_themselves,
    over_questions,
    published_verdict,
    sides_of,
    tally,
)
from wherewhat.studies.locality.links import link
from wherewhat.studies.locality.trials import Trial

CLOSE = 0.5  # the least correlation that is called close
ALONE = {  # by the side of the correlation over symmetric curves
    1: "",
    0: "over symmetric curves alone it is not clear",
    -1: "over symmetric curves alone it is the other way round",
}


def locality(seen: Evidence) -> Judged:
    """Does accuracy go closely with the locality of the curve, and over symmetric curves alone too?"""
    found, alone = link(seen, "locality", ALL), link(seen, "symmetric locality", ALL)
    sides = [closely(found[one]) for one in ("pearson", "spearman")]
    flat, steep = (contrast(seen, f"middle over {end}", ALL) for end in ("flat", "steep"))
    shape = f"Curves of middle locality gain {flat.points()} over the flattest and {steep.points()} over the steepest."
    correlation = f"Over {count(len(seen.of('log')), 'curve')} the correlation is {found['pearson'].plain()}"
    by_question = sides_of(seen, lambda question: link(seen, "locality", question)["pearson"])
    carry = ", ".join(question for question, side in by_question.items() if side == 1) or "none"
    return Judged(
        f"{correlation}, that of ranks {found['spearman'].plain()}, with symmetry held still "
        f"{found['partial'].plain()}; over symmetric curves alone {alone['pearson'].plain()}. From locality 0 to 1 "
        f"the best line over these gains {alone['slope'].points()}. " + by_themselves(seen, tally(by_question)),
        published_verdict([*sides, alone["pearson"].side]),
        f"A line is not the whole shape. {shape}",
        because=ALONE[alone["pearson"].side] if 1 in sides else "",
        short=f"{correlation}; over symmetric ones alone {alone['pearson'].plain()} (clear on single questions: "
        f"{carry}). {shape}",
    )


def symmetry(seen: Evidence) -> Judged:
    """Does accuracy go closely with the symmetry of the curve, and is a symmetric curve better at the same locality?"""
    found, paired = link(seen, "symmetry", ALL), contrast(seen, "symmetric over one-sided", ALL)
    flatter, steeper = (matched(seen, name, ALL) for name in (FLATTER, STEEPER))
    clear = {name: tally(sides_of(seen, partial(matched, seen, name))) for name in (FLATTER, STEEPER)}
    correlation = f"Over {count(len(seen.of('log')), 'curve')} the correlation is {found['pearson'].plain()}"
    fair = (
        f"At the same locality, s = 1 gains {flatter.points()} over s below 1 (flatter ahead) and {steeper.points()} "
        "over s above 1 (steeper ahead)."
    )
    return Judged(
        f"{correlation}, that of ranks {found['spearman'].plain()}, with locality held still "
        f"{found['partial'].plain()}. {fair} At the same w it gains {paired.points()} over s below 1. "
        + by_themselves(seen, f"at the same locality against s below 1 {clear[FLATTER]}; above 1 {clear[STEEPER]}"),
        published_verdict([closely(found["partial"]), flatter.side, steeper.side]),
        "The knobs are coupled: at the same w, s below 1 is also less local. So what counts is the correlation with "
        "locality held still, and the differences at the same locality.",
        because="it depends on which side is steeper" if flatter.side * steeper.side == -1 else "",
        short=f"{fair} {correlation}, with locality held still {found['partial'].plain()}.",
    )


def closely(found: Estimate) -> int:
    """1 if a correlation is clearly above 0 and as close as published, -1 if its interval rules that out, else 0."""
    if found.low > 0 and found.value >= CLOSE:
        return 1
    return -1 if found.high < CLOSE else 0


def by_hand(seen: Evidence) -> Judged:
    """Is a curve better than a learned table of positions, as published (raw) and as we add it (log)?"""
    raw, log = (contrast(seen, f"{one} over learned positions", ALL) for one in ("raw", "log"))
    best = seen.gap([seen.best] if seen.best else [], seen.named("learned"), ALL)
    return Judged(
        f"Against the table, added as published: {raw.points()}; added as a logarithm: {log.points()} on average, and "
        f"{best.points()} for the best of these, picked afterwards. "
        + over_questions(seen, lambda question: contrast(seen, "log over learned positions", question)),
        published_verdict([raw.side, log.side, best.side]),
        "Raw curves are all that were tried; logarithmic ones all symmetric ones but the flattest and the steepest.",
    )


def roles(seen: Evidence) -> Judged:
    """Are symmetric encodings at chance where only order tells who does it, in three words and in whole sentences?"""
    blind = [trial for trial in seen.trials if trial.kind == "encoder" and trial.mirrored]
    if not blind or not set(SHARP) <= set(seen.readable):
        return Judged("The question was not asked, or its words were not known.", "unknown")
    sighted = one_sided(seen)
    off = max(abs(value - EVEN) for trial in blind for value in seen.values([trial], "accuracy", SHARP[0]))
    above = seen.gap(sighted, blind, SHARP[0])
    whole = over_seeds([value - EVEN for value in seen.values(seen.symmetric, "accuracy", "agent")])
    return Judged(
        f"On three words such as “maria sees peter”, {count(len(blind), 'symmetric encoding')} are at most "
        f"{100 * off:.1f} points from guessing in any run, by construction; one-sided curves against them: "
        f"{above.points()} ({_told(seen, sighted)} % right). In whole sentences, where articles and the full stop give "
        f"the order away, symmetric curves are {whole.points()} from guessing, and s = 1 against s below 1 at the same "
        f"w is {contrast(seen, 'symmetric over one-sided', 'agent').points()}.",
        published_verdict([1 if off <= NEAR_CHANCE else -1, above.side, *([_guesses(whole)] if whole.known else [])]),
        "Read backwards, three words give the same mean vector to an encoding that knows only |i − j|, so it is "
        "forced to guess. The published figure is of models with special tokens and of other sentences.",
    )


def _guesses(above: Estimate) -> int:
    """1 if clearly no better than guessing, -1 if clearly better."""
    return 1 if above.high < NEAR_CHANCE else -1 if above.low > 0 else 0


def _told(seen: Evidence, trials: Sequence[Trial]) -> str:
    found = [seen.mean(trial, "accuracy", SHARP[0]).value for trial in trials]
    return f"{tenths(min(found))} to {tenths(max(found))}" if found else "unknown"
