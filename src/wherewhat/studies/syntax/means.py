"""From single runs to what holds over them: means, differences and links as rows of the result."""

from collections.abc import Iterable, Iterator

import polars as pl

from wherewhat.probing.dependencies.gold import ALL, SIDES
from wherewhat.studies.locality.evidence import Row
from wherewhat.studies.locality.trials import Trial
from wherewhat.studies.syntax.evidence import (
    ATTENTION,
    BIAS,
    GROUPS,
    STATES,
    TRAINED,
    UNTRAINED,
    Evidence,
    What,
)
from wherewhat.studies.syntax.halves import DISTANCES, EACH, KINDS, PARTS
from wherewhat.studies.syntax.judge_open import link
from wherewhat.tables.schema import RESULT, frame

GAPS = (("positional", "contextual"), ("positional", "offset"), ("contextual", "offset"), ("full", "offset"))
ALONE = ("rows", "distance")  # facts of the sentences, which no net has a part in


def bias_rows(trials: Iterable[Trial], n: int) -> Iterator[Row]:
    """How local every curve that is set by hand is by itself."""
    for trial in trials:
        for name, value in trial.bias_measures(n).items():
            yield "encoding", trial.name, "", None, None, f"bias.{name}", value, None, None


def with_means(seen: Evidence) -> pl.DataFrame:
    """The result: what every run measured, and after it what follows from all of them."""
    follows = [*mean_rows(seen), *gap_rows(seen), *link_rows(seen)]
    return pl.concat([seen.rows, frame(follows, RESULT)])


def told(seen: Evidence) -> list[tuple[str, int | None]]:
    """Relations, and distances of all of them together."""
    items = [*seen.relations, ALL, EACH]
    return [*((item, None) for item in items), *((EACH, at) for at in DISTANCES)]


def subjects(seen: Evidence) -> dict[str, list[Trial]]:
    """Every encoding, and every group of them."""
    groups = {name: found for name in GROUPS if (found := seen.group(name))}
    return {**{trial.name: [trial] for trial in seen.trials}, **groups}


def mean_rows(seen: Evidence) -> Iterator[Row]:
    """Every encoding and group over its seeds, with Student's interval."""
    for name, trials in subjects(seen).items():
        for item, at in told(seen):
            for what in _numbers(item, at):
                if (found := seen.mean(trials, what)).known:
                    yield f"{what.state} mean", name, item, _at(at), None, what.measure, *found.numbers


def _numbers(item: str, at: int | None) -> Iterator[What]:
    for side in SIDES:
        yield from (What(kind, item, at, side, TRAINED) for kind in (*KINDS, *ALONE))
        if item == EACH:  # untrained nets are told of with all relations together
            yield from (What(kind, item, at, side, UNTRAINED) for kind in KINDS)


def gap_rows(seen: Evidence) -> Iterator[Row]:
    """How far parts of attention are above each other and above the best fixed offset, and above untrained nets."""
    for name, trials in subjects(seen).items():
        for item, at in told(seen):
            for side in SIDES:
                for one, other in GAPS:
                    found = seen.gap(trials, What(one, item, at, side), What(other, item, at, side))
                    if found.known:
                        yield "gap", name, item, _at(at), None, f"{side}: {one} over {other}", *found.numbers
                for part in PARTS if item == EACH else ():
                    trained, fresh = (What(part, item, at, side, state) for state in STATES)
                    if (found := seen.gap(trials, trained, fresh)).known:
                        yield "gap", name, item, _at(at), None, f"{side}: {part} learnt", *found.numbers


def link_rows(seen: Evidence) -> Iterator[Row]:
    """How what is found goes with locality over encodings: of their curves, and of attention to identical words."""
    for by in (BIAS, ATTENTION):
        for at in (None, *DISTANCES):
            for part in PARTS:
                for side in SIDES:
                    what = What(part, EACH, at, side)
                    if (found := link(seen, what, by)).known:
                        yield "link", by, EACH, _at(at), None, what.measure, *found.numbers


def _at(at: int | None) -> float | None:
    return None if at is None else float(at)
