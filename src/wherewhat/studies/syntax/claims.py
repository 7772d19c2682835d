"""What was published about relations and heads, what was left open, and how each claim is judged and answered."""

from collections.abc import Callable

from wherewhat.stats.verdict import UNPUBLISHED, Claim
from wherewhat.studies.syntax import open_claims, published_claims
from wherewhat.studies.syntax.results import SyntaxResults
from wherewhat.studies.verdicts import FEWEST_SEEDS, StudyClaim, judge_claim, judge_claims

DIRECTION = "reported as a direction; the figures, the data and the rule are unknown to us"
FIRST_RUN = f"{UNPUBLISHED}; a first run of one learned table and one rope had "

CLAIMS: dict[str, StudyClaim] = {
    "short": StudyClaim("Positional heads win on short relations.", DIRECTION, published_claims.short),
    "long": StudyClaim("Contextual heads win on long relations.", DIRECTION, published_claims.long),
    "content": StudyClaim(
        "Subjects and objects need content: no fixed offset finds as many.",
        "BERT-base, best head / best offset in %: nsubj 58.5 / 45.5, dobj 86.8 / 40.0 (Clark et al. 2019)",
        published_claims.content,
    ),
    "anchors": StudyClaim(
        "The best head finds more than the best fixed offset, relation by relation.",
        f"BERT-base in %: {published_claims.published_anchors()} (Clark et al. 2019)",
        published_claims.anchors,
    ),
    "stereotyped": StudyClaim(
        "Where the partner is always at the same offset, position alone finds as many as the best fixed offset.",
        f"{FIRST_RUN}the same share in det, amod and aux:pass",
        open_claims.stereotyped,
    ),
    "rotation": StudyClaim(
        "Content alone finds more under rotary positions than under an added table of positions.",
        f"{FIRST_RUN}it far stronger under rope",
        open_claims.rotation,
    ),
    "not_best": StudyClaim(
        "Full attention is not always the best of the three.",
        f"{FIRST_RUN}content alone above it in obl",
        open_claims.not_best,
    ),
    "locality": StudyClaim(
        "The more local a curve is, the more neighbours heads find under it, and the fewer far words.",
        UNPUBLISHED,
        open_claims.locality,
    ),
    "sides": StudyClaim(
        "A symmetric encoding finds fewer neighbours than one that tells the two sides apart.",
        UNPUBLISHED,
        open_claims.sides,
    ),
    "shuffled": StudyClaim(
        "Among shuffled words, heads chosen by position fall to chance, and those chosen by content stay above it.",
        UNPUBLISHED,
        open_claims.shuffled,
    ),
    "learnt": StudyClaim("What free heads find is learnt: untrained nets find less.", UNPUBLISHED, open_claims.learnt),
}
# The short answer by claim and verdict.
LEADS = {
    "short": {
        "agrees": "Near words are found by position",
        "disagrees": "Near words are found by content rather than by position",
        "unknown": "It is unclear whether near words are found by position or by content",
    },
    "long": {
        "agrees": "far words are found by content",
        "disagrees": "far words are found by position rather than by content",
        "unknown": "it is unclear whether far words are found by content",
    },
    "locality": {
        "seen": "Under more local curves heads find more neighbours and fewer far words",
        "in part": "Under more local curves heads find more neighbours and fewer far words, but only in part",
        "not seen": "Under more local curves heads do not find more neighbours and fewer far words",
        "unknown": "It is unclear whether heads find more neighbours under more local curves",
    },
    "learnt": {
        "seen": "In encodings with free heads all three parts are learnt: untrained nets find less",
        "in part": "In encodings with free heads only some parts are learnt: untrained nets find less of those",
        "not seen": "Trained nets with free heads do not find more than untrained ones",
        "unknown": "It is unclear whether trained nets with free heads find more than untrained ones",
    },
    "content": {
        "agrees": "Subjects and objects need content",
        "disagrees": "Subjects and objects are found as well or better by a fixed offset",
        "unknown": "It is unclear whether subjects and objects need content",
    },
}
# Claims with several cases: the sign of each case, and what each sign means. Used where the signs differ.
CASE_SIGNS: dict[str, Callable[[SyntaxResults], dict[str, int]]] = {
    "short": published_claims.short_sides,
    "long": published_claims.long_sides,
    "content": published_claims.content_sides,
}
CASES = {
    "short": {
        1: "at distance {} words are found by position",
        -1: "at distance {} words are found by content",
        0: "at distance {} it is unclear which finds them",
    },
    "long": {
        1: "at distance {} words are found by content",
        -1: "at distance {} words are found by position",
        0: "at distance {} it is unclear which finds them",
    },
    "content": {
        1: "{} need content",
        -1: "{} are found as well or better by a fixed offset",
        0: "it is unclear whether {} need content",
    },
}
SENTENCE_START = ("short", "content")  # whose leads begin a sentence on the page


def claims_of(results: SyntaxResults) -> tuple[Claim, ...]:
    """Every claim with its verdict."""
    return judge_claims(CLAIMS, results)


def answers_of(results: SyntaxResults) -> dict[str, dict[str, str]]:
    """By claim: the answer in a short sentence, and the numbers it rests on."""
    return {name: answer(results, name) for name in LEADS}


def answer(results: SyntaxResults, name: str) -> dict[str, str]:
    """One of them; `lead` has no full stop, so that the page can join two of them."""
    verdict = judge_claim(CLAIMS[name], results)
    signs = CASE_SIGNS[name](results) if name in CASE_SIGNS and len(results.seeds) >= FEWEST_SEEDS else {}
    lead = case_by_case(name, signs) if len(set(signs.values())) > 1 else LEADS[name][verdict.verdict]
    return {"lead": lead, "rest": verdict.short or verdict.ours}


def case_by_case(name: str, signs: dict[str, int]) -> str:
    """What is clear about a claim and what is not, case by case.

    >>> case_by_case("content", {"subjects": -1, "objects": 0})
    'Subjects are found as well or better by a fixed offset, it is unclear whether objects need content'
    """
    lead = ", ".join(CASES[name][sign].format(case) for case, sign in signs.items())
    return f"{lead[:1].upper()}{lead[1:]}" if name in SENTENCE_START else lead
