"""Every question is balanced, the same every time, and answered by the trees alone; twins have the same words."""

from collections import Counter
from itertools import chain, islice, pairwise

import bracketed
import pytest

from wherewhat.corpora.acceptability import AFTER, impossible, tags_of_forms
from wherewhat.corpora.base import split_of
from wherewhat.corpora.grammar import Grammar
from wherewhat.corpora.questions import QUESTIONS, LabelledDataset, labelled
from wherewhat.corpora.sentence import Sentence
from wherewhat.errors import UserError
from wherewhat.tasks.base import SPLITS

ANIMALS = {"dog", "cat", "horse", "fox", "bird", "goat"}
PERSONS = {"teacher", "doctor", "farmer", "pilot", "nurse", "king", "queen", "child", "student", "lawyer", "baker"}
PERSONS |= {"sailor", "soldier", "judge"}
WOMEN, MEN = {"maria", "lucy", "nina", "rosa"}, {"peter", "tom", "paul", "sam"}
ANY = pytest.mark.parametrize("name", QUESTIONS)
CLAUSES = pytest.mark.parametrize("name", ["number", "tense", "voice"])


def drawn(name: str, units: int = 20) -> list[tuple[Sentence, ...]]:
    return [QUESTIONS[name].draw(1, split, unit, ()) for split in SPLITS for unit in range(units)]


def number(sentence: Sentence) -> str:
    subject, _ = bracketed.main_clause(bracketed.read(sentence.tree))
    return "pl" if bracketed.noun(subject)[0] == "NNS" else "sg"


def tense(sentence: Sentence) -> str:
    _, verb_phrase = bracketed.main_clause(bracketed.read(sentence.tree))
    return "past" if bracketed.leaves(verb_phrase)[0][0] == "VBD" else "present"


def voice(sentence: Sentence) -> str:
    return bracketed.voice(bracketed.main_clause(bracketed.read(sentence.tree))[1])


def agent(sentence: Sentence) -> str:
    doer, done = bracketed.doer_and_done(bracketed.read(sentence.tree))
    lemmas = [sentence.lemma[bracketed.noun(phrase)[2]] for phrase in (doer, done)]
    assert len({*lemmas} & ANIMALS) == len({*lemmas} & PERSONS) == 1, "one of each"
    return "animal" if lemmas[0] in ANIMALS else "person"


def names(sentence: Sentence) -> str:
    assert len(sentence.words) == 3 and {sentence.words[0], sentence.words[2]} <= WOMEN | MEN
    assert len({sentence.words[0], sentence.words[2]} & WOMEN) == 1
    return "woman" if sentence.words[0] in WOMEN else "man"


def acceptable(sentence: Sentence) -> str:
    return "acceptable" if sentence.tree else "corrupted"


ORACLES = {"number": number, "tense": tense, "voice": voice, "agent": agent, "names": names, "acceptable": acceptable}


def answers_anywhere(name: str, sentence: Sentence) -> set[str]:
    """What any noun or verb of a sentence speaks for."""
    if name == "number":
        return {tag == "NNS" for tag in sentence.xpos if tag in ("NN", "NNS", "NNP")}
    if name == "tense":
        return {tag == "VBD" for tag in sentence.xpos if tag in ("VBZ", "VBP", "VBD")}
    return {pred.voice for pred in sentence.preds}


@pytest.mark.parametrize("name", ORACLES)
def test_the_tree_alone_answers(name: str):
    question = QUESTIONS[name]
    for sentences in drawn(name):
        assert tuple(map(ORACLES[name], sentences)) == question.labels


