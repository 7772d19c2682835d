"""The study: every task with every encoding, tested on longer inputs, and what heads do as the input grows."""

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from torch import Tensor

from wherewhat.jobs.job import JobContext
from wherewhat.nets.trunk import Trunk
from wherewhat.profiling.profile import profile
from wherewhat.profiling.settings import ProfileSettings
from wherewhat.studies.engine.lengths import Measured, accuracy_rows, size_of
from wherewhat.studies.engine.results import Row
from wherewhat.studies.engine.study import Study
from wherewhat.studies.engine.train_job import train_in_job
from wherewhat.studies.length.claims import CLAIMS
from wherewhat.studies.length.names import SCORES
from wherewhat.studies.length.notes import describe, notes_of
from wherewhat.studies.length.settings import SCALES, LengthCondition, LengthScale, conditions, prepare
from wherewhat.studies.length.summary import summary_rows
from wherewhat.tasks.sequence import SequenceTask
from wherewhat.training.loop import threads

HEADS = ProfileSettings(untrained=False, scores=SCORES)
QUERIES = 16  # rows per text on which heads are measured


def run(condition: LengthCondition, scale: LengthScale, seed: int, context: JobContext) -> list[Row]:
    """Train a net on short inputs, test it on longer ones, and measure its heads."""
    settings, task = scale.training(condition, seed), scale.task(condition.task)
    with threads(settings.threads):
        trained = train_in_job(settings, context)
        rows = [*accuracy_rows(trained, task), *head_rows(trained.net, task, scale, settings.data_seed)]
    name = condition.name
    return [(part, name, item, at, seed, what, value, low, high) for part, item, at, what, value, low, high in rows]


def head_rows(net: Trunk, task: SequenceTask, scale: LengthScale, seed: int) -> Iterator[Measured]:
    """Scores of every head on inputs of three lengths: the longest of training, and two longer ones."""
    for split, length in measured_lengths(task):
        texts = texts_of(task, scale, split, length, seed)
        if not texts:
            continue
        heads = profile(net, texts, settings=HEADS, queries=QUERIES, seed=seed).heads
        for row in heads.drop_nulls("value").iter_rows(named=True):
            head = f"L{row['layer']}H{row['head']}"
            yield "heads", head, float(length), row["score"], row["value"], row["low"], row["high"]


def measured_lengths(task: SequenceTask) -> list[tuple[str, int]]:
    """Split and length of the longest training input, one between, and the longest test input.

    >>> from wherewhat.tasks.copying import Reverse
    >>> measured_lengths(Reverse())
    [('valid', 20), ('test', 31), ('test', 40)]
    """
    train, test = (sorted({size_of(length) for length in task.lengths(split)}) for split in ("train", "test"))
    return [("valid", train[-1]), ("test", test[len(test) // 2]), ("test", test[-1])]


def texts_of(task: SequenceTask, scale: LengthScale, split: str, length: int, seed: int) -> Sequence[Tensor]:
    """Samples of one length as the net reads them."""
    batch = task.batch(seed, split, np.arange(scale.run.samples))
    first = len(task.lengths("train")) if split == "test" else 0
    fitting = [first + number for number, each in enumerate(task.lengths(split)) if size_of(each) == length]
    rows = np.isin(batch.group_N, fitting).nonzero()[0][: scale.texts]
    return [torch.from_numpy(batch.ids_NT[row, : batch.tokens_N[row] - 1]) for row in rows]


STUDY = Study(
    name="length",
    about="Which position encoding goes on working on longer inputs than it was trained on?",
    paper="arXiv 2305.19466",
    scales=SCALES,
    conditions=conditions,
    run=run,
    condition_class=LengthCondition,
    scale_class=LengthScale,
    claims=CLAIMS,
    decides=(
        *("capture", "encodings", "logits", "nets", "profiling", "recipes/length.py", "scores", "stats"),
        *("studies/engine/lengths.py", "studies/length/names.py", "tables/schema.py", "tasks", "training"),
    ),
    steps=lambda scale: scale.run.steps,
    takes=("--encodings", "--shift"),
    prepare=prepare,
    summarise=summary_rows,
    notes=lambda table: notes_of(table),
    describe=lambda table: describe(table),
    fewest=1,  # the claims rest on tasks and seeds together
)
