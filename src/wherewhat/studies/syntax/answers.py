"""The questions everybody asks, each answered by the verdict on its claim and by the signs it was judged by."""

from collections.abc import Callable

from wherewhat.studies.locality.claims import FEWEST_SEEDS
from wherewhat.studies.syntax import judge_distance
from wherewhat.studies.syntax.claims import CLAIMS, judged
from wherewhat.studies.syntax.evidence import Evidence

# By claim and verdict.
LEADS = {
    "short": {
        "agrees": "Near words are found by position",
        "disagrees": "Near words are not found by position, rather by content",
        "unknown": "Whether near words are found by position or by content cannot be told",
    },
    "long": {
        "agrees": "far words are found by content",
        "disagrees": "far words are not found by content, rather by position",
        "unknown": "whether far words are found by content cannot be told",
    },
    "locality": {
        "seen": "Under more local curves heads find more neighbours and fewer far words",
        "in part": "That heads find more neighbours and fewer far words under more local curves was seen in part",
        "not seen": "That heads find more neighbours and fewer far words under more local curves was not seen",
        "unknown": "Whether heads find more neighbours under more local curves cannot be told",
    },
    "learnt": {
        "seen": "In encodings with free heads all three are learnt: untrained nets find less",
        "in part": "In encodings with free heads part of it is learnt: untrained nets find less in some ways only",
        "not seen": "It was not seen that trained nets with free heads find more than untrained ones",
        "unknown": "Whether trained nets with free heads find more than untrained ones cannot be told",
    },
    "content": {
        "agrees": "Subjects and objects need content",
        "disagrees": "Subjects and objects are found as well or better by a fixed offset",
        "unknown": "Whether subjects and objects need content cannot be told",
    },
}
# Where one thing is clear and another is not, or is the other way: what is said of each, by its sign.
SIDES: dict[str, Callable[[Evidence], dict[str, int]]] = {
    "short": judge_distance.short_sides,
    "long": judge_distance.long_sides,
    "content": judge_distance.content_sides,
}
EACH = {
    "short": {
        1: "at distance {} words are found by position",
        -1: "at distance {} words are found by content",
        0: "at distance {} it cannot be told which finds them",
    },
    "long": {
        1: "at distance {} words are found by content",
        -1: "at distance {} words are found by position",
        0: "at distance {} it cannot be told which finds them",
    },
    "content": {
        1: "{} need content",
        -1: "{} are found as well or better by a fixed offset",
        0: "whether {} need content cannot be told",
    },
}
FIRST = ("short", "content")  # whose leads begin a sentence where they are put together


def answers_of(seen: Evidence) -> dict[str, dict[str, str]]:
    """By what is asked: the answer in a short sentence, and what it rests on."""
    return {name: answer(seen, name) for name in LEADS}


def answer(seen: Evidence, name: str) -> dict[str, str]:
    """One of them; `lead` is half a sentence without its stop."""
    found = judged(CLAIMS[name], seen)
    sides = SIDES[name](seen) if name in SIDES and len(seen.seeds) >= FEWEST_SEEDS else {}
    lead = one_by_one(name, sides) if len(set(sides.values())) > 1 else LEADS[name][found.verdict]
    return {"lead": lead, "rest": found.short or found.ours}


def one_by_one(name: str, sides: dict[str, int]) -> str:
    """What is clear of a claim and what is open, thing by thing.

    >>> one_by_one("content", {"subjects": -1, "objects": 0})
    'Subjects are found as well or better by a fixed offset, whether objects need content cannot be told'
    """
    told = ", ".join(EACH[name][side].format(what) for what, side in sides.items())
    return f"{told[:1].upper()}{told[1:]}" if name in FIRST else told
