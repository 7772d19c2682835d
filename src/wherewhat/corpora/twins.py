"""Questions about who does it: two sentences with the same words and opposite answers, so that only their order tells.

A model that sees a sentence as a bag of words gives twins one answer, and so is right in exactly half of the cases.
"""

from collections.abc import Container
from functools import lru_cache
from itertools import count, product
from typing import NamedTuple

from wherewhat.corpora import lexicon as lex
from wherewhat.corpora.base import split_of
from wherewhat.corpora.casting import told
from wherewhat.corpora.grammar import LONGEST, Grammar
from wherewhat.corpora.lexicon import SG
from wherewhat.corpora.phrase import HEAD, Leaf, Phrase, leaves, sentence_of, with_leaves
from wherewhat.corpora.sentence import Sentence
from wherewhat.tasks.cells import block_order
from wherewhat.tasks.stream import Stream, fnv, mix

Twins = tuple[Sentence, Sentence]
DOERS, GENDERS = ("animal", "person"), ("woman", "man")
VOICES = ("rev", "pass_rev")  # kinds of main clause
WOMEN = tuple(name for name in lex.NAMES if name.form in ("maria", "lucy", "nina", "rosa"))
MEN = tuple(name for name in lex.NAMES if name not in WOMEN)


class Scene(NamedTuple):
    """A sentence with two places for nouns of the same number: who stands in `agent` does it to `patient`."""

    tree: Phrase
    agent: int
    patient: int
    number: str


def draw_agent(seed: int, split: str, unit: int, taken: Container[str] = frozenset()) -> Twins:
    """Twins: an animal does it to a person, and the person to the animal. Half are passive; none is `taken`."""
    kind = VOICES[block_order(seed, "agent", split, unit // 2, 2)[unit % 2]]
    for attempt in count():
        place = ("agent", split, unit, attempt)
        stream = Stream(seed, *place)
        scene = scene_of(Grammar(seed, past=True).rules(stream, *place).sentence((kind,)))
        if scene and (found := _cast(scene, stream, split)) and not any(one.text in taken for one in found):
            return found
    raise AssertionError("counting does not end")


def scene_of(tree: Phrase) -> Scene | None:
    """Who does it to whom in the main clause, if both are said by nouns of the same number."""
    sentence = sentence_of(tree, "")
    main = next(pred for pred in sentence.preds if sentence.head[pred.index] == 0)
    agent, patient = main.role("agent"), main.role("patient")
    if agent is None or patient is None or len(sentence.words) > LONGEST:
        return None
    number = sentence.number[agent.head]
    nouns = {sentence.upos[agent.head], sentence.upos[patient.head]} == {"NOUN"}
    if not nouns or number is None or number != sentence.number[patient.head]:
        return None
    return Scene(tree, agent.head, patient.head, number)


def _cast(scene: Scene, stream: Stream, split: str) -> Twins | None:
    """Give the two places to an animal and a person, and then to the same two the other way; both in this split."""
    words = list(leaves(scene.tree))
    for animal, person in stream.shuffle(list(product(lex.ANIMALS, lex.PERSONS))):
        first, second = animal[scene.number], person[scene.number]
        ways = {scene.agent: first, scene.patient: second}, {scene.agent: second, scene.patient: first}
        if all(split_of(told(words, changes)) == split for changes in ways):
            one, other = (sentence_of(with_leaves(scene.tree, changes), f"agent/{split}") for changes in ways)
            return one, other
    return None


def draw_names(seed: int, split: str, unit: int, taken: Container[str] = frozenset()) -> Twins:
    """Twins that are mirror images of each other: "maria sees peter", "peter sees maria". None comes twice."""
    twins = all_names(split)
    return twins[_order(seed, split, len(twins))[unit]]


@lru_cache(maxsize=8)
def all_names(split: str) -> tuple[Twins, ...]:
    """All such twins of a split. There are few, so 15 % of them are test and 15 % valid, by the text of the first.

    They have no full stop, so that no sentence of the grammar is among them; with one, most are sentences to read.
    """
    every = [
        (_bare(woman, finite, man), _bare(man, finite, woman))
        for woman, man, verb in product(WOMEN, MEN, lex.REVERSIBLE)
        for finite in (verb.now[SG], verb.past[SG])
    ]
    return tuple(twins for twins in every if _split_of_names(twins[0].text) == split)


def _split_of_names(text: str) -> str:
    twentieth = mix(fnv(text)) % 20
    return "test" if twentieth < 3 else "valid" if twentieth < 6 else "train"


@lru_cache(maxsize=8)
def _order(seed: int, split: str, size: int) -> list[int]:
    return Stream(seed, "names", split).shuffle(range(size))


def _bare(agent: Leaf, finite: Leaf, patient: Leaf) -> Sentence:
    """Three words: who, does what, to whom."""
    doing = Phrase("VP", ((HEAD, finite), ("obj", Phrase("NP", ((HEAD, patient),)))))
    return sentence_of(Phrase("S", (("nsubj", Phrase("NP", ((HEAD, agent),))), (HEAD, doing))), "names")
