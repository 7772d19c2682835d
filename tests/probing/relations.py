"""Sentences and heads made up for the probe of relations: heads that look where they are told."""

from collections.abc import Callable, Sequence

import numpy as np
import torch

from wherewhat.capture.hooks.reader import AttentionSite
from wherewhat.capture.tokens.align import AlignedText
from wherewhat.corpora.grammar import Grammar
from wherewhat.corpora.sentence import Annotation, Sentence
from wherewhat.corpora.units import units_of
from wherewhat.probing.dependencies.attention_targets import AttentionTargets
from wherewhat.probing.dependencies.scoring import RelationScorer
from wherewhat.probing.dependencies.settings import FULL, DependencySettings
from wherewhat.probing.dependencies.treebanks import EncodedSentence

Head = Callable[[EncodedSentence], Sequence[int]]  # where a head looks from every kept word of a sentence


def sentence(words: str, tags: str, head: str, deprel: str, id: str = "") -> Sentence:
    """A sentence of words, tags, governors (counted from 1) and relations, each with blanks between."""
    heads = tuple(map(int, head.split()))
    known = Annotation(upos=tuple(tags.split()), head=heads, deprel=tuple(deprel.split()), id=id)
    return Sentence(tuple(words.split()), "", lambda: known)


def ready(one: Sentence, number: int = 0) -> EncodedSentence:
    """A sentence with one token a word."""
    units = units_of(one)
    count = torch.arange(len(units.words))
    return EncodedSentence(number, one.annotation.id, units, AlignedText(count + 10, count))


def of_grammar(count: int) -> list[EncodedSentence]:
    """Test sentences of the grammar."""
    return [ready(one, number) for number, one in enumerate(Grammar().some("test", count, seed=3))]


def looked(sentences: Sequence[EncodedSentence], *, part: str = "encoder", **parts: Sequence[Head]) -> AttentionTargets:
    """Heads of one layer that look where they are told."""
    looks = {
        name: np.concatenate([np.array([head(one) for head in heads]).T for one in sentences]).astype(np.int16)
        for name, heads in parts.items()
    }
    count = len(next(iter(parts.values())))
    layers = {AttentionSite(part, 0, "somewhere"): 0}
    return AttentionTargets(layers, tuple((0, head) for head in range(count)), looks, None, {})


def scoring(
    sentences: Sequence[EncodedSentence], found: AttentionTargets, *, least: int = 2, **asking: object
) -> RelationScorer:
    """How such heads do."""
    return RelationScorer(sentences, found, DependencySettings(parts=tuple(found.targets) or (FULL,), **asking), least)  # type: ignore[arg-type]


def governor(one: EncodedSentence) -> list[int]:
    """A head built from gold: every word looks at its governor, the root at the first word."""
    return [max(0, word) for word in one.head_words.tolist()]


def at(offset: int) -> Head:
    """A head that always looks at one offset; where there is no word, at none that could be meant."""

    def head(one: EncodedSentence) -> list[int]:
        last = len(one.kept) - 1
        return [word + offset if 0 <= word + offset <= last else word for word in range(last + 1)]

    return head


def at_random(seed: int) -> Head:
    """A head that looks anywhere but at the word itself."""
    rng = np.random.default_rng(seed)

    def head(one: EncodedSentence) -> list[int]:
        words = len(one.kept)
        return [int((word + rng.integers(1, max(2, words))) % words) for word in range(words)]

    return head
