"""From single runs to what holds over them: means over seeds, and curves of one locality held against each other."""

from collections.abc import Iterator
from itertools import product

import polars as pl

from wherewhat.studies.locality.estimate import over_seeds
from wherewhat.studies.locality.evidence import Row
from wherewhat.studies.word_swap.counting import AFTER, FLIP, FOLLOWED, SHIFT
from wherewhat.studies.word_swap.evidence import BAG, Evidence, sided
from wherewhat.studies.word_swap.judge_published import able
from wherewhat.studies.word_swap.one_run import EXCHANGE, item_name
from wherewhat.studies.word_swap.questions import NAMES, ROLES
from wherewhat.tables.schema import RESULT, frame

POOLED = "learnt"  # stands in the place of an encoding
GAPS = (AFTER, FOLLOWED, FLIP, SHIFT)


def mean_rows(seen: Evidence) -> Iterator[Row]:
    """Every number of every encoding over its seeds, with Student's interval."""
    for trial in seen.trials:
        of_trial = seen.rows.filter(part="run", subject=trial.name)
        for (item, measure), rows in of_trial.group_by(["item", "measure"], maintain_order=True):
            found = over_seeds(rows["value"].drop_nulls().to_list())
            yield "mean", trial.name, str(item), None, None, str(measure), *found.numbers


def pooled_rows(seen: Evidence) -> Iterator[Row]:
    """The same over all encodings that know of order and with which a question was learnt."""
    for question in BAG:
        trials = able(seen, question)
        of_question = seen.rows.filter(pl.col("item").str.starts_with(item_name(question, "")))
        for item, measure in of_question.select("item", "measure").unique(maintain_order=True).iter_rows():
            swap = str(item).removeprefix(item_name(question, ""))
            found = seen.mean(trials, question, swap, str(measure))
            if found.known:
                yield "mean", POOLED, str(item), None, None, str(measure), *found.numbers


def gap_rows(seen: Evidence) -> Iterator[Row]:
    """By how much each curve with sides lies above the symmetric one of its locality, by question."""
    for locality, group in seen.groups:
        symmetric, others = sided(group)
        for trial, question, measure in product(others, (NAMES, ROLES), GAPS):
            one, other = (seen.values(side, question, (EXCHANGE,), measure) for side in ([trial], symmetric))
            gap = over_seeds([a - b for a, b in zip(one, other, strict=True)])
            yield "gap", trial.name, item_name(question, EXCHANGE), locality, None, measure, *gap.numbers


def curve_rows(seen: Evidence, n: int) -> Iterator[Row]:
    """How local and symmetric every curve is by itself over n tokens."""
    for _, group in seen.groups:
        for trial in group:
            for name, value in trial.bias_measures(n).items():
                yield "encoding", trial.name, "", None, None, f"bias.{name}", value, None, None


def with_means(seen: Evidence, n: int) -> pl.DataFrame:
    """The result: what every run measured, and after it what follows from all of them."""
    follows = [*mean_rows(seen), *pooled_rows(seen), *gap_rows(seen), *curve_rows(seen, n)]
    return pl.concat([seen.rows, frame(follows, RESULT)])
