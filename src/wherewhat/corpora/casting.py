"""Other nouns in the same sentence, until it falls into the split that it is wanted for.

Which noun of its class a phrase has is drawn evenly and has no consequences. So a sentence with other nouns of the same
classes and numbers is as likely as the first one, and much quicker to have than a new one.
"""

from collections.abc import Mapping, Sequence

from wherewhat.corpora import lexicon as lex
from wherewhat.corpora.base import split_of
from wherewhat.corpora.lexicon import PL, SG
from wherewhat.corpora.phrase import Leaf, Phrase, leaves, with_leaves
from wherewhat.tasks.stream import Stream

TRIES = 40  # then a new sentence is drawn: this one may have too few nouns to ever get there
_CLASSES = [
    lex.NAMES,
    *(tuple(noun[SG] for noun in nouns) for nouns in (lex.PERSONS, lex.ANIMALS, lex.THINGS, lex.PLACES)),
    *(tuple(noun[PL] for noun in nouns) for nouns in (lex.PERSONS, lex.ANIMALS, lex.THINGS)),
]
SIBLINGS: dict[Leaf, tuple[Leaf, ...]] = {leaf: members for members in _CLASSES for leaf in members}


def recast(tree: Phrase, stream: Stream, split: str) -> Phrase | None:
    """The tree with nouns that bring it into this split; the tree itself if it is there already."""
    words = list(leaves(tree))
    nouns = [place for place, word in enumerate(words) if word in SIBLINGS]
    changes: dict[int, Leaf] = {}
    for _ in range(TRIES):
        if split_of(told(words, changes)) == split:
            return with_leaves(tree, changes) if changes else tree
        place = stream.pick(nouns)
        changes[place] = stream.pick(SIBLINGS[words[place]])
    return None


def told(words: Sequence[Leaf], changes: Mapping[int, Leaf]) -> str:
    """The text with some words changed."""
    return " ".join([changes.get(place, word).form for place, word in enumerate(words)])
