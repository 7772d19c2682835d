"""What the paper says, what was measured here, and whether the two agree. Verdicts follow from the numbers alone."""

from collections.abc import Sequence
from itertools import pairwise

import polars as pl
from scipy.stats import spearmanr

from wherewhat.report.numbers import percent
from wherewhat.studies.base import UNPUBLISHED, Claim
from wherewhat.studies.canonical.evidence import LEARNT, Curve, Mean, Measured, learnt
from wherewhat.studies.canonical.settings import BASES, angle
from wherewhat.studies.canonical.theory import retrieval_bound, tilt_bound

STEADY, PARTLY = 0.9, 0.5  # rank correlation from which a curve rises or falls, and from which it does so in part
FAILED = 0.2  # accuracy up to which the end that is not favourable has failed
SOLVED, PURE = 0.98, 0.95
BACK = 0.05  # a lean that turns back by less than this goes on
ONE, TWO = "partial_induction, 1 plane", "partial_induction, 2 planes"
BOUND = retrieval_bound() / angle(1)  # base below which no slot turns a symbol as far as the next symbol
TILT = tilt_bound() / angle(1)  # base below which a head by hand solves partial induction in one plane
UNLEARNT = "No head reached 95 %, so that it cannot be told."
ROOM = (
    "Symbols lie 2π/16 apart on the circle, which by theory leaves room for a tilt towards the later pair while the "
    f"whole context turns by less than half of that; a head put together by hand is without error up to base "
    f"{int(1000 * TILT) / 1000:g}."  # rounded down, so that it holds
)
LEADS = (
    "By theory a small angle leaves the slot asked for little lead, 1 − cos θ, and one above 2π/(n·m) leaves the "
    "symbol asked for none in the worst slots. With less lead attention is more even, and on even attention both "
    "scores are 1."
)


def claims(result: pl.DataFrame) -> tuple[Claim, ...]:
    """Every claim, in the order a reader meets them."""
    found = Measured(result)
    return (
        index_rises(found),
        retrieval_falls(found),
        u_shape(found),
        inverted_u(found),
        one_plane_fails(found),
        two_planes_succeed(found),
        still_tosses_a_coin(found),
        bound_of_retrieval(found),
        norm_of_index(found),
        pure_heads(found),
        scores_by_angle(found),
        table_of_accuracies(found),
    )


def index_rises(found: Measured) -> Claim:
    curve = found.curve("index")
    return Claim(
        "Index accuracy rises with the angle.",
        "Rises with the angle, from a fraction to all (a curve, no numbers).",
        f"{curve[0.0]} at angle 0, {curve[2.0]} at base 2; {_rank(curve)}",
        _by_angle(curve, rising=True),
        "" if learnt(curve) else UNLEARNT,
    )


def retrieval_falls(found: Measured) -> Claim:
    curve = found.curve("retrieval")
    return Claim(
        "Retrieval accuracy falls with the angle.",
        "Falls with the angle, from all to a fraction (a curve, no numbers).",
        f"{curve[0.0]} at angle 0, {curve[2.0]} at base 2; {_rank(curve)}",
        _by_angle(curve, rising=False),
        "" if learnt(curve) else UNLEARNT,
    )


def u_shape(found: Measured) -> Claim:
    """At angles that are too small, index is better at both ends of the context."""
    known = learnt(found.curve("index"))
    tried = [base for base in BASES if 0 < base < min(known, default=0)]
    bent = [base for base in tried if found.bent("index", base, up=True)]
    return Claim(
        "Where the angle is too small for index, but not 0, both ends of the context are found better than its middle.",
        "A U over the slots of the answer.",
        _bends(found, "index", tried, bent),
        _all_or_part([base in bent for base in tried]),
        "" if tried else "It is learnt at the smallest angle, so that none is too small." if known else UNLEARNT,
    )


def inverted_u(found: Measured) -> Claim:
    """At angles that are too large, retrieval is better in the middle."""
    known = learnt(found.curve("retrieval"))
    tried = [base for base in BASES if base > max(known, default=max(BASES))]
    bent = [base for base in tried if found.bent("retrieval", base, up=False)]
    return Claim(
        "Where the angle is too large for retrieval, the middle of the context is found better than both its ends.",
        "An inverted U over the slots of the answer.",
        _bends(found, "retrieval", tried, bent),
        _all_or_part([base in bent for base in tried]),
        "" if tried else "It is learnt at the largest angle, so that none is too large." if known else UNLEARNT,
    )


