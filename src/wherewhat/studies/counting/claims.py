"""What was published about counting, and what we ask beyond it, each claim above the test that decides on it.

Claims on regions that were learnt are in `region_claims`.
"""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import polars as pl

from wherewhat.formatting import listed, percent
from wherewhat.stats.verdict import UNPUBLISHED, all_or_some, if_unpublished, published_verdict
from wherewhat.studies.counting.names import (
    BIDIRECTIONAL,
    BY_HAND,
    CAUSAL,
    LEARNT,
    MAXIMUM,
    MEDIAN,
    SIZES,
    SLOW,
    TOP_1,
    TRAINED,
    in_words,
)
from wherewhat.studies.counting.region_claims import bias_token, large_counts
from wherewhat.studies.counting.settings import CountingCondition
from wherewhat.studies.engine.claims import FEWEST_SEEDS, Claim, Verdict, claim, list_shares
from wherewhat.studies.engine.results import Cell, ResultTable

FAILS = 0.5  # top-1 below which nothing is learnt
APART = 0.05  # shares that differ by less are alike
FAR = 0.15  # by how much the best region is better where causal nets are far better; all published pairs are
SAME_BY_CHANCE = 0.05  # how likely seeds may all learn or all fail if each does with a probability of one half
COMPARED = {
    "rope": "with RoPE",
    "none": "without positions",
    "learned": "with learned positions",
}  # published both ways
TOO_FEW_SEEDS = f"That takes at least {FEWEST_SEEDS} seeds."  # as a net may learn in one run and not in another
NOTHING_LEARNT = "None of these nets has learnt to count."


def nets(table: ResultTable, direction: str, *encodings: str) -> list[CountingCondition]:
    """The trained nets that look one way, with these encodings."""
    return [each for each in table.conditions if each.direction == direction and each.encoding in encodings]


def values(table: ResultTable, chosen: Sequence[CountingCondition], cell: Cell) -> dict[str, float]:
    """By net, one number over all seeds, where there is one."""
    rows = {each.name: table.value(each.name, cell) for each in chosen}
    return {name: value for name, value in rows.items() if not math.isnan(value)}


def undecided(table: ResultTable, shares: Mapping[str, float]) -> str | None:
    """Why nothing can be said of some nets: too few seeds, or none of them has learnt to count; None if neither.

    All nets that are compared belong into `shares`.
    """
    if len(table.seeds) < FEWEST_SEEDS:
        return TOO_FEW_SEEDS
    return NOTHING_LEARNT if max(shares.values()) < FAILS else None


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


class Pair(NamedTuple):
    """The best region and the median of a causal net, and of the same net without the mask."""

    name: str
    best: float
    other_best: float
    median: float
    other_median: float

    @property
    def better(self) -> bool:
        """Whether the best region is better, and the median not worse, unless the other median is too low to count."""
        return self.best > self.other_best + APART and (self.level or self.other_median < FAILS)

    @property
    def no_better(self) -> bool:
        """Whether the causal net is better neither in its best region nor in the median."""
        return self.best <= self.other_best + APART and self.median <= self.other_median + APART

    @property
    def far(self) -> bool:
        """Whether the best region is far better, and the median is not worse."""
        return self.best > self.other_best + FAR and self.level

    @property
    def level(self) -> bool:
        """Whether the median is not worse."""
        return self.median > self.other_median - APART


@claim(
    "Causal encoders count far better than bidirectional ones.",
    "with RoPE, learned positions or none: medians 9.6 to 91.8 % against 3.0 to 16.8 %",
    answers={
        "agrees": "Causal encoders count far better than bidirectional ones",
        "in part": "Causal encoders count better than bidirectional ones, but not all of them far better",
        "disagrees": "Causal encoders count no better than bidirectional ones",
        "unknown": "Whether a causal mask helps is open",
    },
)
def causal_counts(table: ResultTable) -> Verdict:
    """By the best region of any seed and by the median, of nets that differ in the mask alone.

    A net may learn from one seed and not from another, hence the best. ALiBi was published with the mask alone. Pairs
    that have not learnt to count either way decide nothing.
    """
    pairs = []
    for causal in nets(table, CAUSAL, *COMPARED):
        other = CountingCondition(BIDIRECTIONAL, causal.encoding, causal.bos).name
        name = f"{COMPARED[causal.encoding]}{' (BOS)' if causal.bos else ''}"
        pair = Pair(name, *(table.value(net, cell) for cell in (MAXIMUM, MEDIAN) for net in (causal.name, other)))
        pairs += [] if math.isnan(pair.best + pair.other_best) else [pair]
    if not pairs:
        return Verdict("No encoding was trained both ways", "unknown")
    words = [
        f"{pair.name} {percent(pair.best)} and {percent(pair.other_best)} "
        f"(medians {percent(pair.median)} and {percent(pair.other_median)})"
        for pair in pairs
    ]
    ours = f"Best region with a causal mask and without one: {'; '.join(words)}"
    if not (learning := [pair for pair in pairs if max(pair.best, pair.other_best) >= FAILS]):
        return Verdict(ours, "unknown", NOTHING_LEARNT)
    if len(table.seeds) < FEWEST_SEEDS:
        return Verdict(ours, "unknown", TOO_FEW_SEEDS)
    if all(pair.far for pair in learning):
        return Verdict(ours, "agrees")
    helped = [pair.name for pair in learning if pair.better]
    not_helped = [pair.name for pair in learning if pair.no_better]
    if not helped:
        return Verdict(ours, "disagrees" if len(not_helped) == len(learning) else "unknown")
    rest = [pair.name for pair in learning if pair.name not in (*helped, *not_helped)]
    answer = f"A causal mask helps {listed(helped)}"
    answer += f", but not {listed(not_helped)}" if not_helped else ""
    answer += f"; whether it helps {listed(rest)} is open" if rest else ""
    return Verdict(ours, "in part", answer=answer if not_helped or rest else "")


