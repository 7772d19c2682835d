"""The questions everybody asks, each answered by the verdict on its claim and by nothing else."""

from wherewhat.studies.locality.claims import CLAIMS, judged
from wherewhat.studies.locality.evidence import Evidence

# By claim and verdict. What holds in part goes on with the judge's own half sentence.
LEADS = {
    "locality": {
        "agrees": "Locality helps",
        "in part": "Locality helps in part",
        "disagrees": "That accuracy goes closely with locality was not seen",
        "unknown": "Whether accuracy goes closely with locality cannot be told",
    },
    "symmetry": {
        "agrees": "Symmetry helps",
        "in part": "Symmetry helps in part",
        "disagrees": "That accuracy goes closely with symmetry was not seen",
        "unknown": "Whether accuracy goes closely with symmetry cannot be told",
    },
    "decoder": {
        "seen": "Locality helps decoders too",
        "in part": "Locality helps decoders in part",
        "not seen": "In decoders no clear gain from locality was seen",
        "unknown": "Whether locality helps decoders cannot be told",
    },
    "leaning": {
        "seen": "Heads that lean to alternate sides help with roles",
        "in part": "Heads that lean to alternate sides help with roles in part",
        "not seen": "No clear gain from leaning heads was seen where roles are asked for",
        "unknown": "Whether leaning heads help with roles cannot be told",
    },
    "stability": {
        "seen": "Local and symmetric encodings are fine-tuned more stably",
        "in part": "Local and symmetric encodings are fine-tuned more stably in part",
        "not seen": "That local and symmetric encodings are fine-tuned more stably was not seen",
        "unknown": "Whether local and symmetric encodings are fine-tuned more stably cannot be told",
    },
}


def answers_of(seen: Evidence) -> dict[str, dict[str, str]]:
    """By what is asked: the answer in a short sentence, and what it rests on."""
    return {name: answer(seen, name) for name in LEADS}


def answer(seen: Evidence, name: str) -> dict[str, str]:
    """One of them."""
    found = judged(CLAIMS[name], seen)
    lead = LEADS[name][found.verdict] + (f": {found.because}" if found.because else "")
    return {"lead": f"{lead}.", "rest": found.short or found.ours}
