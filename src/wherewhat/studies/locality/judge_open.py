"""Judged here is what was left open: the shape, raw curves, stability, decoders, and heads that lean."""

from wherewhat.report.numbers import count, short
from wherewhat.studies.locality.contrasts import contrast, decoders
from wherewhat.studies.locality.estimate import Estimate, over_seeds
from wherewhat.studies.locality.evidence import ALL, OF_ROLES, OTHERS, Evidence
from wherewhat.studies.locality.judging import Judged, over_questions, seen_verdict
from wherewhat.studies.locality.links import FORGETTING, SPREAD, link
from wherewhat.studies.locality.trials import Trial

HALF = 0.5  # a raw curve that does less than this share of what a logarithmic one does is inert


def middle_best(seen: Evidence) -> Judged:
    """Are curves of middle locality better than the flattest and than the steepest?"""
    flat, steep = (contrast(seen, f"middle over {end}", ALL) for end in ("flat", "steep"))
    if not flat.known or not steep.known:
        return Judged("Nothing that could be read was asked, or too few curves were tried.", "unknown")
    sweep = seen.symmetric
    by_curve = ", ".join(
        f"{short(seen.bias(trial, 'locality'))}: {100 * seen.mean(trial, 'accuracy', ALL).value:.1f}" for trial in sweep
    )
    return Judged(
        f"Curves of middle locality against the flattest: {flat.points()}; against the steepest: {steep.points()}. "
        f"Accuracy in % by locality: {by_curve}.{_picked(seen)}",
        seen_verdict([flat.side == 1, steep.side == 1]),
        "The middle is all curves of the sweep but its two ends, chosen before anything was measured.",
    )


def _picked(seen: Evidence) -> str:
    """The best curve of the sweep, which is above the others by luck too."""
    trial = seen.best
    if trial is None:
        return ""
    best = seen.mean(trial, "accuracy", ALL)
    ends = f" ({100 * best.low:.1f} to {100 * best.high:.1f})" if best.low == best.low else ""
    return f" Picked as the best: w {trial.w:g} with {100 * best.value:.1f} %{ends}."


def raw_inert(seen: Evidence) -> Judged:
    """How much of what a logarithmic curve does to attention and accuracy does the same curve do as it stands?"""
    pairs = [(raw, twin) for raw in seen.of("raw") for twin in seen.at_same_w(raw)]
    none, gain = seen.named("none"), contrast(seen, "raw over none", ALL)
    if not pairs or not none:
        return Judged("It was not tried.", "unknown")
    reach = over_seeds([_reach(seen, pairs, none[0], seed) for seed in seen.seeds])
    log = seen.gap([twin for _, twin in pairs], none, ALL)
    verdict = _inert([_below(reach, HALF), _below(gain, HALF * log.value) if log.side == 1 else 0])
    return Judged(
        f"To identical words, it makes attention more local than no position does by {reach.plain()} of what the same "
        f"curve does as a logarithm. Accuracy against no position at all: {gain.points()}; that of the logarithm at "
        f"the same w: {log.points()}.",
        verdict,
        "It moves attention little, and yet the net can use it." if verdict == "in part" and reach.high < HALF else "",
    )


def _below(found: Estimate, line: float) -> int:
    """1 if a whole interval lies below a line, -1 if above it, 0 if neither."""
    return 1 if found.high < line else -1 if found.low > line else 0


def _inert(sides: list[int]) -> str:
    """Unknown as long as attention or accuracy is."""
    if 0 in sides:
        return "unknown"
    return seen_verdict([side == 1 for side in sides])


def _reach(seen: Evidence, pairs: list[tuple[Trial, Trial]], none: Trial, seed: int) -> float:
    """How far a raw curve goes from no position to the locality of its logarithmic twin: 0 not at all, 1 as far."""
    without = seen.value(none.name, "attention.locality", "", seed)
    raw, log = (
        sum(seen.value(pair[side].name, "attention.locality", "", seed) - without for pair in pairs) for side in (0, 1)
    )
    return raw / log if log else float("nan")


