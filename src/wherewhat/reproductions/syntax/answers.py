"""The questions everybody asks, each answered by the verdict on its claim and by nothing else."""

from wherewhat.reproductions.syntax.claims import CLAIMS, judged
from wherewhat.reproductions.syntax.evidence import Evidence

# By claim and verdict.
LEADS = {
    "short": {
        "agrees": "Near words are found by position",
        "in part": "Near words are found by position in part",
        "disagrees": "Near words are not found by position, rather by content",
        "unknown": "Whether near words are found by position or by content cannot be told",
    },
    "long": {
        "agrees": "far words by content",
        "in part": "far words by content in part",
        "disagrees": "far words not by content, rather by position",
        "unknown": "whether far words are found by content cannot be told",
    },
    "locality": {
        "seen": "More local encodings find more neighbours and fewer far words",
        "in part": "That more local encodings find more neighbours and fewer far words was seen in part",
        "not seen": "That more local encodings find more neighbours and fewer far words was not seen",
        "unknown": "Whether more local encodings find more neighbours cannot be told",
    },
    "learnt": {
        "seen": "All three are learnt: untrained nets find less",
        "in part": "Part of it is learnt: untrained nets find less in some ways and not in others",
        "not seen": "It was not seen that trained nets find more than untrained ones",
        "unknown": "Whether trained nets find more than untrained ones cannot be told",
    },
    "content": {
        "agrees": "Subjects and objects need content",
        "in part": "Subjects and objects need content in part",
        "disagrees": "Subjects and objects are found as well by a fixed offset",
        "unknown": "Whether subjects and objects need content cannot be told",
    },
}


def answers_of(seen: Evidence) -> dict[str, dict[str, str]]:
    """By what is asked: the answer in a short sentence, and what it rests on."""
    return {name: answer(seen, name) for name in LEADS}


def answer(seen: Evidence, name: str) -> dict[str, str]:
    """One of them; `lead` is half a sentence without its stop."""
    found = judged(CLAIMS[name], seen)
    return {"lead": LEADS[name][found.verdict], "rest": found.short or found.ours}
