"""The rules of the grammar: how a sentence grows from random draws, each in the order in which it is written."""

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol, TypeVar

from wherewhat.corpora import lexicon as lex
from wherewhat.corpora.lexicon import PL, SG, Verb
from wherewhat.corpora.phrase import HEAD, Leaf, Phrase

Item = TypeVar("Item")
Part = tuple[str, Phrase | Leaf]


class Pick(Protocol):
    """Draw one of some items."""

    def __call__(self, items: Sequence[Item], /) -> Item: ...


def _weights(**weights: int) -> tuple[str, ...]:
    """Choices with whole weights, each written as often as it weighs: a uniform draw is then a weighted one."""
    return tuple(choice for choice, weight in weights.items() for _ in range(weight))


ANIMATE = _weights(name=2, person=5, animal=3)
NUMBER = _weights(sg=2, pl=1)
DETERMINERS = {SG: (lex.THE,) * 3 + (lex.A,) * 2 + (lex.EVERY,), PL: (lex.THE,) * 3 + (lex.SOME,) * 2 + (lex.MANY,)}
NO_NO_YES = (False, False, True)
BEHIND_NOUN = (_weights(none=6, pp=2, rc=2), _weights(none=10, pp=1, rc=1))  # by depth; deeper there is nothing
NEAR_WHAT = _weights(place=3, thing=1, animate=1)
ABOUT_ANIMATE = _weights(subj_rev=2, subj_obj=1, subj_int=1, obj=2)
ABOUT_THING = _weights(obj=2, passive=1)
INNER = _weights(int=2, rev=4, obj=2, dit_double=1, dit_to=1, pass_rev=2, pass_obj=1, pass_dit=1)
OUTER = INNER + _weights(comp=2)
BY_AGENT = (True, True, True, False)
ADJUNCT = _weights(none=6, adv=2, pp=2)
VERBS = {
    "int": lex.ALONE,
    "rev": lex.REVERSIBLE,
    "obj": lex.WITH_THING,
    "dit_double": lex.GIVING,
    "dit_to": lex.GIVING,
    "pass_rev": lex.REVERSIBLE,
    "pass_obj": lex.WITH_THING,
    "pass_dit": lex.GIVING,
    "comp": lex.SAYING,
}
NOUNS = {"person": lex.PERSONS, "animal": lex.ANIMALS, "thing": lex.THINGS, "place": lex.PLACES}


class Named(NamedTuple):
    """A noun phrase, and the number that verbs agree with."""

    phrase: Phrase
    number: str


