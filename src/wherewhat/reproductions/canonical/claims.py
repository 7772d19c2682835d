"""What the paper says, what was measured here, and whether the two agree. Verdicts follow from the numbers alone."""

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl
from scipy.stats import spearmanr

from wherewhat.reproductions.base import UNPUBLISHED, Claim
from wherewhat.reproductions.canonical.measure import interval
from wherewhat.reproductions.canonical.settings import BASES, angle
from wherewhat.reproductions.canonical.theory import retrieval_bound, tilt_bound

STEADY = 0.9  # rank correlation from which a curve is said to rise or fall
SOLVED, PURE = 0.98, 0.95
ONE, TWO = "partial_induction, 1 plane", "partial_induction, 2 planes"
BOUND = retrieval_bound() / angle(1)  # base below which no slot turns a symbol as far as the next symbol


@dataclass(frozen=True)
class Mean:
    """A mean over seeds with its interval, where there are several."""

    value: float
    low: float | None
    high: float | None

    @property
    def least(self) -> float:
        return self.value if self.low is None else self.low

    @property
    def most(self) -> float:
        return self.value if self.high is None else self.high

    def __str__(self) -> str:
        """As a share in per cent.

        >>> str(Mean(0.9312, 0.9, 0.96)), str(Mean(1.0, 1.0, 1.0)), str(Mean(0.5, None, None))
        ('93.1 % (90.0 to 96.0)', '100.0 %', '50.0 %')
        """
        if self.low is None or self.high is None or self.high - self.low < 5e-4:
            return f"{100 * self.value:.1f} %"
        return f"{100 * self.value:.1f} % ({100 * self.low:.1f} to {100 * self.high:.1f})"


@dataclass(frozen=True)
class Measured:
    """The table of the experiment, asked for single numbers."""

    result: pl.DataFrame

    def mean(self, part: str, subject: str, base: float, measure: str = "accuracy") -> Mean:
        """A number over all seeds."""
        found = self._rows(part, subject, measure).filter((pl.col("at") == base) & pl.col("seed").is_null())
        value, low, high = found.select("value", "low", "high").row(0)
        return Mean(value, low, high)

    def curve(self, part: str, subject: str, measure: str = "accuracy") -> dict[float, Mean]:
        """The same at every angle."""
        return {base: self.mean(part, subject, base, measure) for base in BASES}

    def bend(self, subject: str, base: float) -> Mean:
        """How much better the answers at both ends of the context are found than those in its middle, over seeds."""
        rows = self._rows("by_slot", subject, "accuracy", item=None).filter(pl.col("seed").is_not_null())
        bins = rows.filter(pl.col("at") == base).pivot("item", index="seed", values="value")
        names = bins.columns[1:]
        half = len(names) // 2
        ends = bins.select((pl.col(names[0]) + pl.col(names[-1])) / 2).to_series()
        middle = bins.select((pl.col(names[half - 1]) + pl.col(names[half])) / 2).to_series()
        value, low, high = interval((ends - middle).to_list())
        return Mean(value, *(None if bound != bound else bound for bound in (low, high)))

    def length(self, subject: str, base: float) -> float:
        """Query times key as learnt, over all seeds."""
        rows = self._rows("lengths", subject, "norm", item="plane 0").filter(pl.col("seed").is_null())
        return float(rows.filter(pl.col("at") == base)["value"].item())

    def asked(self, subject: str, base: float) -> float:
        """Query times key as theory asks for it."""
        return float(
            self._rows("theory", subject, "norm", item="by formula").filter(pl.col("at") == base)["value"].item()
        )

    def _rows(self, part: str, subject: str, measure: str, item: str | None = "") -> pl.DataFrame:
        rows = self.result.filter(part=part, subject=subject, measure=measure)
        return rows if item is None else rows.filter(item=item)


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
        table_of_accuracies(found),
    )


def index_rises(found: Measured) -> Claim:
    curve = found.curve("accuracy", "index")
    return Claim(
        "Index accuracy rises with the angle.",
        "Rises with the angle, from a fraction to all (a curve, no numbers).",
        f"{curve[0.0]} at angle 0, {curve[2.0]} at base 2; {_rank(curve)}",
        _steady(curve, rising=True),
    )


def retrieval_falls(found: Measured) -> Claim:
    curve = found.curve("accuracy", "retrieval")
    return Claim(
        "Retrieval accuracy falls with the angle.",
        "Falls with the angle, from all to a fraction (a curve, no numbers).",
        f"{curve[0.0]} at angle 0, {curve[2.0]} at base 2; {_rank(curve)}",
        _steady(curve, rising=False),
    )


def u_shape(found: Measured) -> Claim:
    """At angles that are too small, index is better at both ends of the context."""
    tried = [base for base in BASES if 0.1 <= base <= 0.8]
    return Claim(
        "Where the angle is too small for index, both ends of the context are found better than its middle (a U).",
        "A U over the slots of the answer.",
        _bends(found, "index", tried),
        _all_or_part([found.bend("index", base).least > 0 for base in tried]),
    )


def inverted_u(found: Measured) -> Claim:
    """At angles that are too large, retrieval is better in the middle."""
    tried = [base for base in BASES if BOUND < base <= 1.5]
    return Claim(
        "Where the angle is too large for retrieval, the middle of the context is found better than its ends.",
        "An inverted U over the slots of the answer.",
        _bends(found, "retrieval", tried),
        _all_or_part([found.bend("retrieval", base).most < 0 for base in tried]),
    )


