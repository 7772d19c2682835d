"""The tree of a sentence of the grammar, rebuilt from its constituents and dependencies, and edits to it.

Nouns of a sentence are substituted until it falls into the split that it is wanted for. The noun of a noun phrase is
drawn uniformly from its class and has no consequences. So a sentence with other nouns of the same classes and numbers
is as likely as the first one, and much quicker to have than a new one.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

from wherewhat.corpora import lexicon as lex
from wherewhat.corpora.base import split_of
from wherewhat.corpora.constituents import HEAD, Constituent, Leaf, leaves, with_leaves
from wherewhat.corpora.lexicon import PL, SG, leaves_of
from wherewhat.corpora.sentence import Sentence
from wherewhat.tasks.stream import Stream

TRIES = 40  # then a new sentence is drawn: this one may have too few nouns to ever succeed
_CLASSES = [
    lex.NAMES,
    *(tuple(noun[SG] for noun in nouns) for nouns in (lex.PERSONS, lex.ANIMALS, lex.THINGS, lex.PLACES)),
    *(tuple(noun[PL] for noun in nouns) for nouns in (lex.PERSONS, lex.ANIMALS, lex.THINGS)),
]
SIBLINGS: dict[Leaf, tuple[Leaf, ...]] = {leaf: members for members in _CLASSES for leaf in members}


def leaf_of(sentence: Sentence, token: int) -> Leaf:
    """A word of a sentence as the lexicon has it."""
    known = sentence.annotation
    tag = known.xpos[token]
    assert tag is not None
    return Leaf(sentence.words[token], known.lemma[token], known.upos[token], tag, known.number[token])


def of_grammar(sentence: Sentence) -> bool:
    """Whether a sentence has a tree and all its words are of the grammar, with the grammar's tags."""
    known = sentence.annotation
    if not known.spans or not len(known.lemma) == len(known.upos) == len(known.number) == len(known.head):
        return False
    words = zip(sentence.words, known.lemma, known.upos, known.xpos, known.number, strict=True)
    return all(word in _words_of_grammar() for word in words)


@lru_cache(maxsize=1)
def _words_of_grammar() -> frozenset[tuple[str | None, ...]]:
    return frozenset(tuple(leaf) for leaf in leaves_of(past=True))


def tree_of(sentence: Sentence) -> Constituent:
    """The tree whose `annotate` is the annotation of the sentence.

    Only for trees in which every constituent has one word whose head word is outside of it, as in the grammar.
    """
    spans = list(sentence.spans)
    _, root = _rebuilt(sentence, spans)
    assert not spans and isinstance(root, Constituent)
    return root


def _rebuilt(sentence: Sentence, spans: list[tuple[str, int, int]]) -> tuple[int, Constituent | Leaf]:
    """The next constituent of the list with everything in it, and the token at its head; the list gets shorter."""
    label, start, end = spans.pop(0)
    parts = list[tuple[int, Constituent | Leaf]]()
    at = start
    while at < end:
        if spans and spans[0][1] == at and spans[0][2] <= end:
            width = spans[0][2] - at
            parts.append(_rebuilt(sentence, spans))
        else:
            width = 1
            parts.append((at, leaf_of(sentence, at)))
        at += width
    head = next(token for token, _ in parts if not start <= sentence.head[token] - 1 < end)
    return head, Constituent(
        label, tuple((HEAD if token == head else sentence.deprel[token], part) for token, part in parts)
    )


def noun_phrase_at(root: Constituent, span: tuple[int, int]) -> Constituent:
    """The outermost noun phrase with this span."""
    return next(node for node, at in _constituents(root, 0) if node.label == "NP" and at == span)


def swap_noun_phrases(root: Constituent, first: tuple[int, int], second: tuple[int, int]) -> Constituent:
    """The tree with two of its noun phrases swapped: each gets the relation that the other had."""
    places = {first: noun_phrase_at(root, second), second: noun_phrase_at(root, first)}

    def visit(node: Constituent | Leaf, at: int) -> tuple[Constituent | Leaf, int]:
        if isinstance(node, Leaf):
            return node, at + 1
        end = at + len(list(leaves(node)))
        if node.label == "NP" and (at, end) in places:
            return places[at, end], end
        parts = []
        for relation, part in node.parts:
            part, at = visit(part, at)
            parts.append((relation, part))
        return Constituent(node.label, tuple(parts)), end

    swapped, _ = visit(root, 0)
    assert isinstance(swapped, Constituent)
    return swapped


def _constituents(node: Constituent | Leaf, at: int) -> Iterator[tuple[Constituent, tuple[int, int]]]:
    """Every constituent and its span, the outer before the inner."""
    if isinstance(node, Leaf):
        return
    yield node, (at, at + len(list(leaves(node))))
    for _, part in node.parts:
        yield from _constituents(part, at)
        at += len(list(leaves(part)))


def substitute_nouns(tree: Constituent, stream: Stream, split: str) -> Constituent | None:
    """The tree with other nouns, so that it is in this split; the tree itself if it already is."""
    words = list(leaves(tree))
    nouns = [place for place, word in enumerate(words) if word in SIBLINGS]
    changes: dict[int, Leaf] = {}
    for _ in range(TRIES):
        if split_of(text_of(words, changes)) == split:
            return with_leaves(tree, changes) if changes else tree
        place = stream.pick(nouns)
        changes[place] = stream.pick(SIBLINGS[words[place]])
    return None


def text_of(words: Sequence[Leaf], changes: Mapping[int, Leaf]) -> str:
    """The text with some words changed."""
    return " ".join([changes.get(place, word).form for place, word in enumerate(words)])
