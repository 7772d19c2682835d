"""What was said of near and far relations, and what these numbers say: place for near ones, content for far ones."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from wherewhat.probing.bootstrap import LEAST, ends, to_judge_by
from wherewhat.probing.dependencies.estimating import Estimate, replicates
from wherewhat.probing.dependencies.gold import SIDES
from wherewhat.probing.dependencies.scoring import Held, Scoring
from wherewhat.probing.dependencies.settings import CONTEXTUAL, POSITIONAL

PAPER = "arXiv 2310.12864"
NEAR, FAR = "1", "6+"
IN_WORDS = f"yes, in words; numbers are not known ({PAPER})"
BOTH_SIDES = "unknown: only models that see both sides were studied"
BEST = "For every relation the best head over all distances counts, chosen on {other} sentences."
ASKS = {
    "near": "Between neighbouring words place alone finds relations better than content alone",
    "far": "Between words six or more apart content alone finds relations better than place alone",
    "crossing": "Place is ahead of content by more between neighbours than between words six or more apart",
}
TOWARDS = {SIDES[0]: "from a word to its governor", SIDES[1]: "from a governor to the word that depends on it"}


@dataclass(frozen=True)
class Evidence:
    """A difference that is above 0 if the claim holds, and how to tell it."""

    about: str
    difference: Estimate
    ours: str
    rows: int  # of what rests on fewest

    @property
    def why(self) -> str:
        """Why nothing can be told, where that is so."""
        return f"{self.rows} rows, and fewer than {LEAST} tell too little." if self.rows < LEAST else ""


def claims_of(scoring: Scoring, each: Sequence[dict[str, Held]], data: str) -> list[dict[str, Any]]:
    """Three claims from each side, where there are both parts and enough rows; from what `each_by_its_own` gave."""
    published = BOTH_SIDES if scoring.looked.causal else IN_WORDS
    told = []
    for side in SIDES:
        for found in _evidence(scoring, each, side):
            sure = found.difference
            claim = {"id": found.about, "data": data, "side": side, "claim": f"{ASKS[found.about]}, {TOWARDS[side]}."}
            said = {"published": published, "ours": found.ours, "verdict": verdict(found, published), "why": found.why}
            told.append({**claim, **said, "value": sure.value, "low": sure.low, "high": sure.high})
    return told


def how_judged(scoring: Scoring) -> str:
    """What all claims rest on."""
    return BEST.format(other="other" if scoring.asking.selection == "halves" else "the same")


def verdict(found: Evidence, published: str) -> str:
    """An interval above 0 is what was claimed, one below 0 the opposite; one that holds 0 tells nothing."""
    words = ("seen", "not seen") if published.startswith("unknown") else ("agrees", "disagrees")
    if found.why:
        return "unknown"
    if found.difference.low > 0:
        return words[0]
    return words[1] if found.difference.high < 0 else "unknown"


def _evidence(scoring: Scoring, each: Sequence[dict[str, Held]], side: str) -> list[Evidence]:
    both = [held for held in each if {POSITIONAL, CONTEXTUAL} <= set(held) and held[POSITIONAL].group.side == side]
    pairs = {held[POSITIONAL].group.distance: (held[POSITIONAL], held[CONTEXTUAL]) for held in both}
    rows = {distance: len(one.value_N) for distance, (one, _) in pairs.items()}
    found = []
    if NEAR in pairs:
        ahead = _judged(scoring.beyond(*pairs[NEAR]))
        found.append(Evidence("near", ahead, _told(scoring, *pairs[NEAR]), rows[NEAR]))
    if FAR in pairs:
        ahead = _judged(scoring.beyond(*reversed(pairs[FAR])))
        found.append(Evidence("far", ahead, _told(scoring, *pairs[FAR]), rows[FAR]))
    if NEAR in pairs and FAR in pairs:
        apart = _apart(scoring, pairs[NEAR], pairs[FAR])
        found.append(Evidence("crossing", apart, f"by {_points(apart)} more", min(rows[NEAR], rows[FAR])))
    return found


def _judged(found: Estimate) -> Estimate:
    """With an interval, even where all rows are alike."""
    low, high = to_judge_by(found.low, found.high, found.count)
    return replace(found, low=low, high=high)


def _apart(scoring: Scoring, near: tuple[Held, Held], far: tuple[Held, Held]) -> Estimate:
    """How much more place is ahead in one group than in the other, on the same resamples."""
    means, drawn = [], []
    for one, other in (near, far):
        difference_N = one.value_N - other.value_N
        means.append(float(difference_N.mean()))
        drawn.append(replicates(difference_N[:, None], scoring.rows.sentence_N[one.rows_N], scoring.count_BS)[:, 0])
    low, high = ends(np.subtract(*drawn))
    few = min(len(near[0].value_N), len(far[0].value_N))
    return _judged(Estimate(means[0] - means[1], low, high, few))


def _told(scoring: Scoring, position: Held, content: Held) -> str:
    shares = [f"{100 * one.value_N.mean():.1f} %" for one in (position, content)]
    apart = _points(_judged(scoring.beyond(position, content)))
    return f"place {shares[0]}, content {shares[1]}, apart {apart}, {len(position.value_N):,} rows"


def _points(found: Estimate) -> str:
    """A difference of shares with its interval."""
    shown = [f"{100 * value:+.1f}".replace("-", "−") for value in (found.value, found.low, found.high)]
    return f"{shown[0]} points ({shown[1]} to {shown[2]})"
