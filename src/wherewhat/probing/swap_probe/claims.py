"""From estimates to verdicts on claims, and how an estimate is written in a sentence."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from wherewhat.probing.swap_probe.estimates import ONE_ANSWER, ORIGINAL, WORDS_ALONE, ProbeEstimate, ProbeEstimates
from wherewhat.probing.swap_probe.measures import ACCURACY, CHANGED, DISTANCE, FLIP, KEPT, NATS, OLD, SHARES
from wherewhat.stats.bootstrap import LEAST
from wherewhat.stats.intervals import with_rule_of_three
from wherewhat.stats.verdict import ClaimResult, clearly_above, if_unpublished, unanimous_verdict

PAPER = "four encoders fine-tuned on SNLI, arXiv 2310.12864"
NOT_PUBLISHED = "unknown: nothing was published"
NAMES = {KEPT: "answers kept", NATS: "surprisal", DISTANCE: "distance (1 is another sentence)"}  # in a sentence
BASELINES = {WORDS_ALONE: "a guess from the words in any order", ONE_ANSWER: "giving one answer to everything"}


@dataclass(frozen=True)
class ClaimRule:
    """A claim about a swap: which estimate it is about, and what makes it true.

    The estimate has to be clearly above or below a bound. It speaks against the claim if it is clearly on the other
    side, or within `nearly` of the bound. For surprisal, `nearly` is a share of the original's.
    """

    claim: str
    measure: str
    kind: str
    above: float | None = None
    below: float | None = None
    nearly: float = 0.0
    published: str = NOT_PUBLISHED

    def sign(self, estimate: ProbeEstimate, original: ProbeEstimate | None) -> int:
        """1 if an estimate is clearly for the claim, -1 if it is clearly against it, else 0."""
        if not enough(estimate):
            return 0
        low, high = interval_of(estimate)
        nearly = self.nearly if self.measure != NATS else self.nearly * (original.value if original else 0.0)
        if self.above is not None:
            return clearly_above(low, high, self.above, nearly=nearly)
        if self.below is not None:
            return clearly_above(-high, -low, -self.below, nearly=nearly)
        if original is None:
            return 0
        return 1 if -nearly < low and high < nearly else -1 if low > nearly or high < -nearly else 0

    def judge(self, signs: Sequence[int], ours: str, why: Sequence[str], about: Mapping[str, str]) -> ClaimResult:
        """The claim with its verdict."""
        verdict = unanimous_verdict(signs)
        verdict = if_unpublished(verdict) if self.published == NOT_PUBLISHED else verdict
        return ClaimResult(self.claim, self.published, ours, verdict, " ".join(filter(None, why)), about)


def interval_of(estimate: ProbeEstimate) -> tuple[float, float]:
    """The interval to judge by. Examples that all agree have none of their own: then it is the rule of three."""
    ends = estimate.low, estimate.high
    return with_rule_of_three(*ends, estimate.count) if estimate.measure in SHARES else ends


def enough(estimate: ProbeEstimate) -> bool:
    """Whether an estimate rests on enough examples for a verdict."""
    return estimate.count >= LEAST


def too_few(names: Sequence[str]) -> str:
    """What to say where there are too few examples.

    >>> too_few(["6-word constituents"])
    'Not in the verdict, with fewer than 30 examples: 6-word constituents.'
    """
    return f"Not in the verdict, with fewer than {LEAST} examples: {', '.join(names)}." if names else ""


def not_learnt(estimates: ProbeEstimates, item: str, side: str | None = None) -> str:
    """Why accuracy says nothing about a swap: before it, the model is not clearly better than a baseline.

    Empty where it is better, or where no baseline is known.
    """
    for where in dict.fromkeys((side, None)):
        rows = [estimates.at(item, kind, ACCURACY, where) for kind in BASELINES]
        baselines = [row for row in rows if row is not None and row.value < 1]
        original = estimates.at(item, ORIGINAL, ACCURACY, where)
        if baselines and original is not None:
            best = max(baselines, key=lambda row: row.value)
            if enough(original) and clearly_above(*interval_of(original), best.value) > 0:
                return ""
            return (
                f"Before the swap, {written(original)} of the answers are right, not clearly more than by "
                f"{BASELINES[best.kind]} ({written(best)}); a swap cannot take away what was not learnt."
            )
    return ""


def written(estimate: ProbeEstimate, *, signed: bool = False) -> str:
    """An estimate with its interval, in the unit of its measure.

    >>> written(ProbeEstimate("3", None, "change", "accuracy", -0.004, -0.009, 0.001, 500), signed=True)
    '−0.4 points (−0.9 to +0.1)'
    """
    scale, digits, unit = UNITS[estimate.measure]
    unit = " points" if signed and unit == " %" else unit
    numbers = (estimate.value, estimate.low, estimate.high)
    shown = [f"{scale * number:{'+' if signed else ''}.{digits}f}" for number in numbers]
    plain = [text if text.strip("+-0.") else text.lstrip("+-") for text in shown]  # no sign before a zero
    value, low, high = (text.replace("-", "−") for text in plain)
    return f"{value}{unit}" if estimate.low != estimate.low else f"{value}{unit} ({low} to {high})"


UNITS = {  # factor, digits, and the unit after the number
    **dict.fromkeys((ACCURACY, KEPT, FLIP, OLD, CHANGED), (100, 1, " %")),
    NATS: (1, 3, " nats"),
    DISTANCE: (1, 3, ""),
}
