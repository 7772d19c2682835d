"""The orthographic words of a sentence (what treebanks cut in two, "do" and "n't", is one unit again); punctuation."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from wherewhat.corpora.dependency_tree import depths
from wherewhat.corpora.sentence import Sentence

TAGS = frozenset({".", ",", ":", "``", "''", "-LRB-", "-RRB-", "-LSB-", "-RSB-", "-LCB-", "-RCB-", "HYPH", "NFP"})
# The other tags of the Penn Treebank: words, whatever they look like.
PENN = (
    "CC CD DT EX FW IN JJ JJR JJS LS MD NN NNS NNP NNPS PDT POS PRP PRP$ RB RBR RBS RP SYM TO UH "
    "VB VBD VBG VBN VBP VBZ WDT WP WP$ WRB ADD AFX GW XX $ #"
)
WORDS = frozenset(PENN.split())
MISSING = ("", "_", None)


@dataclass(frozen=True)
class Units:
    """Orthographic words with their head words and their places in the text. What is not known stays empty."""

    words: tuple[str, ...]
    head: tuple[int, ...]  # the head word of every unit, counted from 1; 0 is the root
    deprel: tuple[str, ...]
    upos: tuple[str, ...]
    places: tuple[tuple[int, int], ...]  # start and end of every unit in `raw`
    raw: str  # the text as it was written
    merged: int  # how many units are several words


def units_of(sentence: Sentence) -> Units:
    """The units of a sentence of any corpus.

    Words that share a place were written as one ("don't") and are one unit. It takes the head word, relation and tag of
    the word that is nearest to the root, the first of several: so units form a tree as the words did, and relations
    within a unit are dropped.

    >>> units_of(Sentence(("peter", "laughs", "."))).places
    ((0, 5), (6, 12), (13, 14))
    """
    known = sentence.annotation
    raw, places = known.raw or sentence.text, known.places or side_by_side(sentence.words)
    groups = [[word for word, _ in group] for _, group in groupby(enumerate(places), key=lambda numbered: numbered[1])]
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
    """The start and end of every word in a text of words joined by blanks."""
    places, start = list[tuple[int, int]](), 0
    for word in words:
        places.append((start, start + len(word)))
        start += len(word) + 1
    return tuple(places)


def punctuation(sentence: Sentence) -> tuple[bool, ...]:
    """Which tokens of a sentence are punctuation: by universal tags, else by those of the Penn Treebank, else by form.

    >>> punctuation(Sentence(("n't", "!", "--")))
    (False, True, True)
    """
    missing = (None,) * len(sentence.words)
    tokens = zip(sentence.words, sentence.upos or missing, sentence.xpos or missing, strict=True)
    return tuple(_is_mark(*token) for token in tokens)


def _is_mark(word: str, upos: str | None, xpos: str | None) -> bool:
    if upos not in MISSING:
        return upos == "PUNCT"
    if xpos in TAGS or xpos in WORDS:
        return xpos in TAGS
    return not any(map(str.isalnum, word))
