"""The published claims, what was measured here, and whether the two agree. Verdicts follow from the numbers alone."""

from collections.abc import Sequence
from itertools import pairwise

import polars as pl

from wherewhat.formatting import percent
from wherewhat.stats.ranks import rank_correlation
from wherewhat.stats.verdict import UNPUBLISHED, Claim
from wherewhat.studies.canonical.results import LEARNT, CanonicalResults, Curve, SeedMean, learnt
from wherewhat.studies.canonical.settings import BASES, angle
from wherewhat.studies.canonical.theory import retrieval_bound, tilt_bound

STEADY, PARTLY = 0.9, 0.5  # rank correlation with the angle from which a curve counts as monotonic, or partly so
FAILED = 0.2  # accuracy up to which a task counts as failed at the unfavourable end of the angles
SOLVED, PURE = 0.98, 0.95  # accuracy, and variance share
SETBACK = 0.05  # a score difference may fall by less than this and still count as rising
ONE_PLANE, TWO_PLANES = "partial_induction, 1 plane", "partial_induction, 2 planes"
BOUND = retrieval_bound() / angle(1)  # base below which no slot rotates a symbol as far as the next symbol
TILT = tilt_bound() / angle(1)  # base below which a hand-built head solves partial induction with one plane
UNLEARNT = "No head reached 95 %, so this cannot be decided."
WHY_ONE_PLANE_WORKS = (
    "Symbols are 2π/16 apart on the circle. As long as the whole context rotates by less than half of that, theory "
    "leaves room to favour the later pair; a hand-built head makes no error up to base "
    f"{int(1000 * TILT) / 1000:g}."  # rounded down, so that it holds
)
WHY_SCORES_CHANGE = (
    "By theory a small angle gives the queried slot only a small margin, 1 − cos θ, and an angle above 2π/(n·m) gives "
    "the queried symbol none in the worst slots. A smaller margin makes attention more uniform, and for uniform "
    "attention both scores are 1."
)


def claims(result: pl.DataFrame) -> tuple[Claim, ...]:
    """Every claim, in the order a reader meets them."""
    results = CanonicalResults(result)
    return (
        index_rises(results),
        retrieval_falls(results),
        u_shape(results),
        inverted_u(results),
        one_plane_fails(results),
        two_planes_succeed(results),
        unrotated_is_at_chance(results),
        bound_of_retrieval(results),
        norm_of_index(results),
        pure_heads(results),
        scores_by_angle(results),
        table_of_accuracies(results),
    )


def index_rises(results: CanonicalResults) -> Claim:
    curve = results.curve("index")
    return Claim(
        "Index accuracy rises with the angle.",
        "Rises with the angle, from a fraction to 100 % (a curve, no numbers).",
        f"{curve[0.0]} at angle 0, {curve[2.0]} at base 2; {_rank(curve)}",
        _by_angle(curve, rising=True),
        "" if learnt(curve) else UNLEARNT,
    )


def retrieval_falls(results: CanonicalResults) -> Claim:
    curve = results.curve("retrieval")
    return Claim(
        "Retrieval accuracy falls with the angle.",
        "Falls with the angle, from 100 % to a fraction (a curve, no numbers).",
        f"{curve[0.0]} at angle 0, {curve[2.0]} at base 2; {_rank(curve)}",
        _by_angle(curve, rising=False),
        "" if learnt(curve) else UNLEARNT,
    )


def u_shape(results: CanonicalResults) -> Claim:
    """At angles that are too small, index is more accurate at both ends of the context."""
    learnt_at = learnt(results.curve("index"))
    tried = [base for base in BASES if 0 < base < min(learnt_at, default=0)]
    bent = [base for base in tried if results.is_bent("index", base, up=True)]
    return Claim(
        "Where the angle is too small for index, but not 0, accuracy is higher at both ends of the context than in its "
        "middle.",
        "A U over the slots of the answer.",
        _bends(results, "index", tried, bent),
        _all_or_part([base in bent for base in tried]),
        "" if tried else "Index is learnt at the smallest angle, so no angle is too small." if learnt_at else UNLEARNT,
    )


def inverted_u(results: CanonicalResults) -> Claim:
    """At angles that are too large, retrieval is more accurate in the middle."""
    learnt_at = learnt(results.curve("retrieval"))
    tried = [base for base in BASES if base > max(learnt_at, default=max(BASES))]
    bent = [base for base in tried if results.is_bent("retrieval", base, up=False)]
    return Claim(
        "Where the angle is too large for retrieval, accuracy is higher in the middle of the context than at its ends.",
        "An inverted U over the slots of the answer.",
        _bends(results, "retrieval", tried, bent),
        _all_or_part([base in bent for base in tried]),
        ""
        if tried
        else "Retrieval is learnt at the largest angle, so no angle is too large."
        if learnt_at
        else UNLEARNT,
    )


