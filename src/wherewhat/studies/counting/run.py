"""The study: encoders with several encodings learn to count in regions, and are tested on other sizes."""

from collections.abc import Iterable, Iterator
from math import inf
from statistics import median

import polars as pl
import torch

from wherewhat.encodings.rotary import Rotary
from wherewhat.jobs.job import JobContext
from wherewhat.nets.trunk import Trunk
from wherewhat.profiling.profile import profile
from wherewhat.profiling.settings import ProfileSettings
from wherewhat.studies.counting.by_hand import HandBuiltCounter
from wherewhat.studies.counting.claims import CLAIMS
from wherewhat.studies.counting.interventions import swap_rows
from wherewhat.studies.counting.measures import accuracy_rows, attention_rows_of, code_rows, encoder_rows
from wherewhat.studies.counting.names import MEAN_FREQUENCY, SCORES, SIZES, TOP_1, TOP_5, TRAINED
from wherewhat.studies.counting.notes import describe, notes_of
from wherewhat.studies.counting.settings import (
    HAND_BUILT,
    SCALES,
    CountingCondition,
    CountingScale,
    conditions,
    prepare,
)
from wherewhat.studies.engine.lengths import Measured, mean_rows
from wherewhat.studies.engine.results import ResultTable, Row
from wherewhat.studies.engine.study import Study
from wherewhat.studies.engine.train_job import train_in_job
from wherewhat.tasks.counting import CountingTask
from wherewhat.training.loop import threads

CODES = 600  # test sequences on which regions are decoded from codes, many more than a code has channels


def run(condition: CountingCondition, scale: CountingScale, seed: int, context: JobContext) -> list[Row]:
    """Train a net, or build the one that needs no training, and measure it on all sizes."""
    tasks, data_seed = scale.tasks(condition.bos), seed + 1
    with threads(1):
        if condition == HAND_BUILT:
            net: Trunk | HandBuiltCounter = HandBuiltCounter(tasks[TRAINED])
        else:
            net = train_in_job(scale.training(condition, seed), context).net
        rows = [
            *accuracy_rows(net, tasks, seed=data_seed, samples=scale.samples),
            *attention_rows_of(net, tasks[TRAINED], seed=data_seed, samples=scale.samples),
            *swap_rows(net, tasks[TRAINED], seed=data_seed, samples=scale.samples),
            *code_rows(net, tasks[TRAINED], seed=data_seed, samples=CODES),
        ]
        if isinstance(net, Trunk):
            rows += encoder_rows(net, tasks[TRAINED], seed=data_seed, samples=scale.samples)
            rows += head_rows(net, tasks[TRAINED], data_seed, scale.texts)
    name = condition.name
    return [(part, name, item, at, seed, what, value, low, high) for part, item, at, what, value, low, high in rows]


def head_rows(net: Trunk, task: CountingTask, seed: int, texts: int) -> Iterator[Measured]:
    """Scores of the encoder's head on test sequences and, if it is rotary, what each frequency contributes."""
    sequences = [torch.from_numpy(ids_T) for ids_T in task.texts(seed, "test", range(texts))]
    rotary = (MEAN_FREQUENCY,) if isinstance(net.encoding(0), Rotary) else ()
    settings = ProfileSettings(untrained=False, scores=(*SCORES, *rotary))
    measured = profile(net, sequences, settings=settings, seed=seed)
    for row in measured.heads.drop_nulls("value").iter_rows(named=True):
        yield "heads", "", None, row["score"], row["value"], row["low"], row["high"]
    if measured.frequencies is not None:
        for row in measured.frequencies.drop_nulls("value").iter_rows(named=True):
            yield (
                "frequencies",
                f"{row['theta']:.3g}",
                float(row["frequency"]),
                row["measure"],
                row["value"],
                None,
                None,
            )


def summary_rows(table: ResultTable) -> Iterator[Row]:
    """Means over seeds; and the median and the maximum over seeds and regions, as published."""
    unbounded = pl.col("part").is_in(["slope", "frequencies"]) | (pl.col("measure") == MEAN_FREQUENCY)
    yield from mean_rows(table.rows.filter(pl.col("part") != "code", ~unbounded).rows())
    yield from mean_rows(table.rows.filter(unbounded).rows(), within=(-inf, inf))
    for condition in table.conditions:
        for size in SIZES:
            for measure in (TOP_1, TOP_5):
                yield from point_rows(table, condition.name, size, measure)


def point_rows(table: ResultTable, name: str, size: str, measure: str) -> Iterable[Row]:
    """The median and the maximum of all seeds and regions of a run."""
    points = table.where(part="accuracy", subject=name, item=size, measure=measure)["value"].to_list()
    if points:
        yield "median", name, size, None, None, measure, median(points), None, None
        yield "maximum", name, size, None, None, measure, max(points), None, None


STUDY = Study(
    name="counting",
    about="How many ones are in each region? Which encodings learn to count, and which token they count against.",
    paper="arXiv 2406.02585",
    scales=SCALES,
    conditions=conditions,
    run=run,
    condition_class=CountingCondition,
    scale_class=CountingScale,
    claims=CLAIMS,
    decides=(
        *("capture", "encodings", "logits", "nets", "profiling", "scores", "stats"),
        *(f"studies/counting/{file}.py" for file in ("by_hand", "interventions", "measures", "names", "slopes")),
        *("studies/engine/attention.py", "studies/engine/lengths.py", "tables/schema.py", "tasks", "training"),
    ),
    takes=("--encodings",),
    prepare=prepare,
    summarise=summary_rows,
    notes=lambda table: notes_of(table.scale),
    describe=describe,
    fewest=1,
)