def one_plane_fails(found: Measured) -> Claim:
    curve, two = found.curve(ONE), found.curve(TWO)
    best, second = sorted(BASES, key=lambda base: -curve[base].value)[:2]
    solved = [base for base in BASES if curve[base].least >= LEARNT]
    why = ROOM if all(0 < base < BOUND for base in solved) else ""
    if solved:
        verdict = "disagrees"
    elif not learnt(two):
        verdict, why = "unknown", "Two planes do not learn it either, so that training may have been too short."
    else:
        verdict, why = "agrees" if curve[best].most < 0.75 else "in part", ""
    return Claim(
        "One frequency is not enough for partial induction.",
        "One frequency fails (no numbers).",
        f"at best {curve[best]} at base {best:g} and {curve[second]} at base {second:g}",
        verdict,
        why,
    )


def two_planes_succeed(found: Measured) -> Claim:
    curve = found.curve(TWO)
    tried = [base for base in BASES if 0 < base <= 1]
    least = min(tried, key=lambda base: curve[base].value)
    solved = all(curve[base].value >= SOLVED for base in tried)
    above = "Above base 1 the far end of the context turns by more than half a circle: by theory it looks near again."
    some = bool(learnt(curve))
    known = some or bool(learnt(found.curve("retrieval")))  # heads that learn nothing at all tell nothing
    return Claim(
        "Two frequencies, one of them 0, are enough for partial induction.",
        "Succeeds.",
        f"at least {curve[least]} from base 0.01 to 1; {curve[1.5]} at 1.5 and {curve[2.0]} at 2",
        ("agrees" if solved else "in part" if some else "disagrees") if known else "unknown",
        (above if solved and curve[1.5].most < SOLVED else "") if known else UNLEARNT,
    )


def still_tosses_a_coin(found: Measured) -> Claim:
    still = [found.curve(name)[0.0] for name in (ONE, TWO)]
    above, below = (any(sign * (mean.value - 0.5) > 0.03 for mean in still) for sign in (1, -1))
    verdict = "disagrees" if above else "unknown" if below else "agrees"
    why = {
        "agrees": "It has to be so: without rotation both pairs get the same logit.",
        "unknown": "A head that is worse than a coin has not learnt the symbols.",
    }
    return Claim(
        "A head that does not turn cannot tell the later pair from the earlier one.",
        "Follows from its theory: such a head is symbolic.",
        f"{still[0]} with one plane and {still[1]} with two, where a coin gives 50 %",
        verdict,
        why.get(verdict, ""),
    )


def bound_of_retrieval(found: Measured) -> Claim:
    """θ < 2π / (n · m)."""
    curve = found.curve("retrieval")
    below, above = ([curve[base].value for base in BASES if (base < BOUND) is side] for side in (True, False))
    kept = [min(below) >= 0.99, max(above) < 0.9]
    return Claim(
        "Retrieval needs an angle below 2π/(n·m), which is base 0.125 for 33 tokens and 16 symbols.",
        "A bound that is proved.",
        f"{curve[0.1]} at base 0.1, {curve[0.25]} at base 0.25",
        _all_or_part(kept) if learnt(curve) else "unknown",
        "" if learnt(curve) else UNLEARNT,
    )


def norm_of_index(found: Measured) -> Claim:
    """What is asked grows as 1 / θ²."""
    curve = found.curve("index")
    asked = {base: found.asked("index", base) for base in BASES if base > 0}
    size = {base: found.length("index", base) for base in asked}
    enough = [base for base in asked if size[base] >= 0.9 * asked[base]]
    short = [base for base in asked if base not in enough]
    fits = [set(enough) <= set(learnt(curve)), not set(short) & set(learnt(curve))]
    said = ", ".join(
        f"{size[base]:.0f} of {asked[base]:,.0f} at base {base:g} ({percent(curve[base].value)})"
        for base in (2.0, 1.5, 1.0, 0.5)
    )
    known = enough and short and learnt(curve)
    return Claim(
        "Index needs queries and keys whose length grows as 1/θ²: it reaches 95 % where they have it and only there.",
        "The margin between neighbours is |q||k|(1 − cos θ).",
        f"length learnt, of that asked for half of the attention, and accuracy: {said}",
        _all_or_part(fits) if known else "unknown",
        "" if known else "It takes heads that are long enough, heads that are not, and some that learn.",
    )


