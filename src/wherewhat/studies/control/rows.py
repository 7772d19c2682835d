"""The rows of result.parquet: one number each."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from wherewhat.editing.abilities import Ability
from wherewhat.editing.measures import Interval
from wherewhat.studies.control.choose import Chosen
from wherewhat.studies.control.claims import Outcome
from wherewhat.studies.control.compare import worse
from wherewhat.studies.control.contrast import Term, contrast, level, measured
from wherewhat.studies.control.correlate import BEHAVIOUR, MEAN, Correlations
from wherewhat.studies.control.settings import CONTROLS, EQUAL, SIDES, band
from wherewhat.studies.control.trying import Tried
from wherewhat.tables.schema import RESULT, frame

Row = tuple[str, str, str, float | None, int | None, str, float | None, float | None, float | None]


@dataclass(frozen=True)
class Findings:
    """Everything that was found out, before it is rows."""

    table: pl.DataFrame  # one row a head: scores, and shares of its norm
    chosen: Chosen
    share: float  # of the bands that are judged
    learnt: Correlations  # of the model
    unlearnt: Correlations  # of the same with weights drawn anew
    before: Ability
    tried: Sequence[Tried]
    outcomes: Sequence[Outcome]
    seed: int


def result(found: Findings) -> pl.DataFrame:
    """The table of the experiment."""
    rows = [
        *_before(found),
        *_heads(found),
        *_correlations(found),
        *_cells(found),
        *_controls(found),
        *_compared(found),
    ]
    return frame(rows, RESULT)


def _before(found: Findings) -> Iterator[Row]:
    for measure in measured(found.before):
        yield _row("before", "", "", measure, contrast([Term(1, found.before)], measure, seed=found.seed))


def _heads(found: Findings) -> Iterator[Row]:
    """Part `heads`: what each was chosen as, and what is known of it."""
    known = (*BEHAVIOUR, MEAN, "entropy", "logit_variance", *(band(side, found.share) for side in SIDES))
    for row in found.table.iter_rows(named=True):
        kind = found.chosen.kind(row["name"])
        for measure in known:
            if row.get(measure) is not None:
                yield ("heads", kind, row["name"], None, None, measure, row[measure], None, None)


def _correlations(found: Findings) -> Iterator[Row]:
    """Part `correlation`: `subject` is what a point is, `item` against what, `measure` what is correlated.

    Part `unlearnt` is the same of weights drawn anew.
    """
    for part, of in (("correlation", found.learnt), ("unlearnt", found.unlearnt)):
        for subject, lines in (("pairs", of.pairs), ("heads", of.heads)):
            yield from ((part, subject, line.x, None, None, line.y, line.rho, line.low, line.high) for line in lines)


def _cells(found: Findings) -> Iterator[Row]:
    """Part `cells`: `subject` the kind of heads, `item` what was done; measures change by so much."""
    for outcome in found.outcomes:
        for (kind, side), measures in outcome.harm.items():
            item = f"{outcome.operation} {band(side, outcome.share)}"
            yield from (_row("cells", kind, item, name, worse(harm, name)) for name, harm in measures.items())
    for one in found.tried:
        change = one.cell.change
        for measure, value in (("norm", change.norm), ("pairs", float(change.pairs))):
            yield ("cells", one.cell.kind, _item(one), None, None, measure, value, None, None)


def _controls(found: Findings) -> Iterator[Row]:
    """Parts `random bands` and `random heads`: every draw, numbered in `at` from the nearest in norm."""
    before = {measure: level(found.before, measure) for measure in measured(found.before)}
    for one in found.tried:
        for control in CONTROLS:
            draws = zip(one.cell.controls[control], one.controls[control], strict=True)
            for number, (change, ability) in enumerate(draws):
                told = {measure: level(ability, measure) - start for measure, start in before.items()}
                told |= {"norm": change.norm, "ratio": change.norm / one.cell.change.norm, "pairs": change.pairs}
                for measure, value in told.items():
                    yield (control, one.cell.kind, _item(one), float(number), found.seed, measure, value, None, None)


def _compared(found: Findings) -> Iterator[Row]:
    """Parts `above random bands`, `above random heads`: the cell's change minus that of its controls of equal norm.

    Measure `equal` is 1 where there are such controls; where there are none, all were taken.
    """
    for one in found.outcomes:
        for ((kind, side), control), measures in one.above.items():
            part, item = f"above {control}", f"{one.operation} {band(side, one.share)}"
            yield from (_row(part, kind, item, name, worse(gap, name)) for name, gap in measures.items())
            equal = float(one.standing[(kind, side), control] == EQUAL)
            yield (part, kind, item, None, None, "equal", equal, None, None)


def _item(one: Tried) -> str:
    return f"{one.operation} {band(one.cell.side, one.cell.share)}"


def _row(part: str, subject: str, item: str, measure: str, interval: Interval) -> Row:
    """An interval without end is none."""
    low, high = (end if np.isfinite(end) else None for end in (interval.low, interval.high))
    return (part, subject, item, None, None, measure, interval.value, low, high)
