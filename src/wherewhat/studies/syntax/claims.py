"""What was published about relations and heads, what was left open, and what was seen of it here."""

from collections.abc import Callable
from dataclasses import dataclass

from wherewhat.studies.base import UNPUBLISHED, Claim
from wherewhat.studies.locality.claims import FEWEST_SEEDS, TOO_FEW
from wherewhat.studies.locality.judging import Judged
from wherewhat.studies.syntax import judge_distance, judge_open
from wherewhat.studies.syntax.evidence import Evidence

DIRECTION = "said to be so; the figures, the data and the rule are unknown to us"
FIRST_RUN = f"{UNPUBLISHED}; a first run of one learned table and one rope had "


@dataclass(frozen=True)
class Asked:
    """A claim and how to judge it."""

    claim: str
    published: str
    judge: Callable[[Evidence], Judged]


CLAIMS: dict[str, Asked] = {
    "short": Asked("Positional heads win on short relations.", DIRECTION, judge_distance.short),
    "long": Asked("Contextual heads win on long relations.", DIRECTION, judge_distance.long),
    "content": Asked(
        "Subjects and objects need content: no fixed offset finds as many.",
        "of BERT-base, best head / best offset in %: nsubj 58.5 / 45.5, dobj 86.8 / 40.0 (Clark et al. 2019)",
        judge_distance.content,
    ),
    "anchors": Asked(
        "The best head finds more than the best fixed offset, relation by relation.",
        f"of BERT-base in %: {judge_distance.anchors_told()} (Clark et al. 2019)",
        judge_distance.anchors,
    ),
    "stereotyped": Asked(
        "Where the partner always stands in the same place, position alone finds as many as the best fixed offset.",
        f"{FIRST_RUN}the same share in det, amod and aux:pass",
        judge_open.stereotyped,
    ),
    "rotation": Asked(
        "Content alone finds more under rotated positions than under a table of positions that is added.",
        f"{FIRST_RUN}it far stronger under rope",
        judge_open.rotation,
    ),
    "not_best": Asked(
        "Full attention is not always the best of the three.",
        f"{FIRST_RUN}content alone above it in obl",
        judge_open.not_best,
    ),
    "locality": Asked(
        "The more local a curve is, the more neighbours heads find under it, and the fewer far words.",
        UNPUBLISHED,
        judge_open.locality,
    ),
    "sides": Asked(
        "An encoding that treats both sides alike finds fewer neighbours than one that does not.",
        UNPUBLISHED,
        judge_open.sides,
    ),
    "shuffled": Asked(
        "Among shuffled words heads chosen by position fall to chance, and those chosen by content stay above it.",
        UNPUBLISHED,
        judge_open.shuffled,
    ),
    "learnt": Asked("What free heads find is learnt: untrained nets find less.", UNPUBLISHED, judge_open.learnt),
}


def claims_of(seen: Evidence) -> tuple[Claim, ...]:
    """Every claim with its verdict."""
    found = ((asked, judged(asked, seen)) for asked in CLAIMS.values())
    return tuple(Claim(asked.claim, asked.published, its.ours, its.verdict, its.why) for asked, its in found)


def judged(asked: Asked, seen: Evidence) -> Judged:
    """What is said of a claim; its verdict stays unknown when there are too few seeds to tell."""
    found = asked.judge(seen)
    if len(seen.seeds) >= FEWEST_SEEDS:
        return found
    return Judged(found.ours, "unknown", TOO_FEW, short=f"{TOO_FEW} {found.short or found.ours}")
