"""Pairs are the published ones; roles decide one question and can only be read from order, words decide the other."""

import hashlib
import json
from collections import Counter
from itertools import islice
from pathlib import Path
from typing import Any

import bracketed
import pytest

from wherewhat.corpora.annotated_examples import AnnotatedExample
from wherewhat.corpora.base import split_of
from wherewhat.corpora.constituents import annotate
from wherewhat.corpora.grammar import Grammar
from wherewhat.corpora.grammar_trees import leaf_of, noun_phrase_at, of_grammar, swap_noun_phrases, tree_of
from wherewhat.corpora.questions import QUESTIONS, labelled
from wherewhat.corpora.sentence import Annotation, Sentence
from wherewhat.corpora.sentence_pairs import (
    CONTENT,
    ROLES,
    SWAPPED_LABELS,
    content_example,
    joined,
    role_example,
    usable_roles,
    why_unusable,
)
from wherewhat.errors import UserError
from wherewhat.tasks.base import SPLITS
from wherewhat.tasks.stream import Stream

VECTOR = json.loads((Path(__file__).parents[1] / "vectors" / "word_swaps.json").read_text())
PERSONS = "teacher doctor farmer pilot nurse king queen child student lawyer baker sailor soldier judge"
ANIMALS = "dog cat horse fox bird goat"
REVERSIBLE = ("see", "chase", "help", "follow", "push", "praise", "visit", "call")
CLASSES = {**dict.fromkeys(PERSONS.split(), "person"), **dict.fromkeys(ANIMALS.split(), "animal")}
NLI = {"roles": role_example, "content": content_example}


def published(case: AnnotatedExample) -> dict[str, Any]:
    premise, hypothesis = case.sentences
    tries = int(premise.where.rpartition(".")[2]) + 1
    words = {"premise": list(premise.words), "hypothesis": list(hypothesis.words)}
    return words | {"label": ROLES.index(case.label), "tries": tries}


def lemmas(sentence: Sentence) -> list[str]:
    return [lemma for lemma, tag in zip(sentence.lemma, sentence.upos, strict=True) if tag in ("NOUN", "PROPN", "VERB")]


def said(sentence: Sentence) -> tuple[str, str, str]:
    """Who does what to whom in the main clause, read from the tree alone."""
    tree = bracketed.read(sentence.tree)
    doer, done = (sentence.lemma[bracketed.noun(phrase)[2]] for phrase in bracketed.doer_and_done(tree))
    return doer, sentence.lemma[sentence.head.index(0)], done


def answer_of_roles(case: AnnotatedExample) -> str:
    (agent, verb, patient), (doer, done_what, done) = map(said, case.sentences)
    assert {agent, patient} == {doer, done} and agent != patient
    if done_what != verb:
        assert (doer, done) == (agent, patient) and done_what in REVERSIBLE
        return "other"
    return "entailed" if doer == agent else "reversed"


def answer_of_content(case: AnnotatedExample) -> str:
    """From a bag of the words of both: which nouns and verbs are said twice."""
    lemma_of = {leaf.form: leaf.lemma for leaf in LEAVES if leaf.upos in ("NOUN", "PROPN", "VERB")}
    said_twice = {
        lemma
        for lemma, times in Counter(lemma_of[word] for word in joined(case).words if word in lemma_of).items()
        if times == 2
    }
    verbs, nouns = said_twice & set(REVERSIBLE), said_twice - set(REVERSIBLE)
    return {(1, 2): "entailment", (1, 1): "neutral", (0, 2): "contradiction"}[len(verbs), len(nouns)]


LEAVES = [
    leaf_of(sentence, place)
    for sentence in islice(Grammar(seed=5).sentences("train"), 2000)
    for place in range(len(sentence.words))
]
ORACLES = {"roles": answer_of_roles, "content": answer_of_content}
BOTH = pytest.mark.parametrize("name", NLI)