def one_plane_fails(results: CanonicalResults) -> Claim:
    curve, two = results.curve(ONE_PLANE), results.curve(TWO_PLANES)
    best, second = sorted(BASES, key=lambda base: -curve[base].value)[:2]
    solved = [base for base in BASES if curve[base].least >= LEARNT]
    why = WHY_ONE_PLANE_WORKS if all(0 < base < BOUND for base in solved) else ""
    if solved:
        verdict = "disagrees"
    elif not learnt(two):
        verdict, why = "unknown", "Two planes do not learn it either, so training may have been too short."
    else:
        verdict, why = "agrees" if curve[best].most < 0.75 else "in part", ""
    return Claim(
        "One frequency is not enough for partial induction.",
        "One frequency fails (no numbers).",
        f"at best {curve[best]} at base {best:g} and {curve[second]} at base {second:g}",
        verdict,
        why,
    )


def two_planes_succeed(results: CanonicalResults) -> Claim:
    curve = results.curve(TWO_PLANES)
    tried = [base for base in BASES if 0 < base <= 1]
    least = min(tried, key=lambda base: curve[base].value)
    solved = all(curve[base].value >= SOLVED for base in tried)
    above = "Above base 1 the far end of the context rotates by more than half a circle; by theory it then looks near."
    any_angle = bool(learnt(curve))
    decidable = any_angle or bool(learnt(results.curve("retrieval")))  # heads that learn nothing at all show nothing
    return Claim(
        "Two frequencies, one of them 0, are enough for partial induction.",
        "Succeeds.",
        f"at least {curve[least]} from base 0.01 to 1; {curve[1.5]} at 1.5 and {curve[2.0]} at 2",
        ("agrees" if solved else "in part" if any_angle else "disagrees") if decidable else "unknown",
        (above if solved and curve[1.5].most < SOLVED else "") if decidable else UNLEARNT,
    )


def unrotated_is_at_chance(results: CanonicalResults) -> Claim:
    unrotated = [results.curve(name)[0.0] for name in (ONE_PLANE, TWO_PLANES)]
    above, below = (any(sign * (mean.value - 0.5) > 0.03 for mean in unrotated) for sign in (1, -1))
    verdict = "disagrees" if above else "unknown" if below else "agrees"
    why = {
        "agrees": "This must be so: without rotation both pairs get the same logit.",
        "unknown": "A head below chance has not learnt the symbols.",
    }
    return Claim(
        "A head without rotation cannot tell the later pair from the earlier one.",
        "Follows from the theory: such a head is symbolic.",
        f"{unrotated[0]} with one plane and {unrotated[1]} with two, where chance is 50 %",
        verdict,
        why.get(verdict, ""),
    )


def bound_of_retrieval(results: CanonicalResults) -> Claim:
    """θ < 2π / (n · m)."""
    curve = results.curve("retrieval")
    below, above = ([curve[base].value for base in BASES if (base < BOUND) is side] for side in (True, False))
    within_bound = [min(below) >= 0.99, max(above) < 0.9]
    return Claim(
        "Retrieval needs an angle below 2π/(n·m), which is base 0.125 for 33 tokens and 16 symbols.",
        "A proven bound.",
        f"{curve[0.1]} at base 0.1, {curve[0.25]} at base 0.25",
        _all_or_part(within_bound) if learnt(curve) else "unknown",
        "" if learnt(curve) else UNLEARNT,
    )


def norm_of_index(results: CanonicalResults) -> Claim:
    """The required length grows as 1 / θ²."""
    curve = results.curve("index")
    required = {base: results.required_length("index", base) for base in BASES if base > 0}
    size = {base: results.length("index", base) for base in required}
    long_enough = [base for base in required if size[base] >= 0.9 * required[base]]
    too_short = [base for base in required if base not in long_enough]
    fits = [set(long_enough) <= set(learnt(curve)), not set(too_short) & set(learnt(curve))]
    lengths = ", ".join(
        f"{size[base]:.0f} of {required[base]:,.0f} at base {base:g} ({percent(curve[base].value)})"
        for base in (2.0, 1.5, 1.0, 0.5)
    )
    decidable = long_enough and too_short and learnt(curve)
    return Claim(
        "Index needs queries and keys whose length grows as 1/θ²: it reaches 95 % exactly where they are long enough.",
        "The margin between neighbours is |q||k|(1 − cos θ).",
        f"learnt length of query × key, of the length required for half of the attention, and accuracy: {lengths}",
        _all_or_part(fits) if decidable else "unknown",
        "" if decidable else "This needs heads that are long enough, heads that are not, and some that learn the task.",
    )


