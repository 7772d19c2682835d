"""Segmentation of tokens: every measure against a count by hand, token by token."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wherewhat.attribution.evaluation.segmentation import MEASURES, average_precision, chance, segmentation

LEVELS = st.sampled_from([-1.0, -0.5, 0.0, 0.25, 0.5, 1.0])  # few, so that some scores are equal
TEXTS = st.lists(st.tuples(LEVELS, st.booleans()), min_size=2, max_size=12).filter(
    lambda text: 0 < sum(deciding for _, deciding in text) < len(text)
)


def by_hand(scores: list[float], deciding: list[bool]) -> dict[str, float]:
    """The same measures by sets, and average precision threshold by threshold."""
    tokens, mean = range(len(scores)), sum(scores) / len(scores)
    chosen, objects = {t for t in tokens if scores[t] > mean}, {t for t in tokens if deciding[t]}
    others, rest = set(tokens) - objects, set(tokens) - chosen
    iou, background = len(chosen & objects) / len(chosen | objects), len(rest & others) / len(rest | others)
    precision = len(chosen & objects) / len(chosen) if chosen else 0.0
    recall = len(chosen & objects) / len(objects)
    ap, before = 0.0, 0.0
    for threshold in sorted(set(scores), reverse=True):
        above = {t for t in tokens if scores[t] >= threshold}
        reached = len(above & objects) / len(objects)
        ap, before = ap + (reached - before) * len(above & objects) / len(above), reached
    return {
        "miou": (iou + background) / 2,
        "iou": iou,
        "accuracy": (len(chosen & objects) + len(rest & others)) / len(scores),
        "f1": 2 * precision * recall / (precision + recall) if precision + recall else 0.0,
        "ap": ap,
    }


@settings(deadline=None)
@given(TEXTS)
def test_every_measure_is_what_it_says(text: list[tuple[float, bool]]) -> None:
    scores, deciding = map(list, zip(*text, strict=True))
    ours = segmentation(np.array(scores), np.array(deciding))
    assert list(ours) == list(MEASURES)
    assert ours == pytest.approx(by_hand(scores, deciding), abs=1e-12)


@settings(deadline=None)
@given(TEXTS)
def test_average_precision_treats_equal_scores_as_one_threshold(text: list[tuple[float, bool]]) -> None:
    scores, deciding = map(np.array, zip(*text, strict=True))
    mirrored = average_precision(scores[None, ::-1], deciding[::-1])
    assert average_precision(scores[None], deciding) == pytest.approx(mirrored, abs=1e-12)


def test_scores_that_are_the_truth_are_perfect() -> None:
    deciding_N = np.array([False, True, False, True, False])
    assert set(segmentation(deciding_N.astype(float), deciding_N).values()) == {1.0}


def test_chance_is_the_mean_over_permutations() -> None:
    """Of all permutations, by hand; drawn ones come close to it."""
    from itertools import permutations

    scores, deciding = [0.9, 0.4, 0.3, -0.2, 0.1], [True, False, True, False, False]
    every = [by_hand(list(order), deciding) for order in permutations(scores)]
    expected = {name: float(np.mean([each[name] for each in every])) for name in MEASURES}
    drawn = chance(np.array(scores), np.array(deciding), np.random.default_rng(0), permutations=4000)
    errors = {name: 4 * np.std([each[name] for each in every]) / np.sqrt(4000) for name in MEASURES}
    assert all(abs(drawn[name] - expected[name]) < errors[name] for name in MEASURES)


def test_chance_does_not_depend_on_where_the_scores_stand() -> None:
    deciding_N, scores_N = np.array([True, False, False, False]), np.array([1.0, 0.2, 0.1, 0.0])
    first, second = (chance(each, deciding_N, np.random.default_rng(1)) for each in (scores_N, scores_N[::-1]))
    assert first["accuracy"] == pytest.approx(second["accuracy"], abs=0.15)
    assert first["ap"] < 0.75 and segmentation(scores_N, deciding_N)["ap"] == 1.0
