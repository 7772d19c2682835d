"""From single runs to means over seeds, and comparisons of curves of the same locality, as rows of the result."""

from collections.abc import Iterator
from itertools import product

import polars as pl

from wherewhat.stats.intervals import over_seeds
from wherewhat.studies.finished_runs import Row
from wherewhat.studies.word_swap.answer_measures import AFTER, FLIP, FOLLOWED, SHIFT
from wherewhat.studies.word_swap.questions import NAMES, ROLES
from wherewhat.studies.word_swap.results import BAG, WordSwapResults, by_symmetry
from wherewhat.studies.word_swap.run import ROLE_SWAP, item_name
from wherewhat.tables.schema import RESULT, frame

POOLED = "learnt"  # used in place of a condition
GAPS = (AFTER, FOLLOWED, FLIP, SHIFT)


def mean_rows(results: WordSwapResults) -> Iterator[Row]:
    """The mean of every number of every condition over its seeds, with Student's interval."""
    for condition in results.conditions:
        of_trial = results.rows.filter(part="run", subject=condition.name)
        for (item, measure), rows in of_trial.group_by(["item", "measure"], maintain_order=True):
            mean = over_seeds(rows["value"].drop_nulls().to_list())
            yield "mean", condition.name, str(item), None, None, str(measure), *mean.numbers


def pooled_rows(results: WordSwapResults) -> Iterator[Row]:
    """The same over all conditions with positions in which a question was learnt."""
    for question in BAG:
        conditions = results.ordered_and_learnt(question)
        of_question = results.rows.filter(pl.col("item").str.starts_with(item_name(question, "")))
        for item, measure in of_question.select("item", "measure").unique(maintain_order=True).iter_rows():
            swap = str(item).removeprefix(item_name(question, ""))
            mean = results.mean(conditions, question, swap, str(measure))
            if mean.known:
                yield "mean", POOLED, str(item), None, None, str(measure), *mean.numbers


def gap_rows(results: WordSwapResults) -> Iterator[Row]:
    """By how much each asymmetric curve exceeds the symmetric one of its locality, by question."""
    for locality, group in results.groups:
        symmetric, others = by_symmetry(group)
        for condition, question, measure in product(others, (NAMES, ROLES), GAPS):
            above, below = (
                results.values(curves, question, (ROLE_SWAP,), measure) for curves in ([condition], symmetric)
            )
            gap = over_seeds([a - b for a, b in zip(above, below, strict=True)])
            yield "gap", condition.name, item_name(question, ROLE_SWAP), locality, None, measure, *gap.numbers


def curve_rows(results: WordSwapResults, n: int) -> Iterator[Row]:
    """Locality and symmetry of every curve by itself, over n tokens."""
    for _, group in results.groups:
        for condition in group:
            for name, value in condition.bias_measures(n).items():
                yield "encoding", condition.name, "", None, None, f"bias.{name}", value, None, None


def with_means(results: WordSwapResults, n: int) -> pl.DataFrame:
    """The result table: the measurements of every run, then means and comparisons."""
    rows = [*mean_rows(results), *pooled_rows(results), *gap_rows(results), *curve_rows(results, n)]
    return pl.concat([results.rows, frame(rows, RESULT)])