@pytest.mark.parametrize("name", ["number", "tense", "voice", "agent"])
def test_sentences_with_other_nouns_are_sentences_of_the_grammar(name: str):
    alone = {"a": "NN", "every": "NN", "some": "NNS", "many": "NNS"}
    for sentence in chain.from_iterable(drawn(name)):
        assert set(sentence.words) <= set(Grammar(past=True).vocabulary) and len(sentence.words) <= 30
        assert not impossible(sentence.words)
        assert all(sentence.number[verb] == sentence.number[noun] for verb, noun in sentence.agree)
        for place, word in enumerate(sentence.words):
            noun = sentence.head[place] - 1
            assert sentence.xpos[noun] == alone.get(word, sentence.xpos[noun])


@CLAUSES
def test_half_of_the_sentences_have_something_that_speaks_for_the_other_answer(name: str):
    for split in SPLITS:
        units = [QUESTIONS[name].draw(4, split, unit, ()) for unit in range(12)]
        for pair in zip(units[::2], units[1::2], strict=True):
            found = [[len(answers_anywhere(name, one)) for one in sentences] for sentences in pair]
            assert sorted(found) == [[1, 1], [2, 2]], "of every two units one has distractors, for both labels"


@pytest.mark.parametrize("name", ["agent", "names", "acceptable"])
def test_twins_have_the_same_words_and_opposite_answers(name: str):
    for one, other in drawn(name):
        assert Counter(one.words) == Counter(other.words) and one.words != other.words
        places = [i for i, (a, b) in enumerate(zip(one.words, other.words, strict=True)) if a != b]
        assert len(places) == 2, "two words have changed places, and nothing else"
    assert len(set(QUESTIONS[name].labels)) == 2


def test_agents_are_active_and_passive_equally_often():
    voices = Counter(voice(one) for unit in range(60) for one in QUESTIONS["agent"].draw(2, "train", unit, ()))
    assert voices == {"active": 60, "passive": 60}


def test_names_are_mirror_images_and_no_sentences_of_the_grammar():
    found = labelled("names", seed=1, train=2000, valid=2000, test=2000)
    every = [example.words for split in SPLITS for example in getattr(found, split)]
    assert len(every) == len(set(every)) == 4 * 4 * 8 * 2 * 2, "all of them, each once"
    for split in SPLITS:
        texts = {example.words for example in getattr(found, split)}
        assert texts == {words[::-1] for words in texts}
        assert len(texts) >= 60
    assert all(words[-1] != "." for words in every)


