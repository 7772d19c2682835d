"""Verdicts on what was published: locality, symmetry, curves set by hand, and roles."""

from collections.abc import Callable, Sequence
from functools import partial

from wherewhat.formatting import count, tenths
from wherewhat.stats.estimate import Estimate
from wherewhat.stats.intervals import over_seeds
from wherewhat.stats.verdict import published_verdict
from wherewhat.studies.conditions import EncodingCondition
from wherewhat.studies.locality.contrasts import FLATTER, STEEPER, contrast, matched, one_sided
from wherewhat.studies.locality.predictors import link
from wherewhat.studies.locality.results import ALL, EVEN, NEAR_CHANCE, SHARP, LocalityResults
from wherewhat.studies.verdicts import ClaimVerdict, describe_sides

CLOSE = 0.5  # the smallest correlation that is called close
ALONE = {  # by the side of the correlation over symmetric curves
    1: "",
    0: "over symmetric curves alone it is not clear",
    -1: "over symmetric curves alone it is the reverse",
}


def locality(results: LocalityResults) -> ClaimVerdict:
    """Does accuracy correlate closely with the locality of the curve, also over symmetric curves alone?"""
    every, alone = link(results, "locality", ALL), link(results, "symmetric locality", ALL)
    sides = [closely(every[measure]) for measure in ("pearson", "spearman")]
    flat, steep = (contrast(results, f"middle over {end}", ALL) for end in ("flat", "steep"))
    shape = f"Curves of middle locality gain {flat.points()} over the flattest and {steep.points()} over the steepest."
    correlation = f"Over {count(len(results.of('log')), 'curve')} the correlation is {every['pearson'].plain()}"
    by_question = sides_of(results, lambda question: link(results, "locality", question)["pearson"])
    clear = ", ".join(question for question, side in by_question.items() if side == 1) or "none"
    return ClaimVerdict(
        f"{correlation}, of ranks {every['spearman'].plain()}, controlled for symmetry {every['partial'].plain()}; "
        f"over symmetric curves alone {alone['pearson'].plain()}. From locality 0 to 1, the regression line over "
        f"symmetric curves gains {alone['slope'].points()}. " + single_questions(results, describe_sides(by_question)),
        published_verdict([*sides, alone["pearson"].side]),
        f"A line does not show the whole shape. {shape}",
        because=ALONE[alone["pearson"].side] if 1 in sides else "",
        short=f"{correlation}; over symmetric curves alone {alone['pearson'].plain()} (clear on single questions: "
        f"{clear}). {shape}",
    )


def symmetry(results: LocalityResults) -> ClaimVerdict:
    """Does accuracy correlate closely with symmetry, and is a symmetric curve better at the same locality?"""
    links, paired = link(results, "symmetry", ALL), contrast(results, "symmetric over one-sided", ALL)
    flatter, steeper = (matched(results, name, ALL) for name in (FLATTER, STEEPER))
    clear = {name: describe_sides(sides_of(results, partial(matched, results, name))) for name in (FLATTER, STEEPER)}
    correlation = f"Over {count(len(results.of('log')), 'curve')} the correlation is {links['pearson'].plain()}"
    same_locality = (
        f"At the same locality, s = 1 gains {flatter.points()} over s below 1 (flatter ahead) and {steeper.points()} "
        "over s above 1 (steeper ahead)."
    )
    return ClaimVerdict(
        f"{correlation}, of ranks {links['spearman'].plain()}, controlled for locality {links['partial'].plain()}. "
        f"{same_locality} At the same w it gains {paired.points()} over s below 1. "
        + single_questions(
            results, f"at the same locality against s below 1 {clear[FLATTER]}; against s above 1 {clear[STEEPER]}"
        ),
        published_verdict([closely(links["partial"]), flatter.side, steeper.side]),
        "Locality and symmetry are coupled: at the same w, a curve with s below 1 is also less local. So the verdict "
        "rests on the correlation controlled for locality and on the differences at the same locality.",
        because="it depends on which side is steeper" if flatter.side * steeper.side == -1 else "",
        short=f"{same_locality} {correlation}, controlled for locality {links['partial'].plain()}.",
    )


