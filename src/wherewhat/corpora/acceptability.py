"""Acceptability: a sentence of the grammar, and the same words with two neighbours swapped.

After the swap some two neighbours have tags that never follow each other in the grammar, whatever tags the words have:
no sentence of the grammar looks like that.
"""

from collections.abc import Container
from functools import lru_cache
from itertools import count, pairwise

from wherewhat.corpora.base import split_of
from wherewhat.corpora.grammar import Grammar
from wherewhat.corpora.lexicon import leaves_of
from wherewhat.corpora.sentence import Sentence
from wherewhat.tasks.stream import Stream

ACCEPTABLE = ("acceptable", "corrupted")
FINITE = ("VBZ", "VBP", "VBD")
# Which tag may follow which. A noun phrase begins with DT or NNP; it ends with a noun, a name, or the verb of a
# relative clause. It is followed by the verb, a preposition, an adverb, the full stop, or the second object (DT).
AFTER_PHRASE = (*FINITE, "IN", "RB", ".", "DT")
AFTER: dict[str, tuple[str, ...]] = {
    "DT": ("JJ", "NN", "NNS"),
    "JJ": ("NN", "NNS"),
    "NN": (*AFTER_PHRASE, "WP", "WDT"),
    "NNS": (*AFTER_PHRASE, "WP", "WDT"),
    "NNP": AFTER_PHRASE,
    **dict.fromkeys(FINITE, (*AFTER_PHRASE, "NNP", "VBN")),
    "VBN": ("IN", "RB", "."),
    "IN": ("DT", "NNP"),
    "WP": (*FINITE, "DT", "NNP"),
    "WDT": (*FINITE, "DT", "NNP"),
    "RB": (".",),
    ".": (),
}


def draw_acceptable(seed: int, split: str, unit: int, taken: Container[str] = frozenset()) -> tuple[Sentence, Sentence]:
    """A sentence of this split and its corrupted version; neither is `taken`."""
    grammar = Grammar(seed, past=True)
    for k in count():
        key = f"acceptable.{unit}.{k}"
        sentence = grammar.sentence(split, key)
        if sentence.text in taken:
            continue
        for words in neighbour_swaps(sentence.words, Stream(seed, key, split)):
            if impossible(words) and " ".join(words) not in taken and _only_of(split, words):
                return sentence, Sentence(words, f"{sentence.where}, two words swapped")
    raise AssertionError("counting does not end")


def _only_of(split: str, words: tuple[str, ...]) -> bool:
    """Whether these words, and every sentence that they may have been made from, belong to this split.

    A repair has to touch the impossible pair, so longer sentences do not have more such repairs.
    """
    return all(split_of(" ".join(repaired)) == split for repaired in neighbour_swaps(words) if not impossible(repaired))


def neighbour_swaps(words: tuple[str, ...], stream: Stream | None = None) -> list[tuple[str, ...]]:
    """The words with every two neighbours swapped, in a random order if there is a stream. The full stop stays."""
    places = range(len(words) - 2)
    firsts = places if stream is None else stream.shuffle(places)
    return [(*words[:i], words[i + 1], words[i], *words[i + 2 :]) for i in firsts]


def impossible(words: tuple[str, ...]) -> bool:
    """Whether some two neighbours can never follow each other, whatever their tags."""
    tags = tags_of_forms()
    return any(
        not any(after in AFTER[before] for before in tags[first] for after in tags[second])
        for first, second in pairwise(words)
    )


@lru_cache(maxsize=1)
def tags_of_forms() -> dict[str, set[str]]:
    """Every tag that a word form can have."""
    tags: dict[str, set[str]] = {}
    for leaf in leaves_of(past=True):
        tags.setdefault(leaf.form, set()).add(leaf.xpos)
    return tags
