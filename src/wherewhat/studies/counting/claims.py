"""What was published about counting, and what we ask beyond it, each claim above the test that decides on it."""

import math
from collections.abc import Sequence
from itertools import pairwise

from wherewhat.stats.verdict import UNPUBLISHED, if_unpublished
from wherewhat.studies.counting.biases import BiasNames, bias_names
from wherewhat.studies.counting.names import BIDIRECTIONAL, BINS, BY_HAND, CAUSAL, LEARNT, SIZES, TOP_1, TRAINED
from wherewhat.studies.counting.settings import ENCODINGS, SLOW, CountingCondition
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
    "medians 9.6 to 91.8 % against 3.0 to 16.8 %",
    answers={
        "agrees": "Causal encoders count, bidirectional ones do not",
        "in part": "Some causal encoders count better than bidirectional ones",
        "disagrees": "Causal encoders count no better than bidirectional ones",
        "unknown": "Whether a causal mask helps was not decided",
    },
)
def causal_counts(table: ResultTable) -> Verdict:
    """By the medians of nets that differ in nothing but their mask."""
    pairs = []
    for causal in nets(table, CAUSAL, *ENCODINGS):
        other = CountingCondition(BIDIRECTIONAL, causal.encoding, causal.bos)
        pairs.append((table.value(causal.name, MEDIAN), table.value(other.name, MEDIAN)))
    pairs = [pair for pair in pairs if not any(map(math.isnan, pair))]
    if not pairs:
        return Verdict("No encoding was trained both ways", "unknown")
    back, both = (sorted(each) for each in zip(*pairs, strict=True))
    ours = f"Medians {_range(back)} against {_range(both)}"
    if back[-1] < FAILS:
        return Verdict(ours, "unknown", "No causal net has learnt to count at this scale.")
    return Verdict(ours, all_or_some([back_only > both_ways + APART for back_only, both_ways in pairs]))


def _range(shares: Sequence[float]) -> str:
    return f"{100 * shares[0]:.0f} to {100 * shares[-1]:.0f}\xa0%"


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
    if max(best.values()) < FAILS:
        return Verdict(list_shares(best), "unknown", "No net has learnt to count at this scale.")
    others = max(share for encoding, share in best.items() if encoding != "rope")
    verdict = "agrees" if best["rope"] > others + APART else "disagrees" if best["rope"] < others - APART else "unknown"
    return Verdict(list_shares(best), verdict, "The best encodings are too close." if verdict == "unknown" else "")


@claim(
    "Without positions, a causal encoder counts best or fails, depending on its seed.",
    "median 9.6 %, maximum 95.3 % with BOS; 10.1 % and 92.8 % without",
)
def none_is_bimodal(table: ResultTable) -> Verdict:
    """By the accuracies of all seeds and regions."""
    points = [
        value
        for net in nets(table, CAUSAL, "none")
        for value in table.where(part="accuracy", subject=net.name, item=TRAINED, measure=TOP_1)
        .drop_nulls("seed")["value"]
        .to_list()
    ]
    if not points:
        return Verdict("No such net was trained", "unknown")
    ours = f"{_range(sorted(points))} over seeds and regions"
    if len(table.seeds) < FEWEST_SEEDS:
        return Verdict(ours, "unknown", f"That takes at least {FEWEST_SEEDS} seeds.")
    return Verdict(ours, all_or_some([max(points) > LEARNT, min(points) < FAILS]))


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
    """By the best region of any seed at each slope."""
    slopes = [encoding for encoding in ENCODINGS if encoding.startswith("alibi ")]
    best = {each: max(values(table, nets(table, CAUSAL, each), MAXIMUM).values(), default=math.nan) for each in slopes}
    best = {name: value for name, value in best.items() if not math.isnan(value)}
    if len(best) < 2:
        return Verdict("At least two slopes are needed", "unknown")
    return Verdict(f"At most {list_shares(best)}", all_or_some([b > a + APART for a, b in pairwise(best.values())]))


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
    """By learnt regions in which attention and slopes name the same token."""
    biases = [each for each in learnt_regions(table) if each.compares]
    if not biases:
        return Verdict("No region was learnt by comparing ones with something", "unknown")
    same = [each.agree for each in biases]
    named = ", ".join(sorted({each.by_mass for each in biases}))
    return Verdict(
        f"The same token in {sum(same)} of {len(same)} regions that compare ones with something; by attention: {named}",
        all_or_some(same),
    )


def learnt_regions(table: ResultTable) -> list[BiasNames]:
    """What every learnt region of every trained net is counted against."""
    names = [condition.name for condition in table.conditions if condition.direction]
    return list(bias_names(table, names, table.scale.regions, table.scale.expected))


@claim("Large counts are harder than small ones.", "the peak over counts widens with the count, in a figure")
def large_counts(table: ResultTable) -> Verdict:
    """By accuracy over bins of the true count, of trained nets that learnt at least one region."""
    falls, written = [], []
    for net in sorted({each.net for each in learnt_regions(table)}):
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
