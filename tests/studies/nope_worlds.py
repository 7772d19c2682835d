"""Results of nets with and without positions that say clearly yes or no to every claim, made by hand."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import polars as pl

from wherewhat.studies.engine.results import Cell, ResultTable, Row, table_of
from wherewhat.studies.nope.results import (
    AGAIN,
    ALIBI,
    APE,
    ARMS,
    FAR,
    INVERSE,
    LONGER,
    NEAR,
    NOPE,
    PLACE,
    QUARTER,
    RELEASED,
    ROPE,
    T5,
    TRAINED,
    TRUE,
    UNIFORM,
    divergence,
    entropy,
    exact,
    explained,
    looked,
    shared_start,
)
from wherewhat.studies.nope.settings import SCALES, NopeTask
from wherewhat.studies.nope.summary import mean_rows

SCALE = SCALES["tiny"]
LENGTHS = (2, 3, 4, 5)  # two that are trained on, and two longer ones
APART = {AGAIN: 0.1, T5: 0.1, ALIBI: 0.2, APE: 0.3, QUARTER: 0.4, ROPE: 0.5}  # as published, in its order
APART_OTHERWISE = {AGAIN: 0.4, T5: 0.6, ALIBI: 0.3, APE: 0.2, QUARTER: 0.12, ROPE: 0.1}
MASSES = {
    NOPE: (0.6, 0.2),
    AGAIN: (0.6, 0.2),
    T5: (0.6, 0.2),
    ALIBI: (0.85, 0.03),
    QUARTER: (0.2, 0.2),
    APE: (0.2, 0.1),
}
MASSES_OTHERWISE = {
    NOPE: (0.6, 0.1),
    AGAIN: (0.6, 0.1),
    T5: (0.1, 0.2),
    ALIBI: (0.5, 0.3),
    QUARTER: (0.5, 0.3),
    APE: (0.6, 0.2),
}
CHANCE = (0.15, 0.15)


def world(*, published: bool, seeds: int = 3) -> ResultTable:
    """A whole result in which every claim holds, or none."""
    tasks = [NopeTask(name) for name in SCALE.tasks]
    rows = [row for task in tasks for seed in range(seeds) for row in run_rows(task.name, seed, published)]
    table = table_of(rows, tasks, SCALE)
    return table.extended(mean_rows(table))


def run_rows(task: str, seed: int, published: bool) -> list[Row]:
    """The rows of a run."""
    rows: list[Row] = []

    def add(cell: Cell, value: float) -> None:
        rows.append((cell.part, task, cell.item, cell.at, seed, cell.measure, value + 0.001 * seed, None, None))

    for arm in ARMS:
        add(exact(arm), 0.99)
        for length in LENGTHS:
            add(Cell("accuracy", "exact", arm, float(length)), 0.9)
            add(Cell("entropy", "entropy", arm, float(length)), 0.7)
        for lengths in ("all", TRAINED, LONGER):
            add(entropy(arm, lengths), 0.7)
            near, far = (MASSES if published else MASSES_OTHERWISE).get(arm, (0.3, 0.2))
            for side, share in ((NEAR, near), (FAR, far)):
                add(looked(arm, side, lengths), share)
            _bins(add, arm, lengths, near, far)
        _places(add, arm, published)
        if arm != NOPE:
            _divergences(add, arm, published)
    for lengths in ("all", TRAINED, LONGER):
        for side, share in zip((NEAR, FAR), CHANCE, strict=True):
            add(looked(UNIFORM, side, lengths), share)
        _bins(add, UNIFORM, lengths, *CHANCE)
    return rows


def _bins(add: Any, arm: str, lengths: str, near: float, far: float) -> None:
    for number in range(21):
        share = near / 3 if number <= 2 else far / 4 if number >= 17 else (1 - near - far) / 14
        add(Cell("distance", lengths, arm, number / 20), share)


def _places(add: Any, arm: str, published: bool) -> None:
    for block in range(SCALE.net.layers + 1):
        known = block > 0
        values: Mapping[tuple[str, str], float] = {
            (PLACE, TRAINED): 0.6 if known and published else 0.3 if published else 0.25 + 0.01 * block,
            (PLACE, LONGER): 0.1 if published else 0.3,
            (INVERSE, TRAINED): 0.8 if published else 0.2,
            (INVERSE, LONGER): 0.5 if published else -0.5,
        }
        for (target, lengths), value in values.items():
            add(explained(target, lengths, block, arm), value)
            add(explained(target, lengths, block, arm, shuffled=True), -0.01)
        for place in range(1, 9):
            add(Cell("predicted", f"block {block}", arm, float(place)), float(min(place, 5)))


def _divergences(add: Any, arm: str, published: bool) -> None:
    apart = (APART if published else APART_OTHERWISE)[arm]
    for kind, times in ((TRUE, 1.0), (RELEASED, 2.0)):
        for length in LENGTHS:
            add(Cell("divergence", kind, arm, float(length)), times * apart * length / 4)
        for lengths in ("all", TRAINED, LONGER):
            add(divergence(arm, kind, lengths), times * apart)
            if arm != AGAIN:
                add(shared_start(arm, kind, lengths), times * (0.02 if published else 0.7))


def changed(results: ResultTable, cell: Cell, value: float, **where: Any) -> ResultTable:
    """The same result with another value of one number; `where` are other columns and what may stand in them."""
    those = (pl.col("part") == cell.part) & (pl.col("item") == cell.item) & (pl.col("measure") == cell.measure)
    those &= pl.col("at").is_null() if cell.at is None else pl.col("at") == cell.at
    for column, allowed in where.items():
        those &= pl.col(column).is_in(allowed if isinstance(allowed, list) else [allowed])
    rows = results.rows.with_columns(value=pl.when(those).then(value).otherwise(pl.col("value")))
    return replace(results, rows=rows)
