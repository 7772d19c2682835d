"""What was published about attribution with positions, and what we ask beyond it, each claim above its test."""

import math
from collections.abc import Mapping, Sequence

from wherewhat.formatting import listed, percent, short
from wherewhat.stats.estimate import Estimate
from wherewhat.stats.verdict import UNPUBLISHED, open_verdict, published_verdict, seen_verdict, sign_of
from wherewhat.studies.attribution.names import (
    ATTNLRP,
    CP_LRP,
    EVEN,
    INDEX,
    ON_SLOT,
    ORDER,
    POSITION,
    POSITION_SHARE,
    RANDOM,
    RELEASED,
    RETRIEVAL,
    ROLLOUT,
    SLOTS,
    VARIANTS,
    gap,
    title,
)
from wherewhat.studies.engine.claims import Claim, Verdict, claim, list_gaps
from wherewhat.studies.engine.results import Cell, ResultTable

SIGN_ONLY = "better; by how much is unknown to us, so only signs are compared"
MEASURES = {"abpc": "ABPC", "miou": "mIoU"}


def gaps(table: ResultTable, method: str, baseline: str, measure: str = "abpc") -> dict[str, Estimate]:
    """By kind of texts, by how much a method exceeds a baseline, where both were measured."""
    cells = {title(each.name): table.estimate(each.name, gap(method, baseline, measure)) for each in table.conditions}
    return {name: estimate for name, estimate in cells.items() if estimate.known}


def signs(differences: Mapping[str, Estimate]) -> list[int]:
    """Which differences are clear, and which way."""
    return [sign_of(each.low, each.high) for each in differences.values()]


def clear(differences: Mapping[str, Estimate], side: int) -> list[str]:
    """The kinds of texts on which a difference is clear one way."""
    return [name for name, sign in zip(differences, signs(differences), strict=True) if sign == side]


def position_aware(table: ResultTable, measure: str) -> Verdict:
    """The verdict on whether positions help, by the scores as they were released; other ways are listed beside them."""
    differences = gaps(table, RELEASED, ATTNLRP, measure)
    if not differences:
        return Verdict("Nothing was compared", "unknown")
    ours = f"{MEASURES[measure]} of {RELEASED} minus AttnLRP: {list_gaps(differences)}"
    others = {
        name.removeprefix("pa-lrp, "): gaps(table, name, ATTNLRP, measure) for name in VARIANTS if name != RELEASED
    }
    ours += "".join(f". {name}: {_balance(each)}" for name, each in others.items() if each)
    short = f"{MEASURES[measure]} minus that of AttnLRP: {list_gaps(differences)}."
    return Verdict(ours, published_verdict(signs(differences)), short=short)


def _balance(differences: Mapping[str, Estimate]) -> str:
    """On which texts a way of scoring is clearly better or worse."""
    better, worse = clear(differences, 1), clear(differences, -1)
    words = [f"better on {listed(better)}" if better else "", f"worse on {listed(worse)}" if worse else ""]
    return ", ".join(filter(None, words)) or "no clear difference"


@claim(
    "Scores of tokens and positions together order tokens better than AttnLRP does.",
    SIGN_ONLY,
    answers={
        "agrees": "With positions, relevance orders tokens better than AttnLRP on all texts",
        "in part": "With positions, relevance orders tokens better than AttnLRP on some texts only",
        "disagrees": "With positions, relevance orders tokens no better than AttnLRP, and worse on some texts",
        "unknown": "Whether positions help to order tokens is open: no difference from AttnLRP is clear",
    },
)
def better_order(table: ResultTable) -> Verdict:
    """By ABPC, text by text."""
    return position_aware(table, "abpc")


@claim(
    "Scores of tokens and positions together find the deciding tokens better than AttnLRP does.",
    f"{SIGN_ONLY}; published for segments of images",
    answers={
        "agrees": "With positions, relevance finds the deciding tokens better than AttnLRP on all texts",
        "in part": "With positions, relevance finds the deciding tokens better than AttnLRP on some texts only",
        "disagrees": "With positions, relevance finds the deciding tokens no better than AttnLRP, sometimes worse",
        "unknown": "Whether positions help to find the deciding tokens is open: no difference from AttnLRP is clear",
    },
)
def better_segments(table: ResultTable) -> Verdict:
    """By mIoU, text by text."""
    return position_aware(table, "miou")


@claim(
    "AttnLRP orders tokens better than chance on all texts.",
    "throughout the literature",
    answers={
        "agrees": "AttnLRP is far above random orders on all texts",
        "in part": "AttnLRP is above random orders on some texts only",
        "disagrees": "AttnLRP is no better than random orders",
        "unknown": "AttnLRP was not compared with random orders",
    },
)
def above_random(table: ResultTable) -> Verdict:
    """By ABPC against random orders of the same tokens, and by mIoU."""
    curves, segments = (gaps(table, ATTNLRP, RANDOM, measure) for measure in ("abpc", "miou"))
    if not curves:
        return Verdict("Nothing was compared", "unknown")
    ours = f"ABPC minus that of random orders: {list_gaps(curves)}"
    whole = f"{ours}. mIoU minus that of random scores: {list_gaps(segments)}" if segments else ours
    return Verdict(whole, published_verdict([*signs(curves), *signs(segments)]), short=f"{ours}.")


