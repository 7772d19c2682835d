"""Means over seeds, and what chance gives."""

from collections.abc import Iterator
from math import inf

import numpy as np

from wherewhat.stats.bootstrap import quantiles
from wherewhat.stats.intervals import student
from wherewhat.studies.engine.results import ResultTable, Row, over_seeds
from wherewhat.studies.latin_square.attention import UNIFORM
from wherewhat.studies.latin_square.counting import best_guess, by_row_and_column
from wherewhat.studies.latin_square.measures import puzzles
from wherewhat.studies.latin_square.names import GROUPS, MODULES, NONE, RULED_OUT, SINUSOID, guess_cell
from wherewhat.studies.latin_square.network import random_contrasts
from wherewhat.studies.latin_square.position_tables import chance_measures, cosines, sinusoid_table, table_measures

RANDOM_TABLES, SEED = 1000, 0
FITTED, GUESSED = 19_200, 4800  # puzzles that the best guess without positions learns from, and is scored on
WITHIN = {
    "table": (-1.0, 1.0),
    "network": (-1.0, inf),
    "moved": (0.0, inf),
    "change": (-1.0, 1.0),
    "ratio": (0.0, inf),
}  # the range of a part; else 0 to 1
SINGLE = ("cosine",)  # parts of which a mean over seeds would hide what each table starts from


def chance_rows(table: ResultTable) -> Iterator[Row]:
    """What random tables, uniform attention, the sinusoid itself and guesses without positions give.

    The interval of random tables holds 95 % of them.
    """
    width = table.scale.width
    drawn = chance_measures(width, tables=RANDOM_TABLES, seed=SEED)
    modules = {MODULES: random_contrasts(table.scale.network.network, width, tables=RANDOM_TABLES, seed=SEED)}
    for measure, values in {**drawn, **modules}.items():
        yield "chance", "", "", None, None, measure, float(np.mean(values)), *quantiles(values)
    for measure, value in UNIFORM.items():
        yield "chance", "", "", None, None, measure, value, None, None
    sinusoid_SD = sinusoid_table(width)
    for measure, value in table_measures(sinusoid_SD, sinusoid_SD).items():
        yield "chance", SINUSOID, "", None, None, measure, value, None, None
    for number, cosine in enumerate(cosines(sinusoid_SD - sinusoid_SD.mean(0)).ravel().tolist()):
        yield "cosine", SINUSOID, "", float(number), None, "cosine", cosine, None, None
    yield from guess_rows()


def guess_rows() -> Iterator[Row]:
    """Accuracy of the best guess without positions; and of that from row, column and counts, by class of puzzles.

    The second has intervals over the puzzles on which it is scored.
    """
    fitted, scored = puzzles(SEED, "train", FITTED), puzzles(SEED, "test", GUESSED)
    yield "chance", NONE, "", None, None, "accuracy", float(best_guess(fitted, scored).mean()), None, None
    right_N = best_guess(fitted, scored, by_row_and_column)
    for number, group in enumerate(GROUPS):
        part, measure, item, _ = guess_cell(group)
        yield part, RULED_OUT, item, None, None, measure, *student(right_N[scored.group_N == number].tolist())


def mean_rows(table: ResultTable) -> Iterator[Row]:
    """Means over seeds with Student's interval, cut off at the possible range; a single run keeps its own interval."""
    groups: dict[tuple[str, str, str, float | None, str], list[Row]] = {}
    for row in table.rows.iter_rows():
        part, subject, item, at, seed, measure, value, _, _ = row
        if value is not None and seed is not None and part not in SINGLE:
            groups.setdefault((part, subject, item, at, measure), []).append(row)
    for (part, subject, item, at, measure), rows in groups.items():
        values = [row[6] for row in rows if row[6] is not None]
        mean = over_seeds(values, within=WITHIN.get(part, (0.0, 1.0))).numbers
        yield part, subject, item, at, None, measure, *(mean if len(rows) > 1 else rows[0][6:])
