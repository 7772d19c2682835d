"""What each rotary frequency does in a head: how much goes into it, and whether it tells slots or contents apart."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from wherewhat.logits.rotary import RotaryLogits
from wherewhat.scores.base import PerRow, Rows
from wherewhat.scores.swaps import cosines, in_order

SWAPPED_SLOTS = 32  # of so many slots, spread evenly, every two are swapped in every frequency

PARTS = ("position_part", "symbol_part", "interaction_part")

Sums = Mapping[str, tuple[Tensor, Tensor]]  # by measure, sum_HF and the weight_H it is to be divided by


@dataclass(frozen=True)
class Frequencies:
    """What some rows show of every rotary frequency. Rows and texts add up.

    `query_norm` and `key_norm` are mean lengths, `logit` the mean absolute value of what the frequency adds to a logit
    and `peak` the mean over rows of the largest, which is negative where it lowers every logit. `position_part`,
    `symbol_part` and `interaction_part` are what it adds to the three shares: signed, and all of them together add up
    to 1. `positional` and `symbolic` are the published scores of a head that has this frequency only.
    """

    theta_F: Tensor  # radians per token; the mean where longer texts rotate more slowly
    sums: Sums
    texts: int = 1
    unlike: bool = False  # not all texts were rotated by the same angles

    def then(self, later: "Frequencies") -> "Frequencies":
        """With more rows of the same text."""
        return replace(self + later, texts=1)

    def __add__(self, other: "Frequencies") -> "Frequencies":
        added = {**self.sums, **other.sums}  # a text too short for a measure has none of it
        for measure in self.sums.keys() & other.sums.keys():
            (sum_HF, weight_H), (more_HF, more_H) = self.sums[measure], other.sums[measure]
            added[measure] = (sum_HF + more_HF, weight_H + more_H)
        texts = self.texts + other.texts
        theta_F = (self.theta_F * self.texts + other.theta_F * other.texts) / texts
        unlike = self.unlike or other.unlike or not torch.allclose(self.theta_F, other.theta_F, rtol=1e-3, atol=1e-6)
        return Frequencies(theta_F, added, texts, unlike)

    def values(self) -> dict[str, Tensor]:
        """By measure, value_HF: the mean over all that was added up, NaN if that was nothing.

        `variance_share` is what the three parts come to.
        """
        values = {measure: sum_HF / weight_H[:, None] for measure, (sum_HF, weight_H) in sorted(self.sums.items())}
        if all(part in values for part in PARTS):
            values["variance_share"] = sum((values[part] for part in PARTS[1:]), start=values[PARTS[0]])
        return values


def frequencies(rows: Rows) -> Frequencies | None:
    """What some rows show of every rotary frequency; None if the logits are not rotary."""
    rotary = None if rows.logits is None else rows.logits.rotary
    if rotary is None:
        return None
    return Frequencies(rotary.theta_F, {**_norms(rows, rotary), **_parts(rows, rotary), **_logit_sums(rows, rotary)})


def _norms(rows: Rows, rotary: RotaryLogits) -> Sums:
    """Lengths of the queries of rows that can swap keys, and of the keys that each of these can swap."""
    heads = len(rotary.query_HQF)
    query_HQF = rotary.query_HQF[:, rows.several_Q]
    lengths_GKF = _lengths(rotary.key_GKF)
    times_K = (rows.swappable_QK & rows.several_Q[:, None]).sum(0).to(lengths_GKF.dtype)  # in how many rows
    key_HF = (times_K @ lengths_GKF).cpu().double().repeat_interleave(heads // len(lengths_GKF), 0)
    return {
        "query_norm": (_lengths(query_HQF).sum(1).cpu().double(), key_HF.new_full((heads,), query_HQF.shape[1])),
        "key_norm": (key_HF, key_HF.new_full((heads,), float(times_K.sum()))),
    }


def _lengths(pairs: Tensor) -> Tensor:
    """Lengths of complex numbers; many times quicker than their absolute value, which guards against overflow."""
    return (pairs.real.square() + pairs.imag.square()).sqrt()


def _parts(rows: Rows, rotary: RotaryLogits) -> Sums:
    """What each frequency adds to the three variances, to be divided by the whole variance.

    Under a soft cap, frequencies do not add up, so they have no parts.
    """
    if rows.logits is not rotary:
        return {}
    if rows.exact is None or rows.exact.parts.planes is None:
        none_HF = torch.zeros(len(rotary.query_HQF), len(rotary.theta_F), dtype=torch.float64)
        return dict.fromkeys(PARTS, (none_HF, none_HF[:, 0]))
    parts, planes = rows.exact.parts, rows.exact.parts.planes
    total_H = parts.weight_HQ.sum(-1).cpu().double()
    by_part = (planes.position_HQF, planes.symbol_HQF, planes.interaction_HQF)
    return {part: (sum_HQF.sum(1).cpu().double(), total_H) for part, sum_HQF in zip(PARTS, by_part, strict=True)}


def _logit_sums(rows: Rows, rotary: RotaryLogits) -> Sums:
    """What is read off the logits of each frequency alone, for rows whose tables may be built."""
    heads, planes = len(rotary.query_HQF), len(rotary.theta_F)
    queries = rows.measured_Q.nonzero()[:, 0].tolist()
    sums = torch.zeros(4, heads, planes, dtype=torch.float64)  # small, so kept where every device has double precision
    for query in queries:
        logits_HFK = rotary.plane_rows(query)
        swappable_K = rows.swappable_QK[query]
        sums[0] += (logits_HFK.abs() @ (swappable_K.to(logits_HFK.dtype) / swappable_K.sum())).cpu()
        sums[1] += logits_HFK[..., swappable_K].amax(-1).cpu()
        weight_HFK = logits_HFK.masked_fill(~rows.allowed_QK[query], -torch.inf).softmax(-1)
        slots_S = swappable_K.nonzero()[:, 0]
        if len(slots_S) > SWAPPED_SLOTS:  # the first and the last stay among these
            slots_S = slots_S[torch.linspace(0, len(slots_S) - 1, SWAPPED_SLOTS, device=slots_S.device).round().long()]
        table_HFKS = rotary.plane_tables(query, slots_S)
        sums[2:] += torch.stack(_mean_cosines(table_HFKS, weight_HFK[..., slots_S], rows.taus[0])).cpu()
    count_H = sums.new_full((heads,), len(queries))
    names = ("logit", "peak", "positional", "symbolic")
    return {measure: (sum_HF, count_H) for measure, sum_HF in zip(names, sums, strict=True)}


def _mean_cosines(table_HFKS: Tensor, weight_HFS: Tensor, tau: float) -> tuple[Tensor, Tensor]:
    """positional_HF and symbolic_HF over swaps of every two slots, weighted by exp(gap / tau)."""
    slots = table_HFKS.shape[-1]
    one_P, other_P = torch.triu_indices(slots, slots, 1, device=table_HFKS.device)
    actual_HFS, flat_HFS = table_HFKS.diagonal(dim1=-2, dim2=-1), table_HFKS.flatten(-2)
    before_HFP = actual_HFS[..., other_P] - actual_HFS[..., one_P]
    after_HFP = flat_HFS[..., one_P * slots + other_P] - flat_HFS[..., other_P * slots + one_P]
    positional_HFP, symbolic_HFP = cosines(*in_order(before_HFP, after_HFP))
    gap_HFP = (weight_HFS[..., one_P] - weight_HFS[..., other_P]).abs()
    alpha_HFP = ((gap_HFP - gap_HFP.amax(-1, keepdim=True)) / tau).softmax(-1)
    return (positional_HFP * alpha_HFP).sum(-1), (symbolic_HFP * alpha_HFP).sum(-1)


def mean_frequency(rows: Rows) -> PerRow:
    """The mean number of a row's frequencies, from 0 for the fastest, each counting by its largest logit.

    A frequency that raises no logit above 0 counts nothing. A row counts by what all its frequencies count, so that
    pooling gives the mean over all rows' frequencies together.
    """
    rotary = None if rows.logits is None else rows.logits.rotary
    if rotary is None or not rows.measured_Q.any():
        return rows.nothing
    value_HQ, weight_HQ = (zeros_HQ.clone() for zeros_HQ in rows.nothing)
    number_F = torch.arange(len(rotary.theta_F), device=value_HQ.device)
    for query in rows.measured_Q.nonzero()[:, 0].tolist():
        peak_HF = (rotary.plane_rows(query) * rows.swappable_QK[query]).amax(-1).clamp_min_(0)
        total_H = peak_HF.sum(-1)
        value_HQ[:, query] = torch.where(total_H > 0, (peak_HF * number_F).sum(-1) / total_H, 0)
        weight_HQ[:, query] = total_H
    return value_HQ, weight_HQ
