"""A corpus becomes arrays without losing a word, is read in a seeded order, and costs little padding."""

import pickle
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import ClassVar

import numpy as np
import pytest

from wherewhat.corpora.base import Corpus
from wherewhat.corpora.grammar import Grammar
from wherewhat.corpora.sentence import Sentence
from wherewhat.corpora.vocabulary import WordVocabulary
from wherewhat.errors import UserError
from wherewhat.training.encoded_corpus import BatchOrder, EncodedCorpus, Extent, ReadCorpus, read_texts
from wherewhat.training.language_modelling import LanguageModelSettings

SIZES = {"sentences": 50, "evaluated": 10, "most_words": 8000, "longest": 12}


@dataclass(frozen=True)
class Told(Corpus):
    """A corpus that is written down, the same in all splits, and counts how often it is read."""

    lines: tuple[str, ...]
    name: ClassVar[str] = "told"
    asked: ClassVar[list[str]] = []

    def sentences(self, split: str) -> Iterator[Sentence]:
        self.asked.append(split)
        return (Sentence(tuple(line.split())) for line in self.lines)

    def some(self, split: str, count: int, *, seed: int) -> list[Sentence]:
        return list(islice(self.sentences(split), count))


def pieces(split: str, count: int, longest: int = 12) -> list[tuple[str, ...]]:
    """The first sentences of the grammar, long ones in pieces; none of a single word."""
    cut = (
        one.words[first : first + longest]
        for one in Grammar().sentences(split)
        for first in range(0, len(one.words), longest)
    )
    return list(islice((piece for piece in cut if len(piece) > 1), count))


def sentences_of(encoded: EncodedCorpus, words: WordVocabulary) -> list[str]:
    return [
        " ".join(words.names[id] for id in encoded.ids[start : start + length])
        for start, length in zip(encoded.starts_N, encoded.lengths_N, strict=True)
    ]


def test_every_word_is_there_again() -> None:
    texts = read_texts(Grammar(), **SIZES)
    for split, encoded, count in (("train", texts.train, 50), ("valid", texts.valid, 10)):
        known = set(texts.words.names)
        told = [" ".join(piece) for piece in pieces(split, count) if known & set(piece[1:])]
        assert sentences_of(encoded, texts.words) == [
            " ".join(word if word in known else "[unk]" for word in line.split()) for line in told
        ]


def test_the_vocabulary_is_that_of_the_sentences_that_are_learnt_from() -> None:
    texts = read_texts(Grammar(), **{**SIZES, "most_words": 20})
    told = pieces("train", 50)
    assert texts.words.names == WordVocabulary.learn(told, most=20).names
    assert len(texts.words) == 23
    assert texts.words.unknown in texts.train.ids


def test_a_corpus_is_read_once() -> None:
    Told.asked.clear()
    read_texts(Told(("a b", "b c")), **SIZES)
    assert Told.asked == ["train", "valid"]


def test_single_words_are_left_out_and_long_sentences_cut_into_pieces() -> None:
    texts = read_texts(Told(("a", "a b c d e", "b c", "a b c d")), **{**SIZES, "longest": 3})
    assert sentences_of(texts.train, texts.words) == ["a b c", "d e", "b c", "a b c"]
    assert texts.extent["train"] == Extent(sentences=4, words=10, unknown=0.0, left_out=2, more=False)
    some = read_texts(Told(("a", "a b c d e", "b c", "a b c d")), **{**SIZES, "longest": 3, "sentences": 2})
    assert some.extent["train"] == Extent(sentences=2, words=5, unknown=0.0, left_out=1, more=True)


def test_sentences_without_a_known_word_to_guess_are_left_out() -> None:
    texts = read_texts(Told(("a b a b", "a c", "c d e", "d c a")), **{**SIZES, "most_words": 2})
    assert texts.words.names[3:] == ["a", "c"]
    assert sentences_of(texts.train, texts.words) == ["a [unk] a [unk]", "a c", "[unk] c a"]
    assert texts.extent["train"] == Extent(sentences=3, words=9, unknown=pytest.approx(1 / 3), left_out=3, more=False)
    assert texts.extent["valid"] == texts.extent["train"]


def test_what_was_read_has_a_digest_of_its_own() -> None:
    told = [Told(lines) for lines in (("a b", "b c"), ("a b", "b c"), ("a b", "c b"), ("a b", "b d"), ("a b b c",))]
    one, same, *others = (read_texts(each, **SIZES).digest for each in told)
    assert one == same and len({one, *others}) == 4


