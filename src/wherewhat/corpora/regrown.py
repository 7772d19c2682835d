"""Phrases with heads again: the tree of a sentence that knows its phrases and its dependencies, to grow on from."""

from collections.abc import Iterator
from functools import lru_cache

from wherewhat.corpora.lexicon import leaves_of
from wherewhat.corpora.phrase import HEAD, Leaf, Phrase, leaves
from wherewhat.corpora.sentence import Sentence


def leaf_of(sentence: Sentence, token: int) -> Leaf:
    """A word of a sentence as the dictionary has it."""
    known = sentence.annotation
    tag = known.xpos[token]
    assert tag is not None
    return Leaf(sentence.words[token], known.lemma[token], known.upos[token], tag, known.number[token])


def of_grammar(sentence: Sentence) -> bool:
    """Whether a sentence is made of words of the grammar, all of them tagged as it tags them, and has a tree."""
    known = sentence.annotation
    if not known.spans or not len(known.lemma) == len(known.upos) == len(known.number) == len(known.head):
        return False
    words = zip(sentence.words, known.lemma, known.upos, known.xpos, known.number, strict=True)
    return all(word in _words_of_grammar() for word in words)


@lru_cache(maxsize=1)
def _words_of_grammar() -> frozenset[tuple[str | None, ...]]:
    return frozenset(tuple(leaf) for leaf in leaves_of(past=True))


def phrase_of(sentence: Sentence) -> Phrase:
    """The tree that a sentence was worked out from: what `annotate` says of it is what is known of the sentence.

    Only for trees in which every phrase has one word that depends on something outside of it, as in the grammar.
    """
    spans = list(sentence.spans)
    _, root = _grown(sentence, spans)
    assert not spans and isinstance(root, Phrase)
    return root


def _grown(sentence: Sentence, spans: list[tuple[str, int, int]]) -> tuple[int, Phrase | Leaf]:
    """The next phrase of the list with everything in it, and the token at its head; the list gets shorter."""
    label, start, end = spans.pop(0)
    parts = list[tuple[int, Phrase | Leaf]]()
    at = start
    while at < end:
        if spans and spans[0][1] == at and spans[0][2] <= end:
            width = spans[0][2] - at
            parts.append(_grown(sentence, spans))
        else:
            width = 1
            parts.append((at, leaf_of(sentence, at)))
        at += width
    head = next(token for token, _ in parts if not start <= sentence.head[token] - 1 < end)
    return head, Phrase(
        label, tuple((HEAD if token == head else sentence.deprel[token], part) for token, part in parts)
    )


def noun_phrase_at(root: Phrase, span: tuple[int, int]) -> Phrase:
    """The outermost noun phrase that begins and ends there."""
    return next(phrase for phrase, at in _phrases(root, 0) if phrase.label == "NP" and at == span)


def exchanged(root: Phrase, one: tuple[int, int], other: tuple[int, int]) -> Phrase:
    """The tree with two of its noun phrases in each other's place: each has the relation that the other had."""
    places = {one: noun_phrase_at(root, other), other: noun_phrase_at(root, one)}

    def visit(node: Phrase | Leaf, at: int) -> tuple[Phrase | Leaf, int]:
        if isinstance(node, Leaf):
            return node, at + 1
        end = at + len(list(leaves(node)))
        if node.label == "NP" and (at, end) in places:
            return places[at, end], end
        parts = []
        for relation, part in node.parts:
            part, at = visit(part, at)
            parts.append((relation, part))
        return Phrase(node.label, tuple(parts)), end

    root_again, _ = visit(root, 0)
    assert isinstance(root_again, Phrase)
    return root_again


def _phrases(node: Phrase | Leaf, at: int) -> Iterator[tuple[Phrase, tuple[int, int]]]:
    """Every phrase and where it stands, the outer before the inner."""
    if isinstance(node, Leaf):
        return
    yield node, (at, at + len(list(leaves(node))))
    for _, part in node.parts:
        yield from _phrases(part, at)
        at += len(list(leaves(part)))
