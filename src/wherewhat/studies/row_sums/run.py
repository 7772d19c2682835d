"""The study: which slot is it, and which tokens stand at even places, with rows that sum to one and without."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from wherewhat.errors import UserError
from wherewhat.jobs.job import JobContext
from wherewhat.nets.trunk import Trunk
from wherewhat.profiling.profile import profile
from wherewhat.profiling.settings import ProfileSettings
from wherewhat.stats.intervals import student, wilson
from wherewhat.studies.engine.lengths import Measured, mean_rows
from wherewhat.studies.engine.results import Row
from wherewhat.studies.engine.study import Study
from wherewhat.studies.engine.train_job import train_in_job
from wherewhat.studies.row_sums.claims import CLAIMS
from wherewhat.studies.row_sums.names import ALL, LONGER
from wherewhat.studies.row_sums.notes import describe, notes_of
from wherewhat.studies.row_sums.settings import SCALES, RowSumCondition, RowSumScale, conditions
from wherewhat.tasks.slots import SlotTask
from wherewhat.training.loop import threads
from wherewhat.training.slot_training import right_slots

SCORES = ("entropy", "locality", "input.position_share", "input.symbol_share")
HEADS = ProfileSettings(untrained=False, scores=SCORES)


def run(condition: RowSumCondition, scale: RowSumScale, seed: int, context: JobContext) -> list[Row]:
    """Train an encoder and measure it slot by slot."""
    settings, task, name = scale.training(condition, seed), scale.task(condition.task), condition.name
    with threads(settings.threads):
        net = train_in_job(settings, context).net
        rows = [
            *slot_rows(net, task, settings.data_seed, scale.samples),
            *longer_rows(net, task, settings.data_seed, scale),
            *constant_rows(net, task),
            *head_rows(net, task, settings.data_seed, scale.texts),
        ]
    return [(part, name, item, at, seed, what, value, low, high) for part, item, at, what, value, low, high in rows]


def slot_rows(net: Trunk, task: SlotTask, seed: int, samples: int) -> Iterator[Measured]:
    """Accuracy over all slots and by half, with intervals over sequences, and slot by slot."""
    right_NT = right_slots(net, task, seed=seed, samples=samples)
    yield "accuracy", ALL, None, "accuracy", *_share(right_NT)
    for number, group in enumerate(task.groups):
        yield "accuracy", group, None, "accuracy", *_share(right_NT[:, task.group_T == number])
    for slot, share in enumerate(right_NT.mean(0).tolist()):
        yield "slot", "", float(slot), "accuracy", share, *wilson(share, samples)


def _share(right_NT: "np.ndarray[Any, Any]") -> tuple[float, float, float]:
    """The mean over sequences of the share of slots, with its interval inside 0 and 1."""
    value, low, high = student(right_NT.mean(1).tolist())
    return value, max(0.0, low), min(1.0, high)


def longer_rows(net: Trunk, task: SlotTask, seed: int, scale: RowSumScale) -> Iterator[Measured]:
    """Accuracy on longer inputs, over slots that exist in training; or that the encoding refuses them."""
    tokens = 2 * round(scale.longer * task.tokens / 2)
    try:
        right_NT = right_slots(net, replace(task, tokens=tokens), seed=seed, samples=scale.samples)
    except UserError:
        yield "refused", LONGER, None, "refused", 1.0, None, None
        return
    trained_T = task.group_T == 0  # of the even task, the half that needs more than a filler
    yield "accuracy", LONGER, None, "accuracy", *_share(right_NT[:, : task.tokens][:, trained_T])


@torch.no_grad()
def constant_rows(net: Trunk, task: SlotTask) -> Iterator[Measured]:
    """How far outputs differ between slots when all tokens are equal, relative to the size of the logits."""
    logits_TV = net(torch.zeros((1, task.length), dtype=torch.int64))[0]
    spread = (logits_TV - logits_TV.mean(0)).abs().max() / logits_TV.abs().max()
    yield "constant", "", None, "spread", float(spread), None, None


def head_rows(net: Trunk, task: SlotTask, seed: int, texts: int) -> Iterator[Measured]:
    """Scores of every head on test sequences."""
    sequences = [torch.from_numpy(ids_T) for ids_T in task.texts(seed, "test", range(texts))]
    heads = profile(net, sequences, settings=HEADS, seed=seed).heads
    for row in heads.drop_nulls("value").iter_rows(named=True):
        yield "heads", f"L{row['layer']}H{row['head']}", None, row["score"], row["value"], row["low"], row["high"]


STUDY = Study(
    name="row-sums",
    about="Where does a token stand? What attention whose rows sum to one cannot say, and free factors can.",
    paper="arXiv 2205.13401",
    scales=SCALES,
    conditions=conditions,
    run=run,
    condition_class=RowSumCondition,
    scale_class=RowSumScale,
    claims=CLAIMS,
    decides=(
        *("capture", "encodings", "logits", "nets", "profiling", "scores", "stats", "studies/engine/lengths.py"),
        *("tables/schema.py", "tasks", "training"),
    ),
    steps=lambda scale: max(scale.position_steps, scale.even_steps),
    summarise=lambda table: mean_rows(table.rows.rows()),
    notes=lambda table: notes_of(table.scale),
    describe=lambda table: describe(table),
    fewest=1,
)