@pytest.mark.parametrize(
    ("lines", "sentence"),
    [
        ((), "the corpus told has no sentence of 2 words or more to learn from; give more text"),
        (("a", "b"), "the corpus told has no sentence of 2 words or more to learn from; give more text"),
        (("a a", "a a a"), "the corpus has only the word 'a'; a vocabulary needs 2 or more, give more text"),
    ],
)
def test_a_corpus_that_teaches_nothing(lines: tuple[str, ...], sentence: str) -> None:
    with pytest.raises(UserError) as error:
        read_texts(Told(lines), **SIZES)
    assert str(error.value) == sentence


def test_a_corpus_without_sentences_to_judge_by(monkeypatch: pytest.MonkeyPatch) -> None:
    told = Told.sentences
    monkeypatch.setattr(Told, "sentences", lambda self, split: told(self, split) if split == "train" else iter(()))
    with pytest.raises(UserError, match="the corpus told has no sentence in its validation split, a tenth of"):
        read_texts(Told(("a b", "b c")), **SIZES)


def test_padding_stands_at_the_ends() -> None:
    encoded = EncodedCorpus.of([[5, 6, 7], [8, 9], [4]])
    ids_BT, real_BT = encoded.rows(np.array([1, 0]))
    assert ids_BT.tolist() == [[8, 9, 0], [5, 6, 7]]
    assert real_BT.tolist() == [[True, True, False], [True, True, True]]


def test_every_sentence_has_its_turn_in_every_round() -> None:
    lengths_N = np.random.default_rng(0).integers(2, 30, 1000)
    order = BatchOrder(lengths_N, batch=10, seed=3)
    rounds = [np.concatenate([order.rows(100 * number + step) for step in range(1, 101)]) for number in range(2)]
    assert all(sorted(each) == list(range(1000)) for each in rounds)
    assert rounds[0].tolist() != rounds[1].tolist()


def test_the_order_follows_from_seed_and_step_alone() -> None:
    lengths_N = np.random.default_rng(0).integers(2, 30, 95)
    one, again, other = (BatchOrder(lengths_N, batch=10, seed=seed) for seed in (3, 3, 4))
    forwards = [one.rows(step).tolist() for step in range(1, 40)]
    backwards = [again.rows(step).tolist() for step in reversed(range(1, 40))]
    assert forwards == backwards[::-1]
    assert forwards != [other.rows(step).tolist() for step in range(1, 40)]
    assert all(len(rows) == 10 for rows in forwards)  # the five left over wait for another round
    assert set().union(*map(set, forwards)) == set(range(95))


def test_sentences_of_like_length_are_read_together() -> None:
    lengths_N = np.random.default_rng(0).integers(2, 30, 2000)
    order = BatchOrder(lengths_N, batch=20, seed=0)
    read = sum(lengths_N[order.rows(step)].max() * 20 for step in range(1, order.round + 1))
    assert lengths_N.sum() / read > 0.85  # in any order it is little more than a half
    means = [lengths_N[order.rows(step)].mean() for step in range(1, 17)]
    assert means != sorted(means)  # but not the short ones first


def test_fewer_sentences_than_a_batch_are_all_read() -> None:
    order = BatchOrder(np.array([3, 4, 5]), batch=64, seed=0)
    assert [sorted(order.rows(step)) for step in (1, 2)] == [[0, 1, 2]] * 2


def test_runs_share_what_was_read_unless_they_read_something_else(reader: LanguageModelSettings) -> None:
    ready = reader.ready()
    assert (
        ready.net.vocabulary
        == len(ready.texts.words)
        == ready.words.names.index("[mask]") + 1 + len(set(ready.texts.train.ids.tolist()))
    )
    assert ready != reader and replace(ready, texts=None) == ready
    same = replace(ready, seed=3, steps=5, net=replace(ready.net, encoding="none"))
    assert same.texts is ready.texts and same.ready().texts is ready.texts
    for other in ({"sentences": 61}, {"corpus": Grammar()}, {"longest": 9}, {"most_words": 9}, {"evaluate_samples": 9}):
        assert replace(ready, **other).texts is None
    back = pickle.loads(pickle.dumps(ready))
    assert isinstance(back.texts, ReadCorpus) and back.texts.words.names == ready.words.names
    assert np.array_equal(back.texts.train.ids, ready.texts.train.ids)
