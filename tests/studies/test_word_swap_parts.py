"""The parts of the experiment with swapped words: what is read, what is asked, and what is counted of it."""

from itertools import islice

import numpy as np
import pytest
from word_swap_small import SMALLEST

from wherewhat.corpora import lexicon as lex
from wherewhat.corpora.grammar import Grammar
from wherewhat.corpora.minimal_pairs import VOICES
from wherewhat.corpora.sentence_pairs import PAIRS, SWAPPED_LABELS, usable_roles
from wherewhat.errors import UserError
from wherewhat.studies.engine.encodings import curve_measures, w_for
from wherewhat.studies.engine.study import of_run
from wherewhat.studies.word_swap.questions import (
    PERSONS,
    SWAPPED_GENDERS,
    Passages,
    evaluation_data,
    examples_in_words,
    name_examples,
    pair_examples,
    premise_of,
    premises,
)
from wherewhat.studies.word_swap.run import answer_measures, difference, mean, share
from wherewhat.studies.word_swap.settings import SCALES

NAN = float("nan")
ENDS = ("train", "test")


def one_hot(*answers: int | None) -> np.ndarray:
    """Probabilities of three labels, all on one; NaN where there is no answer."""
    return np.array([[NAN] * 3 if one is None else np.eye(3)[one] for one in answers])


def test_premises_are_short_and_about_two_names_and_none_comes_twice() -> None:
    found = list(islice(premises(3, "test"), 40))
    assert len({premise.sentence.text for premise in found}) == 40
    for sentence, agent, _, patient in found:
        assert len(sentence.words) <= 8 and {agent.form, patient.form} <= PERSONS and agent != patient


def test_a_sentence_that_says_a_name_twice_is_no_premise() -> None:
    twice = Grammar(1).sentence("test", "names 1119", VOICES)
    assert twice.text == "tom praises peter under tom ." and usable_roles(twice)  # nothing else is wrong with it
    assert premise_of(1, "test", 1119) is None


def test_every_premise_has_a_case_of_every_label_with_the_same_words_in_entailed_and_reversed() -> None:
    for question, pairs in PAIRS.items():
        found = pair_examples(question, 2, "test", 5)
        assert [example.label for example in found] == list(pairs.labels) * 5
        assert len({example.sentences[0].text for example in found}) == 5
    for entailed, other in zip(*(pair_examples("roles", 2, "test", 5)[place::3] for place in (0, 1)), strict=True):
        assert sorted(entailed.sentences[1].words) == sorted(other.sentences[1].words)


def test_what_is_read_says_again_who_does_what_to_whom_and_is_not_what_is_judged_by() -> None:
    passages = [one.text for one in islice(Passages().sentences("train"), 200)]
    told = [
        " ".join(sentence.text for sentence in example.sentences) for example in pair_examples("roles", 1, "train", 200)
    ]
    assert passages == told[::3]
    assert not set(passages) & {
        " ".join(s.text for s in example.sentences) for example in pair_examples("roles", 1, "test", 50)
    }
    assert len(Passages().some("train", 3, seed=5)) == 3


def test_curves_of_one_locality_are_equally_local_whatever_their_sides() -> None:
    for locality, group in SCALES["tiny"].groups():
        for trial in (one for one in group if one.encoding == "attenuated"):
            assert trial.w is not None and trial.s is not None
            assert curve_measures(trial.w, trial.s, n=16)["locality"] == pytest.approx(locality, abs=2e-3)
    with pytest.raises(UserError, match="no curve over 16 tokens has locality 0.5"):
        w_for(0.5, n=16, s=0.0)


def test_scales_name_what_is_unknown_and_every_curve_once() -> None:
    for scale in SCALES.values():
        names = [trial.name for trial in scale.conditions()]
        assert len(set(names)) == len(names) and "none" in names
    assert SCALES["paper"].unknown and not SCALES["tiny"].unknown
    run = of_run(SCALES["tiny"])
    assert not (run.curves or run.references or run.seeds) and run.questions == SCALES["tiny"].questions


