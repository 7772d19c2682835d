"""What was published about counting, and what we ask beyond it, each claim above the test that decides on it."""

import math
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

import polars as pl

from wherewhat.stats.verdict import UNPUBLISHED, if_unpublished
from wherewhat.studies.counting.biases import LearntRegion, learnt_regions
from wherewhat.studies.counting.names import BIDIRECTIONAL, BINS, BY_HAND, CAUSAL, LEARNT, SIZES, SLOW, TOP_1, TRAINED
from wherewhat.studies.counting.settings import ENCODINGS, CountingCondition
from wherewhat.studies.engine.claims import Claim, Verdict, claim, list_shares
from wherewhat.studies.engine.results import Cell, ResultTable

FAILS = 0.5  # top-1 below which it does not
APART = 0.05  # medians that differ by less are alike
MEDIAN, MAXIMUM = Cell("median", TOP_1, TRAINED), Cell("maximum", TOP_1, TRAINED)
FEWEST_SEEDS = 3  # to see whether a net learns in one run and not in another


def nets(table: ResultTable, direction: str, *encodings: str) -> list[CountingCondition]:
    """The trained nets that look one way, with these encodings."""
    return [each for each in table.conditions if each.direction == direction and each.encoding in encodings]


def values(table: ResultTable, chosen: Sequence[CountingCondition], cell: Cell) -> dict[str, float]:
    """By net, one number over all seeds, where there is one."""
    rows = {each.name: table.value(each.name, cell) for each in chosen}
    return {name: value for name, value in rows.items() if not math.isnan(value)}


def all_or_some(tests: Sequence[bool]) -> str:
    """The verdict on a claim that is made of several alike."""
    return "agrees" if all(tests) else "in part" if any(tests) else "disagrees"


@claim(
    "One causal layer without positions can count, for any length and number of regions.",
    "a construction",
    answers={
        "agrees": "A net built by hand counts exactly without any encoding",
        "disagrees": "The net built by hand fails",
        "unknown": "The net built by hand was not run",
    },
)
def by_hand(table: ResultTable) -> Verdict:
    """By the accuracy of the net built by hand on all sizes."""
    rows = [table.where(part="accuracy", subject=BY_HAND, item=size, measure=TOP_1, seed=None) for size in SIZES]
    shares = {size: rows_of["value"].min() for size, rows_of in zip(SIZES, rows, strict=True) if rows_of.height}
    if not shares:
        return Verdict("It was not run", "unknown")
    right = [float(share) == 1.0 for share in shares.values()]  # type: ignore[arg-type]
    written = list_shares({size: float(share) for size, share in shares.items()})  # type: ignore[arg-type]
    return Verdict(f"Built by hand: {written}", "agrees" if all(right) else "disagrees")


@claim(
    "Causal encoders count far better than bidirectional ones.",
    "with RoPE, learned positions or none: medians 9.6 to 91.8 % against 3.0 to 16.8 %",
    answers={
        "agrees": "Causal encoders count, bidirectional ones do not",
        "in part": "Some causal encoders count better than bidirectional ones",
        "disagrees": "Causal encoders count no better than bidirectional ones",
        "unknown": "Whether a causal mask helps was not decided",
    },
)
def causal_counts(table: ResultTable) -> Verdict:
    """By the medians of nets that differ in their mask and, at some scales, in how long they were trained."""
    pairs = []
    for causal in nets(table, CAUSAL, *ENCODINGS):
        other = CountingCondition(BIDIRECTIONAL, causal.encoding, causal.bos)
        pairs.append((table.value(causal.name, MEDIAN), table.value(other.name, MEDIAN)))
    pairs = [pair for pair in pairs if not any(map(math.isnan, pair))]
    if not pairs:
        return Verdict("No encoding was trained both ways", "unknown")
    back, both = (sorted(each) for each in zip(*pairs, strict=True))
    ours = f"Medians of causal encoders {_range(back)}, of bidirectional ones {_range(both)}"
    if max(values(table, nets(table, CAUSAL, *ENCODINGS), MAXIMUM).values(), default=0.0) < FAILS:
        return Verdict(ours, "unknown", "No causal net has learnt to count at this scale.")
    steps = [table.scale.steps_of(direction) for direction in (BIDIRECTIONAL, CAUSAL)]
    why = "" if steps[0] == steps[1] else f"Bidirectional encoders had {steps[0]:,} steps and causal ones {steps[1]:,}."
    return Verdict(ours, all_or_some([back_only > both_ways + APART for back_only, both_ways in pairs]), why)


