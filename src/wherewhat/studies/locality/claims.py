"""What was published about locality and symmetry, what was left open, and how each claim is judged and answered."""

from wherewhat.stats.verdict import UNPUBLISHED, Claim
from wherewhat.studies.locality import open_claims, published_claims
from wherewhat.studies.locality.results import LocalityResults
from wherewhat.studies.verdicts import StudyClaim, judge_claims, short_answer

CLAIMS: dict[str, StudyClaim] = {
    "locality": StudyClaim(
        "The more local an encoding is, the more accurate the model.",
        "correlates closely with accuracy; the coefficients are unknown",
        published_claims.locality,
    ),
    "symmetry": StudyClaim(
        "The more symmetric an encoding is, the more accurate the model.",
        "correlates closely with accuracy; the coefficients are unknown (Wang et al. 2021 report the opposite sign: "
        "symmetry slightly hurts)",
        published_claims.symmetry,
    ),
    "by_hand": StudyClaim(
        "A curve set by hand beats a learned table of positions.",
        "gains on 10 data sets; the values are unknown",
        published_claims.by_hand,
    ),
    "roles": StudyClaim(
        "A symmetric encoding cannot tell who does what to whom.",
        "swapping roles costs BERT, ALBERT, DeBERTa and XLNet 58 to 67 points",
        published_claims.roles,
    ),
    "middle": StudyClaim(
        "The best locality is in the middle; both ends do worse.", UNPUBLISHED, open_claims.middle_best
    ),
    "raw": StudyClaim(
        "Added without the logarithm, the curve is nearly inert.",
        f"{UNPUBLISHED}; by its formula it multiplies attention by 1.5 at most inside a sentence at w = 0.5",
        open_claims.raw_inert,
    ),
    "stability": StudyClaim(
        "Local and symmetric encodings are fine-tuned more stably: they forget less, and seeds differ less.",
        UNPUBLISHED,
        open_claims.stability,
    ),
    "decoder": StudyClaim(
        "In a decoder too, a more local encoding is more accurate.", UNPUBLISHED, open_claims.decoder
    ),
    "leaning": StudyClaim(
        "Heads that lean to alternate sides help with roles and do not hurt elsewhere.",
        UNPUBLISHED,
        open_claims.leaning,
    ),
}
# The short answer by claim and verdict. The reason follows, where the verdict has one.
LEADS = {
    "locality": {
        "agrees": "Locality helps",
        "in part": "Locality helps in part",
        "disagrees": "Accuracy does not correlate closely with locality",
        "unknown": "It is unclear whether accuracy correlates closely with locality",
    },
    "symmetry": {
        "agrees": "Symmetry helps",
        "in part": "Symmetry helps in part",
        "disagrees": "Accuracy does not correlate closely with symmetry",
        "unknown": "It is unclear whether accuracy correlates closely with symmetry",
    },
    "decoder": {
        "seen": "Locality helps decoders too",
        "in part": "Locality helps decoders in part",
        "not seen": "Locality brings decoders no clear gain",
        "unknown": "It is unclear whether locality helps decoders",
    },
    "leaning": {
        "seen": "Heads that lean to alternate sides help with roles",
        "in part": "Heads that lean to alternate sides help with roles in part",
        "not seen": "Leaning heads bring no clear gain on roles",
        "unknown": "It is unclear whether leaning heads help with roles",
    },
    "stability": {
        "seen": "Local and symmetric encodings are fine-tuned more stably",
        "in part": "Local and symmetric encodings are fine-tuned more stably in part",
        "not seen": "Local and symmetric encodings are not clearly fine-tuned more stably",
        "unknown": "It is unclear whether local and symmetric encodings are fine-tuned more stably",
    },
}


def claims_of(results: LocalityResults) -> tuple[Claim, ...]:
    """Every claim with its verdict."""
    return judge_claims(CLAIMS, results)


def answers_of(results: LocalityResults) -> dict[str, dict[str, str]]:
    """By claim: the answer in a short sentence, and the numbers it rests on."""
    return {name: short_answer(CLAIMS[name], results, leads) for name, leads in LEADS.items()}
