"""The study: which slot is it, and which tokens stand at even places, with rows that sum to one and without."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from wherewhat.encodings.urpe import Urpe
from wherewhat.errors import UserError
from wherewhat.jobs.job import JobContext
from wherewhat.nets.trunk import Trunk
from wherewhat.profiling.profile import profile
from wherewhat.profiling.settings import ProfileSettings
from wherewhat.stats.intervals import student, wilson
from wherewhat.studies.engine.lengths import Measured
from wherewhat.studies.engine.results import Cell, Row
from wherewhat.studies.engine.study import Study
from wherewhat.studies.engine.train_job import train_in_job
from wherewhat.studies.row_sums.claims import CLAIMS
from wherewhat.studies.row_sums.interventions import (
    changed_rows,
    entropies,
    mirrored_sums,
    row_sums,
    sums_alone,
    unit_sums,
)
from wherewhat.studies.row_sums.linear_fit import linear_r_squared
from wherewhat.studies.row_sums.names import (
    ALL,
    ALONE_ERROR,
    ALONE_FOLLOWS,
    DISTANCE,
    ENTROPY,
    EQUAL,
    FILLER,
    FOLLOWS,
    GAP,
    INNER,
    LINEAR_FIT,
    LONGER,
    MIRRORED,
    MIRRORED_ERROR,
    ORDER,
    SUMS_ALONE,
    UNIT_SUMS,
)
from wherewhat.studies.row_sums.notes import describe, notes_of
from wherewhat.studies.row_sums.settings import SCALES, RowSumCondition, RowSumScale, conditions
from wherewhat.studies.row_sums.summary import baseline_rows, summarise
from wherewhat.tasks.slots import EvenTask, PositionTask, SlotBatch, SlotTask
from wherewhat.tasks.stream import Ints
from wherewhat.training.loop import threads
from wherewhat.training.slot_training import slot_answers

SCORES = ("entropy", "locality", "input.position_share", "input.symbol_share")
HEADS = ProfileSettings(untrained=False, scores=SCORES)


def run(condition: RowSumCondition, scale: RowSumScale, seed: int, context: JobContext) -> list[Row]:
    """Train an encoder and measure it slot by slot."""
    settings, task, name = scale.training(condition, seed), scale.task(condition.task), condition.name
    batch = task.batch(settings.data_seed, "test", np.arange(scale.samples))
    with threads(settings.threads):
        net = train_in_job(settings, context).net
        answer_NT = slot_answers(net, task, batch.input_NT)
        rows = [
            *slot_rows(task, batch, answer_NT),
            *even_rows(task, batch, answer_NT),
            *longer_rows(net, task, settings.data_seed, scale),
            *end_rows(task, answer_NT),
            *equal_rows(net, task),
            *sum_rows(net, task, batch, scale.texts),
            *mirrored_rows(net, task, batch, scale.texts),
            *head_rows(net, batch, settings.data_seed, scale.texts),
        ]
    return [(part, name, item, at, seed, what, value, low, high) for part, item, at, what, value, low, high in rows]


def slot_rows(task: SlotTask, batch: SlotBatch, answer_NT: Ints) -> Iterator[Measured]:
    """Accuracy over all slots and by half, with intervals over sequences, and slot by slot."""
    right_NT = answer_NT == batch.target_NT
    yield "accuracy", ALL, None, "accuracy", *_share(right_NT)
    for number, group in enumerate(task.groups):
        yield "accuracy", group, None, "accuracy", *_share(right_NT[:, task.group_T == number])
    for slot, share in enumerate(right_NT.mean(0).tolist()):
        yield "slot", "", float(slot), "accuracy", share, *wilson(share, len(right_NT))


def _share(right_NT: "np.ndarray[Any, Any]") -> tuple[float, float, float]:
    """The mean over sequences of the share of slots, with its interval inside 0 and 1."""
    value, low, high = student(right_NT.mean(1).tolist())
    return value, max(0.0, low), min(1.0, high)


def even_rows(task: SlotTask, batch: SlotBatch, answer_NT: Ints) -> Iterator[Measured]:
    """Of the even task, by slot: the share of fillers among answers, and how far from the right slot others are.

    The slot of an answer is the one whose token it is most often; it is left out where most answers are the filler.
    """
    if not isinstance(task, EvenTask):
        return
    for slot, filler in enumerate((answer_NT == task.n_tok).mean(0).tolist()):
        yield FILLER.part, "", float(slot), FILLER.measure, filler, *wilson(filler, len(answer_NT))
        if slot < task.tokens // 2 and filler < 0.5:
            copied = int((answer_NT[:, [slot]] == batch.input_NT).mean(0).argmax())
            yield DISTANCE.part, "", float(slot), DISTANCE.measure, float(abs(copied - (2 * slot + 1))), None, None


def longer_rows(net: Trunk, task: SlotTask, seed: int, scale: RowSumScale) -> Iterator[Measured]:
    """Accuracy on longer inputs, or that the encoding refuses them; of the position task, also the order of answers.

    Scored are slots that exist in training; of the even task, the half that needs more than a filler. Only answers
    that exist in training can be given: logits of others were never trained, so they would win by chance.
    """
    tokens = 2 * round(scale.longer * task.tokens / 2)
    try:
        net.encoding(0).check(length=tokens, causal=False)
    except UserError:
        yield "refused", LONGER, None, "refused", 1.0, None, None
        return
    batch = replace(task, tokens=tokens).batch(seed, "test", np.arange(scale.samples))
    scored_T = np.arange(task.tokens)[task.group_T == 0]
    answer_NT = slot_answers(net, task, batch.input_NT)[:, scored_T]
    target_NT = batch.target_NT[:, scored_T]
    yield "accuracy", LONGER, None, "accuracy", *_share(answer_NT == target_NT)
    if isinstance(task, PositionTask):
        yield ORDER.part, "", None, ORDER.measure, *_correlation(answer_NT, target_NT)


def end_rows(task: SlotTask, answer_NT: Ints) -> Iterator[Measured]:
    """Of the position task, what a net knows between the ends, and by how much it knows more about the ends.

    The ends are the outer eighth of slots on each side. Known is how much more often the answer is a slot there than
    elsewhere; a net that prefers some answers everywhere knows nothing by it.
    """
    if not isinstance(task, PositionTask) or task.tokens < 8:
        return
    slots_S = np.arange(task.tokens)
    right_NS = answer_NT == slots_S
    elsewhere_NS = np.stack([(answer_NT == slot).sum(1) for slot in slots_S], axis=1) - right_NS
    known_NS = right_NS - elsewhere_NS / (task.tokens - 1)
    outer_S = np.minimum(slots_S, slots_S[::-1]) < task.tokens // 8
    outer_N, inner_N = known_NS[:, outer_S].mean(1), known_NS[:, ~outer_S].mean(1)
    for cell, value_N in ((INNER, inner_N), (GAP, outer_N - inner_N)):
        yield cell.part, "", None, cell.measure, *student(value_N.tolist())


@torch.no_grad()
def equal_rows(net: Trunk, task: SlotTask) -> Iterator[Measured]:
    """On sequences of equal tokens: accuracy, and how far logits differ between slots, relative to their size.

    Of the even task both halves are scored, as a net with equal outputs can have either of them, and not both.
    """
    input_NT = np.repeat(np.arange(task.n_tok)[:, None], task.tokens, axis=1)
    right_NT = slot_answers(net, task, input_NT) == np.array([task.solve(row) for row in input_NT.tolist()])
    yield "accuracy", EQUAL, None, "accuracy", *_share(right_NT)
    logits_TV = net(torch.from_numpy(input_NT[:1]))[0]
    spread = (logits_TV - logits_TV.mean(0)).abs().max() / logits_TV.abs().max()
    yield "constant", "", None, "spread", float(spread), None, None


def sum_rows(net: Trunk, task: SlotTask, batch: SlotBatch, texts: int) -> Iterator[Measured]:
    """Of a net with factors: its row sums by slot, and accuracy without them or with nothing else of the factors.

    By head, also R² of a linear fit of the sums, and the entropy of attention before the factors.
    """
    if not isinstance(net.encoding(0), Urpe):
        return
    for item, change in ((UNIT_SUMS, unit_sums), (SUMS_ALONE, sums_alone)):
        with changed_rows(net, [change] * len(net.blocks)):
            answer_NT = slot_answers(net, task, batch.input_NT)
        yield "accuracy", item, None, "accuracy", *_share((answer_NT == batch.target_NT)[:, task.group_T == 0])
        if item == SUMS_ALONE and isinstance(task, PositionTask):
            yield from _near(answer_NT, batch.target_NT, ALONE_FOLLOWS, ALONE_ERROR)
    ids_BT = torch.from_numpy(batch.input_NT[:texts])
    entropy_LH = entropies(net, ids_BT).tolist()
    for layer, sums_HQ in enumerate(row_sums(net, ids_BT).double().numpy()):
        for head, (sums_Q, fit) in enumerate(zip(sums_HQ, linear_r_squared(sums_HQ).tolist(), strict=True)):
            item = f"L{layer}H{head}"
            yield "row sums", item, None, LINEAR_FIT, fit, None, None
            yield "row sums", item, None, ENTROPY, entropy_LH[layer][head], None, None
            for slot, value in enumerate(sums_Q.tolist()):
                yield "row sums", item, float(slot), "sum", value, None, None


def mirrored_rows(net: Trunk, task: SlotTask, batch: SlotBatch, texts: int) -> Iterator[Measured]:
    """Of the position task with factors, if row sums are mirrored: how answers go along with the mirrored slot.

    The share of answers that are exactly it, how far they are from it, and the correlation of both in each sequence: 1
    if answers follow the sums, -1 if they stay as they were, 0 if they are all the same.
    """
    if not isinstance(net.encoding(0), Urpe) or not isinstance(task, PositionTask):
        return
    with changed_rows(net, mirrored_sums(net, torch.from_numpy(batch.input_NT[:texts]))):
        answer_NT = slot_answers(net, task, batch.input_NT)
    mirrored_NT = batch.target_NT[:, ::-1]
    yield "accuracy", MIRRORED, None, "accuracy", *_share(answer_NT == mirrored_NT)
    yield from _near(answer_NT, mirrored_NT, FOLLOWS, MIRRORED_ERROR)


def _near(answer_NT: Ints, slot_NT: Ints, follows: Cell, error: Cell) -> Iterator[Measured]:
    """How near answers are to slots: their correlation, and their mean distance in slots, over sequences."""
    yield follows.part, "", None, follows.measure, *_correlation(answer_NT, slot_NT)
    value, low, high = student(np.abs(answer_NT - slot_NT).mean(1).tolist())
    yield error.part, "", None, error.measure, value, max(0.0, low), high


def _correlation(answer_NT: Ints, slot_NT: Ints) -> tuple[float, float, float]:
    """The mean over sequences of the correlation of answers with slots, with its interval inside -1 and 1."""
    value, low, high = student([pearson(*pair) for pair in zip(answer_NT, slot_NT, strict=True)])
    return value, max(-1.0, low), min(1.0, high)


def pearson(first_T: Ints, second_T: Ints) -> float:
    """The correlation of two sequences; 0 if one of them is constant.

    >>> pearson(np.array([1, 2, 4]), np.array([-2, -4, -8])), pearson(np.array([3, 3]), np.array([0, 1]))
    (-1.0, 0.0)
    """
    if not np.ptp(first_T) or not np.ptp(second_T):
        return 0.0
    return round(float(np.corrcoef(first_T, second_T)[0, 1]), 12)


def head_rows(net: Trunk, batch: SlotBatch, seed: int, texts: int) -> Iterator[Measured]:
    """Scores of every head on test sequences."""
    sequences = [torch.from_numpy(ids_T) for ids_T in batch.input_NT[:texts]]
    heads = profile(net, sequences, settings=HEADS, seed=seed).heads
    for row in heads.drop_nulls("value").iter_rows(named=True):
        yield "heads", f"L{row['layer']}H{row['head']}", None, row["score"], row["value"], row["low"], row["high"]


STUDY = Study(
    name="row-sums",
    about="Where does a token stand? What attention whose rows sum to one cannot say, and URPE can.",
    paper="arXiv 2205.13401",
    scales=SCALES,
    conditions=conditions,
    run=run,
    condition_class=RowSumCondition,
    scale_class=RowSumScale,
    claims=CLAIMS,
    decides=(
        *("capture", "encodings", "logits", "nets", "profiling", "scores", "stats", "studies/engine/lengths.py"),
        *(f"studies/row_sums/{file}.py" for file in ("interventions", "linear_fit", "names")),
        *("tables/schema.py", "tasks", "training"),
    ),
    steps=lambda scale: max(scale.position_steps, scale.even_steps),
    before=baseline_rows,
    summarise=summarise,
    notes=lambda table: notes_of(table.scale, len(table.seeds)),
    describe=describe,
    fewest=1,  # a theorem needs none, and claims are of 3 % against 100 %; a note says what one seed leaves open
)
