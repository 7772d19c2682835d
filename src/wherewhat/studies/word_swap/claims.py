"""What was published about words in other places, what was not, and what was seen of it here."""

from collections.abc import Callable
from dataclasses import dataclass

from wherewhat.report.probe_published import CHANGES
from wherewhat.report.probe_published import ROLES as ROLE_CHANGES
from wherewhat.studies.base import UNPUBLISHED, Claim
from wherewhat.studies.locality.claims import FEWEST_SEEDS, TOO_FEW
from wherewhat.studies.locality.judging import Judged
from wherewhat.studies.word_swap import judge_ours, judge_published, judge_symmetry
from wherewhat.studies.word_swap.evidence import Evidence


def _between(points: list[float]) -> str:
    """The range of published changes.

    >>> _between([-0.4, -1.7, -0.2])
    '0.2 to 1.7'
    """
    sizes = sorted(abs(each) for each in points)
    return f"{sizes[0]:g} to {sizes[-1]:g}"


_PHRASES = _between([each for changes in CHANGES.values() for each in changes[:-1]])
_WHOLE = _between([changes[-1] for changes in CHANGES.values()])
_ROLES = _between([change for _, change in ROLE_CHANGES.values()])
_MODELS = ", ".join(CHANGES)


@dataclass(frozen=True)
class Asked:
    """A claim, how to judge it, and its answer in a short sentence by verdict."""

    claim: str
    published: str
    judge: Callable[[Evidence], Judged]
    leads: dict[str, str]


CLAIMS: dict[str, Asked] = {
    "shuffles": Asked(
        "Shuffling words inside phrases hardly matters; shuffling the whole sentence costs more.",
        f"{_MODELS} on SNLI lose {_PHRASES} points from phrases of 3 to 6 words, {_WHOLE} from the whole sentence",
        judge_published.shuffles,
        {
            "agrees": "Shuffled phrases hardly matter",
            "in part": "Shuffled phrases hardly matter in part",
            "disagrees": "Shuffled phrases matter",
            "unknown": "Whether shuffled phrases matter cannot be told",
        },
    ),
    "blindness": Asked(
        "Models overlook that agent and patient have changed places.",
        f"{_MODELS} on SNLI lose {_ROLES} points; the rule for the new labels is unknown",
        judge_published.blindness,
        {
            "agrees": "Fine-tuned on content, nets overlook that roles were exchanged",
            "in part": "Fine-tuned on content, nets overlook exchanged roles in part",
            "disagrees": "Fine-tuned on content, nets notice that roles were exchanged",
            "unknown": "Whether nets fine-tuned on content overlook exchanged roles cannot be told",
        },
    ),
    "symmetry": Asked(
        "The more symmetric an encoding is, the more it overlooks.",
        f"said to be so; over {len(ROLE_CHANGES)} models the correlation of symmetry with what an exchange costs is "
        "−0.49, from which nothing follows",
        judge_symmetry.symmetry,
        {
            "agrees": "Symmetric curves overlook more than curves with sides",
            "in part": "Symmetric curves overlook more than curves with sides in part",
            "disagrees": "Symmetric curves do not overlook more than curves with sides",
            "unknown": "Whether symmetry is to blame cannot be told",
        },
    ),
    "training": Asked(
        "Nets that are rewarded for reading roles follow the exchange: training decides it.",
        UNPUBLISHED,
        judge_ours.training,
        {
            "seen": "Rewarded for reading roles, the same nets follow the exchange",
            "in part": "Rewarded for reading roles, the same nets follow the exchange in part",
            "not seen": "Even rewarded for reading roles, nets do not follow the exchange",
            "unknown": "Whether a reward for reading roles would help cannot be told",
        },
    ),
    "no_position": Asked(
        "A net without positions is not moved by any order.",
        f"{UNPUBLISHED}; it follows from theory",
        judge_ours.no_position,
        {},
    ),
    "bare_names": Asked(
        "Where an encoding knows distances but no sides, two bare names that change places cannot be told apart.",
        f"{UNPUBLISHED}; it follows from theory",
        judge_ours.bare_names,
        {},
    ),
}


def claims_of(seen: Evidence) -> tuple[Claim, ...]:
    """Every claim with its verdict."""
    found = ((asked, judged(asked, seen)) for asked in CLAIMS.values())
    return tuple(Claim(asked.claim, asked.published, one.ours, one.verdict, one.why) for asked, one in found)


def judged(asked: Asked, seen: Evidence) -> Judged:
    """What is said of a claim; its verdict stays unknown when there are too few seeds to tell."""
    found = asked.judge(seen)
    if len(seen.seeds) >= FEWEST_SEEDS:
        return found
    return Judged(found.ours, "unknown", TOO_FEW, short=f"{TOO_FEW} {found.short or found.ours}")


def answers_of(seen: Evidence) -> dict[str, dict[str, str]]:
    """By claim: the answer in a short sentence, and what it rests on."""
    return {name: answer(asked, seen) for name, asked in CLAIMS.items() if asked.leads}


def answer(asked: Asked, seen: Evidence) -> dict[str, str]:
    """One of them."""
    found = judged(asked, seen)
    lead = asked.leads[found.verdict] + (f": {found.because}" if found.because else "")
    return {"lead": f"{lead}.", "rest": found.short or found.ours}
