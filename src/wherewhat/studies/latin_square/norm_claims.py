"""Claims of ours on what makes the difference between small and large tables: norm, ratio or learning rate."""

from wherewhat.formatting import percent
from wherewhat.stats.verdict import UNPUBLISHED, open_verdict
from wherewhat.studies.engine.claims import Verdict, claim, list_gaps
from wherewhat.studies.engine.results import ResultTable
from wherewhat.studies.latin_square.contrasts import accuracies, behind, gap, listing, norm_and_ratio
from wherewhat.studies.latin_square.names import (
    LARGE,
    LARGE_ARMS,
    LARGE_SLOW,
    LARGE_WIDE,
    LEARNT,
    SMALL,
    SMALL_ARMS,
    SMALL_NARROW,
    SMALL_SLOW,
    TRAIN,
    accuracy,
    label,
)
from wherewhat.studies.latin_square.verdicts import no_better_than_counting, norm_verdict, too_short

FLOOR = "With the large norm, nets do not clearly beat counting, so the effect of the ratio there is hard to read"
NORM_ON_FLOOR = (
    "At this learning rate the norm that a table starts from matters; the effect of its ratio to the tokens is hard to "
    "read with the large norm"
)
RATIO_TOO = {  # by the sign of the ratio's effect, and of what the norm has more of it
    (1, 1): "At this learning rate both the norm that a table starts from and its ratio to the tokens matter, the norm "
    "more",
    (1, -1): "At this learning rate both the norm that a table starts from and its ratio to the tokens matter, the "
    "ratio more",
    **dict.fromkeys(
        [(-1, 1), (-1, 0), (-1, -1)],
        "At this learning rate a table does better from a small norm, and with a large ratio to the tokens, not a "
        "small one",
    ),
}
SPEED = "Tables that start large have learnt fewer training puzzles, which may be an effect on the speed of learning."
LOWER = {  # by the sign of the small norm's advantage at a third of the learning rate
    1: "At a third of the learning rate, the small norm does clearly better too.",
    0: "At a third of the learning rate, there is no clear difference between the norms.",
    -1: "At a third of the learning rate, the large norm does clearly better.",
}
BOTH_RATES = "A large table does better at a third of the learning rate, a small one worse"
NOT_AS_EXPECTED = {  # by the signs of what a large table gains at the lower rate, and a small one at the higher
    (1, 0): "A table that starts large does better at a third of the learning rate; for a small one this is open",
    (0, 1): "A table that starts small does worse at a third of the learning rate; for a large one this is open",
    (1, -1): "Both tables do better at a third of the learning rate",
    (-1, 1): "Both tables do worse at a third of the learning rate",
    (-1, 0): "A table that starts large does worse at a third of the learning rate; for a small one this is open",
    (0, -1): "A table that starts small does better at a third of the learning rate; for a large one this is open",
    (-1, -1): "A large table does worse at a third of the learning rate, a small one better",
}


