"""Agent and patient change places, with all that is known of them; what must not be exchanged says why."""

import json
from collections import Counter
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wherewhat.corpora.grammar import Grammar
from wherewhat.corpora.pairs import EXCHANGED, content_case, role_case, usable_roles
from wherewhat.corpora.sentence import Annotation, Predicate, Role, Sentence
from wherewhat.swaps.exchanging import exchange_control, exchange_roles, why_not
from wherewhat.swaps.persons import Persons

VECTOR = json.loads((Path(__file__).parents[1] / "vectors" / "word_swaps.json").read_text())
SENTENCES = [*islice(Grammar(seed=4, past=True).sentences("train"), 400)]
USABLE = [sentence for sentence in SENTENCES if usable_roles(sentence)]
usable = st.sampled_from(USABLE)
seeds = st.integers(min_value=0, max_value=2**32)


def check_dependencies(sentence: Sentence) -> None:
    """One root, and every word hangs from it."""
    assert sentence.head.count(0) == 1 and sentence.deprel[sentence.head.index(0)] == "root"
    for token in range(len(sentence.words)):
        steps = 0
        while sentence.head[token]:
            token, steps = sentence.head[token] - 1, steps + 1
            assert steps < len(sentence.words), "a circle"


@pytest.mark.parametrize("published", VECTOR["role_swap"], ids=lambda one: one["text"])
def test_exchanges_are_the_published_ones(published: dict[str, Any]):
    sentence = Grammar().sentence(published["split"], published["index"])
    exchange = exchange_roles(sentence)
    assert exchange and sentence.text == published["text"]
    assert [*exchange.swap.words] == published["tokens"] == [*exchange.sentence.words]
    assert [*exchange.swap.order] == published["perm"]
    assert [*exchange.sentence.head] == published["head"] and [*exchange.sentence.deprel] == published["deprel"]


@settings(max_examples=100, deadline=None)
@given(usable)
def test_an_exchange_keeps_the_words_and_is_its_own_inverse(sentence: Sentence):
    exchange = exchange_roles(sentence)
    assert exchange and not exchange.changed and why_not(sentence) is None
    swap, new = exchange.swap, exchange.sentence
    assert Counter(swap.words) == Counter(sentence.words) and swap.words != sentence.words
    assert tuple(sentence.words[place] for place in swap.order) == swap.words
    (start, _), (_, end) = swap.spans
    assert swap.words[:start] == sentence.words[:start] and swap.words[end:] == sentence.words[end:]
    check_dependencies(new)
    assert all(new.number[verb] == new.number[noun] for verb, noun in new.agree)
    back = exchange_roles(new)
    assert back and back.sentence.words == sentence.words and back.sentence.annotation == sentence.annotation


@settings(max_examples=60, deadline=None)
@given(usable)
def test_agent_and_patient_have_changed_and_nothing_else(sentence: Sentence):
    exchange = exchange_roles(sentence)
    assert exchange
    new = exchange.sentence
    before, after = (
        {
            (pred.lemma, pred.voice, role.role): one.words[role.start : role.end]
            for pred in one.preds
            for role in pred.roles
            if pred.index == one.head.index(0)
        }
        for one in (sentence, new)
    )
    verb, voice = next((pred.lemma, pred.voice) for pred in sentence.preds if sentence.head[pred.index] == 0)
    assert after[verb, voice, "agent"] == before[verb, voice, "patient"]
    assert after[verb, voice, "patient"] == before[verb, voice, "agent"]
    for field in ("lemma", "upos", "xpos", "number"):
        assert tuple(getattr(sentence, field)[place] for place in exchange.swap.order) == getattr(new, field)
    assert Counter(new.deprel) == Counter(sentence.deprel)


def test_what_the_grammar_does_not_exchange_is_counted():
    for sentence in SENTENCES:
        assert (exchange_roles(sentence) is None) == (why_not(sentence) is not None) == (sentence not in USABLE)


@pytest.mark.parametrize("where", [0, 1], ids=["premise", "hypothesis"])
def test_the_pairs_of_both_questions_can_be_exchanged(where: int):
    for index in range(30):
        for case in (role_case(1, "train", index), content_case(1, "train", index)):
            exchange = exchange_roles(case.sentences[where])
            assert exchange and set(exchange.swap.words) <= set(Grammar().vocabulary)
            assert any(case.label in labels for labels in EXCHANGED.values())