@claim(
    "AttnLRP orders tokens better than CP-LRP, which passes nothing through attention weights.",
    "better (arXiv 2402.05602), on other models",
)
def above_constant_attention(table: ResultTable) -> Verdict:
    """By ABPC, text by text."""
    return worse_than_attnlrp(table, CP_LRP)


@claim("Attention rollout orders tokens better than chance, and worse than AttnLRP.", "in other comparisons")
def rollout_between(table: ResultTable) -> Verdict:
    """By ABPC, text by text."""
    below, above = gaps(table, ROLLOUT, ATTNLRP), gaps(table, ROLLOUT, RANDOM)
    if not below:
        return Verdict("Rollout was not measured", "unknown")
    sides = [*(-sign for sign in signs(below)), *signs(above)]
    ours = f"ABPC minus AttnLRP: {list_gaps(below)}; minus random orders: {list_gaps(above)}"
    return Verdict(ours, published_verdict(sides))


def worse_than_attnlrp(table: ResultTable, method: str) -> Verdict:
    """The verdict on whether a method is worse than AttnLRP."""
    differences = gaps(table, method, ATTNLRP)
    if not differences:
        return Verdict(f"{method} was not measured", "unknown")
    return Verdict(
        f"ABPC of {method} minus AttnLRP: {list_gaps(differences)}",
        published_verdict([-sign for sign in signs(differences)]),
    )


@claim(
    "Positions alone order tokens better than chance.",
    f"{UNPUBLISHED}: positions alone were not evaluated",
)
def positions_alone(table: ResultTable) -> Verdict:
    """By ABPC of positions alone against random orders, and how far they are from AttnLRP."""
    above, beside = gaps(table, POSITION, RANDOM), gaps(table, POSITION, ATTNLRP)
    if not above:
        return Verdict("Positions alone were not measured", "unknown")
    ours = f"ABPC minus that of random orders: {list_gaps(above)}; minus AttnLRP: {list_gaps(beside)}"
    return Verdict(ours, open_verdict(signs(above)))


@claim(
    "Where a place decides (index), the relevance of positions is larger than where content does (retrieval), and more "
    "of it falls on the slot asked for.",
    f"{UNPUBLISHED}: there was no task in which the place alone decides",
    answers={
        "seen": "Where a place decides, positions carry more of the relevance, and it falls on the slot asked for",
        "in part": "Where a place decides, the relevance of positions is only in part as expected",
        "not seen": "The relevance of positions does not tell whether a place decides",
        "unknown": "Where the relevance of positions falls was not measured",
    },
)
def slot_asked_for(table: ResultTable) -> Verdict:
    """By what position adds to logits: its share of all, and what of it falls on the slot, in both tasks."""
    size, on_slot = (
        [table.estimate(task, Cell(SLOTS, measure)) for task in (INDEX, RETRIEVAL)]
        for measure in (POSITION_SHARE, ON_SLOT)
    )
    if not all(each.known for each in (*size, *on_slot)):
        return Verdict("Both tasks are needed", "unknown")
    even = table.value(INDEX, Cell(SLOTS, EVEN))
    ours = (
        f"Positions carry {percent(size[0].value)} of the relevance of logits in index and {percent(size[1].value)} in "
        f"retrieval; {percent(on_slot[0].value)} and {percent(on_slot[1].value)} of that falls on the slot of the "
        f"answer, {percent(even)} if it were the same everywhere"
    )
    apart = [first.low > second.high for first, second in (size, on_slot)]
    return Verdict(ours, seen_verdict([*apart, on_slot[0].low > even]), short=f"{ours}.")


@claim(
    "Positions change the order of tokens, not only the size of scores.",
    f"{UNPUBLISHED}: of a version without positions as inputs, only the size of scores was seen to change",
)
def other_order(table: ResultTable) -> Verdict:
    """By texts on which tokens and positions together order tokens otherwise than AttnLRP does."""
    shares = {
        title(each.name): value
        for each in table.conditions
        if not math.isnan(value := table.value(each.name, Cell(ORDER, "texts", VARIANTS[0])))
    }
    if not shares:
        return Verdict("Nothing was compared", "unknown")
    pairs = [table.value(each.name, Cell(ORDER, "pairs", VARIANTS[0])) for each in table.conditions]
    ours = (
        f"Texts on which the order differs: {', '.join(f'{name} {percent(share)}' for name, share in shares.items())}"
    )
    ours += f"; of pairs of tokens, {_range([pair for pair in pairs if not math.isnan(pair)])}"
    return Verdict(ours, seen_verdict([any(share > 0 for share in shares.values())]))


def _range(shares: Sequence[float]) -> str:
    low, high = (short(100 * end) for end in (min(shares), max(shares)))
    return f"{low} to {high}\xa0%"


CLAIMS: dict[str, Claim] = {
    "order": better_order,
    "segments": better_segments,
    "random": above_random,
    "constant attention": above_constant_attention,
    "rollout": rollout_between,
    "positions alone": positions_alone,
    "slot": slot_asked_for,
    "other order": other_order,
}
