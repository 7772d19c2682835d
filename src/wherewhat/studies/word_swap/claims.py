"""What was published about swapped words, what was not, and how each claim is judged and answered."""

from wherewhat.published.word_swaps import CHANGES
from wherewhat.published.word_swaps import ROLES as ROLE_CHANGES
from wherewhat.stats.verdict import UNPUBLISHED, Claim
from wherewhat.studies.verdicts import StudyClaim, judge_claims, short_answer
from wherewhat.studies.word_swap import open_claims, published_claims, symmetry_claim
from wherewhat.studies.word_swap.results import WordSwapResults


def _between(points: list[float]) -> str:
    """The range of published changes.

    >>> _between([-0.4, -1.7, -0.2])
    '0.2 to 1.7'
    """
    sizes = sorted(abs(each) for each in points)
    return f"{sizes[0]:g} to {sizes[-1]:g}"


_CONSTITUENTS = _between([each for changes in CHANGES.values() for each in changes[:-1]])
_WHOLE = _between([changes[-1] for changes in CHANGES.values()])
_ROLES = _between([change for _, change in ROLE_CHANGES.values()])
_MODELS = ", ".join(CHANGES)


CLAIMS: dict[str, StudyClaim] = {
    "shuffles": StudyClaim(
        "Shuffling words inside constituents hardly matters; shuffling the whole sentence costs more.",
        f"{_MODELS} on SNLI lose {_CONSTITUENTS} points from constituents of 3 to 6 words, {_WHOLE} from the whole "
        "sentence",
        published_claims.shuffles,
    ),
    "blindness": StudyClaim(
        "Models miss that agent and patient were swapped.",
        f"{_MODELS} on SNLI lose {_ROLES} points; the rule for the new labels is unknown",
        published_claims.blindness,
    ),
    "symmetry": StudyClaim(
        "The more symmetric an encoding is, the more it misses.",
        f"reported so; over {len(ROLE_CHANGES)} models the correlation of symmetry with the cost of a role swap is "
        "−0.49, from which nothing follows",
        symmetry_claim.symmetry,
    ),
    "training": StudyClaim(
        "Nets that are rewarded for reading roles follow the role swap: training decides it.",
        UNPUBLISHED,
        open_claims.training,
    ),
    "no_position": StudyClaim(
        "A net without positions is not affected by word order.",
        f"{UNPUBLISHED}; it follows from theory",
        open_claims.no_position,
    ),
    "bare_names": StudyClaim(
        "An encoding that knows distances but not sides cannot tell two swapped bare names apart.",
        f"{UNPUBLISHED}; it follows from theory",
        open_claims.bare_names,
    ),
}
# The short answer by claim and verdict. The reason follows, where the verdict has one.
LEADS = {
    "shuffles": {
        "agrees": "Shuffled constituents hardly matter",
        "in part": "Shuffled constituents hardly matter in part",
        "disagrees": "Shuffled constituents matter",
        "unknown": "It is unclear whether shuffled constituents matter",
    },
    "blindness": {
        "agrees": "Fine-tuned on content, nets miss that roles were swapped",
        "in part": "Fine-tuned on content, nets miss swapped roles in part",
        "disagrees": "Fine-tuned on content, nets notice that roles were swapped",
        "unknown": "It is unclear whether nets fine-tuned on content miss swapped roles",
    },
    "symmetry": {
        "agrees": "Symmetric curves miss more than asymmetric ones",
        "in part": "Symmetric curves miss more than asymmetric ones in part",
        "disagrees": "Symmetric curves do not miss more than asymmetric ones",
        "unknown": "It is unclear whether symmetry is to blame",
    },
    "training": {
        "seen": "Rewarded for reading roles, the same nets follow the role swap",
        "in part": "Rewarded for reading roles, the same nets follow the role swap in part",
        "not seen": "Even rewarded for reading roles, nets do not follow the role swap",
        "unknown": "It is unclear whether a reward for reading roles would help",
    },
}


def claims_of(results: WordSwapResults) -> tuple[Claim, ...]:
    """Every claim with its verdict."""
    return judge_claims(CLAIMS, results)


def answers_of(results: WordSwapResults) -> dict[str, dict[str, str]]:
    """By claim: the answer in a short sentence, and the numbers it rests on."""
    return {name: short_answer(CLAIMS[name], results, leads) for name, leads in LEADS.items()}
