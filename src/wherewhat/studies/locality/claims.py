"""What was published about locality and symmetry, what was left open, and what was seen of it here."""

from collections.abc import Callable
from dataclasses import dataclass

from wherewhat.studies.base import UNPUBLISHED, Claim
from wherewhat.studies.locality import judge_open, judge_published
from wherewhat.studies.locality.evidence import Evidence
from wherewhat.studies.locality.judging import Judged

FEWEST_SEEDS = 3
TOO_FEW = f"Fewer than {FEWEST_SEEDS} seeds decide nothing."


@dataclass(frozen=True)
class Asked:
    """A claim and how to judge it."""

    claim: str
    published: str
    judge: Callable[[Evidence], Judged]


CLAIMS: dict[str, Asked] = {
    "locality": Asked(
        "The more local an encoding is, the better the model answers.",
        "correlates closely with accuracy; the coefficients are unknown",
        judge_published.locality,
    ),
    "symmetry": Asked(
        "The more symmetric an encoding is, the better the model answers.",
        "correlates closely with accuracy; the coefficients are unknown (Wang et al. 2021 report the opposite sign: "
        "symmetry slightly hurts)",
        judge_published.symmetry,
    ),
    "by_hand": Asked(
        "A curve set by hand beats a learned table of positions.",
        "gains on 10 data sets; the values are unknown",
        judge_published.by_hand,
    ),
    "roles": Asked(
        "A symmetric encoding cannot tell who does what to whom.",
        "exchanging roles costs BERT, ALBERT, DeBERTa and XLNet 58 to 67 points",
        judge_published.roles,
    ),
    "middle": Asked("The best locality lies in the middle; both ends do worse.", UNPUBLISHED, judge_open.middle_best),
    "raw": Asked(
        "Added as it stands, the curve is nearly inert.",
        f"{UNPUBLISHED}; by its formula it multiplies attention by 1.5 at most inside a sentence at w = 0.5",
        judge_open.raw_inert,
    ),
    "stability": Asked(
        "Local and symmetric encodings are fine-tuned more stably: less is forgotten, and seeds differ less.",
        UNPUBLISHED,
        judge_open.stability,
    ),
    "decoder": Asked("In a decoder too, a more local encoding answers better.", UNPUBLISHED, judge_open.decoder),
    "leaning": Asked(
        "Heads that lean to alternate sides help with roles and do not hurt elsewhere.",
        UNPUBLISHED,
        judge_open.leaning,
    ),
}


def claims_of(seen: Evidence) -> tuple[Claim, ...]:
    """Every claim with its verdict."""
    return tuple(answered(asked, seen) for asked in CLAIMS.values())


def answered(asked: Asked, seen: Evidence) -> Claim:
    """A claim with its verdict."""
    found = judged(asked, seen)
    return Claim(asked.claim, asked.published, found.ours, found.verdict, found.why)


def judged(asked: Asked, seen: Evidence) -> Judged:
    """What is said of a claim; its verdict stays unknown when there are too few seeds to tell."""
    found = asked.judge(seen)
    if len(seen.seeds) >= FEWEST_SEEDS:
        return found
    return Judged(found.ours, "unknown", TOO_FEW, short=f"{TOO_FEW} {found.short or found.ours}")
