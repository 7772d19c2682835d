"""Results of row sums that say clearly yes or no to every claim, made by hand."""

from dataclasses import replace

import polars as pl

from wherewhat.studies.engine.results import ResultTable, Row, table_of
from wherewhat.studies.row_sums.names import (
    ADDED,
    ALL,
    ALONE_ERROR,
    ALONE_FOLLOWS,
    BOUND,
    ENTROPY,
    EQUAL,
    FIRST_HALF,
    FOLLOWS,
    FREE,
    LINEAR_FIT,
    LONGER,
    MIRRORED,
    MIRRORED_ERROR,
    ORDER,
    SUMS_ALONE,
    TASKS,
    UNIT_SUMS,
    name_of,
    random_fit,
)
from wherewhat.studies.row_sums.run import STUDY
from wherewhat.studies.row_sums.settings import ARMS, SCALES
from wherewhat.tasks.slots import PositionTask


def world(
    bias: float, free: float, added: float, *, spread: float = 1e-7, end: float = 0.0, rope: float = 0.06
) -> ResultTable:
    """A study in which encodings of each kind have these accuracies in both tasks."""
    rows: list[Row] = []
    scale = replace(SCALES["small"], position=PositionTask(tokens=16, n_tok=4))
    for task in TASKS:
        for name in scale.encodings:
            kind, subject = ARMS[name].kind, name_of(task, name)
            value = rope if name == "rope" else {BOUND: bias, ADDED: added}.get(kind, free)
            accuracies = {ALL: value, FIRST_HALF: value, EQUAL: 0.06 if kind == BOUND else value}
            if kind == FREE:
                accuracies |= {UNIT_SUMS: 0.06, SUMS_ALONE: free, MIRRORED: 0.4}
                near = ((FOLLOWS, 0.9), (MIRRORED_ERROR, 1.5), (ALONE_FOLLOWS, 0.96), (ALONE_ERROR, 0.4))
                for cell, number in near:
                    rows.append((cell.part, subject, "", None, 0, cell.measure, number, None, None))
                rows.append(("row sums", subject, "L0H0", None, 0, LINEAR_FIT, 0.99, None, None))
                rows.append(("row sums", subject, "L0H0", None, 0, ENTROPY, 0.98, None, None))
            if name in ("urpe over t5_bias", "sinusoidal"):
                accuracies[LONGER] = value
                rows.append((ORDER.part, subject, "", None, 0, ORDER.measure, 1.0, None, None))
            for item, share in accuracies.items():
                rows.append(("accuracy", subject, item, None, 0, "accuracy", share, share, share))
            rows.append(("constant", subject, "", None, 0, "spread", spread if kind == BOUND else 0.5, None, None))
            for measure, known in (("gap", end), ("inner", 0.0)):
                rows.append(("ends", subject, "", None, 0, measure, known, known - 0.01, known + 0.01))
    for factors in ("offset", "bucket"):
        rows.append((random_fit(factors).part, "", factors, None, None, LINEAR_FIT, 0.5, 0.1, 0.9))
    rows.append(("baseline", "", "", None, None, "accuracy", 0.2, None, None))
    table = table_of(rows, scale=scale)
    return table.extended(STUDY.summarise(table))


def changed(table: ResultTable, item: str, value: float) -> ResultTable:
    """The same table with another value for one item of every subject that has it."""
    values = pl.when(pl.col("item") == item).then(value).otherwise(pl.col("value"))
    return replace(table, rows=table.rows.with_columns(value=values))


def deviating(
    table: ResultTable,
    name: str,
    item: str,
    value: float,
    *,
    task: str = "position",
    what: str = "",
    part: str = "",
) -> ResultTable:
    """The same table with another value, and no wider interval, in one cell of one encoding."""
    here = (pl.col("subject") == name_of(task, name)) & (pl.col("item") == item)
    here &= (pl.col("measure") == what) if what else (pl.col("part") == "accuracy")
    here &= (pl.col("part") == part) if part else pl.lit(True)
    assert table.rows.filter(here).height
    ends = {end: pl.when(here).then(value).otherwise(pl.col(end)) for end in ("value", "low", "high")}
    return replace(table, rows=table.rows.with_columns(**ends))
