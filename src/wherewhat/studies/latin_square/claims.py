"""What was published about tables on Latin squares, and what we ask beyond it, each claim above its test.

Intervals of differences are over seeds; with a single one over test puzzles alone, which says nothing about other
initial weights.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise

from wherewhat.formatting import listed, percent, short, signed
from wherewhat.published.latin_square import BY_TABLE
from wherewhat.published.latin_square import SINUSOID as PUBLISHED_SINUSOID
from wherewhat.stats.estimate import Estimate
from wherewhat.stats.verdict import UNPUBLISHED, interval_verdict, open_verdict, published_verdict
from wherewhat.studies.engine.claims import Claim, Verdict, claim, list_gaps
from wherewhat.studies.engine.results import Cell, ResultTable
from wherewhat.studies.latin_square.contrasts import (
    COMPARABLE,
    accuracies,
    behind,
    best_lines,
    best_table,
    drop_gap,
    gap,
    group_gap,
    module_contrasts,
    norm_and_ratio,
    rank_with_accuracy,
    recovery,
)
from wherewhat.studies.latin_square.names import (
    CENTRED,
    ERROR,
    GROUPS,
    LARGE,
    LARGE_SLOW,
    LARGE_WIDE,
    LAYOUT,
    LEARNT,
    MODULES,
    NETWORK,
    NONE,
    SINUSOID,
    SMALL,
    SMALL_NARROW,
    SMALL_SLOW,
    SQUARES,
    TEST,
    TRAIN,
    accuracy,
    chance,
    label,
    name_of,
    table_cell,
)
from wherewhat.studies.latin_square.settings import RELATIVE

SMALL_ARMS, LARGE_ARMS = (SMALL, SMALL_SLOW), (LARGE, LARGE_SLOW)  # each at two learning rates
WRONG_BY_COUNT = 0.45  # accuracy that counts of symbols do not reach
LEAKS = "Without positions a net cannot exceed about 41 %, so these puzzles leak something."
LARGE_IS_OPEN = "Tables that start small recover the rows and columns of the grid; whether large ones do is open"


def too_short(table: ResultTable) -> Verdict | None:
    """The verdict where even the small table has not learnt the task."""
    shares = accuracies(table, [SMALL])
    if not shares:
        return Verdict("The small table was not trained", "unknown")
    if shares[SMALL] >= LEARNT:
        return None
    return Verdict(
        f"Training was too short to judge: even {label(SMALL)} answers only {percent(shares[SMALL])}", "unknown"
    )


def better(table: ResultTable, arms: Sequence[str]) -> str:
    """The arm that answers more test puzzles."""
    shares = accuracies(table, arms)
    return max(shares, key=shares.__getitem__)


def list_shares(shares: Mapping[str, float]) -> str:
    """Shares of arms in per cent, one after the other."""
    return ", ".join(f"{label(arm)}: {percent(share)}" for arm, share in shares.items())


def published(sigma: float | str) -> str:
    """A published accuracy on held-out puzzles."""
    return f"{BY_TABLE[sigma].held_out:.1f} %"


@claim(
    "A table that starts small generalises better than one that starts large.",
    f"{published(0.2)} of held-out puzzles from σ = 0.2 and {published(2.0)} from 2.0 "
    f"({BY_TABLE[0.2].originals:.1f} % and {BY_TABLE[2.0].originals:.1f} % of 108 original ones); "
    "all training puzzles are learnt",
    answers={
        "agrees": "Tables that start small generalise better than tables that start large",
        "in part": "Tables that start small generalise; those that start large learn more slowly, and transfer is open",
        "disagrees": "Tables that start small do not generalise better",
        "unknown": "Whether tables that start small generalise better is open",
    },
)
def generalises(table: ResultTable) -> Verdict:
    """By test accuracy, each at the better of its learning rates; a part, if the large one has also learnt less."""
    if (verdict := too_short(table)) or not accuracies(table, LARGE_ARMS):
        return verdict or Verdict("The large table was not trained", "unknown")
    small, large = (better(table, arms) for arms in (SMALL_ARMS, LARGE_ARMS))
    difference, both = gap(table, small, large), (small, large)
    test, train = (accuracies(table, both, accuracy(item)) for item in (TEST, TRAIN))
    ours = f"Test: {list_shares(test)}, {difference.points()}; training: {list_shares(train)}"
    sentence = (
        f"From {label(small)}, nets answer {percent(test[small])} of the test puzzles; from {label(large)}, "
        f"{percent(test[large])}, a difference of {difference.points()}. Of training puzzles they answer "
        f"{percent(train[small])} and {percent(train[large])}."
    )
    if difference.side == 1 and train[large] < train[small] - COMPARABLE:
        why = "The large table has also learnt fewer of its training puzzles, so that transfer cannot be compared."
        return Verdict(ours, "in part", why, short=f"{sentence} {why}")
    return Verdict(ours, interval_verdict(difference.low, difference.high), short=sentence)


def slower(table: ResultTable, arms: Sequence[str], verdict: Verdict) -> Verdict:
    """A verdict that is at most "in part" where arms to compare with have learnt fewer of their training puzzles."""
    if not (late := behind(table, arms)):
        return verdict
    have = "has" if len(late) == 1 else "have"
    why = f"{listed([label(arm) for arm in late])} {have} also learnt fewer training puzzles."
    most = "in part" if verdict.verdict == "agrees" else verdict.verdict
    return replace(verdict, verdict=most, why=f"{verdict.why} {why}".strip())


@claim(
    "A table that starts small recovers the layout of rows and columns, one that starts large does not.",
    "similar to the 2-D sinusoid after alignment, the more so the smaller σ is; numbers unknown",
    answers={
        "agrees": "Small tables recover the rows and columns of the grid, large ones do not",
        "in part": "Tables that start small recover the rows and columns of the grid, and so do large ones",
        "disagrees": "Small tables do not recover the rows and columns of the grid",
        "unknown": "Whether tables recover the rows and columns of the grid is open",
    },
)
def recovers(table: ResultTable) -> Verdict:
    """By the layout correlation of every block at the end, against random tables and against its start."""
    if verdict := too_short(table):
        return verdict
    best = {arm: pair for arm in table.scale.arms if (pair := best_table(table, arm, LAYOUT)) is not None}
    if LARGE not in best:
        return Verdict("The large table was not trained", "unknown")
    starts = {
        arm: table.value(name_of(SQUARES, arm), table_cell(LAYOUT, block, 0.0)) for arm, (_, block) in best.items()
    }
    words = {arm: f"{short(value)} (at the start {short(starts[arm])})" for arm, (value, _) in best.items()}
    bound = f"97.5 % of random tables are below {short(table.estimate('', chance(LAYOUT)).high)}"
    listing = ", ".join(f"{label(arm)}: {numbers}" for arm, numbers in words.items())
    ours = f"Layout correlation of the best block: {listing}; {bound}"
    sentence = (
        f"The layout correlation of the best block is {words[SMALL]} from {label(SMALL)} and {words[LARGE]} from "
        f"{label(LARGE)}; {bound}."
    )
    small, large = (recovery(table, arm) for arm in (SMALL, LARGE))
    verdict_ = published_verdict([small, -large]) if small == 1 else "disagrees" if small == -1 else "unknown"
    return Verdict(ours, verdict_, short=sentence, answer=LARGE_IS_OPEN if (small, large) == (1, 0) else "")


@claim(
    "A table that starts small does as well as the fixed 2-D sinusoid.",
    f"{published(0.2)} of held-out puzzles from σ = 0.2, {published(PUBLISHED_SINUSOID)} with the sinusoid",
)
def as_well(table: ResultTable) -> Verdict:
    """By test accuracy: within five points; more than that above is only a part of it."""
    if (verdict := too_short(table)) or not accuracies(table, [SINUSOID]):
        return verdict or Verdict("The sinusoid was not trained", "unknown")
    difference = gap(table, SMALL, SINUSOID)
    ours = f"{list_shares(accuracies(table, [SMALL, SINUSOID]))}, {difference.points()}"
    if difference.high < -COMPARABLE:
        return Verdict(ours, "disagrees")
    if difference.low > COMPARABLE:
        return Verdict(ours, "in part", "The table does better, at this length of training.")
    if difference.low < -COMPARABLE or difference.high > COMPARABLE:
        return Verdict(ours, "unknown")
    return slower(table, [SINUSOID], Verdict(ours, "agrees"))


@claim(
    "Binary puzzles are easier than ternary ones, and these easier than quaternary ones.",
    "the order of people's errors and of nets' (first version)",
)
def classes(table: ResultTable) -> Verdict:
    """By test accuracy in each class, the mean over arms that have learnt the task."""
    learnt = [arm for arm, share in accuracies(table, table.scale.arms).items() if share >= LEARNT]
    if not learnt:
        return too_short(table) or Verdict("No arm has learnt the task", "unknown")
    pairs = list(pairwise(GROUPS))
    gaps = {f"{easy} minus {hard}": group_gap(table, learnt, easy, hard) for easy, hard in pairs}
    return Verdict(list_gaps(gaps), published_verdict([each.side for each in gaps.values()]))


@claim(
    "A table that starts small stands noise in the given cells better than other positions.",
    "stated in the abstract of the first version, without numbers",
)
def noise(table: ResultTable) -> Verdict:
    """By how much less accuracy falls under the strongest noise than with arms that are as accurate without noise."""
    if verdict := too_short(table):
        return verdict
    shares = accuracies(table, (SMALL, SINUSOID, *RELATIVE))
    others = [arm for arm in shares if arm != SMALL and abs(shares[arm] - shares[SMALL]) < COMPARABLE]
    if not others:
        return Verdict(f"No other positions are as accurate without noise: {list_shares(shares)}", "unknown")
    worst = max(table.scale.noise)
    gaps = {label(arm): drop_gap(table, SMALL, arm, worst) for arm in others}
    ours = f"Accuracy lost under {percent(worst)} noise, others minus {label(SMALL)}: {list_gaps(gaps)}"
    return Verdict(ours, published_verdict([each.side for each in gaps.values()]))


@claim(
    "Relative and rotary positions, and none at all, do worse than a table that starts small.",
    "so stated, of a causal relative encoding and of RoPE over half the channels; numbers unknown",
)
def relative(table: ResultTable) -> Verdict:
    """By test accuracy; without positions a net can only count symbols."""
    shares = accuracies(table, RELATIVE)
    if (verdict := too_short(table)) or not shares:
        return verdict or Verdict("None of them was trained", "unknown")
    leaks = shares.get(NONE, 0.0) > WRONG_BY_COUNT
    sides = [gap(table, SMALL, arm).side for arm in shares if arm != NONE or not leaks]
    ours = list_shares({**accuracies(table, [SMALL]), **shares})
    counted = table.row(NONE, chance("accuracy"))
    if counted and NONE in shares:
        ours += f"; counting symbols can give {percent(counted['value'])}"
    verdict_ = Verdict(ours, published_verdict(sides), LEAKS if leaks else "")
    return slower(table, [arm for arm in shares if arm != NONE], verdict_)  # without positions none can learn them


@claim(
    "Nets whose attention follows rows and columns answer more puzzles.",
    "accuracy rises with the similarity of attention to that of the net with the sinusoid, read from reviews",
)
def attention(table: ResultTable) -> Verdict:
    """By the rank correlation, over arms, of accuracy and the cosine of the best block with rows and columns."""
    estimate, arms = rank_with_accuracy(table, best_lines)
    if not estimate.known:
        return Verdict(f"{arms} arms are too few for a correlation", "unknown")
    return Verdict(
        f"Rank correlation over {arms} arms: {estimate.plain()}", interval_verdict(estimate.low, estimate.high)
    )


@claim(
    "Nets whose tables resemble the 2-D sinusoid answer more puzzles.",
    "accuracy rises with the similarity of table and sinusoid after alignment, read from reviews; numbers unknown",
)
def resembling(table: ResultTable) -> Verdict:
    """By the rank correlation, over arms with learned tables, of accuracy and centred Procrustes of the best block."""
    (aligned, arms), (layout, _) = (
        rank_with_accuracy(table, partial(best_table, measure=measure)) for measure in (CENTRED, LAYOUT)
    )
    if not aligned.known:
        return Verdict(f"{arms} arms with learned tables are too few for a correlation", "unknown")
    ours = f"Rank correlation with accuracy over {arms} arms with learned tables: {aligned.plain()} of Procrustes, "
    ours += f"centred; {layout.plain()} of the layout correlation"
    return Verdict(ours, interval_verdict(aligned.low, aligned.high))


@claim(
    "What decides is the norm of the table, not its ratio to the norm of tokens.",
    f"{UNPUBLISHED}: tokens were not scaled",
    answers={
        "seen": "It is the norm of the table that matters, not its ratio to the tokens",
        "in part": "Both the norm of the table and its ratio to the tokens matter",
        "not seen": "It is the ratio of the table to the tokens that matters, not its norm",
        "unknown": "Whether the norm of the table or its ratio to the tokens decides is open",
    },
)
def ratio(table: ResultTable) -> Verdict:
    """By two contrasts of four arms: both small against both large norms, and both small against both large ratios."""
    arms = (SMALL, LARGE, LARGE_WIDE, SMALL_NARROW)
    shares = accuracies(table, arms)
    if (verdict := too_short(table)) or len(shares) < len(arms):
        return verdict or Verdict("Not all four arms were trained", "unknown")
    if gap(table, SMALL, LARGE).side != 1:
        return Verdict(f"There is no effect to explain: {list_shares(shares)}", "unknown")
    effects = norm_and_ratio(table)
    by_norm, by_ratio = (effects[name] for name in ("norm", "ratio"))
    ours = f"{list_shares(shares)}; effect of the norm {by_norm.points()}, of the ratio {by_ratio.points()}; "
    ours += f"training: {list_shares(accuracies(table, arms, accuracy(TRAIN)))}"
    why = "Tables that start large have learnt fewer training puzzles, so this is an effect on the speed of learning."
    sentence = (
        f"With the small norm, nets answer {percent(shares[SMALL])} at the small ratio and "
        f"{percent(shares[SMALL_NARROW])} at the large one; with the large norm {percent(shares[LARGE_WIDE])} and "
        f"{percent(shares[LARGE])}. The norm makes a difference of {by_norm.points()}, the ratio one of "
        f"{by_ratio.points()}."
    )
    verdict_ = norm_verdict(by_norm, by_ratio, gap(table, SMALL_NARROW, LARGE_WIDE))
    return Verdict(ours, verdict_, why if behind(table, (LARGE, LARGE_WIDE)) else "", short=sentence)


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
    ours = f"{list_shares(shares)}; gained at the rate that suits: {list_gaps(gaps)}"
    sentence = (
        f"At a third of the learning rate, {label(LARGE)} goes from {percent(shares[LARGE])} to "
        f"{percent(shares[LARGE_SLOW])} of the test puzzles, and {label(SMALL)} from {percent(shares[SMALL])} to "
        f"{percent(shares[SMALL_SLOW])}."
    )
    return Verdict(ours, open_verdict([each.side for each in gaps.values()]), short=sentence)


def norm_verdict(by_norm: Estimate, by_ratio: Estimate, more_by_norm: Estimate) -> str:
    """Seen if the effect of the norm is clear and clearly larger than that of the ratio; the opposite, or both."""
    if more_by_norm.side == 1 and by_norm.side == 1:
        return "seen"
    if more_by_norm.side == -1 and by_ratio.side == 1:
        return "not seen"
    return "in part" if by_norm.side == by_ratio.side == 1 else "unknown"


@claim(
    "In a simulated network, a table that starts small shows which nodes belong to a module; a large one does not.",
    "a similar experiment in later versions; its settings are unknown",
)
def simulation(table: ResultTable) -> Verdict:
    """By the cosine of rows inside modules minus across, against the range of random tables."""
    contrasts = module_contrasts(table)
    if SMALL not in contrasts or LARGE not in contrasts:
        return Verdict("Both tables are needed", "unknown")
    bound = table.estimate("", chance(MODULES)).high
    errors = {arm: table.value(name_of(NETWORK, arm), Cell("network", ERROR)) for arm in table.scale.network_arms}
    listing = ", ".join(f"{label(arm)}: {signed(value, 2)}" for arm, value in contrasts.items())
    ours = f"Inside minus across: {listing}; 97.5 % of random tables are below {short(bound)}. "
    ours += f"Unexplained variance of hidden nodes: {list_shares(errors)}"
    if errors[SMALL] > 0.95:
        return Verdict(f"Training was too short to judge. {ours}", "unknown")
    small, large = (contrasts[arm] > bound for arm in (SMALL, LARGE))
    return Verdict(ours, "agrees" if small and not large else "in part" if small else "disagrees")


CLAIMS: dict[str, Claim] = {
    "generalises": generalises,
    "layout": recovers,
    "sinusoid": as_well,
    "classes": classes,
    "noise": noise,
    "relative": relative,
    "attention": attention,
    "resembling": resembling,
    "ratio": ratio,
    "rate": rate,
    "simulation": simulation,
}
