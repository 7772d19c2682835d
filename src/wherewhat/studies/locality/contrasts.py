"""Contrasts: one set of conditions compared with another that differs in a single respect, seed by seed."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from wherewhat.stats.estimate import Estimate
from wherewhat.stats.intervals import over_seeds
from wherewhat.studies.conditions import SYMMETRIC, EncodingCondition
from wherewhat.studies.finished_runs import Row
from wherewhat.studies.locality.results import LocalityResults

Select = Callable[[LocalityResults], Sequence[EncodingCondition]]


@dataclass(frozen=True)
class Contrast:
    """Which conditions are compared with which."""

    name: str
    about: str
    first: Select
    second: Select

    def of(self, results: LocalityResults, item: str, measure: str = "accuracy") -> Estimate:
        """By how much the first exceed the second."""
        return results.gap(self.first(results), self.second(results), item, measure)


def one_sided(results: LocalityResults) -> list[EncodingCondition]:
    """Curves that are flatter after the query than before it."""
    return [condition for condition in results.of("log") if condition.s is not None and condition.s < SYMMETRIC]


def steeper_ahead(results: LocalityResults) -> list[EncodingCondition]:
    """Curves that are steeper after the query than before it."""
    return [condition for condition in results.of("log") if condition.s is not None and condition.s > SYMMETRIC]


def symmetric_at_same_w(select: Select) -> Select:
    """The symmetric curves with the same w as the selected conditions, each once."""

    def symmetric(results: LocalityResults) -> list[EncodingCondition]:
        curves = [curve for condition in select(results) for curve in results.at_same_w(condition)]
        return list({curve.name: curve for curve in curves}.values())

    return symmetric


def middle(sweep: Sequence[EncodingCondition]) -> list[EncodingCondition]:
    """All of a sweep except its two ends, so that none is selected by its result."""
    return list(sweep[1:-1])


def decoders(results: LocalityResults) -> list[EncodingCondition]:
    """Decoders with a curve, the flattest first."""
    return sorted(
        (condition for condition in results.of("decoder") if condition.w is not None),
        key=lambda condition: condition.w or 0,
    )


def _family(name: str) -> Select:
    return lambda results: results.of(name)


def _named(name: str) -> Select:
    return lambda results: results.named(name)


CONTRASTS: dict[str, Contrast] = {
    contrast.name: contrast
    for contrast in (
        Contrast(
            "middle over flat",
            "curves of middle locality compared with the flattest",
            lambda results: middle(results.symmetric),
            lambda results: results.symmetric[:1],
        ),
        Contrast(
            "middle over steep",
            "curves of middle locality compared with the steepest",
            lambda results: middle(results.symmetric),
            lambda results: results.symmetric[-1:],
        ),
        Contrast(
            "symmetric over one-sided",
            "s = 1 compared with s below 1, at the same w",
            symmetric_at_same_w(one_sided),
            one_sided,
        ),
        Contrast(
            "leaning over symmetric",
            "leaning heads with learned side weights, compared with the symmetric curve at the same w",
            _family("ours"),
            symmetric_at_same_w(_family("ours")),
        ),
        Contrast(
            "not learned over symmetric",
            "leaning heads with fixed side weights, compared with the symmetric curve at the same w",
            _family("control"),
            symmetric_at_same_w(_family("control")),
        ),
        Contrast(
            "leaning over not learned",
            "learned side weights compared with fixed ones, at the same w",
            _family("ours"),
            _family("control"),
        ),
        Contrast(
            "leaning over one-sided",
            "leaning heads with learned side weights, compared with s below 1, at the same w",
            _family("ours"),
            one_sided,
        ),
        *(
            Contrast(f"leaning over {label}", f"leaning heads compared with {about}", _family("ours"), _named(name))
            for name, label, about in (
                ("rope", "rope", "rotary positions"),
                ("deberta", "deberta", "DeBERTa's relative positions"),
                ("learned", "learned positions", "a learned table of positions"),
            )
        ),
        Contrast(
            "log over learned positions",
            "symmetric log curves of middle locality, compared with a learned table of positions",
            lambda results: middle(results.symmetric),
            _named("learned"),
        ),
        Contrast(
            "raw over learned positions",
            "curves as published, compared with a learned table of positions",
            _family("raw"),
            _named("learned"),
        ),
        Contrast("raw over none", "curves as published, compared with no position", _family("raw"), _named("none")),
        Contrast(
            "log over none",
            "symmetric log curves of middle locality, compared with no position",
            lambda results: middle(results.symmetric),
            _named("none"),
        ),
        Contrast(
            "decoder, middle over flat",
            "in decoders: curves of middle locality compared with the flattest",
            lambda results: middle(decoders(results)),
            lambda results: decoders(results)[:1],
        ),
        Contrast(
            "decoder, middle over steep",
            "in decoders: curves of middle locality compared with the steepest",
            lambda results: middle(decoders(results)),
            lambda results: decoders(results)[-1:],
        ),
        Contrast(
            "decoder, log over none",
            "in decoders: curves of middle locality compared with no encoding, where only the mask carries position",
            lambda results: middle(decoders(results)),
            _named("decoder none"),
        ),
    )
}


_SAME = "at the same locality, interpolated between symmetric curves"
FLATTER, STEEPER = (f"symmetric over {slope} ahead, same locality" for slope in ("flatter", "steeper"))
MATCHED = {FLATTER: f"s = 1 compared with s below 1, {_SAME}", STEEPER: f"s = 1 compared with s above 1, {_SAME}"}


def contrast(results: LocalityResults, name: str, item: str) -> Estimate:
    """The difference in accuracy of a contrast."""
    return CONTRASTS[name].of(results, item)


def matched(results: LocalityResults, name: str, item: str) -> Estimate:
    """By how much a symmetric curve exceeds one that is flatter or steeper ahead and equally local.

    At the same w, another s also changes the locality of a curve. So each is compared with the accuracy interpolated
    between the two symmetric curves nearest in locality, seed by seed.
    """
    sweep, sided = results.symmetric, {FLATTER: one_sided, STEEPER: steeper_ahead}[name](results)
    if len(sweep) < 2 or not sided:
        return Estimate()
    at, along = ([results.bias(condition, "locality") for condition in conditions] for conditions in (sided, sweep))
    gaps_S = []
    for seed in results.seeds:
        symmetric, other = (
            [results.value(condition.name, "accuracy", item, seed) for condition in conditions]
            for conditions in (sweep, sided)
        )
        gaps_S.append(float(np.mean(np.interp(at, along, symmetric) - np.array(other))))
    return over_seeds(gaps_S)


def contrast_rows(results: LocalityResults) -> Iterator[Row]:
    """Every contrast on every question: accuracy, and forgetting."""
    for name, contrast in CONTRASTS.items():
        for item in results.items:
            for measure in ("accuracy", "frozen accuracy", "forgetting"):
                if (gap := contrast.of(results, item, measure)).known:
                    yield "contrast", name, item, None, None, measure, *gap.numbers
    for name in MATCHED:
        for item in results.items:
            if (gap := matched(results, name, item)).known:
                yield "contrast", name, item, None, None, "accuracy", *gap.numbers
