"""From single runs to what holds over them: means, links and contrasts as rows of the result."""

from collections.abc import Iterable, Iterator

import polars as pl

from wherewhat.studies.locality.contrasts import contrast_rows
from wherewhat.studies.locality.estimate import Estimate, over_seeds
from wherewhat.studies.locality.evidence import ALL, Evidence, Row
from wherewhat.studies.locality.links import link_rows
from wherewhat.studies.locality.trials import Trial
from wherewhat.tables.schema import RESULT, frame

BY_QUESTION = ("accuracy", "frozen accuracy", "valid accuracy", "forgetting")
OF_RUN = ("word loss", "word accuracy")


def bias_rows(trials: Iterable[Trial], n: int) -> Iterator[Row]:
    """How local and symmetric every curve that is set by hand is by itself."""
    for trial in trials:
        for name, value in trial.bias_measures(n).items():
            yield "encoding", trial.name, "", None, None, f"bias.{name}", value, None, None


def mean_rows(seen: Evidence) -> Iterator[Row]:
    """Every encoding over its seeds, with Student's interval."""
    for trial in seen.trials:
        for item in seen.items:
            for measure in BY_QUESTION:
                yield "mean", trial.name, item, None, None, measure, *seen.mean(trial, measure, item).numbers
            yield "mean", trial.name, item, None, None, "spread", *Estimate(seen.spread(trial, item)).numbers
        for measure in OF_RUN:
            yield "mean", trial.name, ALL, None, None, measure, *over_seeds(seen.values([trial], measure, "")).numbers


def with_means(seen: Evidence, beside: Iterable[Row] = ()) -> pl.DataFrame:
    """The result: what every run measured, and after it what follows from all of them, and what stands beside."""
    follows = [*mean_rows(seen), *beside, *link_rows(seen), *contrast_rows(seen)]
    return pl.concat([seen.rows, frame(follows, RESULT)])
