"""What was published about tables on Latin squares, and what we ask beyond it, each claim above its test.

Intervals of differences are over seeds; with a single one over test puzzles alone, which says nothing about other
initial weights. Fewer than three seeds therefore decide no more than a part of any claim.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from wherewhat.formatting import count, listed, percent, short
from wherewhat.published.latin_square import BY_TABLE
from wherewhat.published.latin_square import SINUSOID as PUBLISHED_SINUSOID
from wherewhat.stats.verdict import interval_verdict, published_verdict
from wherewhat.studies.engine.claims import Claim, Verdict, claim, list_gaps
from wherewhat.studies.engine.results import ResultTable
from wherewhat.studies.latin_square.contrasts import (
    COMPARABLE,
    accuracies,
    behind,
    best_change,
    best_table,
    better,
    change_shows,
    gap,
    group_gap,
    kept,
    kept_gap,
    listing,
    recovery,
    without_layout,
)
from wherewhat.studies.latin_square.module_claims import simulation
from wherewhat.studies.latin_square.names import (
    CHANGE_BOUND,
    GROUPS,
    GUESS,
    LARGE_ARMS,
    LAYOUT,
    LEARNED,
    LEARNT,
    MIDDLE,
    NONE,
    SINUSOID,
    SMALL,
    SMALL_ARMS,
    SQUARES,
    TEST,
    TRAIN,
    accuracy,
    chance,
    change_cell,
    label,
    name_of,
    table_cell,
)
from wherewhat.studies.latin_square.norm_claims import rate, ratio
from wherewhat.studies.latin_square.settings import ARMS, RELATIVE
from wherewhat.studies.latin_square.similarity_claims import attention, resembling
from wherewhat.studies.latin_square.verdicts import (
    capped,
    limited_by_seeds,
    no_better_than_counting,
    only_small,
    too_short,
)

WRONG_BY_COUNT = 0.45  # accuracy that counts of symbols do not reach
LEAKS = "Without positions a net cannot exceed about 41 %, so these puzzles leak something."
LARGE_IS_OPEN = "Tables that start small recover the rows and columns of the grid; whether large ones do is open"
LARGE_IS_BEHIND = (
    "Tables that start small recover the rows and columns of the grid; those that start large do not, but have learnt "
    "less"
)


LARGE_HIDES = (
    "Tables that start small recover the rows and columns of the grid; of those that start large, only what was added "
    "to the start shows them"
)


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
        "in part": "Tables that start small generalise; those that start large learn more slowly, and how well they "
        "generalise is open",
        "disagrees": "Tables that start small do not generalise better",
        "unknown": "Whether tables that start small generalise better is open",
    },
)
def generalises(table: ResultTable) -> Verdict:
    """By test accuracy, each at the better of its learning rates; limited where one has also learnt less."""
    if (verdict := too_short(table, SMALL_ARMS)) or not accuracies(table, LARGE_ARMS):
        return verdict or Verdict("The large table was not trained", "unknown")
    small, large = (better(table, arms) for arms in (SMALL_ARMS, LARGE_ARMS))
    difference, both = gap(table, small, large), (small, large)
    test, train = (accuracies(table, both, accuracy(item)) for item in (TEST, TRAIN))
    ours = f"Test: {listing(test)}, {difference.points()}; training: {listing(train)}"
    sentence = (
        f"From {label(small)}, nets answer {percent(test[small])} of the test puzzles; from {label(large)}, "
        f"{percent(test[large])}, a difference of {difference.points()}. Of training puzzles they answer "
        f"{percent(train[small])} and {percent(train[large])}."
    )
    verdict_ = capped(table, [large], Verdict(ours, interval_verdict(difference.low, difference.high)), small)
    return replace(verdict_, short=f"{sentence} {verdict_.why}".strip())


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
    """By the layout correlation of every block at the end, against random tables and against its start.

    Of the same nets as in `generalises`, so that a large table that has learnt less does not count as one that fails.
    """
    if (verdict := too_short(table, SMALL_ARMS)) or not accuracies(table, LARGE_ARMS):
        return verdict or Verdict("The large table was not trained", "unknown")
    small, large = (better(table, arms) for arms in (SMALL_ARMS, LARGE_ARMS))
    best = {arm: pair for arm in table.scale.arms if (pair := best_table(table, arm, LAYOUT)) is not None}
    if small not in best or large not in best:
        return Verdict("Tables of both were not measured", "unknown")
    starts = {
        arm: table.value(name_of(SQUARES, arm), table_cell(LAYOUT, block, 0.0)) for arm, (_, block) in best.items()
    }
    words = {arm: f"{short(value)} (at the start {short(starts[arm])})" for arm, (value, _) in best.items()}
    bound = f"97.5 % of random tables are below {short(table.estimate('', chance(LAYOUT)).high)}"
    all_words = ", ".join(f"{label(arm)}: {numbers}" for arm, numbers in words.items())
    ours = f"Layout correlation of the best block: {all_words}; {bound}"
    sentence = (
        f"The layout correlation of the best block is {words[small]} from {label(small)} and {words[large]} from "
        f"{label(large)}; {bound}."
    )
    sides = recovery(table, small), recovery(table, large)
    verdict_, alone = (
        Verdict(ours, only_small(*sides), answer=LARGE_IS_OPEN if sides == (1, 0) else ""),
        sides == (1, -1),
    )
    verdict_ = capped(table, [large], verdict_, small) if alone or sides[0] == -1 else verdict_
    if alone and change_shows(table, large) == 1:
        verdict_ = replace(verdict_, verdict="in part", answer=LARGE_HIDES)
    elif alone and behind(table, [large], small):
        verdict_ = replace(verdict_, answer=LARGE_IS_BEHIND)
    parts = [sentence, change_words(table, [small, large]), verdict_.why, not_needed(table)]
    return replace(verdict_, short=" ".join(part for part in parts if part))


def change_words(table: ResultTable, arms: Sequence[str]) -> str:
    """A sentence on the layout correlation of what tables have added to their starts; empty where not measured."""
    words = []
    for arm in arms:
        if best := best_change(table, arm):
            value, block = best
            bound = table.value(name_of(SQUARES, arm), change_cell(block, CHANGE_BOUND))
            words.append(f"{short(value)} from {label(arm)} (97.5 % of its shuffles are below {short(bound)})")
    return f"Of what was added to the start alone, it is {listed(words)}." if words else ""


def not_needed(table: ResultTable) -> str:
    """A sentence on the plain table whose nets answer well without the layout; empty where no such net does.

    Plain tables differ in nothing but the sigma that they start from.
    """
    plain = [arm for arm in table.scale.arms if ARMS[arm].kind == LEARNED]
    if not (answering := without_layout(table, plain)):
        return ""
    arm = better(table, list(answering))
    others = [other for other in accuracies(table, plain) if other != arm]
    most = all(gap(table, arm, other).side == 1 for other in others)
    layout = short(pair[0]) if (pair := best_table(table, arm, LAYOUT)) else ""
    sentence = (
        f"A table need not show the layout for its net to answer: nets from {label(arm)} answer "
        f"{percent(answering[arm])} of the test puzzles"
        + (f", clearly more than from any other of {len(others) + 1} sigmas," if others and most else "")
        + f" with a layout correlation of {layout}."
    )
    shown = "What their tables have added to their start does show it." if change_shows(table, arm) == 1 else ""
    return f"{sentence} {shown}".strip()


@claim(
    "A table that starts small does as well as the fixed 2-D sinusoid.",
    f"{published(0.2)} of held-out puzzles from σ = 0.2, {published(PUBLISHED_SINUSOID)} with the sinusoid",
)
def as_well(table: ResultTable) -> Verdict:
    """By test accuracy: within five points; more than that above is only a part of it."""
    if (verdict := too_short(table)) or not accuracies(table, [SINUSOID]):
        return verdict or Verdict("The sinusoid was not trained", "unknown")
    difference = gap(table, SMALL, SINUSOID)
    ours = f"{listing(accuracies(table, [SMALL, SINUSOID]))}, {difference.points()}"
    if difference.high < -COMPARABLE:
        return capped(table, [SINUSOID], Verdict(ours, "disagrees"))
    if difference.low > COMPARABLE:
        return Verdict(ours, "in part", "The table does better, at this length of training.")
    if difference.low < -COMPARABLE or difference.high > COMPARABLE:
        return Verdict(ours, "unknown")
    return capped(table, [SMALL], capped(table, [SINUSOID], Verdict(ours, "agrees")), SINUSOID)


@claim(
    "Binary puzzles are easier than ternary ones, and these easier than quaternary ones.",
    "the order of people's errors and of nets' (first version)",
    answers={
        "agrees": "Puzzles are harder the more of the grid they need",
        "in part": "Not all classes of puzzles differ as expected",
        "disagrees": "Puzzles that need more of the grid are not harder",
        "unknown": "Whether puzzles that need more of the grid are harder is open",
    },
)
def classes(table: ResultTable) -> Verdict:
    """By test accuracy in each class, the mean over nets that have learnt the task."""
    learnt = [arm for arm, share in accuracies(table, table.scale.arms).items() if share >= LEARNT]
    if not learnt:
        return too_short(table) or Verdict(f"No net answers {percent(LEARNT)} of the test puzzles", "unknown")
    pairs = list(pairwise(GROUPS))
    gaps = {f"{easy} minus {hard}": group_gap(table, learnt, easy, hard) for easy, hard in pairs}
    kinds = f"{count(len(learnt), 'kind')} of nets that answer at least {percent(LEARNT)}"
    sentence = f"In accuracy, over {kinds}: {list_gaps(gaps)}."
    return Verdict(list_gaps(gaps), published_verdict([each.side for each in gaps.values()]), short=sentence)


@claim(
    "A table that starts small is more robust to noise in the given cells than other positions.",
    "stated in the abstract of the first version, without numbers",
    answers={
        "agrees": "Tables that start small are more robust to noise than other positions",
        "in part": "Tables that start small are more robust to noise than some other positions",
        "disagrees": "Tables that start small are not more robust to noise than other positions",
        "unknown": "Whether tables that start small are more robust to noise is open",
    },
)
def noise(table: ResultTable) -> Verdict:
    """By the share of its accuracy above a random symbol that a net keeps under the strongest noise.

    Of arms that clearly do better than counting, which has nothing to lose when cells are replaced.
    """
    if verdict := too_short(table):
        return verdict
    shares = accuracies(table, (MIDDLE, SINUSOID, *RELATIVE))
    others = [arm for arm in shares if not no_better_than_counting(table, [arm])]
    if not others:
        ours = f"No nets to compare with clearly answer more than counts of symbols give: {listing(shares)}"
        return Verdict(ours, "unknown", short=f"{ours}.")
    worst = max(table.scale.noise)
    gaps = {label(arm): kept_gap(table, SMALL, arm, worst) for arm in others}
    keeping = listing({arm: kept(table, arm, worst).value for arm in (SMALL, *others)})
    ours = f"Kept of the accuracy above {percent(GUESS)} under {percent(worst)} noise: {keeping}. "
    ours += f"{label(SMALL)} minus others: {list_gaps(gaps)}"
    return Verdict(ours, published_verdict([each.side for each in gaps.values()]), short=f"{ours}.")


@claim(
    "Relative and rotary positions, and none at all, do worse than a table that starts small.",
    "so stated, of a causal relative encoding and of RoPE over half the channels; numbers unknown",
)
def relative(table: ResultTable) -> Verdict:
    """By test accuracy of relative and rotary positions; without any, a net can only count symbols.

    That none at all does worse is so in any world, and would be a part of the claim whatever becomes of the others.
    """
    shares = accuracies(table, RELATIVE)
    if (verdict := too_short(table)) or not shares:
        return verdict or Verdict("None of them was trained", "unknown")
    others = [arm for arm in shares if arm != NONE]
    sides = [gap(table, SMALL, arm).side for arm in others]
    ours = listing({**accuracies(table, [SMALL]), **shares})
    counted = table.row(NONE, chance("accuracy"))
    if counted and NONE in shares:
        ours += f"; counting symbols can give {percent(counted['value'])}"
    leaks = shares.get(NONE, 0.0) > WRONG_BY_COUNT
    return capped(table, others, Verdict(ours, published_verdict(sides), LEAKS if leaks else ""))


OF_THE_STUDY: dict[str, Claim] = {
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
CLAIMS = {name: limited_by_seeds(each) for name, each in OF_THE_STUDY.items()}
