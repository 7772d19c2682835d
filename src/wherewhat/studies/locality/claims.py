"""What was published about locality and symmetry, what was left open, and how the table decides on each claim."""

from collections.abc import Sequence
from typing import Any

from wherewhat.formatting import count, short, tenths
from wherewhat.stats.estimate import Estimate
from wherewhat.stats.verdict import UNPUBLISHED, clearly_above, published_verdict, seen_verdict
from wherewhat.studies.engine.claims import Claim, Verdict, claim, describe_sides
from wherewhat.studies.engine.results import Cell, ResultTable, over_seeds
from wherewhat.studies.locality.sets import ALL, NEAR_CHANCE, OF_ROLES, OTHERS, SHARP, by_seed, gap, of, property_of
from wherewhat.studies.locality.summaries import FLATTER, STEEPER

CLOSE = 0.5  # the smallest correlation that is called close
HALF = 0.5  # a raw curve with less than this share of a log curve's effect is called inert
EVEN = 0.5  # the accuracy of guessing one of two labels
TOO_LITTLE = "Too few {} were tried, or too few questions could be read."
COEFFICIENTS = "correlates closely with accuracy; the coefficients are unknown"


def mean(table: ResultTable, condition: Any, item: str = ALL) -> Estimate:
    """The accuracy of an encoding over seeds."""
    return table.estimate(condition.name, Cell("mean", "accuracy", item))


def contrast(table: ResultTable, name: str, item: str = ALL) -> Estimate:
    """The difference in accuracy of a contrast."""
    return table.estimate(name, Cell("contrast", "accuracy", item))


def link(table: ResultTable, predictor: str, measure: str = "pearson", item: str = ALL) -> Estimate:
    """How an outcome depends on a property of encodings."""
    return table.estimate(predictor, Cell("link", measure, item))


def sides_of(table: ResultTable, name: str, part: str = "contrast", measure: str = "accuracy") -> dict[str, int]:
    """By question, whether a contrast or a correlation is clear, and in which direction."""
    return {question: table.estimate(name, Cell(part, measure, question)).side for question in table.notes["readable"]}


def single_questions(table: ResultTable, outcome: str) -> str:
    """A sentence about single questions, which says that there are several."""
    questions = count(len(table.notes["readable"]), "question")
    return f"Of {questions}, taken singly and not corrected for their number, {outcome}."


def _helps(what: str) -> dict[str, str]:
    return {
        "agrees": f"{what} helps",
        "in part": f"{what} helps in part",
        "disagrees": f"Accuracy does not correlate closely with {what.lower()}",
        "unknown": f"It is unclear whether accuracy correlates closely with {what.lower()}",
    }


@claim("The more local an encoding is, the more accurate the model.", COEFFICIENTS, answers=_helps("Locality"))
def locality(table: ResultTable) -> Verdict:
    """Does accuracy correlate closely with the locality of the curve, also over symmetric curves alone?"""
    every = {measure: link(table, "locality", measure) for measure in ("pearson", "spearman", "partial")}
    alone, slope = (link(table, "symmetric locality", measure) for measure in ("pearson", "slope"))
    sides = [closely(every[measure]) for measure in ("pearson", "spearman")]
    flat, steep = (contrast(table, f"middle over {end}") for end in ("flat", "steep"))
    shape = f"Curves of middle locality gain {flat.points()} over the flattest and {steep.points()} over the steepest."
    correlation = f"Over {count(len(of(table, 'log')), 'curve')} the correlation is {every['pearson'].plain()}"
    by_question = sides_of(table, "locality", "link", "pearson")
    clear = ", ".join(question for question, side in by_question.items() if side == 1) or "none"
    limits = {0: "over symmetric curves alone it is not clear", -1: "over symmetric curves alone it is the reverse"}
    return Verdict(
        f"{correlation}, of ranks {every['spearman'].plain()}, controlled for symmetry {every['partial'].plain()}; "
        f"over symmetric curves alone {alone.plain()}. From locality 0 to 1, the regression line over symmetric curves "
        f"gains {slope.points()}. {single_questions(table, describe_sides(by_question))}",
        published_verdict([*sides, alone.side]),
        f"A line does not show the whole shape. {shape}",
        because=limits.get(alone.side, "") if 1 in sides else "",
        short=f"{correlation}; over symmetric curves alone {alone.plain()} (clear on single questions: {clear}). "
        f"{shape}",
    )


