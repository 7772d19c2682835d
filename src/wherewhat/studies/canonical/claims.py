"""The published claims, each with the rule that decides on it. Verdicts follow from the result table alone."""

from itertools import pairwise
from math import isnan

import numpy as np

from wherewhat.formatting import percent, tenths
from wherewhat.stats.estimate import Estimate
from wherewhat.stats.ranks import rank_correlation
from wherewhat.stats.verdict import published_verdict, seen_verdict
from wherewhat.studies.canonical import BASES, BINS, INDEX, LEARNT, ONE_PLANE, RETRIEVAL, SOLVED, TWO_PLANES
from wherewhat.studies.canonical.theory import BOUNDS
from wherewhat.studies.engine.claims import Claim, Verdict, claim
from wherewhat.studies.engine.results import Cell, ResultTable, over_seeds

STEADY, PARTLY = 0.9, 0.5  # rank correlation with the angle from which a curve counts as monotonic, or partly so
FAILED = 0.2  # accuracy up to which a task counts as failed at the unfavourable end of the angles
PURE = 0.95  # variance share
SETBACK = 0.05  # a score difference may fall by less than this and still count as rising
UNLEARNT = "No head reached 95 %, so this cannot be decided."
Curve = dict[float, Estimate]  # by base angle


def monotonic(table: ResultTable, name: str, *, rising: bool) -> Verdict:
    """Whether accuracy goes all the way from failed at one end of the angles to learnt at the other."""
    curve = _curve(table, name)
    rank = rank_correlation(list(curve), [mean.value for mean in curve.values()]) or 0.0
    trend = f"rank correlation with the angle {rank:.2f}".replace("-", "−")
    ours = f"{share(curve[0.0])} at angle 0, {share(curve[2.0])} at base 2; {trend}"
    if not _learnt(curve):
        return Verdict(ours, "unknown", UNLEARNT)
    agreement, good, bad = (rank, curve[2.0], curve[0.0]) if rising else (-rank, curve[0.0], curve[2.0])
    whole = agreement >= STEADY and good.value >= LEARNT and bad.value <= FAILED
    return Verdict(ours, "agrees" if whole else "in part" if agreement >= PARTLY else "disagrees")


