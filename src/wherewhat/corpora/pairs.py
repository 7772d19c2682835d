"""Pairs of sentences: does the second follow from the first? Once roles decide it, once the words alone.

Both have premises of the grammar in which one does something to another, and short hypotheses: "the cat sees peter .".
In `ROLES` the answer depends on who does it to whom. In `CONTENT` it never does: a bag of words tells it for certain.
"""

from collections import Counter
from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import count
from typing import NamedTuple

from wherewhat.corpora import lexicon as lex
from wherewhat.corpora.cases import Case
from wherewhat.corpora.casting import SIBLINGS
from wherewhat.corpora.grammar import LONGEST, Grammar
from wherewhat.corpora.lexicon import Verb
from wherewhat.corpora.phrase import HEAD, Leaf, Phrase, sentence_of
from wherewhat.corpora.regrown import leaf_of
from wherewhat.corpora.rules import Part
from wherewhat.corpora.sentence import Predicate, Role, Sentence
from wherewhat.errors import UserError
from wherewhat.tasks.cells import block_order
from wherewhat.tasks.stream import Stream

ROLES = ("entailed", "reversed", "other")
CONTENT = ("entailment", "neutral", "contradiction")
# What becomes of an answer when agent and patient of the premise, or of the hypothesis, are exchanged.
EXCHANGED: dict[str, dict[str, str]] = {
    "roles": {"entailed": "reversed", "reversed": "entailed", "other": "other"},
    "content": {"entailment": "contradiction", "neutral": "neutral", "contradiction": "contradiction"},
}
SHORTEST = 4  # words: "tom sees lucy ."
SHORT = 8  # words of a premise in the questions, so that a small net can learn from few
VERBS = {verb.lemma: verb for verb in lex.REVERSIBLE}
FORMS = {
    leaf.form for verb in lex.REVERSIBLE for leaf in (*verb.now.values(), *verb.past.values(), verb.participle) if leaf
}


class Premise(NamedTuple):
    """A sentence in which one does something to another of the same number."""

    sentence: Sentence
    agent: Leaf
    verb: Verb
    patient: Leaf


@dataclass(frozen=True)
class Pairs:
    """A question about pairs. The premise never depends on the answer."""

    name: str  # of its random numbers
    labels: tuple[str, ...]
    fits: Callable[[Sentence], bool]  # which premises are asked about
    hypothesis: Callable[[Premise, str, Stream], Phrase]  # for a premise and an answer

    def cases(self, seed: int, split: str, index: int, max_premise: int) -> Iterator[Case]:
        """Case `index`, and then what else could have been that case."""
        block, place = divmod(index, len(self.labels))
        label = self.labels[block_order(seed, CELLS, split, block, len(self.labels))[place]]
        for premise in _premises(seed, split, index, max_premise):
            if self.fits(premise.sentence):
                tree = self.hypothesis(premise, label, Stream(seed, self.name, split, index))
                where = f"{self.name}/{split}/{index}"
                yield Case((premise.sentence, sentence_of(tree, where)), label, where)

    def draw(self, seed: int, split: str, unit: int, taken: Container[str] = frozenset()) -> tuple[Sentence, ...]:
        """A pair of every label as one text, none of them `taken`; premises are short."""
        ways = len(self.labels)
        order = block_order(seed, CELLS, split, unit, ways)
        indices = [unit * ways + order.index(label) for label in range(ways)]
        drawn = (map(joined, self.cases(seed, split, index, SHORT)) for index in indices)
        return tuple(next(pair for pair in pairs if pair.text not in taken) for pairs in drawn)


def joined(case: Case) -> Sentence:
    """The words of both sentences one after the other; the full stop stands between them."""
    return Sentence(tuple(word for sentence in case.sentences for word in sentence.words), case.where)


def role_case(seed: int, split: str, index: int, *, max_premise: int = LONGEST) -> Case:
    """A premise, and who did it to whom: as the premise says, the other way round, or something else that was done.

    >>> role_case(1, "train", 1, max_premise=8).sentences[1].text
    'the pilot sees peter .'
    """
    return next(_ROLES.cases(seed, split, index, max_premise))


def content_case(seed: int, split: str, index: int, *, max_premise: int = LONGEST) -> Case:
    """A premise, and what follows from its words: the same of the same two, the same of others, or something else.

    Premises are those of `role_case`, but that none says a noun or a verb twice.
    """
    return next(_CONTENT.cases(seed, split, index, max_premise))


