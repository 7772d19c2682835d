"""The same said in the other voice: who does it to whom stays, and stands in another order."""

from wherewhat.corpora import lexicon as lex
from wherewhat.corpora.lexicon import Verb
from wherewhat.corpora.pairs import main_predicate
from wherewhat.corpora.phrase import HEAD, Phrase, leaves, sentence_of
from wherewhat.corpora.regrown import noun_phrase_at, of_grammar, phrase_of
from wherewhat.corpora.rules import Part
from wherewhat.corpora.sentence import Sentence

VERBS = {verb.lemma: verb for verb in (*lex.REVERSIBLE, *lex.WITH_THING)}
ADJUNCTS = ("advmod", "obl")


def other_voice(sentence: Sentence) -> Sentence | None:
    """A sentence of the grammar with the same roles, passive if it was active and active if it was passive.

    None for other sentences, and where agent or patient is not said. Done twice, it is the sentence itself.
    """
    main = main_predicate(sentence) if of_grammar(sentence) else None
    if main is None or main.lemma not in VERBS:
        return None
    agent, patient = main.role("agent"), main.role("patient")
    if agent is None or patient is None:
        return None
    root, subject = phrase_of(sentence), agent if main.voice == "passive" else patient
    number = sentence.number[subject.head]
    assert number is not None
    doer, done = (noun_phrase_at(root, (role.start, role.end)) for role in (agent, patient))
    said = _said_again(root, VERBS[main.lemma], number)
    clause = said.active(doer, done) if main.voice == "passive" else said.passive(doer, done)
    return sentence_of(clause, f"{sentence.where}, in the other voice")


class _Said:
    """What a main clause says, without who does it to whom."""

    def __init__(self, verb: Verb, number: str, *, past: bool, rest: tuple[Part, ...]) -> None:
        assert verb.participle is not None
        self.finite = (verb.past if past else verb.now)[number]
        self.be = (lex.BE_PAST if past else lex.BE_NOW)[number]
        self.participle = verb.participle
        self.rest = rest

    def active(self, doer: Phrase, done: Phrase) -> Phrase:
        """the cat follows a lawyer ."""
        doing = Phrase("VP", ((HEAD, self.finite), ("obj", done), *self.rest))
        return Phrase("S", (("nsubj", doer), (HEAD, doing), ("punct", lex.STOP)))

    def passive(self, doer: Phrase, done: Phrase) -> Phrase:
        """a lawyer is followed by the cat ."""
        by = Phrase("PP", (("case", lex.BY), (HEAD, doer)))
        doing = Phrase("VP", ((HEAD, self.participle), ("obl:agent", by), *self.rest))
        said = Phrase("VP", (("aux:pass", self.be), (HEAD, doing)))
        return Phrase("S", (("nsubj:pass", done), (HEAD, said), ("punct", lex.STOP)))


def _said_again(root: Phrase, verb: Verb, number: str) -> _Said:
    """The tense of a main clause and what else it says, for a subject of this number."""
    said = root.parts[1][1]
    past = next(leaves(said)).xpos == "VBD"  # a verb phrase begins with its finite verb
    while isinstance(said, Phrase) and said.parts[0][0] == "aux:pass":
        said = said.parts[1][1]
    assert isinstance(said, Phrase)
    return _Said(verb, number, past=past, rest=tuple(part for part in said.parts if part[0] in ADJUNCTS))