@settings(max_examples=80, deadline=None)
@given(usable, seeds)
def test_a_control_exchanges_two_other_stretches_of_the_same_lengths(sentence: Sentence, seed: int):
    exchange = exchange_roles(sentence)
    control = exchange and exchange_control(sentence, exchange, seed=seed, key="a")
    if exchange is None or control is None:
        return
    lengths = [sorted(stop - start for start, stop in swap.spans) for swap in (control, exchange.swap)]
    assert lengths[0] == lengths[1] and set(control.spans) != set(exchange.swap.spans)
    assert Counter(control.words) == Counter(sentence.words)
    assert control.words not in (sentence.words, exchange.swap.words) and control.words[-1] == "."
    agent, patient = (role.head for role in exchange.roles)
    now = [control.order.index(agent), control.order.index(patient)]
    assert (now[0] < now[1]) == (agent < patient), "who came first still does"
    assert control == exchange_control(sentence, exchange, seed=seed, key="a")


def test_nearly_every_exchange_has_a_control_that_reaches_about_as_far():
    found = [(exchange_roles(sentence), sentence) for sentence in USABLE]
    controls = [(one.swap, exchange_control(sentence, one, seed=1, key=0)) for one, sentence in found if one]
    assert sum(control is not None for _, control in controls) > 0.9 * len(controls)
    off = [abs(control.reach - swap.reach) / swap.reach for swap, control in controls if control]
    assert sum(off) / len(off) < 0.25


def test_of_controls_that_reach_as_far_the_seed_chooses():
    sentence = Grammar().sentence("train", 5)
    exchange = exchange_roles(sentence)
    assert exchange
    controls = {exchange_control(sentence, exchange, seed=seed, key=0) for seed in range(40)}
    assert len(controls) > 1 and len({control.reach for control in controls}) == 1


# Written text. Roles are what a treebank of propositions would say.


def told(
    text: str, tags: str, heads: str, relations: str, *, roles: str = "0-1 2-3", voice: str = "active", **known: Any
) -> Sentence:
    """Words, universal tags, governors and relations; roles are the stretches of agent and patient of the root."""
    words, head = text.split(), tuple(map(int, heads.split()))
    verb = head.index(0)
    spans = [tuple(map(int, span.split("-"))) for span in roles.split()]
    held = [
        Role(name, start, end, next(t for t in range(start, end) if not start < head[t] <= end), "direct")
        for name, (start, end) in zip(("agent", "patient"), spans, strict=True)
    ]
    lemma = tuple(known.pop("lemma", text.lower()).split())
    number = tuple({"s": "sg", "p": "pl"}.get(mark) for mark in known.pop("number", "s" * len(words)))
    annotation = Annotation(
        lemma=tuple(word if tag == "PROPN" else low for word, low, tag in zip(words, lemma, tags.split(), strict=True)),
        upos=tuple(tags.split()),
        number=number,
        head=head,
        deprel=tuple(relations.split()),
        preds=(Predicate(verb, lemma[verb], voice, tuple(held)),),
        raw="as it was written",
        **known,
    )
    return Sentence(tuple(words), "made up", lambda: annotation)


HE_SAW_HER = told("He saw her .", "PRON VERB PRON PUNCT", "2 0 2 2", "nsubj root obj punct")
PASSIVE = told(
    "The old Tom was seen by Mary yesterday .",
    "DET ADJ PROPN AUX VERB ADP PROPN NOUN PUNCT",
    "3 3 5 5 0 7 5 5 5",
    "det amod nsubj:pass aux:pass root case obl obl punct",
    roles="6-7 0-3",
    voice="passive",
)


@pytest.mark.parametrize(
    ("sentence", "result", "changed"),
    [
        (HE_SAW_HER, "She saw him .", (("He", "him"), ("her", "she"))),
        (
            told("I saw Mary .", "PRON VERB PROPN PUNCT", "2 0 2 2", "nsubj root obj punct", lemma="I see Mary ."),
            "Mary saw me .",
            (("I", "me"),),
        ),
        (
            told("Mary saw me .", "PROPN VERB PRON PUNCT", "2 0 2 2", "nsubj root obj punct", lemma="Mary see I ."),
            "I saw Mary .",
            (("me", "I"),),
        ),
        (
            told("They saw us .", "PRON VERB PRON PUNCT", "2 0 2 2", "nsubj root obj punct", number="p-p-"),
            "We saw them .",
            (("They", "them"), ("us", "we")),
        ),
        (told("It saw Mary .", "PRON VERB PROPN PUNCT", "2 0 2 2", "nsubj root obj punct"), "Mary saw it .", ()),
        (PASSIVE, "Mary was seen by the old Tom yesterday .", ()),
    ],
    ids=lambda one: one if isinstance(one, str) else "",
)
def test_written_sentences(sentence: Sentence, result: str, changed: tuple[tuple[str, str], ...]):
    exchange = exchange_roles(sentence)
    assert exchange and why_not(sentence) is None
    assert " ".join(exchange.swap.words) == result == exchange.sentence.text and exchange.changed == changed
    check_dependencies(exchange.sentence)
    assert exchange.sentence.annotation.raw == "" and "exchanged" in exchange.sentence.where
    back = exchange_roles(exchange.sentence)
    assert back and back.sentence.words == sentence.words
    assert back.sentence.head == sentence.head and back.sentence.deprel == sentence.deprel
    control = exchange_control(sentence, exchange, seed=1, key=0)
    assert control and control.words not in (sentence.words, exchange.swap.words) and control.words[-1] == "."
    assert control.words[0][0].isupper()


