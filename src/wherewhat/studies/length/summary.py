"""Rows that follow from those of the runs: means over seeds, which tasks were learnt, and mean reciprocal ranks."""

from collections.abc import Iterator, Sequence
from statistics import fmean
from typing import NamedTuple

import numpy as np

from wherewhat.published.length import GROUPS, ORDER
from wherewhat.stats.bootstrap import named_draws, ranked_interval
from wherewhat.stats.ranks import reciprocal_ranks
from wherewhat.studies.engine.lengths import mean_rows
from wherewhat.studies.engine.results import ResultTable, Row
from wherewhat.studies.length.names import ALL, EASIER, LEARNT, PUBLISHED, TEST, TRAIN, name_of

FEWEST = 4  # encodings that have to learn a task for it to be ranked (all, where there are fewer)
TIES = {"mrr": "average", "mrr first": "first"}


class Query(NamedTuple):
    """What encodings are ranked by: their accuracies on the longer inputs of one task, from one seed."""

    task: str
    seed: int
    scores: dict[str, float]  # by encoding


def summary_rows(table: ResultTable) -> list[Row]:
    """Means over seeds, tasks that were learnt, and ranks."""
    return [*mean_rows(table.rows.rows()), *learnt_rows(table), *rank_rows(table)]


def is_learnt(task: str, accuracy: float) -> bool:
    """Whether this accuracy at training lengths counts as learnt.

    >>> is_learnt("copy_repeat", 0.8), is_learnt("lego", 0.8)
    (False, True)
    """
    return accuracy >= EASIER.get(task, LEARNT)


def learners(table: ResultTable, task: str, seed: int) -> list[str]:
    """The encodings with which a task was learnt from this seed."""
    scale = table.scale
    return [each for each in scale.encodings if is_learnt(task, table.value(name_of(task, each), TRAIN, seed))]


def learnt_rows(table: ResultTable) -> Iterator[Row]:
    """How many encodings learnt each task."""
    for task in table.scale.tasks:
        for seed in table.seeds:
            yield "learnt", task, "", None, seed, "encodings", float(len(learners(table, task, seed))), None, None


def queries(table: ResultTable) -> list[Query]:
    """The tasks and seeds that are ranked: those that enough encodings have learnt."""
    encodings = table.scale.encodings
    enough = min(FEWEST, len(encodings))
    return [
        Query(task, seed, {each: table.value(name_of(task, each), TEST, seed) for each in encodings})
        for task in table.scale.tasks
        for seed in table.seeds
        if len(learners(table, task, seed)) >= enough
    ]


def rank_rows(table: ResultTable) -> Iterator[Row]:
    """Mean reciprocal ranks and mean accuracies, over all tasks, by group, and among the published encodings."""
    ranked = queries(table)
    views = {
        ALL: ranked,
        **{name: [query for query in ranked if query.task in tasks] for name, tasks in GROUPS.items()},
    }
    if set(ORDER) <= set(table.scale.encodings):
        views[PUBLISHED] = [query._replace(scores={each: query.scores[each] for each in ORDER}) for query in ranked]
    for view, of_view in views.items():
        if of_view:
            yield from _ranked(view, of_view)


def _ranked(view: str, ranked: Sequence[Query]) -> Iterator[Row]:
    for measure, ties in TIES.items():
        by_query = [reciprocal_ranks(list(query.scores.values()), ties=ties) for query in ranked]
        for encoding, column in zip(ranked[0].scores, np.transpose(by_query), strict=True):
            yield "rank", encoding, view, None, None, measure, *block_mean(ranked, column.tolist())
    for encoding in ranked[0].scores:
        values = [query.scores[encoding] for query in ranked]
        yield "rank", encoding, view, None, None, "mean accuracy", *block_mean(ranked, values)


def block_mean(ranked: Sequence[Query], values: Sequence[float]) -> tuple[float, float | None, float | None]:
    """The mean over queries, with an interval by resampling whole tasks; a single task has none."""
    tasks = list(dict.fromkeys(query.task for query in ranked))
    value = fmean(values)
    if len(tasks) < 2:
        return value, None, None
    sums = np.array([sum(v for query, v in zip(ranked, values, strict=True) if query.task == task) for task in tasks])
    sizes = np.array([sum(query.task == task for query in ranked) for task in tasks], dtype=float)
    count_BT = named_draws(0, "length", len(tasks))
    return value, *ranked_interval(count_BT @ sums / (count_BT @ sizes))
