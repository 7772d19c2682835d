"""Read off trained heads what they can do and why: accuracy, vectors, scores, shares and lengths, as rows."""

from collections.abc import Iterable, Iterator, Sequence
from math import inf, isfinite, log, nan
from typing import Any

import numpy as np
import torch
from torch import Tensor

from wherewhat.logits.rotary import Turned
from wherewhat.scores.exact import read_exact
from wherewhat.scores.swaps import PUBLISHED, at, read_swaps
from wherewhat.studies.canonical.learn import right
from wherewhat.studies.canonical.net import Floats
from wherewhat.studies.canonical.sequences import Sequences
from wherewhat.studies.canonical.settings import BASES, BINS, CONTEXT, TOKENS
from wherewhat.studies.canonical.train import Trained
from wherewhat.studies.intervals import of_mean
from wherewhat.tasks.spelling import letter

TAUS = (PUBLISHED, inf)
Row = tuple[object, ...]  # of the table `RESULT`


def interval(values: Sequence[float] | Floats, *, within: tuple[float, float] = (-inf, inf)) -> tuple[float, ...]:
    """Mean over seeds and its 95 % interval by Student's t; a single seed has no interval.

    >>> [round(value, 3) for value in interval([0.4, 0.5, 0.6])]
    [0.5, 0.252, 0.748]
    """
    known = [float(value) for value in values if isfinite(value)]
    if len(known) < 2:
        return (known[0] if known else nan, nan, nan)
    mean, low, high = of_mean(known)
    return mean, max(low, within[0]), min(high, within[1])


def accuracy(heads: Trained, some: Sequences) -> Iterator[Row]:
    """How often each head is right, and by where the answer stands."""
    right_ENA = right(heads.net, heads.weights_WR, some)
    yield from _over_seeds("accuracy", heads, "", "accuracy", right_ENA.mean(1))
    width = CONTEXT // BINS
    for first in range(0, CONTEXT, width):
        there_EN = some.slot_EN // width == first // width
        share_EA = (right_ENA & there_EN[..., None]).sum(1) / there_EN.sum(1)[:, None]
        yield from _over_seeds("by_slot", heads, f"{first}–{first + width - 1}", "accuracy", share_EA)


def vectors(heads: Trained) -> Iterator[Row]:
    """Keys and queries of the first seed in each plane, as the head learnt them."""
    key_CMR, query_CUR, _ = heads.net.split(heads.weights_WR)
    names = {"key": key_CMR, "query": query_CUR}
    for kind, table_CXR in names.items():
        for base, table_CX in zip(BASES, np.moveaxis(table_CXR, -1, 0), strict=False):
            for channel, values in enumerate(table_CX):
                measure = f"{('across', 'up')[channel % 2]}, plane {channel // 2}"
                for number, value in enumerate(values):
                    item = f"{kind} {number if kind == 'query' and heads.case.task_name == 'index' else letter(number)}"
                    yield ("vectors", heads.case.name, item, base, heads.seeds[0], measure, float(value), None, None)


def scores(heads: Trained, some: Sequences) -> Iterator[Row]:
    """Published scores and exact shares of every head, over the slots of the context, seen from the query."""
    for number, base in enumerate(BASES):
        found = _scores_at(heads, some, number)
        for measure, value_E in found.items():
            yield from _rows("scores", heads, "", measure, base, value_E, within=(0, 1))


def lengths(heads: Trained) -> Iterator[Row]:
    """How long query times key has become in each plane: the mean length of one times that of the other."""
    key_CMR, query_CUR, gain_R = heads.net.split(heads.weights_WR)
    seeds = len(heads.seeds)
    for plane in range(len(heads.net.theta_FA)):
        here = slice(2 * plane, 2 * plane + 2)
        size_R = np.hypot(*key_CMR[here]).mean(0) * np.hypot(*query_CUR[here]).mean(0)
        yield from _over_seeds("lengths", heads, f"plane {plane}", "norm", size_R.reshape(seeds, -1), within=(0, inf))
    yield from _over_seeds("lengths", heads, "", "gain", np.abs(gain_R).reshape(seeds, -1), within=(0, inf))