def one_plane_fails(found: Measured) -> Claim:
    curve = found.curve("accuracy", ONE)
    best = max(curve, key=lambda base: curve[base].value)
    solved = [base for base in BASES if curve[base].least >= 0.9]
    verdict = "disagrees" if solved else "agrees" if curve[best].most < 0.75 else "in part"
    others = [curve[base].value for base in BASES if base not in solved]
    by_hand = int(1000 * tilt_bound() / angle(1)) / 1000  # rounded down, so that it holds
    why = (
        "Symbols lie 2π/16 apart on the circle, which leaves room for a tilt towards the later pair as long as the "
        f"whole context turns by less than that; a head put together by hand is without error up to base {by_hand:g}."
    )
    listed = " and ".join(f"{curve[base]} at base {base:g}" for base in solved)
    ours = (
        f"{listed}; at most {100 * max(others):.0f} % elsewhere" if solved else f"{curve[best]} at best (base {best:g})"
    )
    return Claim(
        "One frequency is not enough for partial induction.",
        "One frequency fails (no numbers).",
        ours,
        verdict,
        why if solved else "",
    )


def two_planes_succeed(found: Measured) -> Claim:
    curve = found.curve("accuracy", TWO)
    tried = [base for base in BASES if 0 < base <= 1]
    least = min(tried, key=lambda base: curve[base].value)
    return Claim(
        "Two frequencies, one of them 0, are enough for partial induction.",
        "Succeeds.",
        f"{curve[least]} or more from base 0.01 to 1; {curve[1.5]} at 1.5 and {curve[2.0]} at 2",
        _all_or_part([curve[base].value >= SOLVED for base in tried]),
        "Above base 1 the far end of the context turns by more than half a circle and looks near again.",
    )


def still_tosses_a_coin(found: Measured) -> Claim:
    still = {name: found.mean("accuracy", name, 0.0) for name in (ONE, TWO)}
    near = [abs(mean.value - 0.5) < 0.03 for mean in still.values()]
    return Claim(
        "A head that does not turn cannot tell the later pair from the earlier one.",
        "Follows from its theory: such a head is symbolic.",
        f"{still[ONE]} with one plane and {still[TWO]} with two, where a coin gives 50 %",
        _all_or_part(near),
    )


def bound_of_retrieval(found: Measured) -> Claim:
    """θ < 2π / (n · m)."""
    curve = found.curve("accuracy", "retrieval")
    below = [base for base in BASES if base < BOUND]
    above = max(curve[base].value for base in BASES if base > BOUND)
    kept = [curve[base].value >= 0.99 for base in below] + [above < 0.9]
    return Claim(
        "Retrieval needs an angle below 2π/(n·m), which is base 0.125 for 33 tokens and 16 symbols.",
        "A bound that is proved.",
        f"{curve[0.1]} at base 0.1, {curve[0.25]} at base 0.25",
        _all_or_part(kept),
    )


def norm_of_index(found: Measured) -> Claim:
    """What is asked grows as 1 / θ²."""
    curve = found.curve("accuracy", "index")
    asked = {base: found.asked("index", base) for base in BASES if base > 0}
    learnt = {base: found.length("index", base) for base in asked}
    enough = [base for base in asked if learnt[base] >= 0.9 * asked[base]]
    short = [base for base in asked if base not in enough]
    fits = [curve[base].value >= 0.95 for base in enough] + [curve[base].value < 0.95 for base in short]
    said = ", ".join(f"{learnt[base]:.0f} of {asked[base]:,.0f} at base {base:g}" for base in (2.0, 1.5, 1.0, 0.5))
    return Claim(
        "Index needs queries and keys whose length grows as 1/θ², and fails where that is not reached.",
        "The margin between neighbours is |q||k|(1 − cos θ).",
        f"length learnt, of that asked for half of the attention: {said}",
        _all_or_part(fits) if enough else "unknown",
        "" if enough else "No head became long enough to tell.",
    )


def pure_heads(found: Measured) -> Claim:
    place = found.mean("scores", "index", 2.0, "position_share")
    content = found.mean("scores", "retrieval", 0.0, "symbol_share")
    return Claim(
        "Where a head solves index it is positional, where it solves retrieval it is symbolic.",
        "Positional and symbolic heads (scores in a plane, no numbers for these nets).",
        f"place explains {place} of the logits of index at base 2, content {content} of those of retrieval at 0",
        _all_or_part([place.value >= PURE, content.value >= PURE]),
    )


def table_of_accuracies(found: Measured) -> Claim:
    index, retrieval = found.mean("accuracy", "index", 1.0), found.mean("accuracy", "retrieval", 1.0)
    return Claim(
        "How accurate a head is at each angle.",
        UNPUBLISHED,
        f"at base 1, {index} on index and {retrieval} on retrieval; all angles in the table",
        "unknown",
        "The paper draws curves and prints no table.",
    )


def _steady(curve: dict[float, Mean], *, rising: bool) -> str:
    rank = _spearman(curve) * (1 if rising else -1)
    low, high = (curve[0.0], curve[2.0]) if rising else (curve[2.0], curve[0.0])
    if rank >= STEADY and low.most < high.least:
        return "agrees"
    return "in part" if rank > 0 else "disagrees"


def _rank(curve: dict[float, Mean]) -> str:
    return f"rank correlation with the angle {_spearman(curve):.2f}".replace("-", "−")


def _spearman(curve: dict[float, Mean]) -> float:
    values = [mean.value for mean in curve.values()]
    return 0.0 if len(set(values)) == 1 else float(spearmanr(list(curve), values).statistic)


def _bends(found: Measured, subject: str, tried: Sequence[float]) -> str:
    said = [f"{100 * found.bend(subject, base).value:+.0f} at {base:g}".replace("-", "−") for base in tried]
    return "ends against middle, in points: " + ", ".join(said)


def _all_or_part(held: Sequence[bool]) -> str:
    return "agrees" if all(held) else "in part" if any(held) else "disagrees"
