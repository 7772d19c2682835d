"""From single runs to means over seeds, differences and correlations, as rows of the result."""

from collections.abc import Iterable, Iterator

import polars as pl

from wherewhat.probing.dependencies.relation_rows import ALL, SIDES
from wherewhat.studies.conditions import EncodingCondition
from wherewhat.studies.finished_runs import Row
from wherewhat.studies.syntax.open_claims import link
from wherewhat.studies.syntax.results import (
    ATTENTION,
    BIAS,
    GROUPS,
    STATES,
    TRAINED,
    UNTRAINED,
    Share,
    SyntaxResults,
)
from wherewhat.studies.syntax.split_half_scores import DISTANCES, EACH, KINDS, PARTS
from wherewhat.tables.schema import RESULT, frame

GAPS = (("positional", "contextual"), ("positional", "offset"), ("contextual", "offset"), ("full", "offset"))
ALONE = ("rows", "distance")  # properties of the sentences, not of a net


def bias_rows(conditions: Iterable[EncodingCondition], n: int) -> Iterator[Row]:
    """The locality of every curve set by hand, by itself."""
    for condition in conditions:
        for name, value in condition.bias_measures(n).items():
            yield "encoding", condition.name, "", None, None, f"bias.{name}", value, None, None


def with_means(results: SyntaxResults) -> pl.DataFrame:
    """The result table: the measurements of every run, then means, differences and correlations."""
    rows = [*mean_rows(results), *gap_rows(results), *link_rows(results)]
    return pl.concat([results.rows, frame(rows, RESULT)])


def items(results: SyntaxResults) -> list[tuple[str, int | None]]:
    """Every relation at any distance, and all relations together by distance."""
    return [*((item, None) for item in (*results.relations, ALL, EACH)), *((EACH, at) for at in DISTANCES)]


def condition_groups(results: SyntaxResults) -> dict[str, list[EncodingCondition]]:
    """Every condition, and every group of them."""
    groups = {name: conditions for name in GROUPS if (conditions := results.group(name))}
    return {**{condition.name: [condition] for condition in results.conditions}, **groups}


def mean_rows(results: SyntaxResults) -> Iterator[Row]:
    """The mean of every condition and group over its seeds, with Student's interval."""
    for name, conditions in condition_groups(results).items():
        for item, at in items(results):
            for share in _numbers(item, at):
                if (mean := results.mean(conditions, share)).known:
                    yield f"{share.state} mean", name, item, _at(at), None, share.measure, *mean.numbers


def _numbers(item: str, at: int | None) -> Iterator[Share]:
    for side in SIDES:
        yield from (Share(kind, item, at, side, TRAINED) for kind in (*KINDS, *ALONE))
        if item == EACH:  # untrained nets: only all relations together
            yield from (Share(kind, item, at, side, UNTRAINED) for kind in KINDS)


def gap_rows(results: SyntaxResults) -> Iterator[Row]:
    """By how much parts of attention exceed each other, the best fixed offset, and untrained nets."""
    for name, conditions in condition_groups(results).items():
        for item, at in items(results):
            for side in SIDES:
                for above, below in GAPS:
                    gap = results.gap(conditions, Share(above, item, at, side), Share(below, item, at, side))
                    if gap.known:
                        yield "gap", name, item, _at(at), None, f"{side}: {above} over {below}", *gap.numbers
                for part in PARTS if item == EACH else ():
                    trained, untrained = (Share(part, item, at, side, state) for state in STATES)
                    if (gap := results.gap(conditions, trained, untrained)).known:
                        yield "gap", name, item, _at(at), None, f"{side}: {part} learnt", *gap.numbers


def link_rows(results: SyntaxResults) -> Iterator[Row]:
    """Correlations over encodings of shares with locality: of curves, and of attention over identical words."""
    for by in (BIAS, ATTENTION):
        for at in (None, *DISTANCES):
            for part in PARTS:
                for side in SIDES:
                    share = Share(part, EACH, at, side)
                    if (correlation := link(results, share, by)).known:
                        yield "link", by, EACH, _at(at), None, share.measure, *correlation.numbers


def _at(at: int | None) -> float | None:
    return None if at is None else float(at)
