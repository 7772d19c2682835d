"""Results that say clearly yes or no to every claim, made by hand, and ways to change one thing in a result."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import polars as pl

from wherewhat.studies.dynamics.settings import SCALES, DynamicsScale
from wherewhat.studies.dynamics.summary import summary_rows
from wherewhat.studies.engine.results import ResultTable, Row, table_of

SCALE = replace(SCALES["tiny"], steps=400, every=100)
STEPS = range(0, SCALE.steps + 1, SCALE.every)
Scored = Callable[[str, int, int], tuple[float, float]]  # of task, layer, step: both published scores


def as_published(task: str, layer: int, step: int) -> tuple[float, float]:
    """Flat at first, then pure: place in the first layer of the number task, content everywhere else."""
    if step == 0:
        return 0.99, 0.99
    where = task == "number" and layer < 1
    far, near = 1 - 0.1 * step / SCALE.steps, 0.2 - 0.15 * step / SCALE.steps
    return (0.9 + 0.1 * far, near) if where else (near, 0.9 + 0.1 * far)


def the_other_way(task: str, layer: int, step: int) -> tuple[float, float]:
    """Never flat, less and less pure until the last look, and with the kinds exchanged."""
    where = task == "letter" or layer >= 2
    near = 0.09 if step == SCALE.steps else 0.2 * step / SCALE.steps
    return (1.0, near) if where else (near, 1.0)


def world(scored: Scored, *, published: bool, seeds: int = 2, scale: DynamicsScale = SCALE) -> ResultTable:
    """A whole result in which every claim holds, or none."""
    rows: list[Row] = []
    for seed in range(seeds):
        for task in ("number", "letter"):
            rows += [*_accuracy(task, seed, published), *_heads(task, seed, scored, scale)]
            rows += [*_lengths(task, seed, published), *_gaps(task, seed, published)]
    return summarised(rows, scale)


def summarised(rows: list[Row], scale: DynamicsScale = SCALE) -> ResultTable:
    """The rows of runs with everything that follows from them, as a study has it."""
    table = table_of(rows, scale=scale)
    return table.extended(summary_rows(table))


def _accuracy(task: str, seed: int, published: bool) -> list[Row]:
    slow = (task == "number") == published  # the task whose second hop takes longer
    rows: list[Row] = []
    for step in STEPS:
        one = min(1.0, (step + 20 * seed) / 100)
        two = min(1.0, step / 300) if slow else one
        hops = {"1 hop": one, "2 hops": two} if published else {"1 hop": two, "2 hops": one}
        values = {**hops, "all": (one + two) / 2}
        rows += [("accuracy", task, item, step, seed, "accuracy", v, None, None) for item, v in values.items()]
    return rows


def _heads(task: str, seed: int, scored: Scored, scale: DynamicsScale) -> list[Row]:
    rows: list[Row] = []
    for step in STEPS:
        for layer in range(scale.layers):
            where, what = scored(task, layer, step)
            scores = {"positional": where, "symbolic": what, "position_share": 1 - what, "symbol_share": 1 - where}
            scores |= {"entropy": 0.99 if step == 0 else 0.4, "mean_frequency": 1.0 if where > what else 21.0}
            if scored is the_other_way:
                scores["mean_frequency"] = 31 - scores["mean_frequency"]
            head = f"L{layer}H0"
            rows += [("heads", task, head, step, seed, score, value, None, None) for score, value in scores.items()]
    return rows


def _lengths(task: str, seed: int, published: bool) -> list[Row]:
    keeps = (task == "letter") == published
    points = [(9, 1.0), (32, 0.95 if keeps else 0.4), (200, 0.9 if keeps else 0.1)]
    return [("length", task, "all", length, seed, "accuracy", value, None, None) for length, value in points]


def _gaps(task: str, seed: int, published: bool) -> list[Row]:
    keeps = (task == "letter") == published  # the other way round the lead shrinks in the letter task, not in both
    points = [(9, 0.3), (200, (0.25 if keeps else 0.01) + 0.01 * seed)]
    head = f"L{seed}H0"
    return [("gap", task, head, length, seed, "gap", value, None, None) for length, value in points]


def changed(results: ResultTable, part: str, value: pl.Expr, **where: Any) -> ResultTable:
    """The same result with another value in some rows; `where` names the columns and what may stand in them."""
    those = pl.col("part") == part
    for column, allowed in where.items():
        those &= pl.col(column).is_in(allowed if isinstance(allowed, list) else [allowed])
    return replace(results, rows=results.rows.with_columns(value=pl.when(those).then(value).otherwise(pl.col("value"))))


def rows_of(result: pl.DataFrame, part: str, **where: object) -> pl.DataFrame:
    """Some rows of a result."""
    rows = result.filter(pl.col("part") == part)
    for column, value in where.items():
        rows = rows.filter(pl.col(column).is_null() if value is None else pl.col(column) == value)
    return rows