def usable_roles(sentence: Sentence) -> tuple[Role, Role] | None:
    """Agent and patient of the main clause, if the two could change places and leave a sentence of the grammar."""
    main = main_predicate(sentence)
    if main is None or why_unusable(sentence):
        return None
    agent, patient = main.role("agent"), main.role("patient")
    assert agent and patient
    return agent, patient


def why_unusable(sentence: Sentence) -> str | None:
    """What keeps agent and patient of a sentence of the grammar from changing places, if anything does."""
    main = main_predicate(sentence)
    if main is None or main.lemma not in VERBS:
        return "not a verb that either could do to the other"
    agent, patient = main.role("agent"), main.role("patient")
    if agent is None or patient is None:
        return "agent and patient are not both said"
    if sentence.number[agent.head] != sentence.number[patient.head]:
        return "one of the two is several"
    return "both are the same word" if sentence.lemma[agent.head] == sentence.lemma[patient.head] else None


def main_predicate(sentence: Sentence) -> Predicate | None:
    """The verb that governs a whole sentence, with its roles."""
    return next((pred for pred in sentence.preds if sentence.head and sentence.head[pred.index] == 0), None)


def _premises(seed: int, split: str, index: int, max_premise: int) -> Iterator[Premise]:
    """Usable sentences that belong to a number."""
    if max_premise < SHORTEST:
        raise UserError(
            f"no premise has {max_premise} words or fewer; allow at least {SHORTEST}, as in 'tom sees lucy .'"
        )
    k = 0
    while True:
        k, premise = _next_premise(Grammar(seed), split, f"nli{index}", max_premise, k)
        yield premise


@lru_cache(maxsize=2**15)  # both questions ask about the same ones, and so does whoever asks several models
def _next_premise(grammar: Grammar, split: str, name: str, max_premise: int, first: int) -> tuple[int, Premise]:
    """The first usable sentence from a number on, and the number after it."""
    for k in count(first):
        sentence = grammar.sentence(split, f"{name}.{k}")
        if len(sentence.words) > max_premise or FORMS.isdisjoint(sentence.words):
            continue  # before its roles are worked out, which takes longer
        if roles := usable_roles(sentence):
            agent, patient = (leaf_of(sentence, role.head) for role in roles)
            return k + 1, Premise(sentence, agent, VERBS[sentence.lemma[sentence.head.index(0)]], patient)
    raise AssertionError("counting does not end")


def _about_roles(premise: Premise, label: str, stream: Stream) -> Phrase:
    _, agent, verb, patient = premise
    if label == "reversed":
        return _says(patient, verb, agent)
    if label == "other":
        verb = stream.pick([other for other in lex.REVERSIBLE if other != verb])
    return _says(agent, verb, patient)


def _about_content(premise: Premise, label: str, stream: Stream) -> Phrase:
    sentence, *two = premise.sentence, premise.agent, premise.patient
    if label == "contradiction":
        others = [verb for verb in lex.REVERSIBLE if verb.lemma not in sentence.lemma]
        return _says(two[0], stream.pick(others), two[1])
    if label == "neutral":
        place = stream.below(2)
        two[place] = stream.pick([noun for noun in SIBLINGS[two[place]] if noun.lemma not in sentence.lemma])
    return _says(two[0], premise.verb, two[1])


def _says(agent: Leaf, verb: Verb, patient: Leaf) -> Phrase:
    """The shortest sentence in which one does it to the other."""
    assert agent.number is not None
    doing = Phrase("VP", ((HEAD, verb.now[agent.number]), ("obj", _short(patient))))
    return Phrase("S", (("nsubj", _short(agent)), (HEAD, doing), ("punct", lex.STOP)))


def _short(noun: Leaf) -> Phrase:
    before: tuple[Part, ...] = () if noun.upos == "PROPN" else (("det", lex.THE),)
    return Phrase("NP", (*before, (HEAD, noun)))


def _nothing_twice(sentence: Sentence) -> bool:
    """Whether no noun and no verb is said twice: then what the hypothesis says again can be counted."""
    words = zip(sentence.lemma, sentence.upos, strict=True)
    said = Counter(lemma for lemma, tag in words if tag in ("NOUN", "PROPN", "VERB"))
    return max(said.values()) == 1


CELLS = "rolenli"  # the name of the random numbers that say which case has which answer
_ROLES = Pairs("rolenli", ROLES, lambda sentence: True, _about_roles)
_CONTENT = Pairs("contentnli", CONTENT, _nothing_twice, _about_content)
draw_roles, draw_content = _ROLES.draw, _CONTENT.draw
PAIRS: dict[str, Pairs] = {"roles": _ROLES, "content": _CONTENT}
