"""Judged here is what was not published: offsets, rotation, locality, sides, shuffled words, and what is learnt."""

import math
from statistics import fmean

from wherewhat.probing.dependencies.gold import SIDES, TO_DEPENDENT
from wherewhat.report.numbers import count
from wherewhat.studies.locality.correlations import pearson, slope
from wherewhat.studies.locality.estimate import Estimate
from wherewhat.studies.locality.judging import Judged
from wherewhat.studies.syntax.evidence import (
    ATTENTION,
    BIAS,
    FREE,
    UNTRAINED,
    Evidence,
    What,
)
from wherewhat.studies.syntax.halves import PARTS
from wherewhat.studies.syntax.judging import NEAR, listed, names, open_verdict, over_relations, the_same

STEREOTYPED = ("det", "amod", "aux:pass")  # whose partner nearly always stands in the same place
NOT_BEST = "obl"  # where a first run had seen content alone above full attention
NEIGHBOURS, FAR = 1, 6


def stereotyped(seen: Evidence) -> Judged:
    """Does the positional part find as much as the best fixed offset where that finds nearly all?"""
    gaps = {name: seen.gap(seen.group(FREE), What("positional", name), What("offset", name)) for name in STEREOTYPED}
    return Judged(
        f"Means over {names(seen)}: the positional part against the best fixed offset, {listed(gaps)}.",
        open_verdict([the_same(gap) for gap in gaps.values()]),
        f"Called the same where the interval lies within {100 * NEAR:g} points of 0.",
    )


def rotation(seen: Evidence) -> Judged:
    """Is the contextual part under rotation above that under a table that is added?"""
    rope, table = seen.named("rope"), seen.named("learned")
    if not rope or not table:
        return Judged("One of the two was not tried.", "unknown")
    gap = seen.between(rope, table, What("contextual"))
    other = seen.between(rope, table, What("contextual", side=TO_DEPENDENT))
    by_relation = {name: seen.between(rope, table, What("contextual", name)) for name in seen.relations}
    return Judged(
        f"Over all relations the contextual part finds {gap.points()} more under rope than under the learned table; "
        f"from the governor {other.points()}. {over_relations(by_relation)}",
        open_verdict([gap.side]),
        "An added table is part of what a word says, so that averaging over orders takes part of the content with it.",
    )


def not_best(seen: Evidence) -> Judged:
    """Is one part by itself above full attention in the relation where that had been seen before?"""
    free = seen.group(FREE)
    gaps = {
        part: {name: seen.gap(free, What(part, name), What("full", name)) for name in seen.relations}
        for part in ("contextual", "positional")
    }
    first = gaps["contextual"].get(NOT_BEST, Estimate())
    told = " ".join(f"The {part} part against full attention: {over_relations(its)}" for part, its in gaps.items())
    return Judged(
        f"Means over {names(seen)}: in {NOT_BEST} the contextual part is above full attention by {first.points()}. "
        f"{told}",
        open_verdict([first.side]),
        f"What counts is {NOT_BEST}, named before these runs; the others are told, and several tries find something by "
        "luck.",
    )


def locality(seen: Evidence) -> Judged:
    """Do more local curves find more neighbours, and fewer far words, at the same s?"""
    near, far = (gained(seen, What("full", at=at)) for at in (NEIGHBOURS, FAR))
    least, most = ends(seen)
    curves = [link(seen, What("full", at=at), BIAS) for at in (NEIGHBOURS, FAR)]
    wide = [link(seen, What("full", at=at), ATTENTION) for at in (NEIGHBOURS, FAR)]
    parts = {part: link(seen, What(part), ATTENTION) for part in ("positional", "contextual")}
    gains = (
        f"From the least local curve ({least:.2f}) to the most local ({most:.2f}), at the same s, the best line over "
        f"{count(len(seen.curves), 'curve')} gains full attention {near.points()} at distance 1 and {far.points()} "
        "from 6 on."
    )
    return Judged(
        f"{gains} The correlation over curves is {curves[0].plain()} and {curves[1].plain()}; over all encodings, with "
        f"the locality of attention to identical words, {wide[0].plain()} and {wide[1].plain()}. At all distances that "
        f"goes with the positional part by {parts['positional'].plain()}, with the contextual one by "
        f"{parts['contextual'].plain()}.",
        open_verdict([near.side, -far.side]),
        "The positional part of a curve that is set by hand is the curve, whose largest weight is on the neighbour "
        "however local it is: among curves the positional part cannot go with locality, so full attention is asked.",
        short=gains,
    )


