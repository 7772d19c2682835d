"""Rewrite a sentence of the grammar in the other voice: the roles stay, and their order is reversed."""

from wherewhat.corpora import lexicon as lex
from wherewhat.corpora.constituents import HEAD, Constituent, leaves, sentence_of
from wherewhat.corpora.grammar_trees import noun_phrase_at, of_grammar, tree_of
from wherewhat.corpora.sentence import Sentence
from wherewhat.corpora.sentence_pairs import main_predicate

VERBS = {verb.lemma: verb for verb in (*lex.REVERSIBLE, *lex.WITH_THING)}
ADJUNCTS = ("advmod", "obl")


def other_voice(sentence: Sentence) -> Sentence | None:
    """A sentence of the grammar with the same roles, passive if it was active and active if it was passive.

    None for other sentences, and where agent or patient is missing. Done twice, it is the sentence itself.
    """
    main = main_predicate(sentence) if of_grammar(sentence) else None
    if main is None or main.lemma not in VERBS:
        return None
    agent, patient = main.role("agent"), main.role("patient")
    if agent is None or patient is None:
        return None
    root, verb = tree_of(sentence), VERBS[main.lemma]
    number = sentence.number[(agent if main.voice == "passive" else patient).head]
    assert number is not None
    doer, done = (noun_phrase_at(root, (role.start, role.end)) for role in (agent, patient))
    predicate = root.parts[1][1]
    past = next(leaves(predicate)).xpos == "VBD"  # a verb phrase begins with its finite verb
    while isinstance(predicate, Constituent) and predicate.parts[0][0] == "aux:pass":
        predicate = predicate.parts[1][1]
    assert isinstance(predicate, Constituent) and verb.participle is not None
    adjuncts = tuple(part for part in predicate.parts if part[0] in ADJUNCTS)
    if main.voice == "passive":  # becomes: the cat follows a lawyer .
        finite = (verb.past if past else verb.now)[number]
        phrase = Constituent("VP", ((HEAD, finite), ("obj", done), *adjuncts))
        clause = Constituent("S", (("nsubj", doer), (HEAD, phrase), ("punct", lex.STOP)))
    else:  # becomes: a lawyer is followed by the cat .
        by = Constituent("PP", (("case", lex.BY), (HEAD, doer)))
        doing = Constituent("VP", ((HEAD, verb.participle), ("obl:agent", by), *adjuncts))
        phrase = Constituent("VP", (("aux:pass", (lex.BE_PAST if past else lex.BE_NOW)[number]), (HEAD, doing)))
        clause = Constituent("S", (("nsubj:pass", done), (HEAD, phrase), ("punct", lex.STOP)))
    return sentence_of(clause, f"{sentence.where}, in the other voice")