@ANY
def test_examples_are_balanced_and_the_same_every_time(name: str):
    found = labelled(name, seed=3, train=42, valid=24, test=12)
    assert (
        found
        == labelled(name, seed=3, train=42, valid=24, test=12)
        != labelled(name, seed=4, train=42, valid=24, test=12)
    )
    longer = labelled(name, seed=3, train=84, valid=24, test=12)
    assert longer.train[:42] == found.train, "more examples are the same ones and then others"
    assert found.labels == QUESTIONS[name].labels and found.name == name
    for split, size in (("train", 42), ("valid", 24), ("test", 12)):
        labels = [example.label for example in getattr(found, split)]
        assert Counter(labels) == dict.fromkeys(found.labels, size // len(found.labels))
    order = [example.label for example in longer.train]
    assert len(set(pairwise(order[:: len(found.labels)]))) >= 4, "the place of an example does not tell its label"


@ANY
def test_no_sentence_is_in_two_splits(name: str):
    found = labelled(name, seed=1, train=402, valid=60, test=42)
    texts = {split: {" ".join(example.words) for example in getattr(found, split)} for split in SPLITS}
    assert (
        not texts["train"] & texts["test"]
        and not texts["train"] & texts["valid"]
        and not texts["valid"] & texts["test"]
    )
    if name != "names":  # which come in twins; and pairs, with a full stop in the middle, are no sentences
        good = {split: {one for one in texts[split] if not impossible(tuple(one.split()))} for split in SPLITS}
        assert all(split_of(text) == split for split in SPLITS for text in good[split])


@ANY
def test_no_sentence_comes_twice(name: str):
    found = labelled(name, seed=1, train=600, valid=120, test=120)
    for examples in (found.train, found.valid, found.test):
        assert len({example.words for example in examples}) == len(examples)


def test_what_is_taken_is_not_drawn_again():
    for name in ("number", "agent", "acceptable"):
        first = QUESTIONS[name].draw(1, "test", 3, ())
        for one in first:
            again = QUESTIONS[name].draw(1, "test", 3, {one.text})
            assert one.text not in {other.text for other in again}
            assert tuple(map(ORACLES[name], again)) == QUESTIONS[name].labels


def test_what_was_corrupted_belongs_to_the_split_of_all_it_may_stem_from():
    """Whatever sentence of the grammar two neighbours were exchanged in, it is of this split; so are both of a pair."""
    for split in SPLITS:
        for unit in range(60):
            _, bad = QUESTIONS["acceptable"].draw(1, split, unit, ())
            for i in range(len(bad.words) - 2):
                mended = (*bad.words[:i], bad.words[i + 1], bad.words[i], *bad.words[i + 2 :])
                assert impossible(mended) or split_of(" ".join(mended)) == split


def test_acceptable_sentences_are_as_long_in_every_split_as_those_of_the_grammar():
    """The exchange takes any sentence as it comes, the short ones as readily as the long ones."""
    for split in SPLITS:
        tries = [QUESTIONS["acceptable"].draw(1, split, unit, ())[0].where for unit in range(150)]
        assert sum(where.endswith(".0") for where in tries) > 140


@pytest.fixture(scope="module")
def pairs() -> Counter[tuple[str, str]]:
    """Tags that stand side by side in sentences of the grammar."""
    found: Counter[tuple[str, str]] = Counter()
    for sentence in islice(Grammar(seed=9, past=True).sentences("train"), 8000):
        found.update(pairwise(sentence.xpos))
    return found


def test_what_may_follow_what_is_what_does(pairs: Counter[tuple[str, str]]):
    assert set(pairs) == {(before, after) for before, following in AFTER.items() for after in following}


def test_corrupted_sentences_hold_a_pair_that_never_occurs(pairs: Counter[tuple[str, str]]):
    readings: dict[str, set[str]] = {}
    for sentence in islice(Grammar(seed=9, past=True).sentences("train"), 3000):
        for word, tag in zip(sentence.words, sentence.xpos, strict=True):
            readings.setdefault(word, set()).add(tag)
            assert tag in tags_of_forms()[word]
    for good, bad in drawn("acceptable", units=100):
        assert good.words[-1] == bad.words[-1] == "." and not impossible(good.words)
        strange = [
            (a, b) for a, b in pairwise(bad.words) if not any((x, y) in pairs for x in readings[a] for y in readings[b])
        ]
        assert strange and impossible(bad.words)


def test_sizes_that_cannot_be_shared_evenly_are_refused():
    for size in (0, 3):
        with pytest.raises(
            UserError, match=f"{size} valid sentences cannot be shared evenly by 2 labels; give a multiple of 2"
        ):
            labelled("voice", seed=1, train=2, valid=size, test=2)
    with pytest.raises(UserError, match="unknown question 'voise'; did you mean 'voice'\\?"):
        labelled("voise", seed=1, train=2, valid=2, test=2)


def bag_of_words_accuracy(found: LabelledDataset) -> float:
    """The best that any function of the words, without their order, can do on the training sentences."""
    bags: dict[tuple[str, ...], Counter[str]] = {}
    for example in found.train:
        bags.setdefault(tuple(sorted(example.words)), Counter())[example.label] += 1
    return sum(max(labels.values()) for labels in bags.values()) / len(found.train)


@pytest.mark.parametrize(("name", "best"), [("agent", 0.5), ("names", 0.5), ("acceptable", 0.5), ("voice", 1.0)])
def test_a_bag_of_words_knows_nothing_of_twins(name: str, best: float):
    assert bag_of_words_accuracy(labelled(name, seed=1, train=200, valid=2, test=2)) == best