def bent(table: ResultTable, name: str, *, up: bool) -> Verdict:
    """Whether both ends of the context are clearly above its middle where angles are too small, or below if large."""
    learnt_at, bends, clear = _learnt(_curve(table, name)), [], {}
    small, large = min(learnt_at, default=0.0), max(learnt_at, default=max(BASES))
    for base in [base for base in BASES if (0 < base < small if up else base > large)]:
        bins = [np.array(table.by_seed([name], Cell("by_slot", "accuracy", item, base))) for item in BINS]
        middle = (bins[len(bins) // 2 - 1] + bins[len(bins) // 2]) / 2
        first, last = bins[0] - middle, bins[-1] - middle
        bend, *ends = (over_seeds(values) for values in ((first + last) / 2, first, last))
        bends.append(f"{signed(100 * bend.value, 0)} at {base:g}")
        side, nearest = (1, _ends(bend)[0]) if up else (-1, _ends(bend)[1])
        clear[f"{base:g}"] = side * nearest > 0 and all(side * end.value > 0 for end in ends)
    if not bends:
        end, size = ("smallest", "small") if up else ("largest", "large")
        no_angle = f"{name.capitalize()} is learnt at the {end} angle, so no angle is too {size}."
        return Verdict("no such angle", "unknown", no_angle if learnt_at else UNLEARNT)
    unclear = " and ".join(base for base, holds in clear.items() if not holds)
    ours = f"ends minus middle, in percentage points: {', '.join(bends)}"
    return Verdict(f"{ours}; no clear shape at {unclear}" if unclear else ours, _all_or_part(*clear.values()))


@claim("One frequency is not enough for partial induction.", "One frequency fails (no numbers).")
def one_plane(table: ResultTable) -> Verdict:
    """One plane fails if two succeed where it does not."""
    curve = _curve(table, ONE_PLANE)
    best, second = sorted(BASES, key=lambda base: -curve[base].value)[:2]
    ours = f"at best {share(curve[best])} at base {best:g} and {share(curve[second])} at base {second:g}"
    if solved := [base for base in BASES if _ends(curve[base])[0] >= LEARNT]:
        why = (
            "Symbols are 2π/16 apart on the circle. As long as the whole context rotates by less than half of that, "
            "theory leaves room to favour the later pair; a hand-built head makes no error up to base "
            f"{int(1000 * BOUNDS['tilt']) / 1000:g}."  # rounded down, so that it holds
        )
        return Verdict(ours, "disagrees", why if all(0 < base < BOUNDS[RETRIEVAL] for base in solved) else "")
    if not _learnt(_curve(table, TWO_PLANES)):
        return Verdict(ours, "unknown", "Two planes do not learn it either, so training may have been too short.")
    return Verdict(ours, "agrees" if _ends(curve[best])[1] < 0.75 else "in part")


@claim("Two frequencies, one of them 0, are enough for partial induction.", "Succeeds.")
def two_planes(table: ResultTable) -> Verdict:
    """Two planes succeed if they solve the task at every angle up to base 1."""
    curve = _curve(table, TWO_PLANES)
    least = min((mean for base, mean in curve.items() if 0 < base <= 1), key=lambda mean: mean.value)
    ours = f"at least {share(least)} from base 0.01 to 1; {share(curve[1.5])} at 1.5 and {share(curve[2.0])} at 2"
    if least.value >= SOLVED:
        above = (
            "Above base 1 the far end of the context rotates by more than half a circle; by theory it then looks near."
        )
        return Verdict(ours, "agrees", above if _ends(curve[1.5])[1] < SOLVED else "")
    if _learnt(curve):
        return Verdict(ours, "in part")
    nothing = not _learnt(_curve(table, RETRIEVAL))  # heads that learn nothing at all show nothing
    return Verdict(ours, "unknown", UNLEARNT) if nothing else Verdict(ours, "disagrees")


@claim(
    "A head without rotation cannot tell the later pair from the earlier one.",
    "Follows from the theory: such a head is symbolic.",
)
def unrotated(table: ResultTable) -> Verdict:
    """Without rotation a head is at chance."""
    means = [_curve(table, name)[0.0] for name in (ONE_PLANE, TWO_PLANES)]
    ours = f"{share(means[0])} with one plane and {share(means[1])} with two, where chance is 50 %"
    if any(mean.value - 0.5 > 0.03 for mean in means):
        return Verdict(ours, "disagrees")
    if any(0.5 - mean.value > 0.03 for mean in means):
        return Verdict(ours, "unknown", "A head below chance has not learnt the symbols.")
    return Verdict(ours, "agrees", "This must be so: without rotation both pairs get the same logit.")


@claim("Retrieval needs an angle below 2π/(n·m), which is base 0.125 for 33 tokens and 16 symbols.", "A proven bound.")
def within_bound(table: ResultTable) -> Verdict:
    """θ < 2π / (n · m)."""
    curve = _curve(table, RETRIEVAL)
    ours = f"{share(curve[0.1])} at base 0.1, {share(curve[0.25])} at base 0.25"
    if not _learnt(curve):
        return Verdict(ours, "unknown", UNLEARNT)
    below = [mean.value >= 0.99 for base, mean in curve.items() if base < BOUNDS[RETRIEVAL]]
    above = [mean.value < 0.9 for base, mean in curve.items() if base >= BOUNDS[RETRIEVAL]]
    return Verdict(ours, _all_or_part(all(below), all(above)))


@claim(
    "Index needs queries and keys whose length grows as 1/θ²: it reaches 95 % exactly where they are long enough.",
    "The margin between neighbours is |q||k|(1 − cos θ).",
)
def long_enough(table: ResultTable) -> Verdict:
    """The required length grows as 1 / θ²."""
    curve, rotated = _curve(table, INDEX), BASES[:-1]
    size = {base: table.value(INDEX, Cell("lengths", "norm", "plane 0", base)) for base in rotated}
    required = {base: table.value(INDEX, Cell("theory", "norm", "by formula", base)) for base in rotated}
    lengths = ", ".join(
        f"{size[base]:.0f} of {required[base]:,.0f} at base {base:g} ({percent(curve[base].value)})"
        for base in (2.0, 1.5, 1.0, 0.5)
    )
    ours = f"learnt length of query × key, of the length required for half of the attention, and accuracy: {lengths}"
    learnt, long = set(_learnt(curve)), {base for base in rotated if size[base] >= 0.9 * required[base]}
    short = set(rotated) - long
    if not (learnt and long and short):
        why = "This needs heads that are long enough, heads that are not, and some that learn the task."
        return Verdict(ours, "unknown", why)
    return Verdict(ours, _all_or_part(long <= learnt, not short & learnt))


@claim(
    "A head that learns index is positional; a head that learns retrieval is symbolic.",
    "Positional and symbolic heads (scores in a plane; no numbers for these nets).",
)
def pure(table: ResultTable) -> Verdict:
    """Only where a task is learnt, and only with rotation: without it every head is symbolic."""
    sentences, checks = [], []
    for name, part, factor in ((INDEX, "position_share", "position"), (RETRIEVAL, "symbol_share", "content")):
        if learnt_at := [base for base in _learnt(_curve(table, name)) if base > 0]:
            least, base = min((table.value(name, Cell("scores", part, at=base)), base) for base in learnt_at)
            explained = f"{factor} explains at least {share(Estimate(least))} of the logits' variance"
            sentences.append(f"{explained} in {name} (base {base:g})")
            checks.append(least >= PURE)
    ours = "; ".join(sentences) or "no head with rotation learnt either task"
    return Verdict(ours, _all_or_part(*checks)) if len(checks) == 2 else Verdict(ours, "unknown", UNLEARNT)


@claim("The larger the angle, the more positional index heads are, and the less symbolic retrieval heads are.")
def scores_by_angle(table: ResultTable) -> Verdict:
    """Positional minus symbolic score by angle, compared with what the margins of the theory predict."""
    ranges, holds = [], []
    for name in (INDEX, RETRIEVAL):
        cells = [[Cell("scores", score, at=base) for score in ("positional", "symbolic")] for base in sorted(BASES)[1:]]
        means = [table.difference([name], [name], *pair) for pair in cells]
        ranges.append(f"from {signed(means[0].value, 2)} to {signed(means[-1].value, 2)} for {name}")
        pure_end = means[-1].value >= PARTLY if name == INDEX else means[0].value <= -PARTLY
        steady = all(after.value > before.value - SETBACK for before, after in pairwise(means))
        holds.append(pure_end and steady and _ends(means[0])[1] < _ends(means[-1])[0])
    ours = f"positional minus symbolic score, base 0.01 to 2: {' and '.join(ranges)}"
    if not all(_learnt(_curve(table, name)) for name in (INDEX, RETRIEVAL)):
        return Verdict(ours, "unknown", UNLEARNT)
    why = (
        "By theory a small angle gives the queried slot only a small margin, 1 − cos θ, and an angle above 2π/(n·m) "
        "gives the queried symbol none in the worst slots. A smaller margin makes attention more uniform, and for "
        "uniform attention both scores are 1."
    )
    return Verdict(ours, seen_verdict(holds), why)


@claim("How accurate a head is at each angle.")
def accuracies(table: ResultTable) -> Verdict:
    """Nothing to compare with: curves have no numbers."""
    index, retrieval = (share(_curve(table, name)[1.0]) for name in (INDEX, RETRIEVAL))
    ours = f"at base 1, {index} on index and {retrieval} on retrieval; all angles in the table"
    return Verdict(ours, "unknown", "The paper shows curves and no table.")


def _curve(table: ResultTable, name: str) -> Curve:
    """The accuracy at every angle."""
    return {base: table.estimate(name, Cell("accuracy", "accuracy", at=base)) for base in BASES}


def _learnt(curve: Curve) -> list[float]:
    """The base angles at which a task is learnt."""
    return [base for base, mean in curve.items() if mean.value >= LEARNT]


def _ends(mean: Estimate) -> tuple[float, float]:
    """The ends of the interval, or twice the value itself."""
    return (mean.value, mean.value) if isnan(mean.low) else (mean.low, mean.high)


def _all_or_part(*checks: bool) -> str:
    """The verdict on several checks."""
    return published_verdict([1 if check else -1 for check in checks])


def share(mean: Estimate) -> str:
    """As a percentage, with its interval where that has a width.

    >>> share(Estimate(0.9312, 0.9, 0.96)), share(Estimate(1.0, 1.0, 1.0)), share(Estimate(0.9998))
    ('93.1\\xa0% (90.0 to 96.0)', '100.0\\xa0%', '99.9\\xa0%')
    """
    interval = f" ({tenths(mean.low)} to {tenths(mean.high)})" if mean.high - mean.low >= 5e-4 else ""
    return f"{tenths(mean.value)}\N{NO-BREAK SPACE}%{interval}"


def signed(value: float, decimals: int) -> str:
    """A difference with its sign; 0 where it is rounded to that.

    >>> signed(0.553, 2), signed(-14.2, 0), signed(-0.001, 2)
    ('+0.55', '−14', '0')
    """
    return f"{value:+.{decimals}f}".replace("-", "−") if round(value, decimals) else "0"


CLAIMS: dict[str, Claim] = {
    "index rises": Claim(
        "Index accuracy rises with the angle.",
        "Rises with the angle, from a fraction to 100 % (a curve, no numbers).",
        lambda table: monotonic(table, INDEX, rising=True),
    ),
    "retrieval falls": Claim(
        "Retrieval accuracy falls with the angle.",
        "Falls with the angle, from 100 % to a fraction (a curve, no numbers).",
        lambda table: monotonic(table, RETRIEVAL, rising=False),
    ),
    "U": Claim(
        "Where the angle is too small for index, but not 0, accuracy is higher at both ends of the context than in its "
        "middle.",
        "A U over the slots of the answer.",
        lambda table: bent(table, INDEX, up=True),
    ),
    "inverted U": Claim(
        "Where the angle is too large for retrieval, accuracy is higher in the middle of the context than at its ends.",
        "An inverted U over the slots of the answer.",
        lambda table: bent(table, RETRIEVAL, up=False),
    ),
    "one plane": one_plane,
    "two planes": two_planes,
    "unrotated": unrotated,
    "bound": within_bound,
    "norm": long_enough,
    "pure": pure,
    "scores": scores_by_angle,
    "accuracies": accuracies,
}