def pure_heads(found: Measured) -> Claim:
    """Only where a task is learnt, and not without rotation, where every head is symbolic."""
    parts = {"index": "position_share", "retrieval": "symbol_share"}
    shares = {}
    for name, measure in parts.items():
        curve = found.curve(name, "scores", measure)
        shares[name] = [(curve[base].value, base) for base in learnt(found.curve(name)) if base > 0]
    least = {name: min(values) for name, values in shares.items() if values}
    said = [
        f"{what} explains at least {Mean(least[name][0], None, None)} of the logits of {name} (base {least[name][1]:g})"
        for name, what in (("index", "place"), ("retrieval", "content"))
        if name in least
    ]
    known = len(least) == len(parts)
    return Claim(
        "Where a head learns index it is positional, where it learns retrieval it is symbolic.",
        "Positional and symbolic heads (scores in a plane, no numbers for these nets).",
        "; ".join(said) or "no head that turns learnt either",
        _all_or_part([share >= PURE for share, _ in least.values()]) if known else "unknown",
        "" if known else UNLEARNT,
    )


def scores_by_angle(found: Measured) -> Claim:
    """Positional minus symbolic score, beside what the margins of theory let expect."""
    names, turning = ("index", "retrieval"), sorted(base for base in BASES if base > 0)
    leans = {name: [found.lean(name, base) for base in turning] for name in names}
    leaning = leans["index"][-1].value >= PARTLY, leans["retrieval"][0].value <= -PARTLY
    seen = [_rises(leans[name]) and so for name, so in zip(names, leaning, strict=True)]
    said = " and ".join(f"from {_signed(leans[name][0])} to {_signed(leans[name][-1])} for {name}" for name in names)
    known = all(learnt(found.curve(name)) for name in names)
    return Claim(
        "The larger the angle, the more index leans to place, and the less retrieval leans to content.",
        UNPUBLISHED,
        f"positional minus symbolic score, base 0.01 to 2: {said}",
        ("seen" if all(seen) else "in part" if any(seen) else "not seen") if known else "unknown",
        LEADS if known else UNLEARNT,
    )


def table_of_accuracies(found: Measured) -> Claim:
    index, retrieval = found.curve("index")[1.0], found.curve("retrieval")[1.0]
    return Claim(
        "How accurate a head is at each angle.",
        UNPUBLISHED,
        f"at base 1, {index} on index and {retrieval} on retrieval; all angles in the table",
        "unknown",
        "The paper draws curves and prints no table.",
    )


def _by_angle(curve: Curve, *, rising: bool) -> str:
    """Whether accuracy goes all the way, from failing at one end of the angles to learnt at the other."""
    if not learnt(curve):
        return "unknown"
    rank = _spearman(curve) * (1 if rising else -1)
    good, bad = (curve[2.0], curve[0.0]) if rising else (curve[0.0], curve[2.0])
    whole = rank >= STEADY and good.value >= LEARNT and bad.value <= FAILED
    return "agrees" if whole else "in part" if rank >= PARTLY else "disagrees"


def _rank(curve: Curve) -> str:
    return f"rank correlation with the angle {_spearman(curve):.2f}".replace("-", "−")


def _spearman(curve: Curve) -> float:
    values = [mean.value for mean in curve.values()]
    return 0.0 if len(set(values)) == 1 else float(spearmanr(list(curve), values).statistic)


def _rises(leans: Sequence[Mean]) -> bool:
    """Clearly more at the end than at the start, and never back on the way."""
    return leans[0].most < leans[-1].least and all(after.value > lean.value - BACK for lean, after in pairwise(leans))


def _signed(mean: Mean) -> str:
    """A lean, with its sign.

    >>> _signed(Mean(0.553, None, None)), _signed(Mean(-0.996, None, None)), _signed(Mean(-0.001, None, None))
    ('+0.55', '−1.00', '0')
    """
    return f"{mean.value:+.2f}".replace("-", "−") if round(mean.value, 2) else "0"


def _bends(found: Measured, subject: str, tried: Sequence[float], bent: Sequence[float]) -> str:
    """Points by which both ends lead over the middle, and at which angles that is no clear shape."""
    said = ", ".join(f"{_points(found.bend(subject, base))} at {base:g}" for base in tried)
    unclear = " and ".join(f"{base:g}" for base in tried if base not in bent)
    level = f"; no clear shape at {unclear}" if unclear else ""
    return f"ends against middle, in points: {said}{level}" if said else "no such angle"


def _points(mean: Mean) -> str:
    """A lead in points, with its sign.

    >>> _points(Mean(0.161, None, None)), _points(Mean(-0.142, None, None)), _points(Mean(-0.001, None, None))
    ('+16', '−14', '0')
    """
    points = round(100 * mean.value)
    return f"{points:+d}".replace("-", "−") if points else "0"


def _all_or_part(held: Sequence[bool]) -> str:
    """What follows from single checks; nothing from none."""
    return "unknown" if not held else "agrees" if all(held) else "in part" if any(held) else "disagrees"