def stability(seen: Evidence) -> Judged:
    """Do forgetting and the spread over seeds fall with locality, and with symmetry at the same locality?"""
    found = {
        (axis, item): link(seen, axis, item)["partial"]
        for axis in ("locality", "symmetry")
        for item in (FORGETTING, SPREAD)
    }
    told = [f"{axis} with {item} by {one.plain()}" for (axis, item), one in found.items()]
    if not any(one.known for one in found.values()):
        return Judged("Too few curves were tried to tell, or too little of what was asked could be read.", "unknown")
    against = [f"{item} rises with {axis}" for (axis, item), one in found.items() if one.side == 1]
    ours = f"Over {count(len(seen.of('log')), 'curve')}, the other property held still, goes {'; '.join(told)}."
    whole = (
        "Seeds redraw first weights, the order of reading and test sentences, so spread is that of the whole pipeline; "
        "questions that some curve only guesses do not count in it."
    )
    return Judged(
        ours,
        seen_verdict([one.side == -1 for one in found.values()]),
        (f"The other way round: {', '.join(against)}. " if against else "") + whole,
        because=" and ".join(against),
        short=f"{ours} {whole}",
    )


def decoder(seen: Evidence) -> Judged:
    """Does accuracy rise with locality under a causal mask?"""
    found = link(seen, "decoder locality", ALL)
    flat, steep, none = (
        contrast(seen, f"decoder, {one}", ALL) for one in ("middle over flat", "middle over steep", "log over none")
    )
    if not found["slope"].known:
        return Judged("Too few decoders were tried to tell, or too little of what was asked could be read.", "unknown")
    against = found["slope"].side == flat.side == -1  # a slope may hang on the steepest curve alone
    line = (
        f"Over {count(len(decoders(seen)), 'curve')} the best line gains {found['slope'].points()} from locality 0 to 1"
    )
    shape = f"Middle curves gain {flat.points()} over the flattest and {steep.points()} over the steepest"
    return Judged(
        f"{line} (correlation {found['pearson'].plain()}). {shape}, and {none.points()} over no position at all. "
        + over_questions(seen, lambda question: link(seen, "decoder locality", question)["slope"]),
        seen_verdict([found["slope"].side == 1, flat.side == 1]),
        "Under a causal mask symmetry means nothing, and the mask alone already tells a net something of position."
        + (" Clearly the other way: the less local, the better." if against else ""),
        because="the less local, the better" if against else "",
        short=f"{line}. {shape}, and {none.points()} over no position at all.",
    )


def leaning(seen: Evidence) -> Judged:
    """Do heads that lean help with roles, do they leave other questions as they were, and what does learning add?"""
    if not seen.of("ours"):
        return Judged("It was not tried.", "unknown")
    asked = [question for question in OF_ROLES if question in seen.readable]
    if not asked:
        return Judged("No question about roles was asked that could be read.", "unknown")
    helps = {question: contrast(seen, "leaning over symmetric", question) for question in asked}
    rest = contrast(seen, "leaning over symmetric", OTHERS)
    told = "; ".join(f"{question} {found.points()}" for question, found in helps.items())
    gain = f"Against the symmetric curve at the same w: {told}; the other questions {rest.points()}."
    learning = (
        f"Over all questions, heads that lean as they start gain "
        f"{contrast(seen, 'not learned over symmetric', ALL).points()}, and learning the side weights adds "
        f"{contrast(seen, 'leaning over not learned', ALL).points()}."
    )
    others = "; ".join(
        f"over {name} {contrast(seen, f'leaning over {name}', ALL).points()}"
        for name in ("rope", "deberta", "learned positions", "one-sided")
    )
    return Judged(
        f"{gain} {learning} Against other encodings: {others} (curves with s below 1).",
        _helping(list(helps.values()), rest),
        _cost(rest),
        because="it clearly costs something elsewhere" if rest.side == -1 and helps else "",
        short=f"{gain} {learning}",
    )


def _helping(helps: list[Estimate], rest: Estimate) -> str:
    """It must help with every question of roles, and not clearly hurt elsewhere; if it does that, it is in part."""
    verdict = seen_verdict([found.side == 1 for found in helps]) if helps else "unknown"
    return "in part" if verdict == "seen" and rest.side == -1 else verdict


def _cost(rest: Estimate) -> str:
    if rest.side == -1:
        return "It clearly costs something elsewhere."
    return f"A loss of {-100 * rest.low:.1f} points elsewhere is not ruled out." if rest.low < 0 else ""