class Rules:
    """Draw phrases. `pick` draws one of some choices; `past` says clause by clause whether it is about the past."""

    def __init__(self, pick: Pick, past: Callable[[], bool]) -> None:
        self.pick = pick
        self.past = past

    def sentence(self, kinds: Sequence[str] = OUTER) -> Phrase:
        """A main clause, of one of these kinds, and the full stop."""
        clause = self.clause(0, kinds)
        return Phrase("S", (*clause.parts, ("punct", lex.STOP)))

    def noun_phrase(self, kind: str, depth: int) -> Named:
        """A name, or a noun with what goes before and behind it."""
        pick = self.pick
        noun_class = pick(ANIMATE) if kind == "animate" else kind
        if noun_class == "name":
            return Named(Phrase("NP", ((HEAD, pick(lex.NAMES)),)), SG)
        forms = pick(NOUNS[noun_class])
        number = SG if kind == "place" else pick(NUMBER)
        before: tuple[Part, ...] = (("det", pick(DETERMINERS[number])),)
        if pick(NO_NO_YES):
            before += (("amod", pick(lex.ADJECTIVES[kind])),)
        noun = Phrase("NP", (*before, (HEAD, forms[number])))
        behind = "none" if kind == "place" or depth >= 2 else pick(BEHIND_NOUN[depth])
        if behind == "pp":
            noun = Phrase("NP", ((HEAD, noun), ("nmod", self.place())))
        elif behind == "rc":
            noun = Phrase("NP", ((HEAD, noun), ("acl:relcl", self.relative(kind, number, depth))))
        return Named(noun, number)

    def place(self) -> Phrase:
        """Near something. What stands there has nothing behind it, so it takes no depth."""
        where = self.pick(lex.LOCATIVES)
        return Phrase("PP", (("case", where), (HEAD, self.noun_phrase(self.pick(NEAR_WHAT), 2).phrase)))

    def relative(self, kind: str, number: str, depth: int) -> Phrase:
        """A relative clause about a noun of this kind and number."""
        animate = kind == "animate"
        form = self.pick(ABOUT_ANIMATE if animate else ABOUT_THING)
        if form == "obj":
            relation, clause = "obj", self._without_object(lex.REVERSIBLE if animate else lex.WITH_THING, depth + 1)
        elif form == "passive":
            verb = self.pick(lex.WITH_THING)
            agent = self._agent(depth + 1)
            relation, clause = "nsubj:pass", Phrase("S", ((HEAD, self._passive(verb, number, (agent,))),))
        else:
            relation, clause = "nsubj", Phrase("S", ((HEAD, self._without_subject(form, number, depth + 1)),))
        pronoun = Phrase("WHNP", ((HEAD, lex.WHO if animate else lex.WHICH),))
        return Phrase("SBAR", ((relation, pronoun), (HEAD, clause)))

    def _without_object(self, verbs: Sequence[Verb], depth: int) -> Phrase:
        """... that the king sees"""
        subject = self.noun_phrase("animate", depth)
        verb = self._finite(self.pick(verbs), subject.number)
        return Phrase("S", (("nsubj", subject.phrase), (HEAD, Phrase("VP", ((HEAD, verb),)))))

    def _without_subject(self, form: str, number: str, depth: int) -> Phrase:
        """... who sees the king"""
        kind = form.removeprefix("subj_")
        verb = self._finite(self.pick(VERBS[kind]), number)
        return Phrase("VP", ((HEAD, verb), *self._objects(kind, depth)))

    def clause(self, depth: int, kinds: Sequence[str] | None = None) -> Phrase:
        """A whole clause: subject, verb, and what the verb asks for."""
        kind = self.pick(kinds or (OUTER if depth == 0 else INNER))
        if kind.startswith("pass_"):
            return self._passive_clause(kind, depth)
        subject = self.noun_phrase("animate", depth)
        verb = self._finite(self.pick(VERBS[kind]), subject.number)
        if kind == "comp":
            said = Phrase("SBAR", (("mark", lex.THAT), (HEAD, self.clause(depth + 1))))
            rest: tuple[Part, ...] = (("ccomp", said),)
        else:
            rest = (*self._objects(kind, depth), *self._adjunct())
        return Phrase("S", (("nsubj", subject.phrase), (HEAD, Phrase("VP", ((HEAD, verb), *rest)))))

    def _objects(self, kind: str, depth: int) -> tuple[Part, ...]:
        """The noun phrases that a verb of this kind asks for, in their order."""
        if kind == "rev":
            return (("obj", self.noun_phrase("animate", depth).phrase),)
        if kind == "obj":
            return (("obj", self.noun_phrase("thing", depth).phrase),)
        if kind == "dit_double":
            receiver = self.noun_phrase("animate", depth).phrase
            return (("iobj", receiver), ("obj", self.noun_phrase("thing", depth).phrase))
        if kind == "dit_to":
            return (("obj", self.noun_phrase("thing", depth).phrase), self._receiver(depth))
        return ()

    def _passive_clause(self, kind: str, depth: int) -> Phrase:
        """A clause whose subject has something done to it."""
        subject = self.noun_phrase("animate" if kind == "pass_rev" else "thing", depth)
        verb = self.pick(VERBS[kind])
        rest: tuple[Part, ...] = (self._receiver(depth),) if kind == "pass_dit" else ()
        if self.pick(BY_AGENT):
            rest += (self._agent(depth),)
        rest += self._adjunct()
        return Phrase("S", (("nsubj:pass", subject.phrase), (HEAD, self._passive(verb, subject.number, rest))))

    def _passive(self, verb: Verb, number: str, rest: tuple[Part, ...]) -> Phrase:
        """is seen ..."""
        assert verb.participle is not None
        be = (lex.BE_PAST if self.past() else lex.BE_NOW)[number]
        return Phrase("VP", (("aux:pass", be), (HEAD, Phrase("VP", ((HEAD, verb.participle), *rest)))))

    def _finite(self, verb: Verb, number: str) -> Leaf:
        return (verb.past if self.past() else verb.now)[number]

    def _receiver(self, depth: int) -> Part:
        return "obl", Phrase("PP", (("case", lex.TO), (HEAD, self.noun_phrase("animate", depth).phrase)))

    def _agent(self, depth: int) -> Part:
        return "obl:agent", Phrase("PP", (("case", lex.BY), (HEAD, self.noun_phrase("animate", depth).phrase)))

    def _adjunct(self) -> tuple[Part, ...]:
        kind = self.pick(ADJUNCT)
        if kind == "adv":
            return (("advmod", Phrase("ADVP", ((HEAD, self.pick(lex.ADVERBS)),))),)
        return (("obl", self.place()),) if kind == "pp" else ()
