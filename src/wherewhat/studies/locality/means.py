"""From single runs to means over seeds, correlations and contrasts, as rows of the result."""

from collections.abc import Iterable, Iterator

import polars as pl

from wherewhat.stats.estimate import Estimate
from wherewhat.stats.intervals import over_seeds
from wherewhat.studies.conditions import EncodingCondition
from wherewhat.studies.finished_runs import Row
from wherewhat.studies.locality.contrasts import contrast_rows
from wherewhat.studies.locality.predictors import link_rows
from wherewhat.studies.locality.results import ALL, LocalityResults
from wherewhat.tables.schema import RESULT, frame

BY_QUESTION = ("accuracy", "frozen accuracy", "valid accuracy", "forgetting")
OF_RUN = ("word loss", "word accuracy")


def bias_rows(conditions: Iterable[EncodingCondition], n: int) -> Iterator[Row]:
    """Locality and symmetry of every curve set by hand, by itself."""
    for condition in conditions:
        for name, value in condition.bias_measures(n).items():
            yield "encoding", condition.name, "", None, None, f"bias.{name}", value, None, None


def mean_rows(results: LocalityResults) -> Iterator[Row]:
    """The mean of every condition over its seeds, with Student's interval."""
    for condition in results.conditions:
        for item in results.items:
            for measure in BY_QUESTION:
                yield "mean", condition.name, item, None, None, measure, *results.mean(condition, measure, item).numbers
            yield "mean", condition.name, item, None, None, "spread", *Estimate(results.spread(condition, item)).numbers
        for measure in OF_RUN:
            yield (
                "mean",
                condition.name,
                ALL,
                None,
                None,
                measure,
                *over_seeds(results.values([condition], measure, "")).numbers,
            )


def with_means(results: LocalityResults, baseline: Iterable[Row] = ()) -> pl.DataFrame:
    """The result table: the measurements of every run, then means, baseline, correlations and contrasts."""
    rows = [*mean_rows(results), *baseline, *link_rows(results), *contrast_rows(results)]
    return pl.concat([results.rows, frame(rows, RESULT)])
