"""What goes with quality over encodings: locality, symmetry, and each with the other held still."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from wherewhat.studies.locality.correlations import partial, pearson, slope, spearman
from wherewhat.studies.locality.estimate import Estimate
from wherewhat.studies.locality.evidence import ALL, Evidence, Row
from wherewhat.studies.locality.trials import SYMMETRIC, Trial

FORGETTING, SPREAD, WORD_LOSS = "forgetting", "spread", "word loss"
BESIDE = (FORGETTING, SPREAD, WORD_LOSS)  # what locality and symmetry may go with, beside accuracy


@dataclass(frozen=True)
class Axis:
    """Something that encodings differ in: over which of them it is looked at, and what is held still beside it."""

    name: str
    about: str
    over: Callable[[Evidence], Sequence[Trial]]
    x: Callable[[Evidence, Trial], float]
    given: Callable[[Evidence, Trial], float] | None = None


def _encoders(seen: Evidence) -> list[Trial]:
    return [trial for trial in seen.trials if trial.kind == "encoder"]


AXES: dict[str, Axis] = {
    axis.name: axis
    for axis in (
        Axis(
            "locality",
            "locality of the curve, over curves that are set by hand and logarithmic",
            lambda seen: seen.of("log"),
            lambda seen, trial: seen.bias(trial, "locality"),
            lambda seen, trial: seen.bias(trial, "balance"),
        ),
        Axis(
            "symmetric locality",
            "the same over symmetric curves alone",
            lambda seen: seen.symmetric,
            lambda seen, trial: seen.bias(trial, "locality"),
        ),
        Axis(
            "symmetry",
            "balance of the curve, over the same curves as locality",
            lambda seen: seen.of("log"),
            lambda seen, trial: seen.bias(trial, "balance"),
            lambda seen, trial: seen.bias(trial, "locality"),
        ),
        Axis(
            "attention locality",
            "locality of attention to identical words, first layer, over all encoders",
            _encoders,
            lambda seen, trial: seen.attention(trial, "locality"),
            lambda seen, trial: seen.attention(trial, "balance"),
        ),
        Axis(
            "attention symmetry",
            "balance of attention to identical words, first layer, over all encoders",
            _encoders,
            lambda seen, trial: seen.attention(trial, "balance"),
            lambda seen, trial: seen.attention(trial, "locality"),
        ),
        Axis(
            "decoder locality",
            "locality of the curve under a causal mask, over decoders with one",
            lambda seen: [trial for trial in seen.of("decoder") if trial.s == SYMMETRIC],
            lambda seen, trial: seen.bias(trial, "locality"),
        ),
    )
}


def link(seen: Evidence, axis: str, item: str, *, seed: int = 0) -> dict[str, Estimate]:
    """How an axis goes with accuracy in some questions, or with forgetting, spread or word loss.

    Correlations are over encodings, their seeds averaged first; the slope is from seed to seed.
    """
    chosen = AXES[axis]
    trials = [trial for trial in chosen.over(seen) if math.isfinite(chosen.x(seen, trial))]
    x = [chosen.x(seen, trial) for trial in trials]
    y = [quality(seen, trial, item) for trial in trials]
    found = {"pearson": pearson(x, y, seed=seed), "spearman": spearman(x, y, seed=seed)}
    if chosen.given is not None:
        found["partial"] = partial(x, y, [chosen.given(seen, trial) for trial in trials], seed=seed)
    if item not in BESIDE:
        by_trial = [seen.values([trial], "accuracy", item) for trial in trials]
        found["slope"] = slope(x, list(zip(*by_trial, strict=True)))
    return found


def quality(seen: Evidence, trial: Trial, item: str) -> float:
    """Accuracy in a question, or one of the other things that may go with an axis; the mean over seeds."""
    if item == SPREAD:
        return seen.spread(trial, ALL)
    if item == FORGETTING:
        return seen.mean(trial, FORGETTING, ALL).value
    if item == WORD_LOSS:
        return seen.mean(trial, WORD_LOSS, "").value
    return seen.mean(trial, "accuracy", item).value


def link_rows(seen: Evidence) -> Iterator[Row]:
    """Every axis with everything that it may go with."""
    for axis in AXES:
        for item in (*seen.items, *BESIDE):
            for measure, found in link(seen, axis, item).items():
                yield "link", axis, item, None, None, measure, *found.numbers
