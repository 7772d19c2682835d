"""Short sentences in which one name does something to another, and pairs made from them."""

from collections.abc import Iterator
from functools import lru_cache
from itertools import count, islice

from wherewhat.corpora import lexicon as lex
from wherewhat.corpora.cases import Case
from wherewhat.corpora.grammar import Grammar
from wherewhat.corpora.pairs import PAIRS, SHORT, VERBS, Premise, usable_roles
from wherewhat.corpora.phrase import sentence_of
from wherewhat.corpora.regrown import leaf_of
from wherewhat.corpora.twins import VOICES
from wherewhat.tasks.stream import Stream

NAMES = frozenset(name.form for name in lex.NAMES)
LOOKED_AT = 200_000  # sentences that are remembered: most are of no use, and looking again takes time


def premises(seed: int, split: str) -> Iterator[Premise]:
    """Short sentences of the grammar about two names, without end, none twice.

    Names have no article and no adjective: nothing but order says who is who.

    >>> [premise.sentence.text for premise in islice(premises(1, "train"), 3)]
    ['tom chases rosa .', 'rosa visits nina .', 'lucy is helped by maria .']
    """
    seen = set[str]()
    for number in count():
        found = premise_of(seed, split, number)
        if found is not None and found.sentence.text not in seen:
            seen.add(found.sentence.text)
            yield found


@lru_cache(maxsize=LOOKED_AT)
def premise_of(seed: int, split: str, number: int) -> Premise | None:
    """The sentence of that number as a premise, if it can be one: it is short, about two names, and says none twice."""
    sentence = Grammar(seed).sentence(split, f"names {number}", VOICES)
    if len(sentence.words) > SHORT or sum(word in NAMES for word in sentence.words) < 2:
        return None  # before its roles are worked out, which takes longer
    roles = usable_roles(sentence)
    if roles is None or not PAIRS["content"].fits(sentence):
        return None
    agent, patient = (leaf_of(sentence, role.head) for role in roles)
    if not {agent.form, patient.form} <= NAMES:
        return None
    return Premise(sentence, agent, VERBS[sentence.lemma[sentence.head.index(0)]], patient)


def cases(question: str, seed: int, split: str, count: int) -> list[Case]:
    """The first premises, each with a hypothesis for every label: in all as many cases as there are labels to each."""
    pairs = PAIRS[question]
    return [
        case(question, premise, label, Stream(seed, "word swap", question, split, number))
        for number, premise in enumerate(islice(premises(seed, split), count))
        for label in pairs.labels
    ]


def case(question: str, premise: Premise, label: str, stream: Stream) -> Case:
    """A premise with a hypothesis that has this label."""
    tree = PAIRS[question].hypothesis(premise, label, stream)
    return Case((premise.sentence, sentence_of(tree, premise.sentence.where)), label, premise.sentence.where)