@claim(
    "At this learning rate, what decides is the norm that a table starts from, not its initial ratio to tokens.",
    f"{UNPUBLISHED}: tokens were not scaled",
    answers={
        "seen": "At this learning rate the norm that a table starts from matters, not its initial ratio to the tokens",
        "in part": "At this learning rate both the norm that a table starts from and its ratio to the tokens matter",
        "not seen": "At this learning rate the initial ratio of the table to the tokens matters, not its norm",
        "unknown": "Whether the norm of the table or its ratio to the tokens decides is open",
    },
)
def ratio(table: ResultTable) -> Verdict:
    """By two contrasts of four arms: both small against both large norms, and both small against both large ratios.

    Where nets with a large norm hardly learn at either ratio, what the ratio does there is hard to read.
    """
    arms, large = (SMALL, LARGE, LARGE_WIDE, SMALL_NARROW), (LARGE, LARGE_WIDE)
    shares = accuracies(table, arms)
    if (verdict := too_short(table)) or len(shares) < len(arms):
        return verdict or Verdict("Not all four arms were trained", "unknown")
    if gap(table, SMALL, LARGE).side != 1:
        return Verdict(f"There is no effect to explain: {listing(shares)}", "unknown")
    effects = norm_and_ratio(table)
    by_norm, by_ratio = (effects[name] for name in ("norm", "ratio"))
    ours = f"{listing(shares)}; effect of the norm {by_norm.points()}, of the ratio {by_ratio.points()}; "
    ours += f"training: {listing(accuracies(table, arms, accuracy(TRAIN)))}"
    sentence = (
        f"With the small norm, nets answer {percent(shares[SMALL])} at the small ratio and "
        f"{percent(shares[SMALL_NARROW])} at the large one; with the large norm {percent(shares[LARGE_WIDE])} and "
        f"{percent(shares[LARGE])}. The norm makes a difference of {by_norm.points()}, the ratio one of "
        f"{by_ratio.points()}."
    )
    more_by_norm, floor = gap(table, SMALL_NARROW, LARGE_WIDE), ""
    verdict_ = norm_verdict(by_norm, by_ratio, more_by_norm)
    answer = RATIO_TOO.get((by_ratio.side, more_by_norm.side), "") if verdict_ == "in part" else ""
    if no_better_than_counting(table, large):
        norm_first = by_norm.side == 1 and more_by_norm.side != -1 and verdict_ != "unknown"
        verdict_, answer = ("in part", NORM_ON_FLOOR) if norm_first else ("unknown", "")
        no_difference = "; with the small norm it makes no clear difference"
        floor = f"{FLOOR}{no_difference if gap(table, SMALL, SMALL_NARROW).side == 0 else ''}."
    reasons = [floor, SPEED if behind(table, large) else "", at_the_lower_rate(table)]
    why = " ".join(reason for reason in reasons if reason)
    return Verdict(ours, verdict_, why, short=f"{sentence} {why}".strip(), answer=answer)


def at_the_lower_rate(table: ResultTable) -> str:
    """What becomes of the effect of the norm at a third of the learning rate; empty where it was not tried."""
    known = len(accuracies(table, (SMALL_SLOW, LARGE_SLOW))) == 2
    return LOWER[gap(table, SMALL_SLOW, LARGE_SLOW).side] if known else ""


@claim(
    "A table that starts large needs a lower learning rate, one that starts small a higher one.",
    f"{UNPUBLISHED}: one learning rate was used",
    answers={
        "seen": "Each table has its learning rate: a large one learns at a lower rate, a small one at a higher",
        "in part": "Only one of the tables depends on the learning rate as expected",
        "not seen": "Neither table clearly does better at the learning rate that was expected to suit it",
        "unknown": "Whether each table has its own best learning rate is open",
    },
)
def rate(table: ResultTable) -> Verdict:
    """By test accuracy of each table at two learning rates; the answer says no more of either than its own sign."""
    shares = accuracies(table, (*SMALL_ARMS, *LARGE_ARMS))
    if (verdict := too_short(table, SMALL_ARMS)) or len(shares) < 4:
        return verdict or Verdict("Not all four arms were trained", "unknown")
    gaps = {
        f"{label(LARGE)}, slower": gap(table, LARGE_SLOW, LARGE),
        f"{label(SMALL)}, faster": gap(table, SMALL, SMALL_SLOW),
    }
    ours = f"{listing(shares)}; gained at the rate that is expected to suit: {list_gaps(gaps)}"
    large, small = (each.side for each in gaps.values())
    sentence = (
        f"At a third of the learning rate, {label(LARGE)} goes from {percent(shares[LARGE])} to "
        f"{percent(shares[LARGE_SLOW])} of the test puzzles, and {label(SMALL)} from {percent(shares[SMALL])} to "
        f"{percent(shares[SMALL_SLOW])}."
    )
    answer = NOT_AS_EXPECTED.get((large, small), "")
    if (large, small) == (1, 1) and shares[LARGE_SLOW] < LEARNT:
        answer = BOTH_RATES
    return Verdict(ours, open_verdict([large, small]), short=sentence, answer=answer)