def _range(shares: Sequence[float]) -> str:
    low, high = (f"{100 * share:.0f}" for share in (shares[0], shares[-1]))
    return f"{low}\xa0%" if low == high else f"{low} to {high}\xa0%"


@claim(
    "Of causal encoders, those with RoPE learn to count most reliably.",
    "median 91.8 % without BOS, 30.9 % with it; the next best encoding has 22.0 %",
)
def rope_is_reliable(table: ResultTable) -> Verdict:
    """By the best median of each encoding, with or without BOS."""
    best = {}
    for encoding in ENCODINGS:
        if medians := values(table, nets(table, CAUSAL, encoding), MEDIAN):
            best[encoding] = max(medians.values())
    if len(best) < 2 or "rope" not in best:
        return Verdict("RoPE and another encoding are needed", "unknown")
    if len(table.seeds) < FEWEST_SEEDS:
        return Verdict(list_shares(best), "unknown", f"That takes at least {FEWEST_SEEDS} seeds.")
    if max(best.values()) < FAILS:
        return Verdict(list_shares(best), "unknown", "No net has learnt to count at this scale.")
    others = max(share for encoding, share in best.items() if encoding != "rope")
    verdict = "agrees" if best["rope"] > others + APART else "disagrees" if best["rope"] < others - APART else "unknown"
    return Verdict(list_shares(best), verdict, "The best encodings are too close." if verdict == "unknown" else "")


@claim(
    "Without positions, a causal encoder counts well or fails, depending on its seed.",
    "median 9.6 %, maximum 95.3 % with BOS; 10.1 % and 92.8 % without",
)
def none_is_bimodal(table: ResultTable) -> Verdict:
    """By the best region of each seed: whether it is learnt from one seed and not from another, all else the same."""
    best = {}
    for net in nets(table, CAUSAL, "none"):
        points = table.where(part="accuracy", subject=net.name, item=TRAINED, measure=TOP_1).drop_nulls("seed")
        if points.height:
            best[net.name] = sorted(points.group_by("seed").agg(pl.col("value").max())["value"].to_list())
    if not best:
        return Verdict("No such net was trained", "unknown")
    ours = "Best region of each seed: " + ", ".join(f"{name} {_range(shares)}" for name, shares in best.items())
    if len(table.seeds) < FEWEST_SEEDS:
        return Verdict(ours, "unknown", f"That takes at least {FEWEST_SEEDS} seeds.")
    if max(shares[-1] for shares in best.values()) < LEARNT:
        return Verdict(ours, "unknown", "No such net has learnt to count at this scale.")
    return Verdict(ours, all_or_some([shares[0] < FAILS and shares[-1] > LEARNT for shares in best.values()]))


@claim("With learned positions, causal encoders count badly.", "medians 13.9 and 14.4 %, at most 44.3 %")
def learned_is_bad(table: ResultTable) -> Verdict:
    """By the best region of any seed, against RoPE."""
    learned, rope = (values(table, nets(table, CAUSAL, encoding), MAXIMUM) for encoding in ("learned", "rope"))
    if not learned or not rope:
        return Verdict("Learned positions and RoPE are needed", "unknown")
    ours = f"At most {list_shares({**learned, **rope})}"
    if max(rope.values()) < FAILS:
        return Verdict(ours, "unknown", "Not even RoPE has learnt to count at this scale.")
    return Verdict(ours, all_or_some([max(learned.values()) < FAILS, max(learned.values()) < max(rope.values())]))


