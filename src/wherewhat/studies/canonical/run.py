"""Train the heads of a task at every angle, measure them, and judge the published claims."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from math import inf, log

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from wherewhat.jobs.job import JobContext
from wherewhat.logits.rotary import RotaryLogits
from wherewhat.scores import swaps
from wherewhat.scores.base import Rows
from wherewhat.studies.canonical import BASES, BINS, CONTEXT, INDEX, INTEGERS, SYMBOLS, TOKENS
from wherewhat.studies.canonical.claims import CLAIMS
from wherewhat.studies.canonical.net import AdamState, Floats, Net, forward, learn
from wherewhat.studies.canonical.sequences import BLOCK, TaskSequences, read, training_blocks
from wherewhat.studies.canonical.settings import HEADS, PUBLISHED, SCALES, TASKS, CanonicalScale, CanonicalTask
from wherewhat.studies.canonical.theory import BOUNDS, theory_rows
from wherewhat.studies.engine.results import Cell, Row, over_seeds
from wherewhat.studies.engine.study import Study
from wherewhat.tables.manifest.decode import encode
from wherewhat.tasks.base import letter
from wherewhat.training.loop import threads

TAUS = (swaps.PUBLISHED, inf)
NOTES = (  # at every scale
    "Optimiser, learning rate, initial weights, embeddings, label format and the rule for distractors are not "
    "published; here they are Adam, one-hot tokens, learnt tables of queries and keys, and values used as answers "
    "without a transformation.",
    "An answer's logit is the attention on it times a learnt gain; the query is not a key, so nothing attends to it.",
    "Partial induction has exactly two pairs with the queried symbol; the paper says two or more.",
    "The temperature of the paper's score is not published; scores are given at 1e-4, as in the code of the follow-up "
    "paper, and with all swaps weighted equally.",
)


@dataclass(frozen=True)
class TrainedHeads:
    """The heads of a net after training."""

    net: Net
    weights_WR: Floats
    seeds: range


def run(task: CanonicalTask, scale: CanonicalScale, seed: int, context: JobContext) -> Iterator[Row]:
    """Train and measure the heads of a task, all seeds and angles at once."""
    seeds = range(seed, seed + scale.seeds)
    with threads(1):  # which also flushes denormals to 0: attention that has all but vanished would be slow to compute
        sequences = read(task.name, seeds=seeds, split="valid", numbers=np.arange(scale.valid))
        for heads in train(task, scale, seeds, context.step):
            yield from accuracy(heads, sequences)
            yield from scores(heads, sequences.part(0, scale.scored))
            yield from lengths(heads)
            yield from vectors(heads)


def train(task: CanonicalTask, scale: CanonicalScale, seeds: range, step: Callable[[int], None]) -> list[TrainedHeads]:
    """Train the heads of one task, whose sequences are read only once; `step` is told the number of blocks done."""
    nets = (Net(shape, BASES, len(seeds)) for shape in task.heads)
    states = {net: AdamState(net.first_weights(seeds, scale.deviation)) for net in nets}
    for block, sequences in enumerate(training_blocks(task.name, scale, seeds)):
        for net, state in states.items():
            states[net] = learn(net, state, sequences.batches(scale.batch), scale.rate)
        step(block + 1)
    return [TrainedHeads(net, state.weights_WR, seeds) for net, state in states.items()]


def accuracy(heads: TrainedHeads, sequences: TaskSequences) -> Iterator[Row]:
    """The share of correct answers of each head, overall and by the slot of the answer."""
    correct_ENA = is_correct(heads.net, heads.weights_WR, sequences)
    yield from _by_angle(heads, Cell("accuracy", "accuracy"), correct_ENA.mean(1))
    for number, item in enumerate(BINS):
        there_EN = sequences.slot_EN // (CONTEXT // len(BINS)) == number
        share_EA = (correct_ENA & there_EN[..., None]).sum(1) / there_EN.sum(1)[:, None]
        yield from _by_angle(heads, Cell("by_slot", "accuracy", item), share_EA)


def is_correct(net: Net, weights_WR: Floats, sequences: TaskSequences, batch_size: int = 256) -> NDArray[np.bool_]:
    """correct_ENA: whether each head answers each sample correctly."""
    answers = []
    for batch in sequences.batches(batch_size):
        mass_VENA = forward(net, weights_WR, batch).mass_VY.reshape(net.shape.answers, batch.seeds, batch.samples, -1)
        answers.append(mass_VENA.argmax(0))
    correct_ENA: NDArray[np.bool_] = np.concatenate(answers, 1) == sequences.target_EN[..., None]
    return correct_ENA


def lengths(heads: TrainedHeads) -> Iterator[Row]:
    """Mean length of the queries times mean length of the keys, by plane, and the gain."""
    key_CMR, query_CUR, gain_R = heads.net.split(heads.weights_WR)
    for plane in range(heads.net.shape.planes):
        here = slice(2 * plane, 2 * plane + 2)
        size_EA = (np.hypot(*key_CMR[here]).mean(0) * np.hypot(*query_CUR[here]).mean(0)).reshape(len(heads.seeds), -1)
        yield from _by_angle(heads, Cell("lengths", "norm", f"plane {plane}"), size_EA, most=inf)
    yield from _by_angle(heads, Cell("lengths", "gain"), np.abs(gain_R).reshape(len(heads.seeds), -1), most=inf)


def vectors(heads: TrainedHeads) -> Iterator[Row]:
    """The learnt keys and queries of the first seed, by plane."""
    key_CMR, query_CUR, _ = heads.net.split(heads.weights_WR)
    for kind, table_CXR in {"key": key_CMR, "query": query_CUR}.items():
        of_slot = kind == "query" and heads.net.shape.task == INDEX
        for base, table_CX in zip(BASES, np.moveaxis(table_CXR, -1, 0), strict=False):
            for (channel, number), value in np.ndenumerate(table_CX):
                item = f"{kind} {number if of_slot else letter(number)}"
                measure = f"{('across', 'up')[channel % 2]}, plane {channel // 2}"
                yield "vectors", heads.net.shape.name, item, base, heads.seeds[0], measure, float(value), None, None


def rotary_logits(heads: TrainedHeads, sequences: TaskSequences, number: int) -> RotaryLogits:
    """The heads of one angle as logits to decompose: every sequence of every seed counts as a head, with one query.

    The query comes after the context and is not a key: its own slot is there only to rotate it.
    """
    seeds, samples = sequences.query_EN.shape
    key_CMR, query_CUR, _ = heads.net.split(heads.weights_WR.astype(np.float64))
    each_E = np.arange(seeds) * heads.net.angles + number
    key_FME, query_FUE = (table[0::2, :, each_E] + 1j * table[1::2, :, each_E] for table in (key_CMR, query_CUR))
    seed_E1 = np.arange(seeds)[:, None]
    query_ENF = np.moveaxis(query_FUE[:, sequences.query_EN, seed_E1], 0, -1)
    key_ENTF = np.moveaxis(key_FME[:, sequences.symbol_ENT, seed_E1[..., None]], 0, -1)
    key_HKF = np.zeros((seeds * samples, TOKENS, key_ENTF.shape[-1]), dtype=complex)
    key_HKF[:, :CONTEXT] = key_ENTF.reshape(seeds * samples, CONTEXT, -1)
    theta_F = torch.tensor(heads.net.theta_FA[:, number])
    rotation_KF = torch.exp(1j * torch.arange(TOKENS)[:, None] * theta_F)
    query_HQF = torch.tensor(query_ENF.reshape(seeds * samples, 1, -1))
    return RotaryLogits(query_HQF, torch.tensor(key_HKF), rotation_KF, theta_F, torch.tensor([CONTEXT]), scale=1.0)


def scores(heads: TrainedHeads, sequences: TaskSequences) -> Iterator[Row]:
    """Published scores and exact shares of every head, at the query over the slots of the context."""
    swappable_QK, query_Q, slots_K = (
        (torch.arange(TOKENS) < CONTEXT)[None],
        torch.tensor([CONTEXT]),
        torch.arange(TOKENS),
    )
    by_seed = (len(heads.seeds), -1)
    for number, base in enumerate(BASES):
        logits = rotary_logits(heads, sequences, number)
        attention_HQK = logits.actual_HQK.masked_fill(~swappable_QK, -torch.inf).softmax(-1)
        rows = Rows(attention_HQK, query_Q, swappable_QK, slots_K, logits=logits, first=0, taus=TAUS)
        swapped, exact = rows.swaps, rows.exact
        assert swapped is not None and exact is not None, "every row has keys to swap"
        parts = exact.parts
        score_HQ: dict[str, Tensor] = {}
        for tau, positional_HQ, symbolic_HQ in zip(TAUS, swapped.positional_THQ, swapped.symbolic_THQ, strict=True):
            score_HQ |= {f"positional{swaps.at(tau)}": positional_HQ, f"symbolic{swaps.at(tau)}": symbolic_HQ}
        score_HQ["entropy"] = torch.special.entr(attention_HQK).sum(-1) / log(CONTEXT)
        value_E = {measure: each_HQ.numpy().reshape(by_seed).mean(1) for measure, each_HQ in score_HQ.items()}
        for share in ("position", "symbol", "interaction"):
            part_HQ = torch.where(parts.flat_HQ, 0, getattr(parts, f"{share}_HQ"))
            part_E, total_E = (each_HQ.numpy().reshape(by_seed).sum(1) for each_HQ in (part_HQ, parts.weight_HQ))
            value_E[f"{share}_share"] = part_E / np.where(total_E > 0, total_E, np.nan)
        for measure, each_E in value_E.items():
            yield from _rows(heads, Cell("scores", measure, at=base), each_E)


def _by_angle(heads: TrainedHeads, cell: Cell, value_EA: Floats, most: float = 1) -> Iterator[Row]:
    for base, value_E in zip(BASES, value_EA.T, strict=True):
        yield from _rows(heads, cell._replace(at=base), value_E, most)


def _rows(heads: TrainedHeads, cell: Cell, value_E: Iterable[float], most: float = 1) -> Iterator[Row]:
    """One row per seed, and one for their mean, whose interval is cut off at 0 and at the largest possible value."""
    values = [float(value) for value in value_E]
    mean = over_seeds(values, within=(0, most)).numbers
    for seed, numbers in [*zip(heads.seeds, ((value, None, None) for value in values), strict=True), (None, mean)]:
        yield cell.part, heads.net.shape.name, cell.item, cell.at, seed, cell.measure, *numbers


def training_note(scale: CanonicalScale) -> str:
    """How much was trained and measured, compared with the paper.

    >>> training_note(PUBLISHED)
    'As published, 64,000 steps of 64, 100 epochs of 40,960 samples; accuracy is measured on 20,480 samples per seed.'
    """
    paper = PUBLISHED
    epochs = f"100 epochs of {paper.samples:,} samples; accuracy is measured on {scale.valid:,} samples per seed"
    end = f"{epochs}." if scale.valid == paper.valid else f"{epochs}, {paper.valid:,} in the paper."
    if (scale.steps, scale.batch, scale.samples) == (paper.steps, paper.batch, paper.samples):
        return f"As published, {scale.steps:,} steps of {scale.batch}, {end}"
    kind = "each used once" if scale.samples is None else f"from a set of {scale.samples:,}"
    ours = f"Training takes {scale.steps:,} steps of {scale.batch} samples, {kind}"
    return f"{ours}; the paper takes {paper.steps:,} steps, {end}"


SIZES = {"context": CONTEXT, "symbols": SYMBOLS, "integers": INTEGERS, "bases": list(BASES), "heads": list(HEADS)}
STUDY = Study(
    name="canonical",
    about="One head with one rotary frequency: which tasks can it learn at which angle?",
    paper="arXiv 2511.11579",
    scales=SCALES,
    scale_class=CanonicalScale,
    conditions=lambda scale: TASKS,
    condition_class=CanonicalTask,
    run=run,
    together=True,
    steps=lambda scale: -(-scale.steps // BLOCK),
    decides=(
        *(f"studies/canonical/{file}.py" for file in ("__init__", "sequences", "net")),
        *("tasks", "logits", "scores", "stats", "studies/engine/results.py", "training/loop.py"),
    ),
    summarise=lambda table: theory_rows(),
    claims=CLAIMS,
    fewest=1,
    settings=lambda scale: {**encode(scale), "samples": scale.samples or "fresh", **SIZES, "optimiser": "Adam"},
    notes=lambda table: (training_note(table.scale), *NOTES),
    describe=lambda table: {"bounds": BOUNDS},
)
