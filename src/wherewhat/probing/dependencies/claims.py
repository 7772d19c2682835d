"""The claims about near and far relations, position for near ones, content for far ones, with their verdicts."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from wherewhat.probing.dependencies.scoring import HeldOutScore, RelationScorer, Scores
from wherewhat.probing.dependencies.settings import CONTEXTUAL, POSITIONAL, SIDES
from wherewhat.stats.bootstrap import LEAST, ranked_interval, replicates
from wherewhat.stats.estimate import Estimate
from wherewhat.stats.intervals import with_rule_of_three
from wherewhat.stats.verdict import UNPUBLISHED, ClaimResult, if_unpublished, interval_verdict

NEAR, FAR = "1", "6+"
IN_WORDS = "yes, in words; numbers are not known (arXiv 2310.12864)"
BOTH_SIDES = "unknown: only models that see both sides were studied"
CLAIMS = {
    "near": "Between neighbouring words, position alone finds relations better than content alone",
    "far": "Between words six or more apart, content alone finds relations better than position alone",
    "crossing": "Place is ahead of content by more between neighbours than between words six or more apart",
}
DIRECTIONS = {SIDES[0]: "from a word to its head word", SIDES[1]: "from a head word to its dependent"}
Pair = tuple[HeldOutScore, HeldOutScore]  # position alone and content alone, of one group


def claims_of(scorer: RelationScorer, each: Sequence[Scores], data: str) -> list[ClaimResult]:
    """Three claims per side, where both parts have enough rows; from what `each_by_its_own_head` returns."""
    claims = []
    for side in SIDES:
        pairs = {
            scores[POSITIONAL].group.distance: (scores[POSITIONAL], scores[CONTEXTUAL])
            for scores in each
            if {POSITIONAL, CONTEXTUAL} <= set(scores) and scores[POSITIONAL].group.side == side
        }
        for id, (gap, ours) in _evidence(scorer, pairs).items():
            published = BOTH_SIDES if scorer.targets.causal else IN_WORDS
            verdict = interval_verdict(gap.low, gap.high)
            verdict = if_unpublished(verdict) if published.startswith(UNPUBLISHED) else verdict
            few = gap.count < LEAST
            why = f"{gap.count} rows are fewer than the {LEAST} that a verdict takes." if few else ""
            about = {"id": id, "data": data, "side": side, "value": gap.value, "low": gap.low, "high": gap.high}
            sentence = f"{CLAIMS[id]}, {DIRECTIONS[side]}."
            claims.append(ClaimResult(sentence, published, ours, "unknown" if few else verdict, why, about))
    return claims


def basis_of_claims(scorer: RelationScorer) -> str:
    """What all claims rest on."""
    which = "other" if scorer.settings.selection == "halves" else "the same"
    return f"Every relation is scored with its best head over all distances, chosen on {which} sentences."


def _evidence(scorer: RelationScorer, pairs: dict[str, Pair]) -> dict[str, tuple[Estimate, str]]:
    """By claim, a difference that is above 0 if the claim holds, and how to write it."""
    evidence = {}
    if NEAR in pairs:
        evidence["near"] = _with_interval(scorer.difference(*pairs[NEAR])), _written(scorer, *pairs[NEAR])
    if FAR in pairs:
        evidence["far"] = _with_interval(scorer.difference(*reversed(pairs[FAR]))), _written(scorer, *pairs[FAR])
    if NEAR in pairs and FAR in pairs:
        differences = [positional.value_N - contextual.value_N for positional, contextual in (pairs[NEAR], pairs[FAR])]
        drawn = []  # of both groups on the same resamples
        for distance, difference_N in zip((NEAR, FAR), differences, strict=True):
            sentence_N = scorer.rows.sentence_N[pairs[distance][0].rows_N]
            drawn.append(replicates(difference_N[:, None], sentence_N, scorer.count_BS)[:, 0])
        near, far = (float(difference_N.mean()) for difference_N in differences)
        low, high = ranked_interval(np.subtract(*drawn))
        gap = _with_interval(Estimate(near - far, low, high, count=min(map(len, differences))))
        evidence["crossing"] = gap, f"by {_points(gap)} more"
    return evidence


def _with_interval(difference: Estimate) -> Estimate:
    """With an interval, even where all rows are alike."""
    low, high = with_rule_of_three(difference.low, difference.high, difference.count)
    return replace(difference, low=low, high=high)


def _written(scorer: RelationScorer, positional: HeldOutScore, contextual: HeldOutScore) -> str:
    place, content = (f"{100 * score.value_N.mean():.1f} %" for score in (positional, contextual))
    difference = _points(_with_interval(scorer.difference(positional, contextual)))
    return f"place {place}, content {content}, difference {difference}, {len(positional.value_N):,} rows"


def _points(difference: Estimate) -> str:
    """A difference of shares with its interval."""
    numbers = (difference.value, difference.low, difference.high)
    value, low, high = (f"{100 * number:+.1f}".replace("-", "−") for number in numbers)
    return f"{value} points ({low} to {high})"
