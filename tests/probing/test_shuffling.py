"""Shuffles are the published ones; they move words inside phrases alone, and controls as many, as far, elsewhere."""

import hashlib
import json
from collections import Counter
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wherewhat.corpora.grammar import Grammar
from wherewhat.corpora.sentence import Annotation, Sentence
from wherewhat.probing.swaps.constituent_shuffle import constituents_of, shuffle_constituents, shuffle_control
from wherewhat.probing.swaps.swap import SIZES, Swap, body, rearranged, size_name

VECTOR = json.loads((Path(__file__).parents[1] / "vectors" / "word_swaps.json").read_text())
SENTENCE = Grammar().sentence("train", VECTOR["sentence_index"])
SENTENCES = [*islice(Grammar(seed=4, past=True).sentences("train"), 80)]
seeds = st.integers(min_value=0, max_value=2**32)
any_sentence = st.sampled_from(SENTENCES)
any_size = st.sampled_from(SIZES)
# A sentence without a mark at its end, and what its phrases are.
PARK = "the old man saw a dog in the big park"
PARK_SPANS = {
    2: [(4, 6)],
    3: [(0, 3), (7, 10)],
    4: [(6, 10)],
    5: [],
    6: [],
    7: [(3, 10)],
    10: [(0, 10)],
    None: [(0, 10)],
}


def published(swap: Swap | None) -> dict[str, list] | None:
    if swap is None:
        return None
    return {"spans": [*map(list, swap.spans)], "perm": list(swap.order), "tokens": list(swap.words)}


def drawn(sentence: Sentence, size: int | None, key: int = VECTOR["sentence_index"], **ways: bool) -> Swap | None:
    return shuffle_constituents(sentence, size, seed=1, key=key, **ways)


def written(text: str, *, spans: tuple[tuple[str, int, int], ...] = (), **known: tuple[str, ...]) -> Sentence:
    """A sentence of which someone knows this much."""
    return Sentence(tuple(text.split()), annotate=lambda: Annotation(spans=spans, **known))


def test_the_shuffles_of_a_sentence_are_the_published_ones():
    for size in SIZES:
        assert published(drawn(SENTENCE, size)) == VECTOR["shuffles"][str(size or "random")]
    for size, spans in VECTOR["eligible"].items():
        assert [*constituents_of(SENTENCE, int(size))] == [(start, end) for _, start, end in spans]
    assert published(drawn(SENTENCE, 3, single=True)) == VECTOR["shuffle_one"]["3"]