@claim("ALiBi counts better the flatter it is.", "at most 10.6 % with slope 1, 11.6 % with 0.1, 75.4 % with 0.01, BOS")
def flat_alibi(table: ResultTable) -> Verdict:
    """By the best region of any seed at each slope: whether the flattest is better than every other."""
    slopes = [encoding for encoding in ENCODINGS if encoding.startswith("alibi ")]
    best = {each: max(values(table, nets(table, CAUSAL, each), MAXIMUM).values(), default=math.nan) for each in slopes}
    best = {name: value for name, value in best.items() if not math.isnan(value)}
    if len(best) < 2:
        return Verdict("At least two slopes are needed", "unknown")
    *steeper, flattest = best.values()
    return Verdict(f"At most {list_shares(best)}", all_or_some([flattest > other + APART for other in steeper]))


@claim(
    "The token that ones are counted against decides which sizes a net can count in.",
    "a mechanism, for some nets: BOS serves all sizes, all of `]` other lengths, `0` other numbers of regions",
    answers={
        "agrees": "Slopes on other sizes follow from the token that ones are counted against",
        "in part": "Some slopes on other sizes follow from the token that ones are counted against",
        "disagrees": "Slopes on other sizes do not follow from the token that ones are counted against",
        "unknown": "No net has learnt enough to see what it counts against",
    },
)
def bias_token(table: ResultTable) -> Verdict:
    """By learnt regions that compare ones with a token: whether their slopes are those of that token."""
    regions = learnt(table)
    if not regions:
        return Verdict("No region was learnt", "unknown")
    ways = Counter(each.way for each in regions)
    ours = f"How {len(regions)} learnt regions are counted: {', '.join(f'{way} {n}' for way, n in ways.items())}"
    same = [each.agree for each in regions if each.compares]
    if not same:
        answer = "No net here counts ones against a token that is the same in every sequence"
        return Verdict(ours, "unknown", "No region is counted against a token that says nothing else.", answer=answer)
    return Verdict(f"{ours}; slopes fit in {sum(same)} of {len(same)} that compare", all_or_some(same))


def learnt(table: ResultTable) -> list[LearntRegion]:
    """How every learnt region of every trained net is counted."""
    names = [condition.name for condition in table.conditions if condition.direction]
    return learnt_regions(table, names, table.scale.regions, table.scale.expected)


@claim("Large counts are harder than small ones.", "the peak over counts widens with the count, in a figure")
def large_counts(table: ResultTable) -> Verdict:
    """By accuracy over bins of the true count, of trained nets that learnt at least one region."""
    falls, written = [], []
    for net in sorted({each.net for each in learnt(table)}):
        bins = [table.value(net, Cell("count", TOP_1, name)) for name in BINS]
        bins = [value for value in bins if not math.isnan(value)]
        falls.append(len(bins) > 1 and all(later < earlier for earlier, later in pairwise(bins)))
        written.append(f"{net} {', '.join(f'{100 * value:.0f}' for value in bins)}\xa0%")
    if not falls:
        return Verdict("No region was learnt", "unknown")
    return Verdict("; ".join(written), all_or_some(falls))


@claim(
    "A bidirectional encoder with RoPE at one slow frequency, which tells before from after, counts better than with "
    "all frequencies.",
    f"{UNPUBLISHED}: RoPE was taken to see distance alone",
)
def slow_rotation(table: ResultTable) -> Verdict:
    """By medians."""
    slow, plain = (values(table, nets(table, BIDIRECTIONAL, each), MEDIAN) for each in (SLOW, "rope"))
    if not slow or not plain:
        return Verdict("Both encodings are needed", "unknown")
    better = max(slow.values()) > max(plain.values()) + APART
    return Verdict(list_shares({**slow, **plain}), if_unpublished("agrees" if better else "disagrees"))


CLAIMS: dict[str, Claim] = {
    "by hand": by_hand,
    "causal": causal_counts,
    "rope": rope_is_reliable,
    "none": none_is_bimodal,
    "learned": learned_is_bad,
    "alibi": flat_alibi,
    "bias token": bias_token,
    "large counts": large_counts,
    "slow rotation": slow_rotation,
}
