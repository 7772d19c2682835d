"""Questions about the agent, as minimal pairs: two sentences with the same words and opposite labels.

A model that sees a sentence as a bag of words gives both the same answer, and so is right in exactly half of them.
"""

from collections.abc import Container
from functools import lru_cache
from itertools import count, product

from wherewhat.corpora import lexicon as lex
from wherewhat.corpora.base import split_of
from wherewhat.corpora.constituents import HEAD, Constituent, Leaf, leaves, sentence_of, with_leaves
from wherewhat.corpora.grammar import LONGEST, Grammar
from wherewhat.corpora.grammar_trees import text_of
from wherewhat.corpora.lexicon import SG
from wherewhat.corpora.sentence import Sentence
from wherewhat.tasks.cells import block_order
from wherewhat.tasks.stream import Stream, fnv, mix

MinimalPair = tuple[Sentence, Sentence]
DOERS, GENDERS = ("animal", "person"), ("woman", "man")
VOICES = ("rev", "pass_rev")  # kinds of main clause
WOMEN = tuple(name for name in lex.NAMES if name.form in ("maria", "lucy", "nina", "rosa"))
MEN = tuple(name for name in lex.NAMES if name not in WOMEN)


def draw_agent(seed: int, split: str, unit: int, taken: Container[str] = frozenset()) -> MinimalPair:
    """A minimal pair of an animal and a person, each the agent once. Half are passive; none is `taken`."""
    kind = VOICES[block_order(seed, "agent", split, unit // 2, 2)[unit % 2]]
    for attempt in count():
        place = ("agent", split, unit, attempt)
        stream = Stream(seed, *place)
        pair = _role_pair(Grammar(seed, past=True).rules(stream, *place).sentence((kind,)), stream, split)
        if pair is not None and not any(sentence.text in taken for sentence in pair):
            return pair
    raise AssertionError("counting does not end")


def _role_pair(tree: Constituent, stream: Stream, split: str) -> MinimalPair | None:
    """A main clause with an animal and a person as agent and patient, and then the other way round; both in this split.

    None unless agent and patient are nouns of the same number.
    """
    sentence = sentence_of(tree, "")
    main = next(pred for pred in sentence.preds if sentence.head[pred.index] == 0)
    agent, patient = main.role("agent"), main.role("patient")
    if agent is None or patient is None or len(sentence.words) > LONGEST:
        return None
    number, places = sentence.number[agent.head], (agent.head, patient.head)
    if number is None or number != sentence.number[patient.head] or {sentence.upos[at] for at in places} != {"NOUN"}:
        return None
    words = list(leaves(tree))
    for animal, person in stream.shuffle(list(product(lex.ANIMALS, lex.PERSONS))):
        nouns = animal[number], person[number]
        ways = [dict(zip(places, order, strict=True)) for order in (nouns, nouns[::-1])]
        if all(split_of(text_of(words, changes)) == split for changes in ways):
            first, second = (sentence_of(with_leaves(tree, changes), f"agent/{split}") for changes in ways)
            return first, second
    return None


def draw_names(seed: int, split: str, unit: int, taken: Container[str] = frozenset()) -> MinimalPair:
    """A minimal pair of mirror images: "maria sees peter", "peter sees maria". None comes twice."""
    pairs = all_names(split)
    return pairs[_order(seed, split, len(pairs))[unit]]


@lru_cache(maxsize=8)
def all_names(split: str) -> tuple[MinimalPair, ...]:
    """All such pairs of a split. There are few, so 15 % of them are test and 15 % valid, by the text of the first.

    They have no full stop, so that none is a sentence of the grammar; with one, most would be.
    """
    every = [
        (_bare(woman, finite, man), _bare(man, finite, woman))
        for woman, man, verb in product(WOMEN, MEN, lex.REVERSIBLE)
        for finite in (verb.now[SG], verb.past[SG])
    ]
    twentieths = {"test": range(3), "valid": range(3, 6)}.get(split, range(6, 20))
    return tuple(pair for pair in every if mix(fnv(pair[0].text)) % 20 in twentieths)


@lru_cache(maxsize=8)
def _order(seed: int, split: str, size: int) -> list[int]:
    return Stream(seed, "names", split).shuffle(range(size))


def _bare(agent: Leaf, finite: Leaf, patient: Leaf) -> Sentence:
    """Three words: agent, verb, patient."""
    doing = Constituent("VP", ((HEAD, finite), ("obj", Constituent("NP", ((HEAD, patient),)))))
    return sentence_of(Constituent("S", (("nsubj", Constituent("NP", ((HEAD, agent),))), (HEAD, doing))), "names")