@claim(
    "The more symmetric an encoding is, the more accurate the model.",
    f"{COEFFICIENTS} (Wang et al. 2021 report the opposite sign: symmetry slightly hurts)",
    answers=_helps("Symmetry"),
)
def symmetry(table: ResultTable) -> Verdict:
    """Does accuracy correlate closely with symmetry, and is a symmetric curve better at the same locality?"""
    links = {measure: link(table, "symmetry", measure) for measure in ("pearson", "spearman", "partial")}
    flatter, steeper = (contrast(table, name) for name in (FLATTER, STEEPER))
    below, above = (describe_sides(sides_of(table, name)) for name in (FLATTER, STEEPER))
    correlation = f"Over {count(len(of(table, 'log')), 'curve')} the correlation is {links['pearson'].plain()}"
    same_locality = (
        f"At the same locality, s = 1 gains {flatter.points()} over s below 1 (flatter ahead) and {steeper.points()} "
        "over s above 1 (steeper ahead)."
    )
    single = single_questions(table, f"at the same locality against s below 1 {below}; against s above 1 {above}")
    return Verdict(
        f"{correlation}, of ranks {links['spearman'].plain()}, controlled for locality {links['partial'].plain()}. "
        f"{same_locality} At the same w it gains {contrast(table, 'symmetric over one-sided').points()} over s below "
        f"1. {single}",
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


def best(table: ResultTable) -> list[Any]:
    """The symmetric curve with the highest accuracy, selected after the fact."""
    known = [curve for curve in of(table, "symmetric curves") if mean(table, curve).known]
    return [max(known, key=lambda curve: mean(table, curve).value)] if known else []


@claim("A curve set by hand beats a learned table of positions.", "gains on 10 data sets; the values are unknown")
def by_hand(table: ResultTable) -> Verdict:
    """Is a curve better than a learned table of positions, as published (raw) and as we add it (log)?"""
    raw, log = (contrast(table, f"{family} over learned positions") for family in ("raw", "log"))
    top = gap(table, best(table), of(table, "position table"), ALL)
    single = single_questions(table, describe_sides(sides_of(table, "log over learned positions")))
    return Verdict(
        f"Compared with the table, added as published: {raw.points()}; added as a logarithm: {log.points()} on "
        f"average, and {top.points()} for the best of these, selected afterwards. {single}",
        published_verdict([raw.side, log.side, top.side]),
        "Raw curves are all that were tried; log curves are all symmetric ones except the flattest and the steepest.",
    )


@claim(
    "A symmetric encoding cannot tell who does what to whom.",
    "swapping roles costs BERT, ALBERT, DeBERTa and XLNet 58 to 67 points",
)
def roles(table: ResultTable) -> Verdict:
    """Are symmetric encodings at chance where only word order shows who does it, in three words and in sentences?"""
    blind = [condition for condition in table.conditions if condition.kind == "encoder" and condition.mirrored]
    if not blind or not set(SHARP) <= set(table.notes["readable"]):
        return Verdict("The question was not asked, or its words were not known.", "unknown")
    sighted, sharp = of(table, "flatter ahead"), SHARP[0]
    off = max(abs(value - EVEN) for condition in blind for value in by_seed(table, [condition], sharp))
    above = gap(table, sighted, blind, sharp)
    whole = over_seeds([value - EVEN for value in by_seed(table, of(table, "symmetric curves"), "agent")])
    right = [mean(table, condition, sharp).value for condition in sighted]
    guesses = [1 if whole.high < NEAR_CHANCE else -1 if whole.low > 0 else 0] if whole.known else []
    return Verdict(
        f"On three words such as “maria sees peter”, {count(len(blind), 'symmetric encoding')} are at most "
        f"{100 * off:.1f} points from guessing in any run, by construction; one-sided curves exceed them by "
        f"{above.points()} ({f'{tenths(min(right))} to {tenths(max(right))}' if right else 'unknown'} % right). In "
        "whole sentences, where articles and the full stop reveal the order, symmetric curves are "
        f"{whole.points()} from guessing, and s = 1 differs from s below 1 at the same w by "
        f"{contrast(table, 'symmetric over one-sided', 'agent').points()}.",
        published_verdict([1 if off <= NEAR_CHANCE else -1, above.side, *guesses]),
        "An encoding that knows only |i − j| gives three words and their reversal the same mean vector, so it has to "
        "guess. The published figure is for models with special tokens and for other sentences.",
    )


@claim("The best locality is in the middle; both ends do worse.")
def middle_best(table: ResultTable) -> Verdict:
    """Are curves of middle locality better than the flattest and the steepest?"""
    flat, steep = (contrast(table, f"middle over {end}") for end in ("flat", "steep"))
    if not flat.known or not steep.known:
        return Verdict(TOO_LITTLE.format("curves"), "unknown")
    by_curve = ", ".join(
        f"{short(property_of(table, curve, 'bias.locality'))}: {100 * mean(table, curve).value:.1f}"
        for curve in of(table, "symmetric curves")
    )
    top = ""
    for curve in best(table):  # it exceeds the others partly by chance
        its = mean(table, curve)
        ends = f" ({100 * its.low:.1f} to {100 * its.high:.1f})" if its.low == its.low else ""
        top = f" The best, selected afterwards: w {curve.w:g} with {100 * its.value:.1f} %{ends}."
    return Verdict(
        f"Curves of middle locality compared with the flattest: {flat.points()}; with the steepest: {steep.points()}. "
        f"Accuracy in % by locality: {by_curve}.{top}",
        seen_verdict([flat.side == 1, steep.side == 1]),
        "The middle is all curves of the sweep except its two ends, fixed before anything was measured.",
    )


@claim(
    "Added without the logarithm, the curve is nearly inert.",
    f"{UNPUBLISHED}; by its formula it multiplies attention by 1.5 at most inside a sentence at w = 0.5",
)
def raw_inert(table: ResultTable) -> Verdict:
    """How much of a log curve's effect on attention and accuracy does the raw curve have?"""
    pairs = [(raw, log) for raw in of(table, "raw") for log in of(table, "symmetric curves") if log.w == raw.w]
    none, gain = of(table, "none"), contrast(table, "raw over none")
    if not pairs or not none:
        return Verdict("It was not tried.", "unknown")
    effect = over_seeds([_relative_effect(table, pairs, none[0], seed) for seed in table.seeds])
    log = gap(table, [log for _, log in pairs], none, ALL)
    sides = [
        clearly_above(effect.low, effect.high, HALF),
        clearly_above(gain.low, gain.high, HALF * log.value) if log.side == 1 else 0,
    ]
    verdict = "unknown" if 0 in sides else seen_verdict([side == -1 for side in sides])
    usable = verdict == "in part" and effect.high < HALF
    return Verdict(
        f"Over identical words, the raw curve raises the locality of attention by {effect.plain()} of what the log "
        f"curve does, each compared with no position. Accuracy compared with no position: {gain.points()}; of the log "
        f"curve at the same w: {log.points()}.",
        verdict,
        "It changes attention little, and yet the net can use it." if usable else "",
    )


def _relative_effect(table: ResultTable, pairs: Sequence[tuple[Any, Any]], none: Any, seed: int) -> float:
    """The effect of raw curves on locality, as a share of the effect of log curves: 0 none, 1 as large."""
    cell = Cell("encoding", "attention.locality")
    without = table.value(none.name, cell, seed)
    raw, log = (sum(table.value(pair[side].name, cell, seed) - without for pair in pairs) for side in (0, 1))
    return raw / log if log else float("nan")


@claim(
    "Local and symmetric encodings are fine-tuned more stably: they forget less, and seeds differ less.",
    answers={
        "seen": "Local and symmetric encodings are fine-tuned more stably",
        "in part": "Local and symmetric encodings are fine-tuned more stably in part",
        "not seen": "Local and symmetric encodings are not clearly fine-tuned more stably",
        "unknown": "It is unclear whether local and symmetric encodings are fine-tuned more stably",
    },
)
def stability(table: ResultTable) -> Verdict:
    """Do forgetting and the spread over seeds fall with locality, and with symmetry at the same locality?"""
    partials = {
        (name, item): link(table, name, "partial", item)
        for name in ("locality", "symmetry")
        for item in ("forgetting", "spread")
    }
    if not any(estimate.known for estimate in partials.values()):
        return Verdict(TOO_LITTLE.format("curves"), "unknown")
    correlations = "; ".join(f"{name} with {item} {estimate.plain()}" for (name, item), estimate in partials.items())
    against = [f"{item} rises with {name}" for (name, item), estimate in partials.items() if estimate.side == 1]
    curves = count(len(of(table, "log")), "curve")
    ours = f"Correlations over {curves}, controlled for the other property: {correlations}."
    scope = (
        "Seeds redraw initial weights, the order of training sentences and test sentences, so the spread is that of "
        "the whole pipeline; questions on which some curve only guesses are left out of it."
    )
    return Verdict(
        ours,
        seen_verdict([estimate.side == -1 for estimate in partials.values()]),
        (f"The reverse: {', '.join(against)}. " if against else "") + scope,
        because=" and ".join(against),
        short=f"{ours} {scope}",
    )


@claim(
    "In a decoder too, a more local encoding is more accurate.",
    answers={
        "seen": "Locality helps decoders too",
        "in part": "Locality helps decoders in part",
        "not seen": "Locality brings decoders no clear gain",
        "unknown": "It is unclear whether locality helps decoders",
    },
)
def decoder(table: ResultTable) -> Verdict:
    """Does accuracy rise with locality under a causal mask?"""
    slope, pearson = (link(table, "decoder locality", measure) for measure in ("slope", "pearson"))
    names = ("middle over flat", "middle over steep", "log over none")
    flat, steep, none = (contrast(table, f"decoder, {name}") for name in names)
    if not slope.known:
        return Verdict(TOO_LITTLE.format("decoders"), "unknown")
    against = slope.side == flat.side == -1  # a slope may depend on the steepest curve alone
    curves = count(len(of(table, "symmetric decoders")), "curve")
    line = f"Over {curves}, the regression line gains {slope.points()} from locality 0 to 1"
    shape = f"Middle curves gain {flat.points()} over the flattest and {steep.points()} over the steepest"
    single = single_questions(table, describe_sides(sides_of(table, "decoder locality", "link", "slope")))
    return Verdict(
        f"{line} (correlation {pearson.plain()}). {shape}, and {none.points()} over no position. {single}",
        seen_verdict([slope.side == 1, flat.side == 1]),
        "Symmetry has no meaning under a causal mask, and the mask alone already gives a net some information about "
        "position." + (" Clearly the reverse: the less local, the better." if against else ""),
        because="the less local, the better" if against else "",
        short=f"{line}. {shape}, and {none.points()} over no position.",
    )


@claim(
    "Heads that lean to alternate sides help with roles and do not hurt elsewhere.",
    answers={
        "seen": "Heads that lean to alternate sides help with roles",
        "in part": "Heads that lean to alternate sides help with roles in part",
        "not seen": "Leaning heads bring no clear gain on roles",
        "unknown": "It is unclear whether leaning heads help with roles",
    },
)
def leaning(table: ResultTable) -> Verdict:
    """Do leaning heads help with roles, do they leave other questions unchanged, and what does learning add?"""
    if not of(table, "ours"):
        return Verdict("It was not tried.", "unknown")
    questions = [question for question in OF_ROLES if question in table.notes["readable"]]
    if not questions:
        return Verdict("No question about roles could be read.", "unknown")
    helps = {question: contrast(table, "leaning over symmetric", question) for question in questions}
    rest = contrast(table, "leaning over symmetric", OTHERS)
    gains = "; ".join(f"{question} {gain.points()}" for question, gain in helps.items())
    gain = f"Compared with the symmetric curve at the same w: {gains}; the other questions {rest.points()}."
    learning = (
        "Over all questions, leaning heads with fixed side weights gain "
        f"{contrast(table, 'not learned over symmetric').points()}, and learning the side weights adds "
        f"{contrast(table, 'leaning over not learned').points()}."
    )
    others = "; ".join(
        f"over {name} {contrast(table, f'leaning over {name}').points()}"
        for name in ("rope", "deberta", "learned positions", "one-sided")
    )
    verdict = seen_verdict([gain.side == 1 for gain in helps.values()])
    costs = rest.side == -1
    loss = f"A loss of {-100 * rest.low:.1f} points elsewhere is not ruled out." if rest.low < 0 else ""
    return Verdict(
        f"{gain} {learning} Compared with other encodings: {others} (curves with s below 1).",
        "in part" if verdict == "seen" and costs else verdict,
        "It clearly costs something elsewhere." if costs else loss,
        because="it clearly costs something elsewhere" if costs else "",
        short=f"{gain} {learning}",
    )


CLAIMS: dict[str, Claim] = {
    "locality": locality,
    "symmetry": symmetry,
    "by_hand": by_hand,
    "roles": roles,
    "middle": middle_best,
    "raw": raw_inert,
    "stability": stability,
    "decoder": decoder,
    "leaning": leaning,
}
