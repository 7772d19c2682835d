"""The words of a sentence as they are written: what treebanks cut in two ("do", "n't") is one unit again."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from wherewhat.corpora.arcs import depths
from wherewhat.corpora.sentence import Sentence


@dataclass(frozen=True)
class Units:
    """Written words with their governors, and where each stands in the text. What is not known stays empty."""

    words: tuple[str, ...]
    head: tuple[int, ...]  # the governor of every unit, counted from 1; 0 is the root
    deprel: tuple[str, ...]
    upos: tuple[str, ...]
    places: tuple[tuple[int, int], ...]  # from, to of every unit in `raw`
    raw: str  # the text as it was written
    merged: int  # how many units stand for several words


def units_of(sentence: Sentence) -> Units:
    """The units of a sentence of any corpus.

    Words that share a place were written as one ("don't") and are one unit. It takes the part of that of them which is
    nearest to the root, the first of several: so units hang together in a tree as the words did, and what one word of
    a unit says of another is dropped.

    >>> units_of(Sentence(("peter", "laughs", "."))).places
    ((0, 5), (6, 12), (13, 14))
    """
    known = sentence.annotation
    raw, places = known.raw or sentence.text, known.places or side_by_side(sentence.words)
    groups = [[word for word, _ in group] for _, group in groupby(enumerate(places), key=lambda one: one[1])]
    unit_of = {word: unit for unit, group in enumerate(groups, start=1) for word in group}
    depth = depths(known.head) or [0] * len(sentence.words)
    tops = [min(group, key=depth.__getitem__) for group in groups]
    return Units(
        words=tuple(raw[slice(*places[group[0]])] for group in groups),
        head=tuple(unit_of.get(known.head[top] - 1, 0) for top in tops) if known.head else (),
        deprel=tuple(known.deprel[top] for top in tops) if known.deprel else (),
        upos=tuple(known.upos[top] for top in tops) if known.upos else (),
        places=tuple(places[group[0]] for group in groups),
        raw=raw,
        merged=sum(len(group) > 1 for group in groups),
    )


def side_by_side(words: Sequence[str]) -> tuple[tuple[int, int], ...]:
    """From where to where every word stands in a text of words with blanks between."""
    places, start = list[tuple[int, int]](), 0
    for word in words:
        places.append((start, start + len(word)))
        start += len(word) + 1
    return tuple(places)
