"""How to read every measure of a swap, in plain words."""

from collections.abc import Iterable

from wherewhat.probing.swapped.outcome import ACCURACY, DISTANCE, FLIP, KEPT, LENIENT, MOVED, NATS, OLD, REACH

MEASURES: dict[str, dict[str, str]] = {
    ACCURACY: {
        "asks": "What share of cases gets the right answer? After an exchange of roles the right one is the new one.",
        "low": "none is right",
        "high": "all are right",
        "unit": "share",
    },
    KEPT: {
        "asks": "What share of answers is the same as before?",
        "low": "every answer changes",
        "high": "nothing was noticed",
        "unit": "share",
    },
    FLIP: {
        "asks": "Of the answers that were right, what share changes?",
        "low": "nothing was noticed",
        "high": "every answer changes",
        "unit": "share",
    },
    OLD: {
        "asks": "What share of cases still gets the answer that was right before?",
        "low": "none does",
        "high": "all do",
        "unit": "share",
    },
    LENIENT: {
        "asks": "The same as accuracy, but where the right answer is another now, any other than the old one will do.",
        "low": "none is right",
        "high": "all are right",
        "unit": "share",
    },
    NATS: {
        "asks": "By how many nats does a token surprise the model, averaged over tokens?",
        "low": "every token is foreseen",
        "high": "the tokens surprise it",
        "unit": "nats",
    },
    DISTANCE: {
        "asks": "How far does the text move in the model, where two different cases are 1 apart on average? "
        "(1 − cosine of mean hidden states)",
        "low": "it stays where it was",
        "high": "1: as far away as another text",
        "unit": "×",
    },
    MOVED: {
        "asks": "What share of words stands in another place?",
        "low": "none",
        "high": "all",
        "unit": "share",
    },
    REACH: {
        "asks": "By how many places was a word moved, averaged over all words?",
        "low": "none moved",
        "high": "they moved far",
        "unit": "words",
    },
}


def about_measures(names: Iterable[str]) -> dict[str, dict[str, str]]:
    """How to read the measures that were taken."""
    return {name: MEASURES[name] for name in names}