def _range(shares: Sequence[float]) -> str:
    low, high = (f"{100 * share:.0f}" for share in (shares[0], shares[-1]))
    return f"{low}\xa0%" if low == high else f"{low} to {high}\xa0%"


@claim(
    "Of causal encoders, those with RoPE learn to count most reliably.",
    "median 91.8 % without BOS, 30.9 % with it; the next best encoding has 22.0 %",
)
def rope_is_reliable(table: ResultTable) -> Verdict:
    """By the medians with BOS and those without, each if RoPE and another encoding were trained."""
    of_all: dict[str, dict[str, float]] = {}
    for bos in (True, False):
        causal = [net for net in table.conditions if net.direction == CAUSAL and net.bos == bos]
        its = {in_words(net.encoding): table.value(net.name, MEDIAN) for net in causal}
        its = {encoding: share for encoding, share in its.items() if not math.isnan(share)}
        of_all |= {"with BOS" if bos else "without BOS": its} if "rope" in its else {}
    medians = {when: its for when, its in of_all.items() if len(its) > 1}
    if not medians:
        return Verdict("RoPE and another encoding are needed", "unknown")
    listings = [
        f"median {when}: {list_shares(its)}{'' if when in medians else ', with nothing to compare it with'}"
        for when, its in of_all.items()
    ]
    ours = "; ".join(listings)
    ours = ours[0].upper() + ours[1:]
    if missing := undecided(table, {f"{each}, {when}": its[each] for when, its in medians.items() for each in its}):
        return Verdict(ours, "unknown", missing)
    leads = [its["rope"] - max(share for each, share in its.items() if each != "rope") for its in medians.values()]
    verdict = published_verdict([0 if abs(lead) <= APART else 1 if lead > 0 else -1 for lead in leads])
    return Verdict(ours, verdict, "The best encodings are too close." if verdict == "unknown" else "")


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
        return Verdict(ours, "unknown", TOO_FEW_SEEDS)
    if max(shares[-1] for shares in best.values()) < LEARNT:
        return Verdict(ours, "unknown", "No such net has learnt to count at this scale.")
    bimodal = [shares[0] < FAILS and shares[-1] > LEARNT for shares in best.values()]
    if not any(bimodal) and 2 ** (1 - len(table.seeds)) > SAME_BY_CHANCE:
        return Verdict(ours, "unknown", f"All seeds of a net are alike, which {len(table.seeds)} can be by chance.")
    return Verdict(ours, all_or_some(bimodal))


@claim("With learned positions, causal encoders count badly.", "medians 13.9 and 14.4 %, at most 44.3 %")
def learned_is_bad(table: ResultTable) -> Verdict:
    """By the best region of any seed, against RoPE."""
    learned, rope = (values(table, nets(table, CAUSAL, encoding), MAXIMUM) for encoding in ("learned", "rope"))
    if not learned or not rope:
        return Verdict("Learned positions and RoPE are needed", "unknown")
    ours = f"At most {list_shares({**learned, **rope})}"
    if (missing := undecided(table, {**learned, **rope})) is not None:
        return Verdict(ours, "unknown", missing)
    return Verdict(
        ours, all_or_some([max(learned.values()) < FAILS, max(learned.values()) < max(rope.values()) - APART])
    )


@claim("ALiBi counts better the flatter it is.", "at most 10.6 % with slope 1, 11.6 % with 0.1, 75.4 % with 0.01, BOS")
def flat_alibi(table: ResultTable) -> Verdict:
    """By the best region of any seed at each slope: whether the flattest is better than every other.

    It agrees only if the median over regions and seeds does not contradict.
    """
    sloped = {each.encoding for each in table.conditions if each.encoding.startswith("alibi ")}
    slopes = sorted(sloped, key=lambda encoding: -float(encoding.removeprefix("alibi ")))
    best, middle = (
        {
            in_words(each): max(its.values())
            for each in slopes
            if (its := values(table, nets(table, CAUSAL, each), cell))
        }
        for cell in (MAXIMUM, MEDIAN)
    )
    if len(best) < 2:
        return Verdict("At least two slopes are needed", "unknown")
    ours = f"At most {list_shares(best)}; medians {list_shares(middle)}"
    if (missing := undecided(table, best)) is not None:
        return Verdict(ours, "unknown", missing)
    *steeper, flattest = best
    better = [best[flattest] > best[other] + APART for other in steeper]
    worse = any(middle[flattest] < middle[other] - APART for other in steeper)
    if any(better) and worse:
        return Verdict(ours, "in part", "In the median over seeds and regions, a steeper slope counts better.")
    return Verdict(ours, all_or_some(better))


@claim(
    "A bidirectional encoder with RoPE at one slow frequency, which tells before from after, counts better than with "
    "all frequencies.",
    f"{UNPUBLISHED}: RoPE was taken to see distance alone",
)
def slow_rotation(table: ResultTable) -> Verdict:
    """By the best region of any seed, both with BOS."""
    pair = [CountingCondition(BIDIRECTIONAL, encoding, True) for encoding in (SLOW, "rope")]
    shares = values(table, pair, MAXIMUM)
    if len(shares) < len(pair):
        return Verdict("Both encodings are needed", "unknown")
    ours = f"Best region: {list_shares(shares)}"
    if (missing := undecided(table, shares)) is not None:
        return Verdict(ours, "unknown", missing)
    slow, plain = shares.values()
    return Verdict(ours, if_unpublished("agrees" if slow > plain + APART else "disagrees"))


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
