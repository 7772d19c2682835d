"""Means and covariances of complex vectors over the keys that may be swapped in each row.

Consecutive rows share nearly all keys, so sums are kept for the ranges between their ends and accumulated: all rows of
n keys cost as much as one product of the keys with themselves, not one product per row. The mean of all keys is
subtracted before anything is summed, so that a common offset costs no precision.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor
from torch.nn.functional import pad

from wherewhat.logits.base import repeat_groups


@dataclass(frozen=True)
class Spread:
    """The distribution of each row's vectors x: mean products x xᵀ and x x^H around `origin`, and the mean around it.

    The mean itself is subtracted only when a form is computed: that costs a vector per row instead of a matrix.
    """

    origin_GQF: Tensor  # may be the same for all rows
    shift_GQF: Tensor  # the mean of each row, from the origin
    plus_GQFF: Tensor  # `count` times the mean of x xᵀ
    minus_GQFF: Tensor  # `count` times the mean of x x^H
    count_Q: Tensor

    @property
    def mean_GQF(self) -> Tensor:
        """The mean of each row."""
        return self.shift_GQF + self.origin_GQF

    def forms(self, *lefts_HQF: Tensor) -> list[Tensor]:
        """For each left vector ½ Re(left · plus left + left · minus conj(left)) before its last sum, form_HQF."""
        heads, queries, planes = lefts_HQF[0].shape
        groups, columns = len(self.plus_GQFF), len(lefts_HQF)
        left_GQFr = torch.stack(list(lefts_HQF)).view(columns, groups, -1, queries, planes).permute(1, 3, 4, 0, 2)
        left_GQFr = left_GQFr.reshape(groups, queries, planes, -1)
        both_GQFr = (self.plus_GQFF @ left_GQFr).add_(self.minus_GQFF @ left_GQFr.conj())
        form_GQFr = (left_GQFr * both_GQFr).real * (0.5 / self.count_Q[:, None, None])
        form = form_GQFr.view(groups, queries, planes, columns, -1).permute(3, 0, 4, 1, 2)
        return list(form.reshape(columns, heads, queries, planes))

    def mean_form(self, left_HQF: Tensor) -> Tensor:
        """What the mean of each row contributes to a form: the square of Re Σ_f left_f shift_f before its last sum."""
        real_HQF = (left_HQF * repeat_groups(self.shift_GQF, len(left_HQF))).real
        return real_HQF * real_HQF.sum(-1, keepdim=True)


def product_variances(
    rotated_query_HQF: Tensor, content_query_HQF: Tensor, slot_query_HQF: Tensor, keys: Spread, phases: Spread
) -> tuple[Tensor, Tensor, Tensor]:
    """Three variances of Re Σ query · key · phase over independent keys and phases, by frequency.

    The variance of the phases' means, of the keys' means, and the rest: position_HQF, symbol_HQF, interaction_HQF. The
    product of `content_query` with a key is that content's mean, the product of `slot_query` with a phase that slot's.
    """
    heads = len(rotated_query_HQF)
    shifted_keys_HQF = rotated_query_HQF * repeat_groups(keys.shift_GQF, heads)
    shifted_phases_HQF = rotated_query_HQF * repeat_groups(phases.shift_GQF, heads)
    symbol_HQF, by_phases_HQF = keys.forms(content_query_HQF, shifted_phases_HQF)
    position_HQF, by_keys_HQF = phases.forms(slot_query_HQF, shifted_keys_HQF)
    # In place: the products of keys are not used again.
    plus_GQFF, minus_GQFF = keys.plus_GQFF.mul_(phases.plus_GQFF), keys.minus_GQFF.mul_(phases.minus_GQFF)
    both = replace(keys, plus_GQFF=plus_GQFF, minus_GQFF=minus_GQFF, count_Q=keys.count_Q * phases.count_Q)
    (both_HQF,) = both.forms(rotated_query_HQF)
    interaction_HQF = both_HQF - by_phases_HQF - by_keys_HQF + phases.mean_form(shifted_keys_HQF)
    return (
        position_HQF - phases.mean_form(slot_query_HQF),
        symbol_HQF - keys.mean_form(content_query_HQF),
        interaction_HQF,
    )


@dataclass(frozen=True)
class KeyRange:
    """The swappable keys of each row, where those are all from `first` to before `stop` except its own query."""

    first_Q: Tensor
    stop_Q: Tensor
    queries_Q: Tensor

    def split(self, rows: int) -> list["KeyRange"]:
        """Some rows at a time."""
        parts = zip(self.first_Q.split(rows), self.stop_Q.split(rows), self.queries_Q.split(rows), strict=True)
        return [KeyRange(*part) for part in parts]

    @property
    def inside_Q(self) -> Tensor:
        """Whether the query is among its keys; it is never swapped."""
        return (self.queries_Q >= self.first_Q) & (self.queries_Q < self.stop_Q)

    @property
    def count_Q(self) -> Tensor:
        """The number of swappable keys of each row."""
        return (self.stop_Q - self.first_Q - self.inside_Q.long()).clamp_min(1)


def find_key_range(swappable_QK: Tensor, queries_Q: Tensor) -> KeyRange | None:
    """The range of every row; None if some row leaves out a key in the middle that is not its query."""
    keys = swappable_QK.shape[-1]
    slots_K = torch.arange(keys, device=swappable_QK.device)
    stop_Q = torch.where(swappable_QK, slots_K + 1, 0).amax(-1)
    first_Q = torch.where(swappable_QK, slots_K, keys).amin(-1)
    first_Q = torch.where(stop_Q > 0, first_Q, 0)  # a row without swappable keys has an empty range
    between_QK = (slots_K >= first_Q[:, None]) & (slots_K < stop_Q[:, None]) & (slots_K != queries_Q[:, None])
    return KeyRange(first_Q, stop_Q, queries_Q) if torch.equal(between_QK, swappable_QK) else None


def even_spread(vectors_GKF: Tensor, key_range: KeyRange) -> Spread:
    """The spread of every group's vectors with equal weights for all keys of a row's range."""
    origin_G1F = vectors_GKF.mean(1, keepdim=True)
    centred_GKF = vectors_GKF - origin_G1F
    sum_GQF1, plus_GQFF, minus_GQFF = _range_sums(centred_GKF, key_range)
    if bool(key_range.inside_Q.any()):  # without the query of each row
        own_GQF1 = (centred_GKF[:, key_range.queries_Q] * key_range.inside_Q[:, None])[..., None]
        plus_GQFF, minus_GQFF = plus_GQFF - own_GQF1 @ own_GQF1.mT, minus_GQFF - own_GQF1 @ own_GQF1.mH
        sum_GQF1 = sum_GQF1 - own_GQF1
    count_Q = key_range.count_Q.to(origin_G1F.real.dtype)
    return Spread(origin_G1F, sum_GQF1[..., 0] / count_Q[:, None], plus_GQFF, minus_GQFF, count_Q)


def weighted_spread(vectors_GKF: Tensor, weights_HQK: Tensor) -> Spread:
    """The spread with a weight for every head, row and key, one row at a time.

    Relative to the key with the largest weight: where it has nearly all of it, the small rest must not be lost.
    """
    heads = max(weights_HQK.shape[0], vectors_GKF.shape[0])
    vectors_HKF = repeat_groups(vectors_GKF, heads)
    every_H = torch.arange(heads, device=vectors_GKF.device)
    origin, shift, gram = [], [], []
    for weights_HK in weights_HQK.to(vectors_HKF.real.dtype).unbind(1):
        origin.append(vectors_HKF[every_H, weights_HK.argmax(-1).expand(heads)])
        centred_HKR = torch.view_as_real(vectors_HKF - origin[-1][:, None]).flatten(-2)  # real and imaginary parts
        weighed_HRK = (centred_HKR * weights_HK[..., None]).mT
        shift.append(torch.view_as_complex(weighed_HRK.sum(-1).unflatten(-1, (-1, 2)).contiguous()))
        gram.append(weighed_HRK @ centred_HKR)
    # From products of real and imaginary parts to x xᵀ and x x^H.
    parts_GQFFab = torch.stack(gram, 1).unflatten(-2, (-1, 2)).unflatten(-1, (-1, 2)).transpose(-3, -2)
    (rr, ri), (ir, ii) = (half.unbind(-1) for half in parts_GQFFab.unbind(-2))
    plus_GQFF, minus_GQFF = torch.complex(rr - ii, ri + ir), torch.complex(rr + ii, ir - ri)
    ones_Q = vectors_HKF.real.new_ones(weights_HQK.shape[1])
    return Spread(torch.stack(origin, 1), torch.stack(shift, 1), plus_GQFF, minus_GQFF, ones_Q)


def _range_sums(vectors_GKF: Tensor, key_range: KeyRange) -> list[Tensor]:
    """Sums over each row's range: of the vectors, and of their products with themselves and their conjugates.

    Vectors are cut where some range begins or ends, added up, and differences of the cumulative sums are taken.
    """
    breaks_S = torch.cat((key_range.first_Q, key_range.stop_Q)).unique()
    start_Q, end_Q = torch.searchsorted(breaks_S, key_range.first_Q), torch.searchsorted(breaks_S, key_range.stop_Q)
    (groups, _, planes), pieces = vectors_GKF.shape, max(1, len(breaks_S) - 1)
    sums = [vectors_GKF.new_empty(groups, pieces, planes, width) for width in (1, planes, planes)]
    # The first piece separately: it is long where only some middle rows are read, and would pad all the others.
    _write_products(vectors_GKF[:, None, breaks_S[0] : breaks_S[:2][-1]], [part[:, :1] for part in sums])
    if pieces > 1:
        lengths_S = breaks_S[1:].diff()  # all others are padded with zeros to the longest
        inside_L = torch.arange(int(lengths_S.max()), device=vectors_GKF.device)
        pieces_GSLF = vectors_GKF[:, (breaks_S[1:-1, None] + inside_L).clamp_(max=vectors_GKF.shape[1] - 1)]
        filled_SL1 = (inside_L < lengths_S[:, None])[..., None]
        pieces_GSLF = pieces_GSLF if bool(filled_SL1.all()) else pieces_GSLF.mul_(filled_SL1)
        _write_products(pieces_GSLF, [part[:, 1:] for part in sums])
    sums = [part.cumsum_(1) for part in sums]
    if not bool(start_Q.any()) and torch.equal(end_Q, torch.arange(1, pieces + 1, device=end_Q.device)):
        return sums  # all rows begin at the first cut and end one after the other
    padded = (pad(part, (0, 0, 0, 0, 1, 0)) for part in sums)
    return [part[:, end_Q] - part[:, start_Q] for part in padded]


def _write_products(pieces_GSLF: Tensor, into: Sequence[Tensor]) -> None:
    """Write the sum of every piece, its sum of x xᵀ, and its sum of x x^H."""
    sum_GSF1, plus_GSFF, minus_GSFF = into
    sum_GSF1[..., 0] = pieces_GSLF.sum(-2)
    if pieces_GSLF.shape[2] == 1:
        torch.mul(sum_GSF1, sum_GSF1.mT, out=plus_GSFF)
        torch.mul(sum_GSF1, sum_GSF1.mH, out=minus_GSFF)
    else:
        plus_GSFF[:] = pieces_GSLF.mT @ pieces_GSLF
        minus_GSFF[:] = pieces_GSLF.mT @ pieces_GSLF.conj()
