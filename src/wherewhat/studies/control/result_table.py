"""The rows of result.parquet: one number each."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from wherewhat.editing.abilities import Ability
from wherewhat.stats.estimate import Estimate
from wherewhat.studies.control.compare import BandEffects, as_harm
from wherewhat.studies.control.contrast import Term, contrast, level, measures_of
from wherewhat.studies.control.correlate import BEHAVIOUR, MEAN, Correlations
from wherewhat.studies.control.head_selection import HeadSelection
from wherewhat.studies.control.interventions import CellResult
from wherewhat.studies.control.settings import CONTROLS, EQUAL, SIDES, band
from wherewhat.tables.schema import RESULT, frame

Row = tuple[str, str, str, float | None, int | None, str, float | None, float | None, float | None]


@dataclass(frozen=True)
class ControlFindings:
    """Everything that was measured, before it is written as rows."""

    heads: pl.DataFrame  # one row per head: scores, and shares of its norm
    selection: HeadSelection
    share: float  # size of the bands that verdicts are about
    trained: Correlations  # of the model
    redrawn: Correlations  # of the same model with redrawn weights
    before: Ability
    cells: Sequence[CellResult]
    effects: Sequence[BandEffects]
    seed: int


def result_table(findings: ControlFindings) -> pl.DataFrame:
    """The table of the experiment."""
    rows = [
        *_before(findings),
        *_heads(findings),
        *_correlations(findings),
        *_cells(findings),
        *_controls(findings),
        *_excess(findings),
    ]
    return frame(rows, RESULT)


def _before(findings: ControlFindings) -> Iterator[Row]:
    for measure in measures_of(findings.before):
        yield _row("before", "", "", measure, contrast([Term(1, findings.before)], measure, seed=findings.seed))


def _heads(findings: ControlFindings) -> Iterator[Row]:
    """Part `heads`: what each head was selected as, and its scores."""
    measures = (*BEHAVIOUR, MEAN, "entropy", "logit_variance", *(band(side, findings.share) for side in SIDES))
    for row in findings.heads.iter_rows(named=True):
        kind = findings.selection.kind(row["name"])
        for measure in measures:
            if row.get(measure) is not None:
                yield ("heads", kind, row["name"], None, None, measure, row[measure], None, None)


def _correlations(findings: ControlFindings) -> Iterator[Row]:
    """Part `correlation`: `subject` is what the points are, `item` and `measure` are correlated.

    Part `unlearnt` is the same for redrawn weights.
    """
    for part, correlations in (("correlation", findings.trained), ("unlearnt", findings.redrawn)):
        for subject, lines in (("pairs", correlations.pairs), ("heads", correlations.heads)):
            yield from ((part, subject, line.x, None, None, line.y, *line.rho.numbers) for line in lines)


def _cells(findings: ControlFindings) -> Iterator[Row]:
    """Part `cells`: `subject` is the kind of heads, `item` the intervention, `value` the change of the measure."""
    for effects in findings.effects:
        for (kind, side), measures in effects.harm.items():
            item = f"{effects.operation} {band(side, effects.share)}"
            yield from (_row("cells", kind, item, name, as_harm(harm, name)) for name, harm in measures.items())
    for result in findings.cells:
        mask = result.cell.mask
        for measure, value in (("norm", mask.norm), ("pairs", float(mask.pairs))):
            yield ("cells", result.cell.kind, _item(result), None, None, measure, value, None, None)


def _controls(findings: ControlFindings) -> Iterator[Row]:
    """Parts `random bands` and `random heads`: every draw, numbered in `at` from the nearest in norm."""
    before = {measure: level(findings.before, measure) for measure in measures_of(findings.before)}
    for result in findings.cells:
        kind, item = result.cell.kind, _item(result)
        for control in CONTROLS:
            draws = zip(result.cell.controls[control], result.controls[control], strict=True)
            for number, (mask, ability) in enumerate(draws):
                values = {measure: level(ability, measure) - start for measure, start in before.items()}
                values |= {"norm": mask.norm, "ratio": mask.norm / result.cell.mask.norm, "pairs": mask.pairs}
                for measure, value in values.items():
                    yield (control, kind, item, float(number), findings.seed, measure, value, None, None)


def _excess(findings: ControlFindings) -> Iterator[Row]:
    """Parts `above random bands`, `above random heads`: the cell's change minus that of its controls of equal norm.

    Measure `equal` is 1 if there are such controls; otherwise all controls are used.
    """
    for effects in findings.effects:
        for ((kind, side), control), measures in effects.excess.items():
            part, item = f"above {control}", f"{effects.operation} {band(side, effects.share)}"
            yield from (_row(part, kind, item, name, as_harm(excess, name)) for name, excess in measures.items())
            equal = float(effects.norm_match[(kind, side), control] == EQUAL)
            yield (part, kind, item, None, None, "equal", equal, None, None)


def _item(result: CellResult) -> str:
    return f"{result.operation} {band(result.cell.side, result.cell.share)}"


def _row(part: str, subject: str, item: str, measure: str, estimate: Estimate) -> Row:
    """An infinite interval is written as none."""
    low, high = (end if np.isfinite(end) else None for end in (estimate.low, estimate.high))
    return (part, subject, item, None, None, measure, estimate.value, low, high)
