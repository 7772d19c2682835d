"""The vocabulary: its ids, that it survives being written, and that texts and words come to the same ids."""

from itertools import islice

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tokenizers import Tokenizer

from wherewhat.corpora.grammar import Grammar
from wherewhat.corpora.vocabulary import SPECIAL, WordVocabulary, split_words
from wherewhat.errors import UserError

SENTENCES = [sentence.words for sentence in islice(Grammar().sentences("train"), 2000)]


def test_ids_are_special_tokens_first_then_the_sorted_vocabulary():
    words = WordVocabulary.learn(SENTENCES)
    assert words.names == [*SPECIAL, *Grammar().vocabulary] and len(words) == 3 + 199
    assert (words.pad, words.unknown, words.mask) == (0, 1, 2) == tuple(map(words.names.index, SPECIAL))
    assert [words.names[id] for id in words.ids(SENTENCES[5])] == list(SENTENCES[5])
    assert words.ids(["THE", "unheard", "Dog"]) == [words.names.index("the"), 1, words.names.index("dog")]
    assert words.ids(SPECIAL) == [1, 1, 1], "no word of a text is padding or a mask"
    assert words.ids([]) == []
    street = WordVocabulary.learn([["ΟΔΟΣ", "door"]])
    assert street.ids(["ΟΔΟΣ", "Door"]) == street.tokenizer.encode("ΟΔΟΣ door").ids, "one idea of lower case"


def test_the_most_frequent_words_are_kept():
    words = WordVocabulary.learn([["b", "b", "a", "C"], ["c", "d", "e"]], most=3)
    assert words.names[3:] == ["a", "b", "c"], "b and c came twice; of those that came once, the first in the alphabet"
    assert words.ids(["d"]) == [words.unknown]


def test_a_vocabulary_survives_being_written():
    words = WordVocabulary.learn(SENTENCES, most=50)
    again = WordVocabulary.from_json(words.json())
    assert again.names == words.names and again.json() == words.json()
    assert again.ids(SENTENCES[0]) == words.ids(SENTENCES[0])
    assert Tokenizer.from_str(words.json()).encode("The dog sees [mask] .").tokens[3] == "[mask]"


def test_no_text_gets_a_special_token_by_itself():
    words = WordVocabulary.learn(SENTENCES)
    for sentence in SENTENCES[:200]:
        assert words.tokenizer.encode(" ".join(sentence)).ids == words.ids(sentence)


@given(st.text(max_size=60), st.lists(st.text(max_size=20), max_size=4))
def test_a_text_comes_to_the_same_ids_as_its_words(text: str, others: list[str]):
    assume(not any(special in text.lower() for special in SPECIAL))
    learnt = [split_words(other) for other in [*others, text[: len(text) // 2], "one"]]
    words = WordVocabulary.learn(learnt)
    assert words.tokenizer.encode(text).ids == words.ids(split_words(text))
    assert words.tokenizer.encode(" ".join(split_words(text))).ids == words.ids(split_words(text))


def test_words_that_people_cut_stay_whole():
    """A treebank has words with punctuation inside; its sentences come to the same ids as texts too."""
    sentence = ("Do", "n't", "U.S.", "[mask]", "e-mail", "!")
    words = WordVocabulary.learn([sentence])
    assert words.names[3:] == ["!", "do", "e-mail", "n't", "u.s."]
    assert words.ids(sentence)[3] == words.unknown
    assert words.tokenizer.encode("Do n't U.S. e-mail !").ids == words.ids(["do", "n't", "u.s.", "e-mail", "!"])


def test_punctuation_at_the_edges_is_cut_off_where_a_treebank_decides():
    sentence = ("Do", "n't", "U.S.", "'s", "e-mail", "house", "!", ",", "...", ".", '"', "3.5")
    words = WordVocabulary.learn([sentence])
    assert [words.tokenizer.encode(each).tokens for each in sentence] == [[each.lower()] for each in sentence]
    told = words.tokenizer.encode('The house, the U.S., an "e-mail" ... house!" 3.5.').tokens
    assert " ".join(told) == '[unk] house , [unk] u.s. , [unk] " e-mail " ... house ! " 3.5 .'
    assert WordVocabulary.from_json(words.json()).tokenizer.encode("House, e-mail.").ids == words.ids(
        ["house", ",", "e-mail", "."]
    )


def test_what_cannot_be_a_vocabulary_is_refused():
    with pytest.raises(UserError, match="there are no words to learn; give sentences with at least one word"):
        WordVocabulary.learn([[], ["[pad]"]])
    with pytest.raises(UserError, match="a vocabulary cannot have 0 words; keep at least 1"):
        WordVocabulary.learn(SENTENCES, most=0)
    with pytest.raises(UserError, match=r"this is not a tokenizer.json; give one that a training run wrote"):
        WordVocabulary.from_json("{}")
    other = WordVocabulary.learn([["a"]]).json().replace("[pad]", "[padding]")
    with pytest.raises(UserError, match=r"this tokenizer.json \(WordLevel\) does not have whole words after"):
        WordVocabulary.from_json(other)