def some(name: str, count: int = 126, *, seed: int = 1) -> list[AnnotatedExample]:
    return [NLI[name](seed, split, index, max_premise=12) for split in SPLITS for index in range(count // 3)]


def test_role_pairs_are_the_published_ones():
    ours = [published(role_example(1, "train", index)) for index in range(300)]
    assert ours[:6] == VECTOR["role_nli"]
    assert [published(role_example(1, "train", index, max_premise=8)) for index in range(2)] == VECTOR["role_nli_max8"]
    digest = hashlib.sha256(json.dumps(ours, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
    assert digest == VECTOR["role_nli_sha256_0_299"]


@BOTH
def test_the_two_trees_answer(name: str):
    found = Counter()
    longer = [NLI[name](3, "train", index) for index in range(300)]
    for case in some(name) + longer:
        assert ORACLES[name](case) == case.label
        found[case.label] += 1
    assert found == dict.fromkeys((ROLES, CONTENT)[name == "content"], 142), "as many of each"


def test_content_says_something_of_the_two_and_never_who_does_it_the_other_way_round():
    for case in some("content"):
        premise, hypothesis = case.sentences
        (agent, verb, patient), (doer, done_what, done) = map(said, case.sentences)
        assert max(Counter(lemmas(premise)).values()) == 1
        new = set(lemmas(hypothesis)) - set(lemmas(premise))
        assert len(new) == (case.label != "entailment")
        if case.label != "neutral":
            assert (doer, done) == (agent, patient) and (done_what == verb) == (case.label == "entailment")
            continue
        assert done_what == verb and (doer == agent) + (done == patient) == 1
        old, other = (patient, done) if doer == agent else (agent, doer)
        assert CLASSES.get(old, "name") == CLASSES.get(other, "name"), "of the same kind"
        number = {noun: premise.number[premise.lemma.index(noun)] for noun in (agent, patient)}
        assert {hypothesis.number[role.head] for role in usable_roles(hypothesis)} == set(number.values())


def test_content_has_the_premises_of_roles_but_those_that_say_a_word_twice():
    for index in range(90):
        one, other = (case(1, "train", index).sentences[0] for case in (role_example, content_example))
        assert (one.words == other.words) == (max(Counter(lemmas(one)).values()) == 1)
        assert CONTENT.index(content_example(1, "train", index).label) == ROLES.index(
            role_example(1, "train", index).label
        )


def test_a_bag_of_words_cannot_tell_entailed_from_reversed():
    """Of every premise the two hypotheses have the same words; the premise does not depend on which one is asked."""
    checked = Counter()
    for case in some("roles"):
        premise, hypothesis = case.sentences
        roles = usable_roles(hypothesis)
        assert roles is not None
        one, other = ((role.start, role.end) for role in roles)
        turned = annotate(swap_noun_phrases(tree_of(hypothesis), one, other))
        words = tuple(bracket[1] for bracket in bracketed.leaves(bracketed.read(turned.tree)))
        twin = AnnotatedExample(
            (premise, Sentence(words, annotate=lambda turned=turned: turned)), SWAPPED_LABELS["roles"][case.label]
        )
        assert Counter(joined(twin).words) == Counter(joined(case).words) and words != hypothesis.words
        if case.label != "other":
            assert answer_of_roles(twin) == twin.label != case.label
            checked[case.label] += 1
    assert checked == {"entailed": 42, "reversed": 42}


def test_what_an_exchange_makes_of_an_answer():
    for name, labels in (("roles", ROLES), ("content", CONTENT)):
        assert set(SWAPPED_LABELS) == {"roles", "content"} and tuple(SWAPPED_LABELS[name]) == labels
    roles, content = SWAPPED_LABELS["roles"], SWAPPED_LABELS["content"]
    assert [roles[label] for label in ROLES] == ["reversed", "entailed", "other"]
    assert [content[label] for label in CONTENT] == ["contradiction", "neutral", "contradiction"]


@pytest.mark.parametrize("where", [0, 1], ids=["premise", "hypothesis"])
def test_an_exchange_in_either_sentence_gives_the_new_answer_of_roles(where: int):
    for case in some("roles"):
        both = list(case.sentences)
        one, other = ((role.start, role.end) for role in usable_roles(both[where]))
        tree = swap_noun_phrases(tree_of(both[where]), one, other)
        known = annotate(tree)
        words = tuple(bracket[1] for bracket in bracketed.leaves(bracketed.read(known.tree)))
        both[where] = Sentence(words, annotate=lambda known=known: known)
        label = SWAPPED_LABELS["roles"][case.label]
        assert label == ("other" if case.label == "other" else answer_of_roles(AnnotatedExample(tuple(both), label)))


@BOTH
def test_premises_are_of_their_split_and_short(name: str):
    found = labelled(name, seed=1, train=120, valid=30, test=30)
    for split in SPLITS:
        for example in getattr(found, split):
            stop = example.words.index(".") + 1
            assert split_of(" ".join(example.words[:stop])) == split and stop <= 8
            assert example.words[-1] == "." and set(example.words) <= set(Grammar(past=True).vocabulary)


@BOTH
def test_the_question_asks_the_cases(name: str):
    question = QUESTIONS[name]
    for unit in range(6):
        cases = [NLI[name](2, "train", unit * 3 + place, max_premise=8) for place in range(3)]
        assert question.draw(2, "train", unit, ()) == tuple(
            joined(case) for case in sorted(cases, key=lambda case: question.labels.index(case.label))
        )


@BOTH
def test_a_pair_that_is_taken_is_not_drawn_again(name: str):
    question = QUESTIONS[name]
    first = question.draw(1, "test", 3, ())
    for place, one in enumerate(first):
        again = question.draw(1, "test", 3, {one.text})
        assert [new == old for new, old in zip(again, first, strict=True)] == [other != place for other in range(3)]


def test_a_fifth_of_sentences_is_usable():
    sentences = list(islice(Grammar().sentences("train"), 2000))
    usable = [usable_roles(one) is not None for one in sentences]
    assert round(sum(usable) / len(usable), 1) == 0.2
    why = Counter(why_unusable(one) for one in sentences)
    assert why[None] == sum(usable) and set(why) - {None} == {
        "the verb is not reversible",
        "agent or patient is missing",
        "one of the two is plural",
        "both are the same word",
    }


def test_premises_that_cannot_be_are_refused():
    with pytest.raises(UserError, match="no premise has 3 words or fewer; allow at least 4, as in 'tom sees lucy .'"):
        role_example(1, "train", 0, max_premise=3)
    assert len(role_example(1, "train", 0, max_premise=4).sentences[0].words) == 4


@pytest.mark.parametrize("past", [False, True])
def test_a_tree_grows_again_from_what_is_known_of_a_sentence(past: bool):
    for sentence in islice(Grammar(seed=2, past=past).sentences("train"), 200):
        assert of_grammar(sentence) and annotate(tree_of(sentence)) == sentence.annotation


def test_a_phrase_is_found_where_it_stands():
    rules = Grammar().rules(Stream(1, "x"))
    tree = rules.sentence()
    label, start, end = next(span for span in annotate(tree).spans if span[0] == "NP")
    assert label == "NP" and noun_phrase_at(tree, (start, end)) == tree.parts[0][1]


def test_other_sentences_are_not_of_the_grammar():
    sentence = Grammar().sentence("train", 3)
    known = sentence.annotation
    assert of_grammar(Sentence(sentence.words, annotate=lambda: known))
    assert not of_grammar(Sentence(("A", *sentence.words[1:]), annotate=lambda: known)), "another word"
    assert not of_grammar(Sentence(sentence.words)), "nothing known"
    bare = Annotation(**{**vars(known), "spans": ()})
    assert not of_grammar(Sentence(sentence.words, annotate=lambda: bare)), "no phrases"