def turned(heads: Trained, some: Sequences, number: int) -> Turned:
    """The heads of one angle as logits to take apart: every sequence of every seed counts as a head, with one query.

    The query stands behind the context and is no key: its own slot is there only to turn it.
    """
    seeds, samples = some.query_EN.shape
    key_CMR, query_CUR, _ = heads.net.split(heads.weights_WR.astype(np.float64))
    each_E = np.arange(seeds) * heads.net.angles + number
    key_FME, query_FUE = (table[0::2, :, each_E] + 1j * table[1::2, :, each_E] for table in (key_CMR, query_CUR))
    seed_E1 = np.arange(seeds)[:, None]
    query_ENF = np.moveaxis(query_FUE[:, some.query_EN, seed_E1], 0, -1)
    key_ENTF = np.moveaxis(key_FME[:, some.symbol_ENT, seed_E1[..., None]], 0, -1)
    key_HKF = np.zeros((seeds * samples, TOKENS, key_ENTF.shape[-1]), dtype=complex)
    key_HKF[:, :CONTEXT] = key_ENTF.reshape(seeds * samples, CONTEXT, -1)
    theta_F = torch.tensor(heads.net.theta_FA[:, number])
    turn_KF = torch.exp(1j * torch.arange(TOKENS)[:, None] * theta_F)
    query_HQF = torch.tensor(query_ENF.reshape(seeds * samples, 1, -1))
    return Turned(query_HQF, torch.tensor(key_HKF), turn_KF, theta_F, torch.tensor([CONTEXT]), scale=1.0)


def _scores_at(heads: Trained, some: Sequences, number: int) -> dict[str, Floats]:
    logits = turned(heads, some, number)
    swappable_QK = (torch.arange(TOKENS) < CONTEXT)[None]
    attention_HQK = logits.actual_HQK.masked_fill(~swappable_QK, -torch.inf).softmax(-1)
    measured_Q = torch.ones(1, dtype=torch.bool)
    swaps = read_swaps(logits, attention_HQK, swappable_QK, measured_Q, TAUS)
    parts = read_exact(logits, swappable_QK, measured_Q).parts
    found = {}
    for tau, positional_HQ, symbolic_HQ in zip(TAUS, swaps.positional_THQ, swaps.symbolic_THQ, strict=True):
        found[f"positional{at(tau)}"] = _by_seed(positional_HQ, heads).mean(1)
        found[f"symbolic{at(tau)}"] = _by_seed(symbolic_HQ, heads).mean(1)
    found["entropy"] = _by_seed(torch.special.entr(attention_HQK).sum(-1) / log(CONTEXT), heads).mean(1)
    total_E = _by_seed(parts.weight_HQ, heads).sum(1)
    for share in ("position", "symbol", "interaction"):
        part_HQ = torch.where(parts.flat_HQ, 0, getattr(parts, f"{share}_HQ"))
        with np.errstate(invalid="ignore"):
            found[f"{share}_share"] = _by_seed(part_HQ, heads).sum(1) / total_E
    return found


def _by_seed(value_HQ: Tensor, heads: Trained) -> Floats:
    found: Floats = value_HQ.numpy().reshape(len(heads.seeds), -1)
    return found


def _over_seeds(part: str, heads: Trained, item: str, measure: str, value_EA: Floats, **limits: Any) -> Iterator[Row]:
    for base, value_E in zip(BASES, value_EA.T, strict=True):
        yield from _rows(part, heads, item, measure, base, value_E, **({"within": (0, 1)} | limits))


def _rows(
    part: str, heads: Trained, item: str, measure: str, base: float, value_E: Iterable[float], **limits: Any
) -> Iterator[Row]:
    """One row a seed, and one over all of them."""
    values = [float(value) for value in value_E]
    for seed, value in zip(heads.seeds, values, strict=True):
        yield (part, heads.case.name, item, base, seed, measure, value, None, None)
    yield (part, heads.case.name, item, base, None, measure, *interval(values, **limits))