def test_the_shuffles_of_a_hundred_sentences_are_the_published_ones():
    sentences = islice(Grammar().sentences("test"), 100)
    swaps = [published(drawn(sentence, size, key)) for key, sentence in enumerate(sentences) for size in SIZES]
    digest = hashlib.sha256(json.dumps(swaps, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
    assert digest == VECTOR["sha256_shuffles_test_0_99"]


@settings(max_examples=150, deadline=None)
@given(any_sentence, any_size, seeds, st.booleans())
def test_a_shuffle_keeps_the_words_changes_their_order_and_touches_only_phrases(sentence, size, seed, one):
    swap = shuffle_constituents(sentence, size, seed=seed, key=3, single=one)
    if swap is None:
        assert not constituents_of(sentence, size)
        return
    assert swap == shuffle_constituents(sentence, size, seed=seed, key=3, single=one), "the same every time"
    assert Counter(swap.words) == Counter(sentence.words) and swap.words != sentence.words
    assert [sentence.words[place] for place in swap.order] == [*swap.words]
    inside = {place for start, stop in swap.spans for place in range(start, stop)}
    assert all(swap.order[place] == place for place in range(len(sentence.words)) if place not in inside)
    for start, stop in swap.spans:
        assert sorted(swap.order[start:stop]) == [*range(start, stop)]
        assert swap.words[start:stop] != sentence.words[start:stop], "every phrase is changed"
    assert len(swap.spans) == (1 if one else len(constituents_of(sentence, size)))


@settings(max_examples=150, deadline=None)
@given(any_sentence, any_size, seeds, st.booleans())
def test_a_control_moves_as_many_words_as_far_and_no_phrase(sentence, size, seed, one):
    swap = shuffle_constituents(sentence, size, seed=seed, key=3, single=one)
    control = swap and shuffle_control(sentence, swap, seed=seed, key=3)
    if swap is None or control is None:
        return
    assert size is not None, "there is no other stretch as long as the sentence"
    assert control.moved == swap.moved and control.reach == swap.reach and len(control.spans) == len(swap.spans)
    assert Counter(control.words) == Counter(sentence.words)
    assert control.words not in (sentence.words, swap.words) and control.words[-1] == "."
    phrases = {(start, stop) for _, start, stop in sentence.spans}
    assert not phrases & set(control.spans) and all(stop - start == size for start, stop in control.spans)
    ends = [0, *(stop for _, stop in control.spans)]
    assert all(start >= before for (start, _), before in zip(control.spans, ends, strict=False)), "side by side"
    for start, stop in control.spans:
        assert control.words[start:stop] != sentence.words[start:stop]
    assert control == shuffle_control(sentence, swap, seed=seed, key=3)


def test_most_shuffles_have_a_control():
    found: Counter[tuple[int, bool]] = Counter()
    for key, sentence in enumerate(SENTENCES):
        for size in SIZES[:-1]:
            if swap := drawn(sentence, size, key):
                found[size, shuffle_control(sentence, swap, seed=1, key=key) is not None] += 1
    assert all(found[size, True] > 9 * found[size, False] for size in SIZES[:-1])


def test_there_may_be_no_control():
    swap = drawn(SENTENCE, None)
    assert swap and shuffle_control(SENTENCE, swap, seed=1, key=0) is None
    short = written("the old cat .", spans=(("NP", 0, 3),))
    swap = drawn(short, 3)
    assert swap and shuffle_control(short, swap, seed=1, key=0) is None


def test_a_control_finds_room_wherever_there_is_any():
    """Two stretches of three in seven words: whichever is drawn first, the other still has its place."""
    sentence = written("a b c d e f g .", spans=(("X", 0, 3), ("Y", 4, 7)))
    for key in range(30):
        swap = drawn(sentence, 3, key)
        control = swap and shuffle_control(sentence, swap, seed=1, key=key)
        assert swap and control is None, "the two places are phrases, and any other stands in the way of the next"
    longer = written("a b c d e f g h .", spans=(("X", 0, 3), ("Y", 3, 6)))
    for key in range(30):
        swap = drawn(longer, 3, key)
        control = swap and shuffle_control(longer, swap, seed=1, key=key)
        assert control and control.spans in (((1, 4), (4, 7)), ((1, 4), (5, 8)), ((2, 5), (5, 8)))


def test_phrases_of_a_tree_without_a_mark_at_its_end():
    spans = (("S", 0, 10), ("NP", 0, 3), ("VP", 3, 10), ("NP", 4, 6), ("PP", 6, 10), ("NP", 7, 10), ("NP", 7, 10))
    sentence = written(PARK, spans=spans)
    assert {size: [*constituents_of(sentence, size)] for size in PARK_SPANS} == PARK_SPANS
    swap = drawn(sentence, 3)
    assert swap and swap.words[3:7] == tuple(PARK.split()[3:7])


def test_phrases_of_one_word_over_and_over_are_left_alone():
    sentence = written("no no no said tom .", spans=(("X", 0, 3), ("S", 0, 6)))
    assert constituents_of(sentence, 3) == () and drawn(sentence, 3) is None and drawn(sentence, 5) is None
    assert drawn(written("No no ."), None) is None, "a capital does not make another word"
    assert drawn(written(". . ."), None) is None and drawn(written("."), None) is None


def test_a_sentence_without_phrases_is_only_shuffled_as_a_whole():
    sentence = written("tom saw the cat .")
    assert [drawn(sentence, size) is None for size in SIZES] == [True] * 4 + [False]


def test_the_marks_at_the_end_stay():
    sentence = written('" Go home ! " )', upos=("PUNCT", "VERB", "ADV", "PUNCT", "PUNCT", "PUNCT"))
    assert body(sentence) == 3 and body(written("so what")) == 2 and body(written("?!")) == 0
    for key in range(10):
        swap = drawn(sentence, None, key)
        assert swap and swap.words[3:] == ("!", '"', ")")


@pytest.mark.parametrize(
    ("text", "lemma", "order", "result"),
    [
        ("The old man laughs .", "the old man laugh .", (2, 1, 0, 3, 4), "Man old the laughs ."),
        ("Peter laughs today .", "Peter laugh today .", (1, 0, 2, 3), "Laughs Peter today ."),
        ("I saw NASA .", "I see NASA .", (2, 1, 0, 3), "NASA saw I ."),
        ("NATO saw it .", "nato see it .", (2, 1, 0, 3), "It saw NATO ."),
        ("the Old man .", "the old man .", (1, 0, 2, 3), "Old the man ."),
        ('" The man sleeps "', '" the man sleep "', (2, 1, 0, 3, 4), 'Man the " sleeps "'),
        ("The old man laughs .", "the old man laugh .", (0, 2, 1, 3, 4), "The man old laughs ."),
    ],
)
def test_a_sentence_begins_with_a_capital_if_it_did(text, lemma, order, result):
    sentence = written(text, lemma=tuple(lemma.split()))
    assert " ".join(rearranged(sentence, order, ()).words) == result


def test_names_are_told_by_their_tags_where_there_are_no_lemmas():
    for tag, result in (("NNP", "Slept Tom ."), ("NN", "Slept tom ."), (None, "Slept tom .")):
        sentence = written("Tom slept .", xpos=(tag, "VBD", "."))
        assert " ".join(rearranged(sentence, (1, 0, 2), ()).words) == result


def test_how_much_has_moved():
    swap = Swap(tuple("dbac"), (3, 1, 0, 2), ((0, 4),))
    assert swap.moved == 3 / 4 and swap.reach == (3 + 0 + 2 + 1) / 4
    assert [*map(size_name, SIZES)] == ["3", "4", "5", "6", "whole"]
