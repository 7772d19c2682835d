"""The rows that are asked for: the worked sentence, what drops out, and what a causal mask leaves."""

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from relations import ready, sentence

from wherewhat.corpora.grammar import Grammar
from wherewhat.probing.dependencies.relation_rows import rows_of, visible
from wherewhat.probing.dependencies.settings import ALL, DISTANCES, SIDES, TO_DEPENDENT, TO_HEAD
from wherewhat.probing.dependencies.treebanks import EncodedSentence

WORKED = json.loads((Path(__file__).parents[1] / "vectors" / "probes.json").read_text())["dependency"]


@pytest.fixture
def worked() -> EncodedSentence:
    return ready(Grammar().sentence("train", WORKED["sentence_index"]))


def test_the_rows_of_the_worked_sentence(worked: EncodedSentence):
    rows = rows_of([worked], subtypes=True)
    here = rows.where(ALL, TO_HEAD)
    found = [[int(rows.from_N[row]), int(rows.to_N[row]), str(rows.relation_N[row])] for row in here]
    assert found == WORKED["rows"]
    other = rows.where(ALL, TO_DEPENDENT)
    assert [[int(rows.to_N[row]), int(rows.from_N[row]), str(rows.relation_N[row])] for row in other] == WORKED["rows"]


def test_offsets_and_chance_of_the_worked_sentence(worked: EncodedSentence):
    rows = rows_of([worked], subtypes=False)
    here = rows.take(rows.where(ALL, TO_HEAD))
    hits = Counter(here.offset_N.tolist())
    assert {offset: hits[int(offset)] for offset in WORKED["offset_hits"]} == WORKED["offset_hits"]
    best = max(range(-5, 6), key=lambda offset: hits[offset])
    assert best == WORKED["best_offset"] and hits[best] / len(here) == WORKED["best_accuracy"]
    assert here.chance_N.mean() == pytest.approx(WORKED["uniform_chance"], abs=1e-12)


def test_punctuation_drops_out_and_distances_are_counted_without_it():
    one = ready(sentence("she , of course , left ; quickly !", "X PUNCT X X PUNCT X PUNCT X PUNCT",
                         "6 3 6 3 3 0 3 6 6", "nsubj punct obl:tmod fixed punct root punct advmod punct"))  # fmt: skip
    assert one.words == ("she", "of", "course", "left", "quickly")
    rows = rows_of([one], subtypes=False)
    here = rows.take(rows.where(ALL, TO_HEAD))
    assert here.relation_N.tolist() == ["nsubj", "obl", "fixed", "advmod"]
    assert here.offset_N.tolist() == [3, 2, -1, -1]
    assert rows_of([one], subtypes=True).relation_N[2] == "obl:tmod"
    assert set(rows.chance_N.tolist()) == {1 / 4}


def test_a_word_that_hangs_on_punctuation_has_no_row():
    one = ready(sentence("a ... b", "X PUNCT X", "2 0 2", "dep root dep"))
    assert one.head_words.tolist() == [-1, -1]


def test_a_mark_by_its_relation_alone_is_punctuation_too():
    one = ready(sentence("a - b", "X SYM X", "3 3 0", "dep punct root"))
    assert one.words == ("a", "b") and one.head_words.tolist() == [1, -1]


def test_distances_divide_the_rows(worked: EncodedSentence):
    rows = rows_of([worked], subtypes=False)
    for side in SIDES:
        bins = [set(rows.where(ALL, side, far).tolist()) for far in DISTANCES if far != ALL]
        assert sum(map(len, bins)) == len(set.union(*bins)) == len(rows.where(ALL, side))
        for far, (low, high) in DISTANCES.items():
            assert all(low <= abs(rows.offset_N[row]) <= high for row in rows.where(ALL, side, far))


def test_under_a_mask_partners_stand_before(worked: EncodedSentence):
    every = rows_of([worked], subtypes=False)
    rows = visible(every)
    assert len(rows) == len(every) / 2  # of the two sides of a relation one looks back
    for row in range(len(rows)):
        assert rows.to_N[row] < rows.from_N[row]
        assert rows.chance_N[row] == 1 / rows.from_N[row]


def test_words_are_counted_through_all_sentences():
    first, second = (ready(sentence("a b c", "X X X", "2 0 2", "x root y"), number) for number in range(2))
    rows = rows_of([first, second], subtypes=False)
    assert rows.sentence_N.tolist() == [0] * 4 + [1] * 4
    assert rows.from_N.tolist() == [0, 1, 2, 1, 3, 4, 5, 4]
    np.testing.assert_array_equal(rows.to_N[:4], rows.to_N[4:])