def ends(seen: Evidence) -> tuple[float, float]:
    """How local the least and the most local curve are."""
    places = [place for trial in seen.curves if math.isfinite(place := seen.place(trial, BIAS))]
    return min(places, default=math.nan), max(places, default=math.nan)


def gained(seen: Evidence, what: What) -> Estimate:
    """How much more the most local curve finds than the least local one, along the best line."""
    (least, most), rise = ends(seen), steepness(seen, what)
    return Estimate(*((most - least) * number for number in (rise.value, rise.low, rise.high)))


def steepness(seen: Evidence, what: What) -> Estimate:
    """How steeply what curves find grows with locality, curves of one s compared among themselves, seed by seed."""
    curves = [trial for trial in seen.curves if math.isfinite(seen.place(trial, BIAS))]
    x = {trial.name: seen.place(trial, BIAS) for trial in curves}
    alike = {s: fmean(x[trial.name] for trial in curves if trial.s == s) for s in {trial.s for trial in curves}}
    ys = zip(*(seen.values([trial], what) for trial in curves), strict=True)
    return slope([x[trial.name] - alike[trial.s] for trial in curves], list(ys))


def link(seen: Evidence, what: What, by: str) -> Estimate:
    """The correlation over encodings of how local they are with what they find, their seeds averaged first."""
    trials = [trial for trial in seen.trials if math.isfinite(seen.place(trial, by))]
    found = [seen.mean([trial], what).value for trial in trials]
    return pearson([seen.place(trial, by) for trial in trials], found, seed=0)


def sides(seen: Evidence) -> Judged:
    """Do curves that tell the two sides apart find more neighbours than symmetric ones that are as local, both ways?"""
    pairs = seen.pairs()
    ones, others = [one for one, _ in pairs], [other for _, other in pairs]
    gaps = {side: seen.between(ones, others, What("full", at=NEIGHBOURS, side=side)) for side in SIDES}
    place = {side: seen.between(ones, others, What("positional", at=NEIGHBOURS, side=side)) for side in SIDES}
    return Judged(
        "At distance 1, full attention under curves that are flatter on one side against symmetric ones as local: "
        f"{listed(gaps)}. The positional part: {listed(place)}.",
        open_verdict([gap.side for gap in gaps.values()]),
        "To a symmetric curve the word before and the word after weigh the same, so its positional part cannot choose: "
        "of two equal weights the one before counts. What is judged is full attention, from both sides.",
    )


def shuffled(seen: Evidence) -> Judged:
    """Among shuffled words, do heads chosen by position fall to chance, and those chosen by content stay above it?"""
    free = seen.group(FREE)
    place, said = (seen.gap(free, What(f"by {how}, shuffled"), What("uniform")) for how in ("position", "content"))
    lost = {how: seen.gap(free, What(f"by {how}, shuffled"), What(f"by {how}")) for how in ("position", "content")}
    return Judged(
        f"Means over {names(seen)}: on shuffled sentences, full attention of heads chosen by their positional part is "
        f"{place.points()} from chance, of those chosen by their contextual part {said.points()}. What shuffling takes "
        f"from each: {listed(lost)}.",
        open_verdict([the_same(place), said.side]),
        "Relations go along with the words. Heads are chosen on sentences in order. "
        f"At chance is within {100 * NEAR:g} points of it.",
    )


def learnt(seen: Evidence) -> Judged:
    """Do trained nets find more than untrained ones, in each part of attention?"""
    free = seen.group(FREE)
    gaps = {part: seen.gap(free, What(part), What(part, state=UNTRAINED)) for part in PARTS}
    before = ", ".join(f"{part} {100 * seen.mean(free, What(part, state=UNTRAINED)).value:.1f} %" for part in PARTS)
    chance = 100 * seen.mean(free, What("uniform")).value
    return Judged(
        f"Trained against untrained nets, means over {names(seen)}: {listed(gaps)}. Untrained they find {before}; "
        f"chance is {chance:.1f} %.",
        open_verdict([gap.side for gap in gaps.values()]),
        "An arg-max has no size: an untrained head that prefers one place ever so slightly counts as looking there.",
    )