def test_what_is_known_goes_with_the_words():
    new = exchange_roles(PASSIVE).sentence
    assert new.words == ("Mary", "was", "seen", "by", "the", "old", "Tom", "yesterday", ".")
    assert new.upos == ("PROPN", "AUX", "VERB", "ADP", "DET", "ADJ", "PROPN", "NOUN", "PUNCT")
    assert new.head == (3, 3, 0, 7, 7, 7, 3, 3, 3), "by leads the one that follows it now"
    assert new.deprel == ("nsubj:pass", "aux:pass", "root", "case", "det", "amod", "obl", "obl", "punct")
    (verb,) = new.preds
    assert verb.voice == "passive" and verb.index == 2
    assert verb.roles == (Role("agent", 4, 7, 6, "direct"), Role("patient", 0, 1, 0, "direct"))


def changed(sentence: Sentence, **fields: Any) -> Sentence:
    return Sentence(sentence.words, sentence.where, lambda: replace(sentence.annotation, **fields))


def with_roles(sentence: Sentence, *roles: Role, lemma: str = "see") -> Sentence:
    return changed(sentence, preds=(Predicate(1, lemma, "active", roles),))


AGENT, PATIENT = Role("agent", 0, 1, 0, "direct"), Role("patient", 2, 3, 2, "direct")
SEEN = told("Tom seen by Mary .", "PROPN VERB ADP PROPN PUNCT", "0 1 4 2 1", "root acl case obl punct")
REFUSED = {
    "no roles are known": [changed(HE_SAW_HER, preds=())],
    "tags and dependencies are not known": [changed(HE_SAW_HER, upos=()), changed(HE_SAW_HER, head=(), deprel=())],
    "agent and patient are not both said": [with_roles(HE_SAW_HER, AGENT), with_roles(HE_SAW_HER, PATIENT)],
    "a relative pronoun is one of the two": [with_roles(HE_SAW_HER, replace(AGENT, via="relative"), PATIENT)],
    "the two and the verb are not apart": [
        with_roles(HE_SAW_HER, replace(AGENT, end=2), PATIENT),  # holds the verb
        with_roles(HE_SAW_HER, AGENT, replace(PATIENT, start=0)),  # one in the other
        with_roles(HE_SAW_HER, AGENT, replace(PATIENT, end=4)),  # holds the full stop
        with_roles(HE_SAW_HER, AGENT, replace(PATIENT, head=0)),  # its head stands elsewhere
    ],
    "the verb depends on one of the two": [
        with_roles(SEEN, Role("agent", 3, 4, 3, "direct"), replace(AGENT, role="patient")),
        changed(HE_SAW_HER, head=(2, 0, 1, 2)),
    ],
    "not both are persons": [
        told("He saw cats .", "PRON VERB NOUN PUNCT", "2 0 2 2", "nsubj root obj punct"),
        told("Tom saw everything .", "PROPN VERB ADJ PUNCT", "2 0 2 2", "nsubj root obj punct"),
    ],
    "a verb in which both take part alike": [
        told("Tom met Mary .", "PROPN VERB PROPN PUNCT", "2 0 2 2", "nsubj root obj punct", lemma="tom meet mary .")
    ],
    "one of the two is several, or it is not known": [
        told("He saw them .", "PRON VERB PRON PUNCT", "2 0 2 2", "nsubj root obj punct", number="s-p-"),
        told("He saw you .", "PRON VERB PRON PUNCT", "2 0 2 2", "nsubj root obj punct", number="s---"),
        told("You saw you .", "PRON VERB PRON PUNCT", "2 0 2 2", "nsubj root obj punct", number="----"),
    ],
    "both are the same word": [told("Tom saw Tom .", "PROPN VERB PROPN PUNCT", "2 0 2 2", "nsubj root obj punct")],
    "a pronoun whose other case is not known": [
        told("Who saw Mary ?", "PRON VERB PROPN PUNCT", "2 0 2 2", "nsubj root obj punct"),
        told("Er sah Maria .", "PRON VERB PROPN PUNCT", "2 0 2 2", "nsubj root obj punct"),
        told("Tom saw himself .", "PROPN VERB PRON PUNCT", "2 0 2 2", "nsubj root obj punct"),
        told(
            "Tom saw him here .",
            "PROPN VERB PRON ADV PUNCT",
            "2 0 2 3 2",
            "nsubj root obj advmod punct",
            roles="0-1 2-4",
        ),
    ],
    "the verb would not agree": [
        told(
            "I see Mary .", "PRON VERB PROPN PUNCT", "2 0 2 2", "nsubj root obj punct", xpos=("PRP", "VBP", "NNP", ".")
        ),
        told(
            "Mary is seen by me .",
            "PROPN AUX VERB ADP PRON PUNCT",
            "3 3 0 5 3 3",
            "nsubj:pass aux:pass root case obl punct",
            roles="4-5 0-1",
            voice="passive",
            xpos=("NNP", "VBZ", "VBN", "IN", "PRP", "."),
        ),
    ],
}


