"""Pairs of sentences: does the second follow from the first? In one question roles decide it, in the other the words.

Both have premises of the grammar with an agent and a patient, and short hypotheses: "the cat sees peter .".
In `ROLES` the label depends on the roles. In `CONTENT` it never does: a bag of words decides it for certain.
"""

from collections import Counter
from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import count
from typing import NamedTuple

from wherewhat.corpora import lexicon as lex
from wherewhat.corpora.annotated_examples import AnnotatedExample
from wherewhat.corpora.constituents import HEAD, Constituent, Leaf, sentence_of
from wherewhat.corpora.grammar import LONGEST, Grammar
from wherewhat.corpora.grammar_trees import SIBLINGS, leaf_of
from wherewhat.corpora.lexicon import Verb
from wherewhat.corpora.rules import Part
from wherewhat.corpora.sentence import Predicate, Role, Sentence
from wherewhat.errors import UserError
from wherewhat.tasks.cells import block_order
from wherewhat.tasks.stream import Stream

ROLES = ("entailed", "reversed", "other")
CONTENT = ("entailment", "neutral", "contradiction")
# The label after agent and patient of the premise, or of the hypothesis, are swapped.
SWAPPED_LABELS: dict[str, dict[str, str]] = {
    "roles": {"entailed": "reversed", "reversed": "entailed", "other": "other"},
    "content": {"entailment": "contradiction", "neutral": "neutral", "contradiction": "contradiction"},
}
SHORTEST = 4  # words: "tom sees lucy ."
SHORT = 8  # words of a premise in the questions, so that a small net can learn from few examples
VERBS = {verb.lemma: verb for verb in lex.REVERSIBLE}
FORMS = {
    leaf.form for verb in lex.REVERSIBLE for leaf in (*verb.now.values(), *verb.past.values(), verb.participle) if leaf
}


class Premise(NamedTuple):
    """A sentence with an agent and a patient of the same number."""

    sentence: Sentence
    agent: Leaf
    verb: Verb
    patient: Leaf


@dataclass(frozen=True)
class PairQuestion:
    """A question about pairs. The premise never depends on the label."""

    name: str  # of its random stream
    labels: tuple[str, ...]
    fits: Callable[[Sentence], bool]  # which premises are used
    hypothesis: Callable[[Premise, str, Stream], Constituent]  # for a premise and a label

    def examples(self, seed: int, split: str, index: int, max_premise: int) -> Iterator[AnnotatedExample]:
        """Example `index`, and then the alternatives to it."""
        block, place = divmod(index, len(self.labels))
        label = self.labels[block_order(seed, CELLS, split, block, len(self.labels))[place]]
        if max_premise < SHORTEST:
            raise UserError(
                f"no premise has {max_premise} words or fewer; allow at least {SHORTEST}, as in 'tom sees lucy .'"
            )
        k = 0
        while True:
            k, premise = _next_premise(Grammar(seed), split, f"nli{index}", max_premise, k)
            if self.fits(premise.sentence):
                tree = self.hypothesis(premise, label, Stream(seed, self.name, split, index))
                where = f"{self.name}/{split}/{index}"
                yield AnnotatedExample((premise.sentence, sentence_of(tree, where)), label, where)

    def draw(self, seed: int, split: str, unit: int, taken: Container[str] = frozenset()) -> tuple[Sentence, ...]:
        """A pair of every label, each as one text that is not `taken`; premises are short."""
        ways = len(self.labels)
        order = block_order(seed, CELLS, split, unit, ways)
        indices = [unit * ways + order.index(label) for label in range(ways)]
        drawn = (map(joined, self.examples(seed, split, index, SHORT)) for index in indices)
        return tuple(next(pair for pair in pairs if pair.text not in taken) for pairs in drawn)


def joined(example: AnnotatedExample) -> Sentence:
    """The words of both sentences one after the other, with the full stop between them."""
    return Sentence(tuple(word for sentence in example.sentences for word in sentence.words), example.where)


def role_example(seed: int, split: str, index: int, *, max_premise: int = LONGEST) -> AnnotatedExample:
    """A premise, and a hypothesis with the same roles, with the roles swapped, or with another verb.

    >>> role_example(1, "train", 1, max_premise=8).sentences[1].text
    'the pilot sees peter .'
    """
    return next(_ROLES.examples(seed, split, index, max_premise))