def pure_heads(results: CanonicalResults) -> Claim:
    """Only where a task is learnt, and only with rotation: without it every head is symbolic."""
    parts = {"index": "position_share", "retrieval": "symbol_share"}
    shares = {}
    for name, measure in parts.items():
        curve = results.curve(name, "scores", measure)
        shares[name] = [(curve[base].value, base) for base in learnt(results.curve(name)) if base > 0]
    least = {name: min(values) for name, values in shares.items() if values}
    sentences = [
        f"{factor} explains at least {SeedMean(least[name][0], None, None)} of the logits' variance in {name} "
        f"(base {least[name][1]:g})"
        for name, factor in (("index", "position"), ("retrieval", "content"))
        if name in least
    ]
    decidable = len(least) == len(parts)
    return Claim(
        "A head that learns index is positional; a head that learns retrieval is symbolic.",
        "Positional and symbolic heads (scores in a plane; no numbers for these nets).",
        "; ".join(sentences) or "no head with rotation learnt either task",
        _all_or_part([share >= PURE for share, _ in least.values()]) if decidable else "unknown",
        "" if decidable else UNLEARNT,
    )


def scores_by_angle(results: CanonicalResults) -> Claim:
    """Positional minus symbolic score by angle, compared with what the margins of the theory predict."""
    names, rotating = ("index", "retrieval"), sorted(base for base in BASES if base > 0)
    differences = {name: [results.score_difference(name, base) for base in rotating] for name in names}
    clear_end = differences["index"][-1].value >= PARTLY, differences["retrieval"][0].value <= -PARTLY
    holds = [_rises(differences[name]) and clear for name, clear in zip(names, clear_end, strict=True)]
    ranges = " and ".join(
        f"from {_signed(values[0])} to {_signed(values[-1])} for {name}" for name, values in differences.items()
    )
    decidable = all(learnt(results.curve(name)) for name in names)
    return Claim(
        "The larger the angle, the more positional index heads are, and the less symbolic retrieval heads are.",
        UNPUBLISHED,
        f"positional minus symbolic score, base 0.01 to 2: {ranges}",
        ("seen" if all(holds) else "in part" if any(holds) else "not seen") if decidable else "unknown",
        WHY_SCORES_CHANGE if decidable else UNLEARNT,
    )


def table_of_accuracies(results: CanonicalResults) -> Claim:
    index, retrieval = results.curve("index")[1.0], results.curve("retrieval")[1.0]
    return Claim(
        "How accurate a head is at each angle.",
        UNPUBLISHED,
        f"at base 1, {index} on index and {retrieval} on retrieval; all angles in the table",
        "unknown",
        "The paper shows curves and no table.",
    )


def _by_angle(curve: Curve, *, rising: bool) -> str:
    """Whether accuracy goes all the way from failed at one end of the angles to learnt at the other."""
    if not learnt(curve):
        return "unknown"
    rank = _spearman(curve) * (1 if rising else -1)
    good, bad = (curve[2.0], curve[0.0]) if rising else (curve[0.0], curve[2.0])
    whole = rank >= STEADY and good.value >= LEARNT and bad.value <= FAILED
    return "agrees" if whole else "in part" if rank >= PARTLY else "disagrees"


def _rank(curve: Curve) -> str:
    return f"rank correlation with the angle {_spearman(curve):.2f}".replace("-", "−")


def _spearman(curve: Curve) -> float:
    return rank_correlation(list(curve), [mean.value for mean in curve.values()]) or 0.0


def _rises(means: Sequence[SeedMean]) -> bool:
    """Whether the last is clearly above the first, without a setback in between."""
    steady = all(after.value > before.value - SETBACK for before, after in pairwise(means))
    return means[0].most < means[-1].least and steady


def _signed(mean: SeedMean) -> str:
    """A score difference with its sign.

    >>> [_signed(SeedMean(value, None, None)) for value in (0.553, -0.996, -0.001)]
    ['+0.55', '−1.00', '0']
    """
    return f"{mean.value:+.2f}".replace("-", "−") if round(mean.value, 2) else "0"


def _bends(results: CanonicalResults, subject: str, tried: Sequence[float], bent: Sequence[float]) -> str:
    """By how many percentage points the ends exceed the middle, and at which angles there is no clear shape."""
    points = ", ".join(f"{_points(results.bend(subject, base))} at {base:g}" for base in tried)
    unclear = " and ".join(f"{base:g}" for base in tried if base not in bent)
    flat = f"; no clear shape at {unclear}" if unclear else ""
    return f"ends minus middle, in percentage points: {points}{flat}" if points else "no such angle"


def _points(mean: SeedMean) -> str:
    """A difference in percentage points, with its sign.

    >>> [_points(SeedMean(value, None, None)) for value in (0.161, -0.142, -0.001)]
    ['+16', '−14', '0']
    """
    points = round(100 * mean.value)
    return f"{points:+d}".replace("-", "−") if points else "0"


def _all_or_part(checks: Sequence[bool]) -> str:
    """The verdict on several checks; without any, it is unknown."""
    return "unknown" if not checks else "agrees" if all(checks) else "in part" if any(checks) else "disagrees"
