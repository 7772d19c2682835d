"""One set of encodings against another that differs in a single thing, seed by seed."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from wherewhat.studies.locality.estimate import Estimate, over_seeds
from wherewhat.studies.locality.evidence import Evidence, Row
from wherewhat.studies.locality.trials import SYMMETRIC, Trial

Choose = Callable[[Evidence], Sequence[Trial]]


@dataclass(frozen=True)
class Contrast:
    """Which encodings are set against which."""

    name: str
    about: str
    ones: Choose
    others: Choose

    def of(self, seen: Evidence, item: str, measure: str = "accuracy") -> Estimate:
        """By how much the first are above the second."""
        return seen.gap(self.ones(seen), self.others(seen), item, measure)


def one_sided(seen: Evidence) -> list[Trial]:
    """Curves that are flatter on the side from the query on."""
    return [trial for trial in seen.of("log") if trial.s is not None and trial.s < SYMMETRIC]


def steeper_ahead(seen: Evidence) -> list[Trial]:
    """Curves that are steeper on the side from the query on."""
    return [trial for trial in seen.of("log") if trial.s is not None and trial.s > SYMMETRIC]


def beside(choose: Choose) -> Choose:
    """The symmetric curves at the same w as some others, each once."""

    def find(seen: Evidence) -> list[Trial]:
        found = [twin for trial in choose(seen) for twin in seen.at_same_w(trial)]
        return list({twin.name: twin for twin in found}.values())

    return find


def middle(sweep: Sequence[Trial]) -> list[Trial]:
    """All of a sweep but its two ends, so that none is picked for its result."""
    return list(sweep[1:-1])


def decoders(seen: Evidence) -> list[Trial]:
    """Decoders with a curve, the flattest first."""
    return sorted((trial for trial in seen.of("decoder") if trial.w is not None), key=lambda trial: trial.w or 0)


def _family(name: str) -> Choose:
    return lambda seen: seen.of(name)


def _named(name: str) -> Choose:
    return lambda seen: seen.named(name)


CONTRASTS: dict[str, Contrast] = {
    one.name: one
    for one in (
        Contrast(
            "middle over flat",
            "curves of middle locality against the flattest",
            lambda seen: middle(seen.symmetric),
            lambda seen: seen.symmetric[:1],
        ),
        Contrast(
            "middle over steep",
            "curves of middle locality against the steepest",
            lambda seen: middle(seen.symmetric),
            lambda seen: seen.symmetric[-1:],
        ),
        Contrast("symmetric over one-sided", "s = 1 against s below 1, at the same w", beside(one_sided), one_sided),
        Contrast(
            "leaning over symmetric",
            "heads that lean, side weights learned, against the symmetric curve at the same w",
            _family("ours"),
            beside(_family("ours")),
        ),
        Contrast(
            "not learned over symmetric",
            "heads that lean, side weights left as they start, against the symmetric curve at the same w",
            _family("control"),
            beside(_family("control")),
        ),
        Contrast(
            "leaning over not learned",
            "side weights that are learned against those left as they start, at the same w",
            _family("ours"),
            _family("control"),
        ),
        Contrast(
            "leaning over one-sided",
            "heads that lean, side weights learned, against s below 1, at the same w",
            _family("ours"),
            one_sided,
        ),
        *(
            Contrast(f"leaning over {told}", f"heads that lean against {about}", _family("ours"), _named(name))
            for name, told, about in (
                ("rope", "rope", "rotated positions"),
                ("deberta", "deberta", "DeBERTa's relative positions"),
                ("learned", "learned positions", "a learned table of positions"),
            )
        ),
        Contrast(
            "log over learned positions",
            "symmetric curves of middle locality, logarithmic, against a learned table of positions",
            lambda seen: middle(seen.symmetric),
            _named("learned"),
        ),
        Contrast(
            "raw over learned positions",
            "curves as published against a learned table of positions",
            _family("raw"),
            _named("learned"),
        ),
        Contrast("raw over none", "curves as published against no position at all", _family("raw"), _named("none")),
        Contrast(
            "log over none",
            "symmetric curves of middle locality, logarithmic, against no position at all",
            lambda seen: middle(seen.symmetric),
            _named("none"),
        ),
        Contrast(
            "decoder, middle over flat",
            "in decoders: curves of middle locality against the flattest",
            lambda seen: middle(decoders(seen)),
            lambda seen: decoders(seen)[:1],
        ),
        Contrast(
            "decoder, middle over steep",
            "in decoders: curves of middle locality against the steepest",
            lambda seen: middle(decoders(seen)),
            lambda seen: decoders(seen)[-1:],
        ),
        Contrast(
            "decoder, log over none",
            "in decoders: curves of middle locality against none, where the mask alone tells of position",
            lambda seen: middle(decoders(seen)),
            _named("decoder none"),
        ),
    )
}


_SAME = "at the locality that these have; between two symmetric curves along a line"
FLATTER, STEEPER = (f"symmetric over {one} ahead, same locality" for one in ("flatter", "steeper"))
MATCHED = {FLATTER: f"s = 1 against s below 1, {_SAME}", STEEPER: f"s = 1 against s above 1, {_SAME}"}


def contrast(seen: Evidence, name: str, item: str) -> Estimate:
    """By how much accuracy differs."""
    return CONTRASTS[name].of(seen, item)


def matched(seen: Evidence, name: str, item: str) -> Estimate:
    """By how much a symmetric curve lies above one that is flatter or steeper ahead, were it as local.

    At the same w, another s also makes a curve more local or less. So each is set against what the symmetric ones next
    to it in locality would give, seed by seed.
    """
    sweep, sided = seen.symmetric, {FLATTER: one_sided, STEEPER: steeper_ahead}[name](seen)
    if len(sweep) < 2 or not sided:
        return Estimate()
    at, along = ([seen.bias(trial, "locality") for trial in trials] for trials in (sided, sweep))
    gaps_S = []
    for seed in seen.seeds:
        ours, theirs = ([seen.value(one.name, "accuracy", item, seed) for one in trials] for trials in (sweep, sided))
        gaps_S.append(float(np.mean(np.interp(at, along, ours) - np.array(theirs))))
    return over_seeds(gaps_S)


def contrast_rows(seen: Evidence) -> Iterator[Row]:
    """Every contrast in every question, and of what is forgotten."""
    for name, one in CONTRASTS.items():
        for item in seen.items:
            for measure in ("accuracy", "frozen accuracy", "forgetting"):
                if (found := one.of(seen, item, measure)).known:
                    yield "contrast", name, item, None, None, measure, *found.numbers
    for name in MATCHED:
        for item in seen.items:
            if (found := matched(seen, name, item)).known:
                yield "contrast", name, item, None, None, "accuracy", *found.numbers
