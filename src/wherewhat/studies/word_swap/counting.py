"""What is counted of cases before and after a swap: right answers, answers that change, and where they go."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wherewhat.studies.intervals import of_mean, of_share

Floats = NDArray[np.float64]
Marks = NDArray[np.bool_]
Numbers = tuple[float, float | None, float | None]  # a value, and its interval over cases

BEFORE, AFTER, CHANGE = "before", "accuracy", "change"
CONTROL_CHANGE, BEYOND_CONTROL = "control change", "beyond control"
FLIP, CONTROL_FLIP, OLD, FOLLOWED = "flip", "control flip", "old label", "followed"
SHIFT, LARGEST, CASES = "shift", "largest", "cases"
ABOUT = {
    BEFORE: "right answers to the same cases as they are",
    AFTER: "right answers after the swap, to the label that is right then",
    CHANGE: "the latter less the former, case by case",
    CONTROL_CHANGE: "the same of a control swap of equal size, on the cases that have one",
    BEYOND_CONTROL: "right answers after the swap less those after its control",
    FLIP: "of right answers the share that changes, where the label should change if there are such cases",
    CONTROL_FLIP: "the same after the control swap",
    OLD: "the share of all cases that still get the label that was right before",
    FOLLOWED: "of right answers whose label changes, the share that becomes the new label",
    SHIFT: "how far the probabilities of the labels move (total variation, 0 to 1)",
    LARGEST: "the most that any probability moves in any case",
    CASES: "how many cases there are",
}


@dataclass(frozen=True)
class Heard:
    """What a net answered: probabilities of the labels [N, A], and the labels that are right, by number."""

    before_NA: Floats
    after_NA: Floats
    control_NA: Floats  # NaN where a case has no control
    old_N: NDArray[np.int64]
    new_N: NDArray[np.int64]  # right after the swap

    @property
    def was_right_N(self) -> Marks:
        """Which cases were answered right as they are."""
        return np.asarray(self.before_NA.argmax(1) == self.old_N)

    @property
    def controlled_N(self) -> Marks:
        """Which cases have a control."""
        return np.asarray(np.isfinite(self.control_NA[:, 0]))


def counted(heard: Heard) -> Iterator[tuple[str, Numbers]]:
    """Every measure with its interval over cases. What has no case is left out."""
    before_N, after_N = heard.before_NA.argmax(1), heard.after_NA.argmax(1)
    was_N, now_N = heard.was_right_N, after_N == heard.new_N
    yield CASES, (float(len(was_N)), None, None)
    yield BEFORE, share(was_N)
    yield AFTER, share(now_N)
    yield CHANGE, difference(now_N, was_N)
    yield OLD, share(after_N == heard.old_N)
    yield from _against_control(heard, now_N)
    changing_N = heard.old_N != heard.new_N
    told_N = was_N & changing_N if changing_N.any() else was_N
    yield from _shares(FLIP, (after_N != before_N)[told_N])
    yield from _shares(CONTROL_FLIP, (heard.control_NA.argmax(1) != before_N)[told_N & heard.controlled_N])
    yield from _shares(FOLLOWED, now_N[was_N & changing_N])
    moved_NA = np.abs(heard.after_NA - heard.before_NA)
    yield SHIFT, mean(moved_NA.sum(1) / 2)
    yield LARGEST, (float(moved_NA.max()), None, None)


def _against_control(heard: Heard, now_N: Marks) -> Iterator[tuple[str, Numbers]]:
    there_N = heard.controlled_N
    if there_N.any():
        control_N = heard.control_NA.argmax(1) == heard.old_N  # a control changes no label
        yield CONTROL_CHANGE, difference(control_N[there_N], heard.was_right_N[there_N])
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
    return value, *of_share(value, len(marks_N))


def difference(one_N: Marks, other_N: Marks) -> Numbers:
    """By how much one share lies above another, case by case; never by more than all."""
    value, low, high = mean(one_N.astype(np.float64) - other_N)
    return (value, low, high) if low is None or high is None else (value, max(-1.0, low), min(1.0, high))


def mean(value_N: Floats) -> Numbers:
    """A mean with its interval over cases; one case has none."""
    return of_mean(value_N.tolist()) if len(value_N) > 1 else (float(value_N.mean()), None, None)
