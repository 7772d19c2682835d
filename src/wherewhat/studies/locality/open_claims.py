"""Verdicts on what the publication left open: the best locality, raw curves, stability, decoders, leaning heads."""

from wherewhat.formatting import count, short
from wherewhat.stats.estimate import Estimate
from wherewhat.stats.intervals import over_seeds
from wherewhat.stats.verdict import clearly_above, seen_verdict
from wherewhat.studies.conditions import EncodingCondition
from wherewhat.studies.locality.contrasts import contrast, decoders
from wherewhat.studies.locality.predictors import FORGETTING, SPREAD, link
from wherewhat.studies.locality.published_claims import over_questions
from wherewhat.studies.locality.results import ALL, OF_ROLES, OTHERS, LocalityResults
from wherewhat.studies.verdicts import ClaimVerdict

HALF = 0.5  # a raw curve with less than this share of a log curve's effect is called inert
TOO_LITTLE = "Too few {} were tried, or too few questions could be read."


def middle_best(results: LocalityResults) -> ClaimVerdict:
    """Are curves of middle locality better than the flattest and the steepest?"""
    flat, steep = (contrast(results, f"middle over {end}", ALL) for end in ("flat", "steep"))
    if not flat.known or not steep.known:
        return ClaimVerdict(TOO_LITTLE.format("curves"), "unknown")
    by_curve = ", ".join(
        f"{short(results.bias(condition, 'locality'))}: {100 * results.mean(condition, 'accuracy', ALL).value:.1f}"
        for condition in results.symmetric
    )
    return ClaimVerdict(
        f"Curves of middle locality compared with the flattest: {flat.points()}; with the steepest: {steep.points()}. "
        f"Accuracy in % by locality: {by_curve}.{_best(results)}",
        seen_verdict([flat.side == 1, steep.side == 1]),
        "The middle is all curves of the sweep except its two ends, fixed before anything was measured.",
    )


def _best(results: LocalityResults) -> str:
    """The best curve of the sweep, which exceeds the others partly by chance."""
    condition = results.best
    if condition is None:
        return ""
    best = results.mean(condition, "accuracy", ALL)
    ends = f" ({100 * best.low:.1f} to {100 * best.high:.1f})" if best.low == best.low else ""
    return f" The best, selected afterwards: w {condition.w:g} with {100 * best.value:.1f} %{ends}."


def raw_inert(results: LocalityResults) -> ClaimVerdict:
    """How much of a log curve's effect on attention and accuracy does the raw curve have?"""
    pairs = [(raw, log) for raw in results.of("raw") for log in results.at_same_w(raw)]
    none, gain = results.named("none"), contrast(results, "raw over none", ALL)
    if not pairs or not none:
        return ClaimVerdict("It was not tried.", "unknown")
    effect = over_seeds([_relative_effect(results, pairs, none[0], seed) for seed in results.seeds])
    log = results.gap([log for _, log in pairs], none, ALL)
    sides = [_below(effect, HALF), _below(gain, HALF * log.value) if log.side == 1 else 0]
    verdict = "unknown" if 0 in sides else seen_verdict([side == 1 for side in sides])
    return ClaimVerdict(
        f"Over identical words, the raw curve raises the locality of attention by {effect.plain()} of what the log "
        f"curve does, each compared with no position. Accuracy compared with no position: {gain.points()}; of the log "
        f"curve at the same w: {log.points()}.",
        verdict,
        "It changes attention little, and yet the net can use it."
        if verdict == "in part" and effect.high < HALF
        else "",
    )


def _below(estimate: Estimate, bound: float) -> int:
    """1 if the whole interval is below a bound, -1 if above it, 0 if neither."""
    return -clearly_above(estimate.low, estimate.high, bound)


def _relative_effect(
    results: LocalityResults,
    pairs: list[tuple[EncodingCondition, EncodingCondition]],
    none: EncodingCondition,
    seed: int,
) -> float:
    """The effect of raw curves on locality, as a share of the effect of log curves: 0 none, 1 as large."""
    without = results.value(none.name, "attention.locality", "", seed)
    raw, log = (
        sum(results.value(pair[side].name, "attention.locality", "", seed) - without for pair in pairs)
        for side in (0, 1)
    )
    return raw / log if log else float("nan")


