"""What was said of near and far relations, and what these numbers say: position for near ones, content for far ones."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from wherewhat.probes.bootstrap import ends
from wherewhat.probes.dependencies.asking import CONTEXTUAL, POSITIONAL
from wherewhat.probes.dependencies.estimating import Estimate, replicates
from wherewhat.probes.dependencies.gold import SIDES
from wherewhat.probes.dependencies.scoring import Held, Scoring

PAPER = "arXiv 2310.12864"
NEAR, FAR = "1", "6+"
IN_WORDS = f"yes, in words; numbers are not known ({PAPER})"
BOTH_SIDES = "unknown: only models that see both sides were studied"
BEST = "For every relation the best head over all distances counts, chosen on {other} sentences."
ASKS = {
    "near": "Between neighbouring words position alone finds relations better than content alone",
    "far": "Between words six or more apart content alone finds relations better than position alone",
    "crossing": "Position is ahead of content by more between neighbours than between words six or more apart",
}
TOWARDS = {SIDES[0]: "from a word to its governor", SIDES[1]: "from a governor to the word that depends on it"}


@dataclass(frozen=True)
class Evidence:
    """A difference that is above 0 if the claim holds, and how to tell it."""

    about: str
    difference: Estimate
    ours: str


def claims_of(scoring: Scoring, each: Sequence[dict[str, Held]], data: str) -> list[dict[str, Any]]:
    """Three claims from each side, where there are both parts and enough rows; from what `each_by_its_own` gave."""
    published = BOTH_SIDES if scoring.looked.causal else IN_WORDS
    why = BEST.format(other="other" if scoring.asking.selection == "halves" else "the same")
    told = []
    for side in SIDES:
        for found in _evidence(scoring, each, side):
            sure = found.difference
            claim = {"id": found.about, "data": data, "side": side, "claim": f"{ASKS[found.about]}, {TOWARDS[side]}."}
            said = {"published": published, "ours": found.ours, "verdict": verdict(sure, published), "why": why}
            told.append({**claim, **said, "value": sure.value, "low": sure.low, "high": sure.high})
    return told


def verdict(difference: Estimate, published: str) -> str:
    """An interval above 0 is what was claimed, one below 0 the opposite, and one that holds 0 tells nothing."""
    words = ("seen", "not seen") if published.startswith("unknown") else ("agrees", "disagrees")
    if difference.low > 0:
        return words[0]
    return words[1] if difference.high < 0 else "unknown"


def _evidence(scoring: Scoring, each: Sequence[dict[str, Held]], side: str) -> list[Evidence]:
    both = [held for held in each if {POSITIONAL, CONTEXTUAL} <= set(held) and held[POSITIONAL].group.side == side]
    pairs = {held[POSITIONAL].group.distance: (held[POSITIONAL], held[CONTEXTUAL]) for held in both}
    found = []
    if NEAR in pairs:
        found.append(Evidence("near", scoring.beyond(*pairs[NEAR]), _told(scoring, *pairs[NEAR])))
    if FAR in pairs:
        found.append(Evidence("far", scoring.beyond(*reversed(pairs[FAR])), _told(scoring, *pairs[FAR])))
    if NEAR in pairs and FAR in pairs:
        apart = _apart(scoring, pairs[NEAR], pairs[FAR])
        found.append(Evidence("crossing", apart, f"by {_points(apart)} more"))
    return found


def _apart(scoring: Scoring, near: tuple[Held, Held], far: tuple[Held, Held]) -> Estimate:
    """How much more position is ahead in one group than in the other, on the same resamples."""
    means, drawn = [], []
    for one, other in (near, far):
        difference_N = one.value_N - other.value_N
        means.append(float(difference_N.mean()))
        drawn.append(replicates(difference_N[:, None], scoring.rows.sentence_N[one.rows_N], scoring.count_BS)[:, 0])
    low, high = ends(np.subtract(*drawn))
    return Estimate(means[0] - means[1], low, high, len(near[0].value_N) + len(far[0].value_N))


def _told(scoring: Scoring, position: Held, content: Held) -> str:
    shares = [f"{100 * one.value_N.mean():.1f} %" for one in (position, content)]
    apart = _points(scoring.beyond(position, content))
    return f"position {shares[0]}, content {shares[1]}, apart {apart}, {len(position.value_N):,} rows"


def _points(found: Estimate) -> str:
    """A difference of shares with its interval."""
    shown = [f"{100 * value:+.1f}".replace("-", "−") for value in (found.value, found.low, found.high)]
    return f"{shown[0]} points ({shown[1]} to {shown[2]})"