def test_bare_names_are_twins_that_nets_have_words_for_and_none_is_learnt_from_and_judged_by() -> None:
    learnt, judged = (
        {example.sentences[0].words: example.label for example in name_examples(0, split, 500)} for split in ENDS
    )
    read = {word for passage in islice(Passages().sentences("train"), 300) for word in passage.words}
    assert len(learnt) == 184 and len(judged) == 72 and not set(learnt) & set(judged)
    for words, label in (learnt | judged).items():
        assert len(words) == 3 and set(words) <= read
        assert label == ("woman" if words[0] in {"maria", "lucy", "nina", "rosa"} else "man")
        assert (learnt | judged)[words[::-1]] == SWAPPED_GENDERS[label]


def test_bare_names_are_only_exchanged_which_is_reading_them_backwards_and_have_a_control() -> None:
    data, (item,) = evaluation_data("names", 0, SMALLEST.test)
    cases_there = data.examples
    assert item.name == "roles" and len(item.examples) == len(cases_there) == 24 and not item.beside
    for trial in item.examples:
        example = cases_there[trial.index]
        assert trial.swapped[0].words == example.sentences[0].words[::-1]
        assert trial.answer == SWAPPED_GENDERS[example.label] and trial.control is not None


def test_what_is_counted_of_an_exchange() -> None:
    heard = answer_measures(
        before_NA=one_hot(0, 0, 1, 2, 1),
        after_NA=one_hot(1, 0, 0, 2, 1),
        control_NA=one_hot(0, 1, 1, None, None),
        old_N=np.array([0, 0, 1, 2, 0]),  # the last was wrong before
        new_N=np.array([1, 1, 0, 2, 1]),
    )
    found = {name: numbers[0] for name, numbers in heard}
    assert found["cases"] == 5 and found["before"] == 0.8 and found["accuracy"] == 0.8 and found["change"] == 0
    assert found["old label"] == pytest.approx(2 / 5)
    assert found["followed"] == found["flip"] == pytest.approx(2 / 3)  # of three right ones whose label changes
    assert found["control flip"] == pytest.approx(1 / 3)
    assert found["control change"] == pytest.approx(-1 / 3) and found["beyond control"] == pytest.approx(0.0)
    assert found["shift"] == pytest.approx(2 / 5) and found["largest"] == 1


def test_a_shuffle_changes_no_label_so_nothing_is_followed() -> None:
    same = one_hot(0, 1, 2)
    found = dict(answer_measures(same, same, one_hot(None, None, None), np.array([0, 1, 2]), np.array([0, 1, 2])))
    assert "followed" not in found and "control change" not in found and "control flip" not in found
    assert found["flip"][0] == found["shift"][0] == found["largest"][0] == 0


def test_intervals_over_cases_stay_in_their_range_and_one_case_has_none() -> None:
    assert difference(np.array([True, False]), np.array([True, True]))[1:] == (-1.0, 1.0)
    assert mean(np.array([0.5])) == (0.5, None, None)
    value, low, high = share(np.array([True] * 9 + [False]))
    assert value == 0.9 and low is not None and high is not None and 0.5 < low < 0.9 < high < 1


def test_items_hold_every_swap_and_an_exchange_has_the_new_label() -> None:
    data, items = evaluation_data("roles", 0, SMALLEST.test)
    names = {item.name: item for item in items}
    assert {"3", "whole", "roles", "voice"} <= set(names)
    labels = [example.label for example in data.examples]
    assert all(trial.answer == SWAPPED_LABELS["roles"][labels[trial.index]] for trial in names["roles"].examples)
    assert all(trial.answer == labels[trial.index] for trial in names["voice"].examples)


def test_examples_show_words_before_and_after_with_their_roles() -> None:
    (bare_names,) = examples_in_words("names", 0, SMALLEST.test)
    (three,) = bare_names.sentences
    assert three.swapped == three.words[::-1] and bare_names.new == SWAPPED_GENDERS[str(bare_names.label)]
    found = {example.item: example for example in examples_in_words("roles", 0, SMALLEST.test)}
    premise = found["roles"].sentences[0]
    agent, patient = (premise.words[premise.roles[role][0]] for role in ("agent", "patient"))
    moved = [premise.swapped[premise.roles[role][0]] for role in ("agent", "patient")]
    assert moved == [patient, agent] and {agent, patient} <= {name.form for name in lex.NAMES}
    assert found["whole"].sentences[0].order is not None
    for item in found.values():  # the longest of those that have a control, where one has
        assert item.sentences[0].control or item.item in ("whole", "voice")