def closely(correlation: Estimate) -> int:
    """1 if a correlation is clearly above 0 and close, -1 if its interval rules that out, else 0."""
    if correlation.low > 0 and correlation.value >= CLOSE:
        return 1
    return -1 if correlation.high < CLOSE else 0


def by_hand(results: LocalityResults) -> ClaimVerdict:
    """Is a curve better than a learned table of positions, as published (raw) and as we add it (log)?"""
    raw, log = (contrast(results, f"{family} over learned positions", ALL) for family in ("raw", "log"))
    best = results.gap([results.best] if results.best else [], results.named("learned"), ALL)
    return ClaimVerdict(
        f"Compared with the table, added as published: {raw.points()}; added as a logarithm: {log.points()} on "
        f"average, and {best.points()} for the best of these, selected afterwards. "
        + over_questions(results, lambda question: contrast(results, "log over learned positions", question)),
        published_verdict([raw.side, log.side, best.side]),
        "Raw curves are all that were tried; log curves are all symmetric ones except the flattest and the steepest.",
    )


def roles(results: LocalityResults) -> ClaimVerdict:
    """Are symmetric encodings at chance where only word order shows who does it, in three words and in sentences?"""
    blind = [condition for condition in results.conditions if condition.kind == "encoder" and condition.mirrored]
    if not blind or not set(SHARP) <= set(results.readable):
        return ClaimVerdict("The question was not asked, or its words were not known.", "unknown")
    sighted = one_sided(results)
    off = max(abs(value - EVEN) for condition in blind for value in results.values([condition], "accuracy", SHARP[0]))
    above = results.gap(sighted, blind, SHARP[0])
    whole = over_seeds([value - EVEN for value in results.values(results.symmetric, "accuracy", "agent")])
    return ClaimVerdict(
        f"On three words such as “maria sees peter”, {count(len(blind), 'symmetric encoding')} are at most "
        f"{100 * off:.1f} points from guessing in any run, by construction; one-sided curves exceed them by "
        f"{above.points()} ({_accuracies(results, sighted)} % right). In whole sentences, where articles and the full "
        f"stop reveal the order, symmetric curves are {whole.points()} from guessing, and s = 1 differs from s below 1 "
        f"at the same w by {contrast(results, 'symmetric over one-sided', 'agent').points()}.",
        published_verdict([1 if off <= NEAR_CHANCE else -1, above.side, *([_guesses(whole)] if whole.known else [])]),
        "An encoding that knows only |i − j| gives three words and their reversal the same mean vector, so it has to "
        "guess. The published figure is for models with special tokens and for other sentences.",
    )


def _guesses(above: Estimate) -> int:
    """1 if clearly no better than guessing, -1 if clearly better."""
    return 1 if above.high < NEAR_CHANCE else -1 if above.low > 0 else 0


def _accuracies(results: LocalityResults, conditions: Sequence[EncodingCondition]) -> str:
    values = [results.mean(condition, "accuracy", SHARP[0]).value for condition in conditions]
    return f"{tenths(min(values))} to {tenths(max(values))}" if values else "unknown"


def over_questions(results: LocalityResults, estimate: Callable[[str], Estimate]) -> str:
    """Which single questions are clearly for or against a claim, and how many were tried."""
    return single_questions(results, describe_sides(sides_of(results, estimate)))


def single_questions(results: LocalityResults, outcome: str) -> str:
    """A sentence about single questions, which says that there are several."""
    return f"Of {count(len(results.readable), 'question')}, taken singly and not corrected for their number, {outcome}."


def sides_of(results: LocalityResults, estimate: Callable[[str], Estimate]) -> dict[str, int]:
    """By question, whether an estimate is clear, and in which direction."""
    return {question: estimate(question).side for question in results.readable}
