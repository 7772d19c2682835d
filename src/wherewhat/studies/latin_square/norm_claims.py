"""Claims of ours on what makes the difference between small and large tables: norm, ratio or learning rate."""

from math import isnan

from wherewhat.formatting import percent, short
from wherewhat.stats.verdict import UNPUBLISHED, open_verdict
from wherewhat.studies.engine.claims import Verdict, claim, list_gaps
from wherewhat.studies.engine.results import ResultTable
from wherewhat.studies.latin_square.contrasts import accuracies, behind, gap, listing, norm_and_ratio
from wherewhat.studies.latin_square.names import (
    LARGE,
    LARGE_ARMS,
    LARGE_SLOW,
    LARGE_WIDE,
    SMALL,
    SMALL_ARMS,
    SMALL_NARROW,
    SMALL_SLOW,
    SQUARES,
    TRAIN,
    accuracy,
    label,
    name_of,
    ratio_cell,
)
from wherewhat.studies.latin_square.verdicts import no_better_than_counting, norm_verdict, too_short

FLOOR = (
    "Nets with a large norm do not clearly answer more than counting symbols gives: no ratio can make them worse, and "
    "norm and ratio cannot be told apart."
)
SPEED = "Tables that start large have learnt fewer training puzzles, which may be an effect on the speed of learning."
ONE_RATE = {  # by the signs of a large table at the lower rate, and of a small one at the higher
    (1, 0): "A table that starts large learns better at a lower rate; whether a small one does at a higher is open",
    (0, 1): "A table that starts small learns better at a higher rate; whether a large one does at a lower is open",
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

    Where a net with a large norm learns nothing at either ratio, the ratio cannot show what it does there.
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
    floor = no_better_than_counting(table, large)
    reasons = [FLOOR if floor else "", SPEED if behind(table, large) else "", at_the_lower_rate(table)]
    why = " ".join(reason for reason in [*reasons, ratios_over_training(table)] if reason)
    verdict_ = "unknown" if floor else norm_verdict(by_norm, by_ratio, gap(table, SMALL_NARROW, LARGE_WIDE))
    return Verdict(ours, verdict_, why, short=f"{sentence} {why}".strip())


def at_the_lower_rate(table: ResultTable) -> str:
    """What becomes of the effect of the norm at a third of the learning rate; empty where it was not tried."""
    shares = accuracies(table, (SMALL_SLOW, LARGE_SLOW))
    if len(shares) < 2:
        return ""
    both = f"{percent(shares[SMALL_SLOW])} from the small norm and {percent(shares[LARGE_SLOW])} from the large one"
    gone = ": no clear difference" if gap(table, SMALL_SLOW, LARGE_SLOW).side != 1 else ""
    return f"At a third of the learning rate nets answer {both}{gone}."


def ratios_over_training(table: ResultTable) -> str:
    """How the ratio of the first table to the tokens changes in training; empty where it was not measured."""
    ends = {
        arm: [table.value(name_of(SQUARES, arm), ratio_cell(step)) for step in (0.0, None)]
        for arm in (SMALL, SMALL_NARROW, LARGE_WIDE, LARGE)
    }
    if any(isnan(end) for pair in ends.values() for end in pair):
        return ""
    words = ", ".join(f"{label(arm)} {short(first)} to {short(last)}" for arm, (first, last) in ends.items())
    return f"Norm of the table over that of tokens, from the start of training to its end: {words}."


@claim(
    "A table that starts large needs a lower learning rate, one that starts small a higher one.",
    f"{UNPUBLISHED}: one learning rate was used",
    answers={
        "seen": "Each table has its learning rate: a large one learns at a lower rate, a small one at a higher",
        "in part": "Only one of the tables depends on the learning rate as expected",
        "not seen": "The learning rate does not explain what becomes of small and large tables",
        "unknown": "Whether each table has its own best learning rate is open",
    },
)
def rate(table: ResultTable) -> Verdict:
    """By test accuracy of each table at two learning rates."""
    shares = accuracies(table, (*SMALL_ARMS, *LARGE_ARMS))
    if (verdict := too_short(table)) or len(shares) < 4:
        return verdict or Verdict("Not all four arms were trained", "unknown")
    gaps = {
        f"{label(LARGE)}, slower": gap(table, LARGE_SLOW, LARGE),
        f"{label(SMALL)}, faster": gap(table, SMALL, SMALL_SLOW),
    }
    ours = f"{listing(shares)}; gained at the rate that suits: {list_gaps(gaps)}"
    large, small = (each.side for each in gaps.values())
    sentence = (
        f"At a third of the learning rate, {label(LARGE)} goes from {percent(shares[LARGE])} to "
        f"{percent(shares[LARGE_SLOW])} of the test puzzles, and {label(SMALL)} from {percent(shares[SMALL])} to "
        f"{percent(shares[SMALL_SLOW])}."
    )
    return Verdict(ours, open_verdict([large, small]), short=sentence, answer=ONE_RATE.get((large, small), ""))