@pytest.mark.parametrize("reason", REFUSED)
def test_what_may_not_change_places_says_why(reason: str):
    for sentence in REFUSED[reason]:
        assert why_not(sentence) == reason and exchange_roles(sentence) is None


def test_verbs_that_show_no_person_agree_with_anyone():
    for tag in ("VBD", None):
        sentence = told(
            "I saw Mary .", "PRON VERB PROPN PUNCT", "2 0 2 2", "nsubj root obj punct", xpos=("PRP", tag, "NNP", ".")
        )
        assert why_not(sentence) is None
    sees = told(
        "He sees her .", "PRON VERB PRON PUNCT", "2 0 2 2", "nsubj root obj punct", xpos=("PRP", "VBZ", "PRP", ".")
    )
    assert exchange_roles(sees).sentence.text == "She sees him ."
    plural = ("PRP", "VBP", "PRP", ".")
    we = told("We see them .", "PRON VERB PRON PUNCT", "2 0 2 2", "nsubj root obj punct", number="p-p-", xpos=plural)
    assert exchange_roles(we).sentence.text == "They see us ."


def test_both_lists_can_be_longer():
    sentence = told(
        "The nurse saw Tom .", "DET NOUN VERB PROPN PUNCT", "2 3 0 3 3", "det nsubj root obj punct", roles="0-2 3-4"
    )
    assert why_not(sentence) == "not both are persons"
    nurses = Persons(nouns=frozenset(["nurse"]))
    assert exchange_roles(sentence, nurses).sentence.text == "Tom saw the nurse ."
    seeing = replace(nurses, symmetric=frozenset(["saw"]))
    assert why_not(sentence, seeing) == "a verb in which both take part alike"


def test_the_main_verb_comes_first_and_then_any_other():
    """Whether it stands before the other verb or behind it; where its two cannot be exchanged, the others are."""
    after = told(
        "Tom told Mary that he saw her .",
        "PROPN VERB PROPN SCONJ PRON VERB PRON PUNCT",
        "2 0 2 6 6 2 6 2",
        "nsubj root obj mark nsubj ccomp obj punct",
    )
    saw = Predicate(5, "see", "active", (Role("agent", 4, 5, 4, "direct"), Role("patient", 6, 7, 6, "direct")))
    (main,) = after.preds
    assert exchange_roles(changed(after, preds=(main, saw))).sentence.text == "Mary told Tom that he saw her ."
    alone = replace(main, roles=(AGENT,))
    assert exchange_roles(changed(after, preds=(alone, saw))).sentence.text == "Tom told Mary that she saw him ."
    assert why_not(changed(after, preds=(alone,))) == "agent and patient are not both said"
    before = told(
        "When he saw her Tom called Mary .",
        "SCONJ PRON VERB PRON PROPN VERB PROPN PUNCT",
        "3 3 6 3 6 0 6 6",
        "mark nsubj advcl obj nsubj root obj punct",
        roles="4-5 6-7",
    )
    (main,) = before.preds
    saw = Predicate(2, "see", "active", (Role("agent", 1, 2, 1, "direct"), Role("patient", 3, 4, 3, "direct")))
    assert exchange_roles(changed(before, preds=(saw, main))).sentence.text == "When he saw her Mary called Tom ."


def test_a_control_never_reads_as_the_sentence_does():
    text, relations = "Tom saw Mary so so so so .", "nsubj root obj advmod advmod advmod advmod punct"
    sentence = told(text, "PROPN VERB PROPN ADV ADV ADV ADV PUNCT", "2 0 2 2 2 2 2 2", relations)
    exchange = exchange_roles(sentence)
    assert exchange
    for seed in range(30):
        assert exchange_control(sentence, exchange, seed=seed, key=0).words != sentence.words