def content_example(seed: int, split: str, index: int, *, max_premise: int = LONGEST) -> AnnotatedExample:
    """A premise, and a hypothesis with the same words, with another noun, or with another verb.

    Premises are those of `role_example` that have no noun or verb twice.
    """
    return next(_CONTENT.examples(seed, split, index, max_premise))


def usable_roles(sentence: Sentence) -> tuple[Role, Role] | None:
    """Agent and patient of the main clause, if they can be swapped within the grammar."""
    main = main_predicate(sentence)
    if main is None or why_unusable(sentence):
        return None
    agent, patient = main.role("agent"), main.role("patient")
    assert agent and patient
    return agent, patient


def why_unusable(sentence: Sentence) -> str | None:
    """Why agent and patient of a sentence of the grammar cannot be swapped; None if they can be."""
    main = main_predicate(sentence)
    if main is None or main.lemma not in VERBS:
        return "the verb is not reversible"
    agent, patient = main.role("agent"), main.role("patient")
    if agent is None or patient is None:
        return "agent or patient is missing"
    if sentence.number[agent.head] != sentence.number[patient.head]:
        return "one of the two is plural"
    return "both are the same word" if sentence.lemma[agent.head] == sentence.lemma[patient.head] else None


def main_predicate(sentence: Sentence) -> Predicate | None:
    """The predicate at the root of a sentence, with its roles."""
    return next((pred for pred in sentence.preds if sentence.head and sentence.head[pred.index] == 0), None)


@lru_cache(maxsize=2**15)  # both questions use the same premises, and so do several models
def _next_premise(grammar: Grammar, split: str, name: str, max_premise: int, first: int) -> tuple[int, Premise]:
    """The first usable sentence from a number on, and the number after it."""
    for k in count(first):
        sentence = grammar.sentence(split, f"{name}.{k}")
        if len(sentence.words) > max_premise or FORMS.isdisjoint(sentence.words):
            continue  # before its roles are computed, which takes longer
        if roles := usable_roles(sentence):
            agent, patient = (leaf_of(sentence, role.head) for role in roles)
            return k + 1, Premise(sentence, agent, VERBS[sentence.lemma[sentence.head.index(0)]], patient)
    raise AssertionError("counting does not end")


def _about_roles(premise: Premise, label: str, stream: Stream) -> Constituent:
    _, agent, verb, patient = premise
    if label == "reversed":
        return _shortest_sentence(patient, verb, agent)
    if label == "other":
        verb = stream.pick([other for other in lex.REVERSIBLE if other != verb])
    return _shortest_sentence(agent, verb, patient)


def _about_content(premise: Premise, label: str, stream: Stream) -> Constituent:
    sentence, *two = premise.sentence, premise.agent, premise.patient
    if label == "contradiction":
        others = [verb for verb in lex.REVERSIBLE if verb.lemma not in sentence.lemma]
        return _shortest_sentence(two[0], stream.pick(others), two[1])
    if label == "neutral":
        place = stream.below(2)
        two[place] = stream.pick([noun for noun in SIBLINGS[two[place]] if noun.lemma not in sentence.lemma])
    return _shortest_sentence(two[0], premise.verb, two[1])


def _shortest_sentence(agent: Leaf, verb: Verb, patient: Leaf) -> Constituent:
    """The shortest sentence with these roles."""
    assert agent.number is not None
    doing = Constituent("VP", ((HEAD, verb.now[agent.number]), ("obj", _short_noun_phrase(patient))))
    return Constituent("S", (("nsubj", _short_noun_phrase(agent)), (HEAD, doing), ("punct", lex.STOP)))


def _short_noun_phrase(noun: Leaf) -> Constituent:
    before: tuple[Part, ...] = () if noun.upos == "PROPN" else (("det", lex.THE),)
    return Constituent("NP", (*before, (HEAD, noun)))


def _nothing_twice(sentence: Sentence) -> bool:
    """Whether no noun and no verb occurs twice: then the words shared with the hypothesis can be counted."""
    words = zip(sentence.lemma, sentence.upos, strict=True)
    counts = Counter(lemma for lemma, tag in words if tag in ("NOUN", "PROPN", "VERB"))
    return max(counts.values()) == 1


CELLS = "rolenli"  # the name of the random stream that decides which example has which label
_ROLES = PairQuestion("rolenli", ROLES, lambda sentence: True, _about_roles)
_CONTENT = PairQuestion("contentnli", CONTENT, _nothing_twice, _about_content)
draw_roles, draw_content = _ROLES.draw, _CONTENT.draw
PAIRS: dict[str, PairQuestion] = {"roles": _ROLES, "content": _CONTENT}
