"""What each rotary frequency does in a head: how much goes into it, and whether it tells slots or contents apart."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from wherewhat.logits.planes import RotaryPlanes
from wherewhat.scores.base import PerRow, Rows

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
        """With more rows of the same texts, or of some of them."""
        return replace(self + later, texts=max(self.texts, later.texts))

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
    planes = None if rows.logits is None else rows.logits.planes
    if planes is None:
        return None
    theta_F = planes.theta_BF.mean(0)
    unlike = not torch.allclose(planes.theta_BF, theta_F, rtol=1e-3, atol=1e-6)
    sums = {**_norms(rows, planes), **_parts(rows, planes), **_logit_sums(rows, planes)}
    return Frequencies(theta_F, sums, texts=len(planes.theta_BF), unlike=unlike)


def _norms(rows: Rows, planes: RotaryPlanes) -> Sums:
    """Lengths of the queries of rows that can swap keys, and of the keys that each of these can swap."""
    heads = len(planes.query_HQF)
    query_HQF = planes.query_HQF[:, rows.several_Q]
    lengths_BGKF = _lengths(planes.key_BGKF)
    times_QK = (rows.swappable_QK & rows.several_Q[:, None]).to(lengths_BGKF.dtype)
    times_BK = rows.text_sums(times_QK)  # in how many rows of its text
    key_GF = (times_BK[:, None, None] @ lengths_BGKF)[:, :, 0].sum(0)
    key_HF = key_GF.cpu().double().repeat_interleave(heads // len(key_GF), 0)
    return {
        "query_norm": (_lengths(query_HQF).sum(1).cpu().double(), key_HF.new_full((heads,), query_HQF.shape[1])),
        "key_norm": (key_HF, key_HF.new_full((heads,), float(times_BK.sum()))),
    }


def _lengths(pairs: Tensor) -> Tensor:
    """Lengths of complex numbers; many times quicker than their absolute value, which guards against overflow."""
    return (pairs.real.square() + pairs.imag.square()).sqrt()


def _parts(rows: Rows, planes: RotaryPlanes) -> Sums:
    """What each frequency adds to the three variances, to be divided by the whole variance.

    Under a soft cap, frequencies do not add up, so they have no parts.
    """
    if rows.logits is None or rows.logits.by_table:
        return {}
    if rows.exact is None or rows.exact.parts.planes is None:
        return dict.fromkeys(PARTS, _nothing(planes))
    parts, by_frequency = rows.exact.parts, rows.exact.parts.planes
    total_H = parts.weight_HQ.sum(-1).cpu().double()
    by_part = (by_frequency.position_HQF, by_frequency.symbol_HQF, by_frequency.interaction_HQF)
    return {part: (sum_HQF.sum(1).cpu().double(), total_H) for part, sum_HQF in zip(PARTS, by_part, strict=True)}


def _logit_sums(rows: Rows, planes: RotaryPlanes) -> Sums:
    """What is read off the logits of each frequency alone."""
    names = ("logit", "peak", "positional", "symbolic")
    if rows.planes is None:
        return dict.fromkeys(names, _nothing(planes))
    measured = (rows.planes.size_HQF, rows.planes.peak_HQF, rows.planes.positional_HQF, rows.planes.symbolic_HQF)
    count_H = torch.full((len(planes.query_HQF),), float(rows.measured_Q.sum()), dtype=torch.float64)
    return {name: (value_HQF.sum(1).cpu().double(), count_H) for name, value_HQF in zip(names, measured, strict=True)}


def _nothing(planes: RotaryPlanes) -> tuple[Tensor, Tensor]:
    none_HF = torch.zeros(len(planes.query_HQF), planes.theta_BF.shape[1], dtype=torch.float64)
    return none_HF, none_HF[:, 0]


def mean_frequency(rows: Rows) -> PerRow:
    """The mean number of a row's frequencies, from 0 for the fastest, each counting by its largest logit.

    A frequency that raises no logit above 0 counts nothing. A row counts by what all its frequencies count, so that
    pooling gives the mean over all rows' frequencies together.
    """
    if rows.planes is None:
        return rows.nothing
    peak_HQF = rows.planes.peak_HQF.clamp_min(0)
    number_F = torch.arange(peak_HQF.shape[-1], device=peak_HQF.device, dtype=peak_HQF.dtype)
    total_HQ = peak_HQF.sum(-1)
    return torch.where(total_HQ > 0, (peak_HQF @ number_F) / total_HQ, 0), total_HQ
