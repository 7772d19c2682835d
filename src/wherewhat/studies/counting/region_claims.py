"""Claims on regions that were learnt: the token that ones are compared with, and how hard large counts are."""

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from statistics import fmean

from wherewhat.formatting import count, percent
from wherewhat.stats.estimate import Estimate
from wherewhat.stats.intervals import mover
from wherewhat.stats.verdict import all_or_some, published_verdict, sign_of
from wherewhat.studies.counting.biases import COUNTED_AGAINST, ENCODED, MATTER, LearntRegion, learnt_regions
from wherewhat.studies.counting.names import BINS, TOP_1
from wherewhat.studies.counting.solution import ways
from wherewhat.studies.engine.claims import Verdict, claim
from wherewhat.studies.engine.results import Cell, ResultTable

BY_ENCODER = (
    "In most learnt regions the states of {kind} matter, unlike those of a bias token, and in {held} of {learnt} they "
    "hold the count"
)
NO_BIAS = "No net here clearly counts against a bias token"


@claim(
    "The token that ones are counted against decides which sizes a net can count in.",
    "a mechanism, for some nets: BOS serves all sizes, all of `]` other lengths, `0` other numbers of regions",
    answers={
        "agrees": "Nets count against a bias token, which explains their slopes on other sizes",
        "in part": "Some regions are counted against a bias token, others in other or unclear ways",
        "disagrees": "Bias tokens do not explain the slopes on other sizes",
        "unknown": "No net has learnt enough to say how it counts",
    },
)
def bias_token(table: ResultTable) -> Verdict:
    """By learnt regions that compare ones with a token: whether their slopes are those of that token."""
    regions = learnt(table)
    if not regions:
        return Verdict("No region was learnt", "unknown")
    ours = f"{count(len(regions), 'learnt region').capitalize()}: {ways(regions)}"
    same = [each.has_bias for each in regions if each.states in COUNTED_AGAINST]
    others = len(regions) - len(same)
    kinds = Counter(each.kind for each in regions if each.states in (*ENCODED, MATTER))
    kind, number = kinds.most_common(1)[0] if kinds else ("", 0)
    most, held = number > len(regions) / 2, sum(each.states in ENCODED and each.kind == kind for each in regions)
    lead = BY_ENCODER.format(kind=kind, held=held, learnt=len(regions)) if most else ""
    if not same:
        return Verdict(ours, "unknown", "No region clearly has a bias token.", answer=lead or NO_BIAS)
    fitting = f"{ours}. Where these states matter at most in part, slopes fit in {sum(same)} of "
    fitting += count(len(same), "region")
    why = f"In most regions the states of {kind} matter." if most else ""
    return Verdict(fitting, all_or_some([*same, *[False] * others]), why, answer=lead, short=f"{ours}.")


def learnt(table: ResultTable) -> list[LearntRegion]:
    """How every learnt region of every trained net is counted."""
    names = [condition.name for condition in table.conditions if condition.direction]
    return learnt_regions(table, names, table.scale.regions, table.scale.expected)


@claim("Large counts are harder than small ones.", "the peak over counts widens with the count, in a figure")
def large_counts(table: ResultTable) -> Verdict:
    """By neighbouring bins of the true count in every learnt region: how often accuracy clearly falls, or rises."""
    regions = learnt(table)
    by_region = [dict(count_shares(table, each)) for each in regions]
    if not any(by_region):
        return Verdict("No region was learnt", "unknown")
    pairs = [pair for shares in by_region for pair in pairwise(shares.values())]
    gaps = [mover(hard, easy) for easy, hard in pairs]
    sides = [sign_of(*gap) for gap in gaps]
    means = {name: [its[name].value for its in by_region if name in its] for name in BINS}
    written = ", ".join(f"{name} ones {percent(fmean(values))}" for name, values in means.items() if values)
    falls = f"accuracy falls clearly in {sides.count(1)} of {len(sides)} comparisons and rises in {sides.count(-1)}"
    verdict = published_verdict(sides) if pairs else "unknown"
    return Verdict(f"{written}, over {count(len(regions), 'learnt region')}; {falls}", verdict)


def count_shares(table: ResultTable, region: LearntRegion) -> Iterator[tuple[str, Estimate]]:
    """Accuracies of a region by bins of the true count, from small to large."""
    for name in BINS:
        if row := table.row(region.net, Cell("count", TOP_1, name, float(region.region)), region.seed):
            yield name, Estimate(row["value"], row["low"], row["high"])
