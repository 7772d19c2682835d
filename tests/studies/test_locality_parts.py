"""The parts of the locality experiment on their own: curves, scales, conditions, the bag of words, and notes."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from locality_worlds import world

from wherewhat.corpora.questions import Example, LabelledDataset, labelled
from wherewhat.errors import UserError
from wherewhat.studies.engine.encodings import EncodingCondition, curve, curve_measures, w_for
from wherewhat.studies.locality.notes import notes_of
from wherewhat.studies.locality.settings import FAMILIES, SCALES, LocalityScale
from wherewhat.studies.locality.summaries import bag_accuracy
from wherewhat.tables.manifest.decode import decode, encode


def by_hand(w: float, s: float, n: int) -> tuple[float, float]:
    """Locality and balance of the curve, number by number."""
    whole, differ, both = 0.0, 0.0, 0.0
    for i in range(n):
        row = [math.exp(-w * (1 if j < i else s) * (i - j) ** 2) for j in range(n)]
        row = [value / sum(row) for value in row]
        whole += sum(value / 2 ** abs(i - j) for j, value in enumerate(row)) / n
        for k in range(1, min(i, n - 1 - i) + 1):
            differ += abs(row[i - k] - row[i + k])
            both += row[i - k] + row[i + k]
    return whole, 1 - differ / both


@pytest.mark.parametrize(
    ("w", "s", "n"), [(0.5, 1.0, 5), (0.5, 0.5, 5), (0.1, 0.25, 64), (0.02, 2.0, 32), (5.0, 0.0, 16)]
)
def test_curves_are_as_local_and_balanced_as_by_hand(w: float, s: float, n: int) -> None:
    found = curve_measures(w, s, n=n)
    assert (found["locality"], found["balance"]) == pytest.approx(by_hand(w, s, n), abs=1e-12)


def test_curves_of_the_specification() -> None:
    """Tables of section 5: n = 64, at s = 1 and w = .1."""
    for w, locality in ((0.001, 0.073609), (0.05, 0.338498), (1.0, 0.779537), (5.0, 0.993455)):
        assert curve_measures(w, 1.0, n=64)["locality"] == pytest.approx(locality, abs=1e-6)
    for s, locality, symmetry, balance in (
        (0.0, 0.124869, 0.148653, 0.292493),
        (0.25, 0.320369, 0.687245, 0.652935),
        (2.0, 0.474284, 0.807244, 0.792125),
    ):
        found = curve_measures(0.1, s, n=64)
        expected = {"locality": locality, "balance": balance, "symmetry": symmetry}
        assert dict(found) == pytest.approx(expected, abs=1e-6)


def test_a_causal_curve_has_locality_alone() -> None:
    n, w = 6, 0.3
    rows = [[math.exp(-w * (i - j) ** 2) for j in range(i + 1)] for i in range(n)]
    expected = sum(value / sum(row) / 2 ** (len(row) - 1 - j) / n for row in rows for j, value in enumerate(row))
    assert dict(curve_measures(w, 1.0, n=n, causal=True)) == pytest.approx({"locality": expected}, abs=1e-12)


@pytest.mark.parametrize("target", [0.1, 0.35, 0.65, 0.99])
def test_w_gives_the_locality_that_was_asked_for(target: float) -> None:
    assert curve_measures(w_for(target, n=32), 1.0, n=32)["locality"] == pytest.approx(target, abs=1e-3)


@pytest.mark.parametrize("target", [0.05, 1.0])
def test_a_locality_that_no_curve_has_is_refused(target: float) -> None:
    with pytest.raises(UserError, match=rf"no curve over 32 tokens has locality {target}; give one from 0.0898"):
        w_for(target, n=32)


@pytest.mark.parametrize("scale", SCALES.values(), ids=SCALES)
def test_every_scale_is_whole(scale) -> None:
    conditions = scale.conditions()
    assert len({condition.name for condition in conditions}) == len(conditions) and {
        condition.family for condition in conditions
    } == set(FAMILIES)
    assert decode(LocalityScale, json.loads(json.dumps(encode(scale)))) == scale and scale.seeds >= 3
    localities = [
        condition.bias_measures(scale.n)["locality"] for condition in conditions if condition.name.startswith("log w")
    ]
    assert min(localities) < 0.11 and max(localities) > 0.98
    assert {0.0, 0.25, 0.5, 2.0, 4.0} <= {condition.s for condition in conditions if condition.family == "log"}
    beside = [condition.w for condition in conditions if condition.family == "ours"]
    assert len(beside) == 2 and set(beside) <= {
        condition.w for condition in conditions if condition.family == "log" and condition.s == 1
    }
    assert {condition.encoding for condition in conditions if condition.family == "reference"} == {
        "learned",
        "sinusoidal",
        "rope",
        "alibi",
        "t5_bias",
        "deberta",
        "none",
    }


def test_what_is_symmetric_for_good_is_told_by_the_encoding() -> None:
    assert (
        curve("log", 0.5).mirrored
        and curve("raw", 0.5).mirrored
        and EncodingCondition("a", "reference", "alibi").mirrored
    )
    assert not curve("log", 0.5, 0.5).mirrored and not EncodingCondition("r", "reference", "rope").mirrored
    assert not EncodingCondition("l", "ours", "leaning", {"w": 0.5}).mirrored
    assert curve("log", 0.5, 0.5).bias_measures(8) and not EncodingCondition("r", "reference", "rope").bias_measures(8)


def test_a_bag_of_words_tells_what_words_alone_tell() -> None:
    by_word = [Example((word, "x"), label) for word, label in (("a", "yes"), ("b", "no"))] * 4
    assert bag_accuracy(LabelledDataset("q", ("no", "yes"), *[tuple(by_word)] * 3), 8) == 1.0
    assert bag_accuracy(labelled("agent", seed=0, train=40, valid=2, test=20), 32) == 0.5  # twins hold the same words
    by_order = [Example(words, label) for words, label in ((("a", "b"), "yes"), (("b", "a"), "no"))] * 4
    assert bag_accuracy(LabelledDataset("q", ("no", "yes"), *[tuple(by_order)] * 3), 8) == 0.5


def test_a_bag_of_words_is_ridge_regression() -> None:
    asked = labelled("number", seed=3, train=60, valid=2, test=40)
    known = sorted({word for one in asked.train for word in one.words})
    count = lambda part: np.array([[one.words.count(word) for word in known] for one in part], float)  # noqa: E731
    x, y = count(asked.train), np.array([one.label == asked.labels[1] for one in asked.train], float)
    # A column of ones that costs nothing, and rows that pull every other weight to 0.
    rows = np.vstack([np.c_[x, np.ones(len(x))], np.c_[np.eye(len(known)), np.zeros(len(known))]])
    weights = np.linalg.lstsq(rows, np.r_[y, np.zeros(len(known))], rcond=None)[0]
    said = np.c_[count(asked.test), np.ones(len(asked.test))] @ weights > 0.5
    right = np.mean([asked.labels[int(one)] == example.label for one, example in zip(said, asked.test, strict=True)])
    assert bag_accuracy(asked, 99) == right


def test_notes_say_how_settings_came_about() -> None:
    results = world(lambda condition, question: 0.7, seeds=range(1))
    tiny, small = (" ".join(notes_of(replace(results, scale=SCALES[name]))) for name in ("tiny", "small"))
    assert "here there is only one rate, 0.002." in tiny and "three variants" in tiny
    assert "here the best of 2 is chosen on validation sentences" in small and "three variants" not in small
    assert "a correlation is close from 0.5 on; within 2 points of chance is guessing" in tiny
