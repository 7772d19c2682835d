"""The other voice: the same who does it to whom, another order, and back again."""

from collections import Counter
from itertools import islice

import pytest

from wherewhat.corpora.constituents import annotate
from wherewhat.corpora.grammar import Grammar
from wherewhat.corpora.grammar_trees import tree_of
from wherewhat.corpora.sentence import Annotation, Sentence
from wherewhat.corpora.sentence_pairs import main_predicate
from wherewhat.probing.swaps.role_swap import swap_roles
from wherewhat.probing.swaps.voice import other_voice

SENTENCES = [*islice(Grammar(seed=4, past=True).sentences("train"), 400)]
VOICED = {"see", "chase", "help", "follow", "push", "praise", "visit", "call"}
VOICED |= {"break", "carry", "clean", "paint", "hide", "move"}


def roles(sentence: Sentence) -> dict[str, tuple[str, ...]]:
    """What fills the roles of the main verb."""
    return {role.role: sentence.words[role.start : role.end] for role in main_predicate(sentence).roles}


@pytest.mark.parametrize(
    ("index", "text", "other"),
    [
        (3, "a small lawyer is followed by the cat .", "the cat follows a small lawyer ."),
        (5, "some sad birds help the children badly .", "the children are helped by some sad birds badly ."),
    ],
)
def test_active_and_passive(index: int, text: str, other: str):
    sentence = Grammar().sentence("train", index)
    assert sentence.text == text and other_voice(sentence).text == other


def test_who_does_it_to_whom_stays_and_twice_is_the_sentence_itself():
    found = Counter()
    for sentence in SENTENCES:
        main, other = main_predicate(sentence), other_voice(sentence)
        if other is None:
            assert main.lemma not in VOICED or main.role("agent") is None
            continue
        now = main_predicate(other)
        assert {main.voice, now.voice} == {"active", "passive"} and main.lemma == now.lemma
        assert roles(other) == roles(sentence) and other.words != sentence.words
        assert annotate(tree_of(other)) == other.annotation
        assert all(other.number[verb] == other.number[noun] for verb, noun in other.agree)
        assert set(other.words) <= set(Grammar(past=True).vocabulary)
        back = other_voice(other)
        assert back and back.words == sentence.words and back.annotation == sentence.annotation
        found[main.voice, finite_tag(sentence) == "VBD", finite_tag(other) == "VBD"] += 1
    assert set(found) == {(voice, past, past) for voice in ("active", "passive") for past in (True, False)}


def finite_tag(sentence: Sentence) -> str | None:
    """The tag of the finite verb of the main clause: of the verb itself, or of "is" before it in the passive."""
    main = main_predicate(sentence)
    return sentence.xpos[main.index - 1 if main.voice == "passive" else main.index]


def test_an_exchange_says_something_else_and_the_other_voice_does_not():
    """Both bring the second of the two to the front; only the exchange changes who does it."""
    checked = 0
    for sentence in SENTENCES:
        exchange, other = swap_roles(sentence), other_voice(sentence)
        if exchange is None:
            continue
        assert other is not None
        held, turned = roles(sentence), roles(exchange.sentence)
        assert (turned["agent"], turned["patient"]) == (held["patient"], held["agent"])
        assert roles(other) == held
        first = exchange.sentence.words[: len(held["patient"])], other.words[: len(held["patient"])]
        if main_predicate(sentence).voice == "active":
            assert first == (held["patient"], held["patient"])
        assert other_voice(exchange.sentence).words == swap_roles(other).sentence.words, "in either order"
        checked += 1
    assert checked > 50


def test_only_sentences_of_the_grammar_have_another_voice():
    known = Grammar().sentence("train", 3).annotation
    assert other_voice(Sentence(("Tom", "laughs", "."), annotate=Annotation)) is None
    capital = Sentence(("A", *Grammar().sentence("train", 3).words[1:]), annotate=lambda: known)
    assert other_voice(capital) is None
