"""Measures of answers before and after a swap: accuracy, changed answers, and what they change to."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wherewhat.stats.intervals import student, wilson

Floats = NDArray[np.float64]
Marks = NDArray[np.bool_]
Numbers = tuple[float, float | None, float | None]  # a value, and its interval over examples

BEFORE, AFTER, CHANGE = "before", "accuracy", "change"
CONTROL_CHANGE, BEYOND_CONTROL = "control change", "beyond control"
FLIP, CONTROL_FLIP, OLD, FOLLOWED = "flip", "control flip", "old label", "followed"
SHIFT, LARGEST, CASES = "shift", "largest", "cases"
ABOUT = {
    BEFORE: "accuracy on the same examples before the swap",
    AFTER: "accuracy after the swap, on the label that is right then",
    CHANGE: "accuracy after minus before the swap, example by example",
    CONTROL_CHANGE: "the same for a control swap of equal size, on the examples that have one",
    BEYOND_CONTROL: "accuracy after the swap minus accuracy after its control",
    FLIP: "the share of right answers that change, among examples whose label changes if there are any",
    CONTROL_FLIP: "the same after the control swap",
    OLD: "the share of all examples that still get the label that was right before",
    FOLLOWED: "the share of right answers that become the new label, among examples whose label changes",
    SHIFT: "how far the probabilities of the labels move (total variation, 0 to 1)",
    LARGEST: "the largest change of any probability in any example",
    CASES: "the number of examples",
}


@dataclass(frozen=True)
class AnswersUnderSwap:
    """The answers of a net to N examples: probabilities of the A labels, and the right labels by index."""

    before_NA: Floats
    after_NA: Floats
    control_NA: Floats  # NaN if an example has no control
    old_N: NDArray[np.int64]
    new_N: NDArray[np.int64]  # right after the swap

    @property
    def was_right_N(self) -> Marks:
        """Which examples were answered right before the swap."""
        return np.asarray(self.before_NA.argmax(1) == self.old_N)

    @property
    def controlled_N(self) -> Marks:
        """Which examples have a control."""
        return np.asarray(np.isfinite(self.control_NA[:, 0]))


def answer_measures(answers: AnswersUnderSwap) -> Iterator[tuple[str, Numbers]]:
    """Every measure with its interval over examples. Measures without examples are left out."""
    before_N, after_N = answers.before_NA.argmax(1), answers.after_NA.argmax(1)
    was_N, now_N = answers.was_right_N, after_N == answers.new_N
    yield CASES, (float(len(was_N)), None, None)
    yield BEFORE, share(was_N)
    yield AFTER, share(now_N)
    yield CHANGE, difference(now_N, was_N)
    yield OLD, share(after_N == answers.old_N)
    yield from _against_control(answers, now_N)
    changing_N = answers.old_N != answers.new_N
    counted_N = was_N & changing_N if changing_N.any() else was_N
    yield from _shares(FLIP, (after_N != before_N)[counted_N])
    yield from _shares(CONTROL_FLIP, (answers.control_NA.argmax(1) != before_N)[counted_N & answers.controlled_N])
    yield from _shares(FOLLOWED, now_N[was_N & changing_N])
    moved_NA = np.abs(answers.after_NA - answers.before_NA)
    yield SHIFT, mean(moved_NA.sum(1) / 2)
    yield LARGEST, (float(moved_NA.max()), None, None)


def _against_control(answers: AnswersUnderSwap, now_N: Marks) -> Iterator[tuple[str, Numbers]]:
    there_N = answers.controlled_N
    if there_N.any():
        control_N = answers.control_NA.argmax(1) == answers.old_N  # a control changes no label
        yield CONTROL_CHANGE, difference(control_N[there_N], answers.was_right_N[there_N])
        yield BEYOND_CONTROL, difference(now_N[there_N], control_N[there_N])


def _shares(measure: str, marks_N: Marks) -> Iterator[tuple[str, Numbers]]:
    if marks_N.size:
        yield measure, share(marks_N)


def share(marks_N: Marks) -> Numbers:
    """A share with its interval (Wilson's).

    >>> share(np.array([True, True, False, True]))[0]
    0.75
    """
    value = float(marks_N.mean())
    return value, *wilson(value, len(marks_N))


def difference(above_N: Marks, below_N: Marks) -> Numbers:
    """By how much one share exceeds another, example by example; the interval stays within −1 to 1."""
    value, low, high = mean(above_N.astype(np.float64) - below_N)
    return (value, low, high) if low is None or high is None else (value, max(-1.0, low), min(1.0, high))


def mean(value_N: Floats) -> Numbers:
    """A mean with its interval over examples; a single example has none."""
    return student(value_N.tolist()) if len(value_N) > 1 else (float(value_N.mean()), None, None)