def stability(results: LocalityResults) -> ClaimVerdict:
    """Do forgetting and the spread over seeds fall with locality, and with symmetry at the same locality?"""
    partials = {
        (name, item): link(results, name, item)["partial"]
        for name in ("locality", "symmetry")
        for item in (FORGETTING, SPREAD)
    }
    if not any(estimate.known for estimate in partials.values()):
        return ClaimVerdict(TOO_LITTLE.format("curves"), "unknown")
    correlations = "; ".join(f"{name} with {item} {estimate.plain()}" for (name, item), estimate in partials.items())
    against = [f"{item} rises with {name}" for (name, item), estimate in partials.items() if estimate.side == 1]
    ours = (
        f"Correlations over {count(len(results.of('log')), 'curve')}, controlled for the other property: "
        f"{correlations}."
    )
    scope = (
        "Seeds redraw initial weights, the order of training sentences and test sentences, so the spread is that of "
        "the whole pipeline; questions on which some curve only guesses are left out of it."
    )
    return ClaimVerdict(
        ours,
        seen_verdict([estimate.side == -1 for estimate in partials.values()]),
        (f"The reverse: {', '.join(against)}. " if against else "") + scope,
        because=" and ".join(against),
        short=f"{ours} {scope}",
    )


def decoder(results: LocalityResults) -> ClaimVerdict:
    """Does accuracy rise with locality under a causal mask?"""
    links = link(results, "decoder locality", ALL)
    flat, steep, none = (
        contrast(results, f"decoder, {name}", ALL)
        for name in ("middle over flat", "middle over steep", "log over none")
    )
    if not links["slope"].known:
        return ClaimVerdict(TOO_LITTLE.format("decoders"), "unknown")
    against = links["slope"].side == flat.side == -1  # a slope may depend on the steepest curve alone
    line = (
        f"Over {count(len(decoders(results)), 'curve')}, the regression line gains {links['slope'].points()} from "
        "locality 0 to 1"
    )
    shape = f"Middle curves gain {flat.points()} over the flattest and {steep.points()} over the steepest"
    return ClaimVerdict(
        f"{line} (correlation {links['pearson'].plain()}). {shape}, and {none.points()} over no position. "
        + over_questions(results, lambda question: link(results, "decoder locality", question)["slope"]),
        seen_verdict([links["slope"].side == 1, flat.side == 1]),
        "Symmetry has no meaning under a causal mask, and the mask alone already gives a net some information about "
        "position." + (" Clearly the reverse: the less local, the better." if against else ""),
        because="the less local, the better" if against else "",
        short=f"{line}. {shape}, and {none.points()} over no position.",
    )


def leaning(results: LocalityResults) -> ClaimVerdict:
    """Do leaning heads help with roles, do they leave other questions unchanged, and what does learning add?"""
    if not results.of("ours"):
        return ClaimVerdict("It was not tried.", "unknown")
    questions = [question for question in OF_ROLES if question in results.readable]
    if not questions:
        return ClaimVerdict("No question about roles could be read.", "unknown")
    helps = {question: contrast(results, "leaning over symmetric", question) for question in questions}
    rest = contrast(results, "leaning over symmetric", OTHERS)
    gains = "; ".join(f"{question} {gap.points()}" for question, gap in helps.items())
    gain = f"Compared with the symmetric curve at the same w: {gains}; the other questions {rest.points()}."
    learning = (
        "Over all questions, leaning heads with fixed side weights gain "
        f"{contrast(results, 'not learned over symmetric', ALL).points()}, and learning the side weights adds "
        f"{contrast(results, 'leaning over not learned', ALL).points()}."
    )
    others = "; ".join(
        f"over {name} {contrast(results, f'leaning over {name}', ALL).points()}"
        for name in ("rope", "deberta", "learned positions", "one-sided")
    )
    verdict = seen_verdict([gap.side == 1 for gap in helps.values()])
    costs = rest.side == -1
    loss = f"A loss of {-100 * rest.low:.1f} points elsewhere is not ruled out." if rest.low < 0 else ""
    return ClaimVerdict(
        f"{gain} {learning} Compared with other encodings: {others} (curves with s below 1).",
        "in part" if verdict == "seen" and costs else verdict,
        "It clearly costs something elsewhere." if costs else loss,
        because="it clearly costs something elsewhere" if costs else "",
        short=f"{gain} {learning}",
    )
