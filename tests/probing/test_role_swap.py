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
from written import AGENT, HE_SAW_HER, changed, told

from wherewhat.corpora.grammar import Grammar
from wherewhat.corpora.sentence import Predicate, Role, Sentence
from wherewhat.corpora.sentence_pairs import SWAPPED_LABELS, content_example, role_example, usable_roles
from wherewhat.probing.swaps.role_swap import role_swap_control, swap_roles, why_not_swappable

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
    exchange = swap_roles(sentence)
    assert exchange and sentence.text == published["text"]
    assert [*exchange.swap.words] == published["tokens"] == [*exchange.sentence.words]
    assert [*exchange.swap.order] == published["perm"]
    assert [*exchange.sentence.head] == published["head"] and [*exchange.sentence.deprel] == published["deprel"]


@settings(max_examples=100, deadline=None)
@given(usable)
def test_an_exchange_keeps_the_words_and_is_its_own_inverse(sentence: Sentence):
    exchange = swap_roles(sentence)
    assert exchange and not exchange.changed and why_not_swappable(sentence) is None
    swap, new = exchange.swap, exchange.sentence
    assert Counter(swap.words) == Counter(sentence.words) and swap.words != sentence.words
    assert tuple(sentence.words[place] for place in swap.order) == swap.words
    (start, _), (_, end) = swap.spans
    assert swap.words[:start] == sentence.words[:start] and swap.words[end:] == sentence.words[end:]
    check_dependencies(new)
    assert all(new.number[verb] == new.number[noun] for verb, noun in new.agree)
    back = swap_roles(new)
    assert back and back.sentence.words == sentence.words and back.sentence.annotation == sentence.annotation


@settings(max_examples=60, deadline=None)
@given(usable)
def test_agent_and_patient_have_changed_and_nothing_else(sentence: Sentence):
    exchange = swap_roles(sentence)
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
        assert (swap_roles(sentence) is None) == (why_not_swappable(sentence) is not None) == (sentence not in USABLE)


@pytest.mark.parametrize("where", [0, 1], ids=["premise", "hypothesis"])
def test_the_pairs_of_both_questions_can_be_exchanged(where: int):
    for index in range(30):
        for case in (role_example(1, "train", index), content_example(1, "train", index)):
            exchange = swap_roles(case.sentences[where])
            assert exchange and set(exchange.swap.words) <= set(Grammar().vocabulary)
            assert any(case.label in labels for labels in SWAPPED_LABELS.values())


@settings(max_examples=80, deadline=None)
@given(usable, seeds)
def test_a_control_exchanges_two_other_stretches_of_the_same_lengths(sentence: Sentence, seed: int):
    exchange = swap_roles(sentence)
    control = exchange and role_swap_control(sentence, exchange, seed=seed, key="a")
    if exchange is None or control is None:
        return
    lengths = [sorted(stop - start for start, stop in swap.spans) for swap in (control, exchange.swap)]
    assert lengths[0] == lengths[1] and set(control.spans) != set(exchange.swap.spans)
    assert Counter(control.words) == Counter(sentence.words)
    assert control.words not in (sentence.words, exchange.swap.words) and control.words[-1] == "."
    agent, patient = (role.head for role in exchange.roles)
    now = [control.order.index(agent), control.order.index(patient)]
    assert (now[0] < now[1]) == (agent < patient), "who came first still does"
    assert control == role_swap_control(sentence, exchange, seed=seed, key="a")


def test_nearly_every_exchange_has_a_control_that_reaches_about_as_far():
    found = [(swap_roles(sentence), sentence) for sentence in USABLE]
    controls = [(one.swap, role_swap_control(sentence, one, seed=1, key=0)) for one, sentence in found if one]
    assert sum(control is not None for _, control in controls) > 0.9 * len(controls)
    off = [abs(control.reach - swap.reach) / swap.reach for swap, control in controls if control]
    assert sum(off) / len(off) < 0.25


def test_of_controls_that_reach_as_far_the_seed_chooses():
    sentence = Grammar().sentence("train", 5)
    exchange = swap_roles(sentence)
    assert exchange
    controls = {role_swap_control(sentence, exchange, seed=seed, key=0) for seed in range(40)}
    assert len(controls) > 1 and len({control.reach for control in controls}) == 1


# Written text. Roles are what a treebank of propositions would say.


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
        (PASSIVE, "Mary was seen by the old Tom yesterday .", ()),
    ],
    ids=lambda one: one if isinstance(one, str) else "",
)
def test_written_sentences(sentence: Sentence, result: str, changed: tuple[tuple[str, str], ...]):
    exchange = swap_roles(sentence)
    assert exchange and why_not_swappable(sentence) is None
    assert " ".join(exchange.swap.words) == result == exchange.sentence.text and exchange.changed == changed
    check_dependencies(exchange.sentence)
    assert exchange.sentence.annotation.raw == "" and "swapped" in exchange.sentence.where
    back = swap_roles(exchange.sentence)
    assert back and back.sentence.words == sentence.words
    assert back.sentence.head == sentence.head and back.sentence.deprel == sentence.deprel
    control = role_swap_control(sentence, exchange, seed=1, key=0)
    assert control and control.words not in (sentence.words, exchange.swap.words) and control.words[-1] == "."
    assert control.words[0][0].isupper()


def test_what_is_known_goes_with_the_words():
    new = swap_roles(PASSIVE).sentence
    assert new.words == ("Mary", "was", "seen", "by", "the", "old", "Tom", "yesterday", ".")
    assert new.upos == ("PROPN", "AUX", "VERB", "ADP", "DET", "ADJ", "PROPN", "NOUN", "PUNCT")
    assert new.head == (3, 3, 0, 7, 7, 7, 3, 3, 3), "by leads the one that follows it now"
    assert new.deprel == ("nsubj:pass", "aux:pass", "root", "case", "det", "amod", "obl", "obl", "punct")
    (verb,) = new.preds
    assert verb.voice == "passive" and verb.index == 2
    assert verb.roles == (Role("agent", 4, 7, 6, "direct"), Role("patient", 0, 1, 0, "direct"))


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
    assert swap_roles(changed(after, preds=(main, saw))).sentence.text == "Mary told Tom that he saw her ."
    alone = replace(main, roles=(AGENT,))
    assert swap_roles(changed(after, preds=(alone, saw))).sentence.text == "Tom told Mary that she saw him ."
    assert why_not_swappable(changed(after, preds=(alone,))) == "agent or patient is missing"
    before = told(
        "When he saw her Tom called Mary .",
        "SCONJ PRON VERB PRON PROPN VERB PROPN PUNCT",
        "3 3 6 3 6 0 6 6",
        "mark nsubj advcl obj nsubj root obj punct",
        roles="4-5 6-7",
    )
    (main,) = before.preds
    saw = Predicate(2, "see", "active", (Role("agent", 1, 2, 1, "direct"), Role("patient", 3, 4, 3, "direct")))
    assert swap_roles(changed(before, preds=(saw, main))).sentence.text == "When he saw her Mary called Tom ."


def test_a_control_never_reads_as_the_sentence_does():
    text, relations = "Tom saw Mary so so so so .", "nsubj root obj advmod advmod advmod advmod punct"
    sentence = told(text, "PROPN VERB PROPN ADV ADV ADV ADV PUNCT", "2 0 2 2 2 2 2 2", relations)
    exchange = swap_roles(sentence)
    assert exchange
    for seed in range(30):
        assert role_swap_control(sentence, exchange, seed=seed, key=0).words != sentence.words
