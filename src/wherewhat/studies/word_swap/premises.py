"""Short sentences in which one person does something to another, and sentence pairs made from them."""

from collections.abc import Iterator
from functools import lru_cache
from itertools import count, islice

from wherewhat.corpora import lexicon as lex
from wherewhat.corpora.annotated_examples import AnnotatedExample
from wherewhat.corpora.constituents import sentence_of
from wherewhat.corpora.grammar import Grammar
from wherewhat.corpora.grammar_trees import leaf_of
from wherewhat.corpora.minimal_pairs import VOICES
from wherewhat.corpora.sentence_pairs import PAIRS, SHORT, VERBS, Premise, usable_roles
from wherewhat.tasks.stream import Stream

NAMES = frozenset(name.form for name in lex.NAMES)
CACHED = 200_000  # sentences that are cached: most are unusable, and checking takes time


def premises(seed: int, split: str) -> Iterator[Premise]:
    """Short sentences of the grammar about two names, endless and without repetition.

    Names have no article and no adjective: only word order shows who is who.

    >>> [premise.sentence.text for premise in islice(premises(1, "train"), 3)]
    ['tom chases rosa .', 'rosa visits nina .', 'lucy is helped by maria .']
    """
    texts = set[str]()
    for number in count():
        premise = premise_of(seed, split, number)
        if premise is not None and premise.sentence.text not in texts:
            texts.add(premise.sentence.text)
            yield premise


@lru_cache(maxsize=CACHED)
def premise_of(seed: int, split: str, number: int) -> Premise | None:
    """The sentence of that number as a premise; None unless it is short and about two different names."""
    sentence = Grammar(seed).sentence(split, f"names {number}", VOICES)
    if len(sentence.words) > SHORT or sum(word in NAMES for word in sentence.words) < 2:
        return None  # before its roles are parsed, which takes longer
    roles = usable_roles(sentence)
    if roles is None or not PAIRS["content"].fits(sentence):
        return None
    agent, patient = (leaf_of(sentence, role.head) for role in roles)
    if not {agent.form, patient.form} <= NAMES:
        return None
    return Premise(sentence, agent, VERBS[sentence.lemma[sentence.head.index(0)]], patient)


def examples(question: str, seed: int, split: str, count: int) -> list[AnnotatedExample]:
    """The first premises, each with one hypothesis per label."""
    pairs = PAIRS[question]
    return [
        example(question, premise, label, Stream(seed, "word swap", question, split, number))
        for number, premise in enumerate(islice(premises(seed, split), count))
        for label in pairs.labels
    ]


def example(question: str, premise: Premise, label: str, stream: Stream) -> AnnotatedExample:
    """A premise with a hypothesis that has this label."""
    tree = PAIRS[question].hypothesis(premise, label, stream)
    return AnnotatedExample(
        (premise.sentence, sentence_of(tree, premise.sentence.where)), label, premise.sentence.where
    )
