"""How accuracy depends on properties of an encoding: locality, symmetry, and each controlled for the other."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from wherewhat.stats.correlation import partial, pearson, slope, spearman
from wherewhat.stats.estimate import Estimate
from wherewhat.studies.conditions import SYMMETRIC, EncodingCondition
from wherewhat.studies.finished_runs import Row
from wherewhat.studies.locality.results import ALL, LocalityResults

FORGETTING, SPREAD, WORD_LOSS = "forgetting", "spread", "word loss"
OTHER_OUTCOMES = (FORGETTING, SPREAD, WORD_LOSS)  # what may depend on locality and symmetry, besides accuracy


@dataclass(frozen=True)
class Predictor:
    """A property of encodings: over which conditions it is analysed, and which property is controlled for."""

    name: str
    about: str
    conditions: Callable[[LocalityResults], Sequence[EncodingCondition]]
    x: Callable[[LocalityResults, EncodingCondition], float]
    control: Callable[[LocalityResults, EncodingCondition], float] | None = None


def _encoders(results: LocalityResults) -> list[EncodingCondition]:
    return [condition for condition in results.conditions if condition.kind == "encoder"]


PREDICTORS: dict[str, Predictor] = {
    predictor.name: predictor
    for predictor in (
        Predictor(
            "locality",
            "locality of the curve, over log curves set by hand",
            lambda results: results.of("log"),
            lambda results, condition: results.bias(condition, "locality"),
            lambda results, condition: results.bias(condition, "balance"),
        ),
        Predictor(
            "symmetric locality",
            "the same over symmetric curves only",
            lambda results: results.symmetric,
            lambda results, condition: results.bias(condition, "locality"),
        ),
        Predictor(
            "symmetry",
            "balance of the curve, over the same curves as locality",
            lambda results: results.of("log"),
            lambda results, condition: results.bias(condition, "balance"),
            lambda results, condition: results.bias(condition, "locality"),
        ),
        Predictor(
            "attention locality",
            "locality of attention over identical words, first layer, all encoders",
            _encoders,
            lambda results, condition: results.attention(condition, "locality"),
            lambda results, condition: results.attention(condition, "balance"),
        ),
        Predictor(
            "attention symmetry",
            "balance of attention over identical words, first layer, all encoders",
            _encoders,
            lambda results, condition: results.attention(condition, "balance"),
            lambda results, condition: results.attention(condition, "locality"),
        ),
        Predictor(
            "decoder locality",
            "locality of the curve under a causal mask, over decoders with a curve",
            lambda results: [condition for condition in results.of("decoder") if condition.s == SYMMETRIC],
            lambda results, condition: results.bias(condition, "locality"),
        ),
    )
}


def link(results: LocalityResults, name: str, item: str, *, seed: int = 0) -> dict[str, Estimate]:
    """How a predictor correlates with accuracy on some questions, or with forgetting, spread or word loss.

    Correlations are over conditions, whose seeds are averaged first; the slope has one value per seed.
    """
    predictor = PREDICTORS[name]
    conditions = [
        condition for condition in predictor.conditions(results) if math.isfinite(predictor.x(results, condition))
    ]
    x = [predictor.x(results, condition) for condition in conditions]
    y = [outcome(results, condition, item) for condition in conditions]
    estimates = {"pearson": pearson(x, y, seed=seed), "spearman": spearman(x, y, seed=seed)}
    if predictor.control is not None:
        controls = [predictor.control(results, condition) for condition in conditions]
        estimates["partial"] = partial(x, y, controls, seed=seed)
    if item not in OTHER_OUTCOMES:
        by_trial = [results.values([condition], "accuracy", item) for condition in conditions]
        estimates["slope"] = slope(x, list(zip(*by_trial, strict=True)))
    return estimates


def outcome(results: LocalityResults, condition: EncodingCondition, item: str) -> float:
    """Accuracy on a question, or one of the other outcomes; the mean over seeds."""
    if item == SPREAD:
        return results.spread(condition, ALL)
    if item == FORGETTING:
        return results.mean(condition, FORGETTING, ALL).value
    if item == WORD_LOSS:
        return results.mean(condition, WORD_LOSS, "").value
    return results.mean(condition, "accuracy", item).value


def link_rows(results: LocalityResults) -> Iterator[Row]:
    """Every predictor with every outcome."""
    for name in PREDICTORS:
        for item in (*results.items, *OTHER_OUTCOMES):
            for measure, estimate in link(results, name, item).items():
                yield "link", name, item, None, None, measure, *estimate.numbers
