"""Sentences of written text, with what a treebank of propositions would say of them."""

from dataclasses import replace
from typing import Any

from wherewhat.corpora.sentence import Annotation, Predicate, Role, Sentence


def told(
    text: str, tags: str, heads: str, relations: str, *, roles: str = "0-1 2-3", voice: str = "active", **known: Any
) -> Sentence:
    """Words, universal tags, governors and relations; roles are the stretches of agent and patient of the root.

    `number` and `case` have a letter for every word: s or p; n, a or d.
    """
    words, head = text.split(), tuple(map(int, heads.split()))
    verb = head.index(0)
    spans = [tuple(map(int, span.split("-"))) for span in roles.split()]
    held = [
        Role(name, start, end, next(t for t in range(start, end) if not start < head[t] <= end), "direct")
        for name, (start, end) in zip(("agent", "patient"), spans, strict=True)
    ]
    lemma = tuple(known.pop("lemma", text.lower()).split())
    case = tuple({"n": "Nom", "a": "Acc", "d": "Dat"}.get(mark) for mark in known.pop("case", ""))
    number = tuple({"s": "sg", "p": "pl"}.get(mark) for mark in known.pop("number", "s" * len(words)))
    annotation = Annotation(
        lemma=tuple(word if tag == "PROPN" else low for word, low, tag in zip(words, lemma, tags.split(), strict=True)),
        upos=tuple(tags.split()),
        number=number,
        case=case,
        head=head,
        deprel=tuple(relations.split()),
        preds=(Predicate(verb, lemma[verb], voice, tuple(held)),),
        raw="as it was written",
        **known,
    )
    return Sentence(tuple(words), "made up", lambda: annotation)


def changed(sentence: Sentence, **fields: Any) -> Sentence:
    return Sentence(sentence.words, sentence.where, lambda: replace(sentence.annotation, **fields))


AGENT, PATIENT = Role("agent", 0, 1, 0, "direct"), Role("patient", 2, 3, 2, "direct")

HE_SAW_HER = told("He saw her .", "PRON VERB PRON PUNCT", "2 0 2 2", "nsubj root obj punct")
