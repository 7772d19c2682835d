"""The rules of the grammar: how random draws, in the order of the words, make a sentence."""

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol, TypeVar

from wherewhat.corpora import lexicon as lex
from wherewhat.corpora.constituents import HEAD, Constituent, Leaf
from wherewhat.corpora.lexicon import PL, SG, Verb

Item = TypeVar("Item")
Part = tuple[str, Constituent | Leaf]


class Pick(Protocol):
    """Draws one of some items."""

    def __call__(self, items: Sequence[Item], /) -> Item: ...


def _weights(**weights: int) -> tuple[str, ...]:
    """Choices repeated by their weights, so that a uniform draw is a weighted one."""
    return tuple(choice for choice, weight in weights.items() for _ in range(weight))


ANIMATE = _weights(name=2, person=5, animal=3)
NUMBER = _weights(sg=2, pl=1)
DETERMINERS = {SG: (lex.THE,) * 3 + (lex.A,) * 2 + (lex.EVERY,), PL: (lex.THE,) * 3 + (lex.SOME,) * 2 + (lex.MANY,)}
NO_NO_YES = (False, False, True)
AFTER_NOUN = (_weights(none=6, pp=2, rc=2), _weights(none=10, pp=1, rc=1))  # by depth; deeper there is nothing
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


class NumberedNounPhrase(NamedTuple):
    """A noun phrase, and the number that verbs agree with."""

    phrase: Constituent
    number: str


class Rules:
    """Draws constituents. `pick` draws one of some choices; `past` draws whether a clause is in the past tense."""

    def __init__(self, pick: Pick, past: Callable[[], bool]) -> None:
        self.pick = pick
        self.past = past

    def sentence(self, kinds: Sequence[str] = OUTER) -> Constituent:
        """A main clause, of one of these kinds, and the full stop."""
        clause = self.clause(0, kinds)
        return Constituent("S", (*clause.parts, ("punct", lex.STOP)))

    def noun_phrase(self, kind: str, depth: int) -> NumberedNounPhrase:
        """A name, or a noun with what comes before and after it."""
        pick = self.pick
        noun_class = pick(ANIMATE) if kind == "animate" else kind
        if noun_class == "name":
            return NumberedNounPhrase(Constituent("NP", ((HEAD, pick(lex.NAMES)),)), SG)
        forms = pick(NOUNS[noun_class])
        number = SG if kind == "place" else pick(NUMBER)
        before: tuple[Part, ...] = (("det", pick(DETERMINERS[number])),)
        if pick(NO_NO_YES):
            before += (("amod", pick(lex.ADJECTIVES[kind])),)
        noun = Constituent("NP", (*before, (HEAD, forms[number])))
        after = "none" if kind == "place" or depth >= 2 else pick(AFTER_NOUN[depth])
        if after == "pp":
            noun = Constituent("NP", ((HEAD, noun), ("nmod", self.place())))
        elif after == "rc":
            noun = Constituent("NP", ((HEAD, noun), ("acl:relcl", self.relative(kind, number, depth))))
        return NumberedNounPhrase(noun, number)

    def place(self) -> Constituent:
        """A prepositional phrase of place. Its noun has nothing after it, so it adds no depth."""
        where = self.pick(lex.LOCATIVES)
        return Constituent("PP", (("case", where), (HEAD, self.noun_phrase(self.pick(NEAR_WHAT), 2).phrase)))

    def relative(self, kind: str, number: str, depth: int) -> Constituent:
        """A relative clause about a noun of this kind and number."""
        animate = kind == "animate"
        form = self.pick(ABOUT_ANIMATE if animate else ABOUT_THING)
        parts: tuple[Part, ...] = ()
        if form == "obj":  # that the king sees
            relation, subject = "obj", self.noun_phrase("animate", depth + 1)
            verb = self.pick(lex.REVERSIBLE if animate else lex.WITH_THING)
            doing = Constituent("VP", ((HEAD, self._finite(verb, subject.number)),))
            parts = (("nsubj", subject.phrase),)
        elif form == "passive":  # that is broken by the king
            relation, verb = "nsubj:pass", self.pick(lex.WITH_THING)
            doing = self._passive(verb, number, (self._agent(depth + 1),))
        else:  # who sees the king
            relation, what = "nsubj", form.removeprefix("subj_")
            finite = self._finite(self.pick(VERBS[what]), number)
            doing = Constituent("VP", ((HEAD, finite), *self._objects(what, depth + 1)))
        clause = Constituent("S", (*parts, (HEAD, doing)))
        pronoun = Constituent("WHNP", ((HEAD, lex.WHO if animate else lex.WHICH),))
        return Constituent("SBAR", ((relation, pronoun), (HEAD, clause)))

    def clause(self, depth: int, kinds: Sequence[str] | None = None) -> Constituent:
        """A whole clause: subject, verb, and the verb's arguments."""
        kind = self.pick(kinds or (OUTER if depth == 0 else INNER))
        rest: tuple[Part, ...]
        if kind.startswith("pass_"):
            subject = self.noun_phrase("animate" if kind == "pass_rev" else "thing", depth)
            done = self.pick(VERBS[kind])
            rest = (self._receiver(depth),) if kind == "pass_dit" else ()
            if self.pick(BY_AGENT):
                rest += (self._agent(depth),)
            rest += self._adjunct()
            return Constituent("S", (("nsubj:pass", subject.phrase), (HEAD, self._passive(done, subject.number, rest))))
        subject = self.noun_phrase("animate", depth)
        verb = self._finite(self.pick(VERBS[kind]), subject.number)
        if kind == "comp":
            content = Constituent("SBAR", (("mark", lex.THAT), (HEAD, self.clause(depth + 1))))
            rest = (("ccomp", content),)
        else:
            rest = (*self._objects(kind, depth), *self._adjunct())
        return Constituent("S", (("nsubj", subject.phrase), (HEAD, Constituent("VP", ((HEAD, verb), *rest)))))

    def _objects(self, kind: str, depth: int) -> tuple[Part, ...]:
        """The noun phrases that a verb of this kind takes, in their order."""
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

    def _passive(self, verb: Verb, number: str, rest: tuple[Part, ...]) -> Constituent:
        """is seen ..."""
        assert verb.participle is not None
        be = (lex.BE_PAST if self.past() else lex.BE_NOW)[number]
        return Constituent("VP", (("aux:pass", be), (HEAD, Constituent("VP", ((HEAD, verb.participle), *rest)))))

    def _finite(self, verb: Verb, number: str) -> Leaf:
        return (verb.past if self.past() else verb.now)[number]

    def _receiver(self, depth: int) -> Part:
        return "obl", Constituent("PP", (("case", lex.TO), (HEAD, self.noun_phrase("animate", depth).phrase)))

    def _agent(self, depth: int) -> Part:
        return "obl:agent", Constituent("PP", (("case", lex.BY), (HEAD, self.noun_phrase("animate", depth).phrase)))

    def _adjunct(self) -> tuple[Part, ...]:
        kind = self.pick(ADJUNCT)
        if kind == "adv":
            return (("advmod", Constituent("ADVP", ((HEAD, self.pick(lex.ADVERBS)),))),)
        return (("obl", self.place()),) if kind == "pp" else ()
