"""Measure trained heads, as rows of the result: accuracy, scores, shares, and the lengths of queries and keys."""

from collections.abc import Iterable, Iterator
from math import inf, log
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from wherewhat.logits.rotary import RotaryLogits
from wherewhat.scores.exact import read_exact
from wherewhat.scores.swaps import PUBLISHED, at, read_swaps
from wherewhat.stats.intervals import over_seeds
from wherewhat.studies.canonical.net import Floats, Net, forward
from wherewhat.studies.canonical.sequences import TaskSequences
from wherewhat.studies.canonical.settings import BASES, BINS, CONTEXT, TOKENS
from wherewhat.studies.canonical.train import TrainedHeads
from wherewhat.tasks.base import letter

TAUS = (PUBLISHED, inf)
Row = tuple[object, ...]  # of the table `RESULT`


def accuracy(heads: TrainedHeads, sequences: TaskSequences) -> Iterator[Row]:
    """The share of correct answers of each head, overall and by the slot of the answer."""
    correct_ENA = is_correct(heads.net, heads.weights_WR, sequences)
    yield from _over_seeds("accuracy", heads, "", "accuracy", correct_ENA.mean(1))
    width = CONTEXT // BINS
    for first in range(0, CONTEXT, width):
        there_EN = sequences.slot_EN // width == first // width
        share_EA = (correct_ENA & there_EN[..., None]).sum(1) / there_EN.sum(1)[:, None]
        yield from _over_seeds("by_slot", heads, f"{first}–{first + width - 1}", "accuracy", share_EA)


def is_correct(net: Net, weights_WR: Floats, sequences: TaskSequences, batch_size: int = 256) -> NDArray[np.bool_]:
    """correct_ENA: whether each head answers each sample correctly."""
    answers = []
    for batch in sequences.batches(batch_size):
        mass_VENA = forward(net, weights_WR, batch).mass_VY.reshape(net.answers, batch.seeds, batch.samples, -1)
        answers.append(mass_VENA.argmax(0))
    correct_ENA: NDArray[np.bool_] = np.concatenate(answers, 1) == sequences.target_EN[..., None]
    return correct_ENA


def vectors(heads: TrainedHeads) -> Iterator[Row]:
    """The learnt keys and queries of the first seed, by plane."""
    key_CMR, query_CUR, _ = heads.net.split(heads.weights_WR)
    condition, names_slots = heads.condition, heads.condition.task_name == "index"
    for kind, table_CXR in {"key": key_CMR, "query": query_CUR}.items():
        for base, table_CX in zip(BASES, np.moveaxis(table_CXR, -1, 0), strict=False):
            for channel, values in enumerate(table_CX):
                measure = f"{('across', 'up')[channel % 2]}, plane {channel // 2}"
                for number, value in enumerate(values):
                    item = f"{kind} {number if kind == 'query' and names_slots else letter(number)}"
                    yield ("vectors", condition.name, item, base, heads.seeds[0], measure, float(value), None, None)


def scores(heads: TrainedHeads, sequences: TaskSequences) -> Iterator[Row]:
    """Published scores and exact shares of every head, at the query over the slots of the context."""
    for number, base in enumerate(BASES):
        for measure, value_E in _scores_at(heads, sequences, number).items():
            yield from _rows("scores", heads, "", measure, base, value_E, within=(0, 1))


def lengths(heads: TrainedHeads) -> Iterator[Row]:
    """Mean length of the queries times mean length of the keys, by plane, and the gain."""
    key_CMR, query_CUR, gain_R = heads.net.split(heads.weights_WR)
    seeds = len(heads.seeds)
    for plane in range(len(heads.net.theta_FA)):
        here = slice(2 * plane, 2 * plane + 2)
        size_R = np.hypot(*key_CMR[here]).mean(0) * np.hypot(*query_CUR[here]).mean(0)
        yield from _over_seeds("lengths", heads, f"plane {plane}", "norm", size_R.reshape(seeds, -1), within=(0, inf))
    yield from _over_seeds("lengths", heads, "", "gain", np.abs(gain_R).reshape(seeds, -1), within=(0, inf))


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


def _scores_at(heads: TrainedHeads, sequences: TaskSequences, number: int) -> dict[str, Floats]:
    logits = rotary_logits(heads, sequences, number)
    swappable_QK = (torch.arange(TOKENS) < CONTEXT)[None]
    attention_HQK = logits.actual_HQK.masked_fill(~swappable_QK, -torch.inf).softmax(-1)
    measured_Q = torch.ones(1, dtype=torch.bool)
    swaps = read_swaps(logits, attention_HQK, swappable_QK, measured_Q, TAUS)
    parts = read_exact(logits, swappable_QK, measured_Q).parts
    score_E = {}
    for tau, positional_HQ, symbolic_HQ in zip(TAUS, swaps.positional_THQ, swaps.symbolic_THQ, strict=True):
        score_E[f"positional{at(tau)}"] = _by_seed(positional_HQ, heads).mean(1)
        score_E[f"symbolic{at(tau)}"] = _by_seed(symbolic_HQ, heads).mean(1)
    score_E["entropy"] = _by_seed(torch.special.entr(attention_HQK).sum(-1) / log(CONTEXT), heads).mean(1)
    total_E = _by_seed(parts.weight_HQ, heads).sum(1)
    for share in ("position", "symbol", "interaction"):
        part_HQ = torch.where(parts.flat_HQ, 0, getattr(parts, f"{share}_HQ"))
        with np.errstate(invalid="ignore"):
            score_E[f"{share}_share"] = _by_seed(part_HQ, heads).sum(1) / total_E
    return score_E


def _by_seed(value_HQ: Tensor, heads: TrainedHeads) -> Floats:
    value_EN: Floats = value_HQ.numpy().reshape(len(heads.seeds), -1)
    return value_EN


def _over_seeds(
    part: str, heads: TrainedHeads, item: str, measure: str, value_EA: Floats, **limits: Any
) -> Iterator[Row]:
    for base, value_E in zip(BASES, value_EA.T, strict=True):
        yield from _rows(part, heads, item, measure, base, value_E, **({"within": (0, 1)} | limits))


def _rows(
    part: str, heads: TrainedHeads, item: str, measure: str, base: float, value_E: Iterable[float], **limits: Any
) -> Iterator[Row]:
    """One row per seed, and one for their mean."""
    values = [float(value) for value in value_E]
    for seed, value in zip(heads.seeds, values, strict=True):
        yield (part, heads.condition.name, item, base, seed, measure, value, None, None)
    yield (part, heads.condition.name, item, base, None, measure, *over_seeds(values, **limits).numbers)
