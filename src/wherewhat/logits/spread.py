"""Means and covariances of complex vectors over the keys that each row may exchange.

Rows that follow each other see nearly the same keys, so sums are kept for the stretches between them and added up:
all rows of n keys cost as much as one product of the keys with themselves, not one each. The mean of all keys is taken
off before anything is summed, so that a common offset does not eat up the digits.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import pad

from wherewhat.logits.grouped import repeat_groups


@dataclass(frozen=True)
class Spread:
    """How the vectors x of each row lie: mean products x xᵀ and x x^H around `origin`, and the mean around it too.

    The mean itself is taken off only when a form is asked for: that costs a vector a row instead of a matrix.
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
        return _forms(self.plus_GQFF, self.minus_GQFF, self.count_Q, lefts_HQF)

    def off(self, left_HQF: Tensor) -> Tensor:
        """What the rows' means add to a form."""
        return square(left_HQF * repeat_groups(self.shift_GQF, len(left_HQF)))


def two_spreads(
    asking_HQF: Tensor, of_contents_HQF: Tensor, of_slots_HQF: Tensor, keys: Spread, turns: Spread
) -> tuple[Tensor, Tensor, Tensor]:
    """Three variances of Re Σ asking · key · turn over independent keys and turns, by frequency.

    Of the turns' means, of the keys' means, and of what is left: position_HQF, symbol_HQF, interaction_HQF. What asks
    contents for their means is asking · mean turn, what asks slots for theirs asking · mean key.
    """
    heads = len(asking_HQF)
    shifted_keys_HQF = asking_HQF * repeat_groups(keys.shift_GQF, heads)
    shifted_turns_HQF = asking_HQF * repeat_groups(turns.shift_GQF, heads)
    symbol_HQF, by_turns_HQF = keys.forms(of_contents_HQF, shifted_turns_HQF)
    position_HQF, by_keys_HQF = turns.forms(of_slots_HQF, shifted_keys_HQF)
    # In place: nothing else will be asked of the keys.
    plus_GQFF, minus_GQFF = keys.plus_GQFF.mul_(turns.plus_GQFF), keys.minus_GQFF.mul_(turns.minus_GQFF)
    (both_HQF,) = _forms(plus_GQFF, minus_GQFF, keys.count_Q * turns.count_Q, (asking_HQF,))
    interaction_HQF = both_HQF - by_turns_HQF - by_keys_HQF + turns.off(shifted_keys_HQF)
    return position_HQF - turns.off(of_slots_HQF), symbol_HQF - keys.off(of_contents_HQF), interaction_HQF


def square(terms_HQF: Tensor) -> Tensor:
    """The square of Re Σ_f terms before its last sum."""
    real_HQF = terms_HQF.real
    return real_HQF * real_HQF.sum(-1, keepdim=True)


@dataclass(frozen=True)
class Stretch:
    """The keys that each row may exchange, where those are all from `first` to before `stop` but its own query."""

    first_Q: Tensor
    stop_Q: Tensor
    queries_Q: Tensor

    def split(self, rows: int) -> list["Stretch"]:
        """Some rows at a time."""
        parts = zip(self.first_Q.split(rows), self.stop_Q.split(rows), self.queries_Q.split(rows), strict=True)
        return [Stretch(*part) for part in parts]

    @property
    def inside_Q(self) -> Tensor:
        """Whether the query stands among its keys; it stays put."""
        return (self.queries_Q >= self.first_Q) & (self.queries_Q < self.stop_Q)

    @property
    def count_Q(self) -> Tensor:
        """How many keys each row may exchange."""
        return (self.stop_Q - self.first_Q - self.inside_Q.long()).clamp_min(1)


def find_stretch(swappable_QK: Tensor, queries_Q: Tensor) -> Stretch | None:
    """The stretch of every row, or None if some row leaves out a key in the middle that is not its query."""
    keys = swappable_QK.shape[-1]
    slots_K = torch.arange(keys, device=swappable_QK.device)
    stop_Q = torch.where(swappable_QK, slots_K + 1, 0).amax(-1)
    first_Q = torch.where(swappable_QK, slots_K, keys).amin(-1)
    first_Q = torch.where(stop_Q > 0, first_Q, 0)  # a row without swappable keys has an empty stretch
    between_QK = (slots_K >= first_Q[:, None]) & (slots_K < stop_Q[:, None]) & (slots_K != queries_Q[:, None])
    return Stretch(first_Q, stop_Q, queries_Q) if torch.equal(between_QK, swappable_QK) else None


def even_spread(vectors_GKF: Tensor, stretch: Stretch) -> Spread:
    """The spread of every group's vectors with all keys of a row's stretch counting alike."""
    origin_G1F = vectors_GKF.mean(1, keepdim=True)
    centred_GKF = vectors_GKF - origin_G1F
    sums = _Sums.over(centred_GKF, stretch)
    if bool(stretch.inside_Q.any()):
        sums = sums.without((centred_GKF[:, stretch.queries_Q] * stretch.inside_Q[:, None])[..., None])
    count_Q = stretch.count_Q.to(origin_G1F.real.dtype)
    shift_GQF = sums.sum_GQF1[..., 0] / count_Q[:, None]
    return Spread(origin_G1F, shift_GQF, sums.plus_GQFF, sums.minus_GQFF, count_Q)


def weighted_spread(vectors_GKF: Tensor, weights_HQK: Tensor) -> Spread:
    """The spread with a weight for every head, row and key, one row at a time.

    Seen from the key that weighs most: where it weighs nearly all, what is left is small, and must not be lost.
    """
    heads = max(weights_HQK.shape[0], vectors_GKF.shape[0])
    vectors_HKF = repeat_groups(vectors_GKF, heads)
    every_H = torch.arange(heads, device=vectors_GKF.device)
    origin, shift, gram = [], [], []
    for weights_HK in weights_HQK.to(vectors_HKF.real.dtype).unbind(1):
        origin.append(vectors_HKF[every_H, weights_HK.argmax(-1).expand(heads)])
        centred_HKR = _as_real(vectors_HKF - origin[-1][:, None])
        weighed_HRK = (centred_HKR * weights_HK[..., None]).mT
        shift.append(_as_complex(weighed_HRK.sum(-1)))
        gram.append(weighed_HRK @ centred_HKR)
    ones_Q = vectors_HKF.real.new_ones(weights_HQK.shape[1])
    return Spread(torch.stack(origin, 1), torch.stack(shift, 1), *_plus_and_minus(torch.stack(gram, 1)), ones_Q)


def _forms(plus_GQFF: Tensor, minus_GQFF: Tensor, count_Q: Tensor, lefts_HQF: Sequence[Tensor]) -> list[Tensor]:
    heads, queries, planes = lefts_HQF[0].shape
    groups, columns = len(plus_GQFF), len(lefts_HQF)
    left_GQFr = torch.stack(list(lefts_HQF)).view(columns, groups, -1, queries, planes).permute(1, 3, 4, 0, 2)
    left_GQFr = left_GQFr.reshape(groups, queries, planes, -1)
    both_GQFr = (plus_GQFF @ left_GQFr).add_(minus_GQFF @ left_GQFr.conj())
    form_GQFr = (left_GQFr * both_GQFr).real * (0.5 / count_Q[:, None, None])
    form = form_GQFr.view(groups, queries, planes, columns, -1).permute(3, 0, 4, 1, 2)
    return list(form.reshape(columns, heads, queries, planes))


def _as_real(vectors: Tensor) -> Tensor:
    """Real and imaginary parts side by side."""
    return torch.view_as_real(vectors).flatten(-2)


def _as_complex(vectors: Tensor) -> Tensor:
    """And back."""
    return torch.view_as_complex(vectors.unflatten(-1, (-1, 2)).contiguous())


def _plus_and_minus(gram_GQRR: Tensor) -> tuple[Tensor, Tensor]:
    """From products of real and imaginary parts to x xᵀ and x x^H."""
    parts_GQFFab = gram_GQRR.unflatten(-2, (-1, 2)).unflatten(-1, (-1, 2)).transpose(-3, -2)
    (rr, ri), (ir, ii) = (half.unbind(-1) for half in parts_GQFFab.unbind(-2))
    return torch.complex(rr - ii, ri + ir), torch.complex(rr + ii, ir - ri)


@dataclass(frozen=True)
class _Sums:
    """Sums over each row's stretch: of the vectors, and of their products with themselves and their conjugates."""

    sum_GQF1: Tensor
    plus_GQFF: Tensor
    minus_GQFF: Tensor

    @classmethod
    def over(cls, vectors_GKF: Tensor, stretch: Stretch) -> "_Sums":
        """Cut where some stretch begins or ends, add up, and take differences."""
        breaks_S = torch.cat((stretch.first_Q, stretch.stop_Q)).unique()
        start_Q, end_Q = torch.searchsorted(breaks_S, stretch.first_Q), torch.searchsorted(breaks_S, stretch.stop_Q)
        (groups, _, planes), pieces = vectors_GKF.shape, max(1, len(breaks_S) - 1)
        sums = [vectors_GKF.new_empty(groups, pieces, planes, width) for width in (1, planes, planes)]
        # The first piece apart: it is long where rows are some out of the middle, and the others need not be filled up.
        _write_products(vectors_GKF[:, None, breaks_S[0] : breaks_S[:2][-1]], [part[:, :1] for part in sums])
        if pieces > 1:
            _write_products(_pieces(vectors_GKF, breaks_S[1:]), [part[:, 1:] for part in sums])
        return cls(*(_between(part.cumsum_(1), start_Q, end_Q) for part in sums))

    def without(self, own_GQF1: Tensor) -> "_Sums":
        """The same with one vector of each row left out."""
        plus_GQFF, minus_GQFF = self.plus_GQFF - own_GQF1 @ own_GQF1.mT, self.minus_GQFF - own_GQF1 @ own_GQF1.mH
        return _Sums(self.sum_GQF1 - own_GQF1, plus_GQFF, minus_GQFF)


def _pieces(vectors_GKF: Tensor, breaks_S: Tensor) -> Tensor:
    """pieces_GSLF: the vectors between neighbouring cuts, filled up with zeros to the longest."""
    lengths_S = breaks_S.diff()
    inside_L = torch.arange(int(lengths_S.max()), device=vectors_GKF.device)
    index_SL = (breaks_S[:-1, None] + inside_L).clamp_(max=vectors_GKF.shape[1] - 1)
    filled_SL1 = (inside_L < lengths_S[:, None])[..., None]
    pieces_GSLF = vectors_GKF[:, index_SL]
    return pieces_GSLF if bool(filled_SL1.all()) else pieces_GSLF.mul_(filled_SL1)


def _write_products(pieces_GSLF: Tensor, into: Sequence[Tensor]) -> None:
    """Of every piece the sum, the sum of x xᵀ, and the sum of x x^H."""
    sum_GSF1, plus_GSFF, minus_GSFF = into
    sum_GSF1[..., 0] = pieces_GSLF.sum(-2)
    if pieces_GSLF.shape[2] == 1:
        torch.mul(sum_GSF1, sum_GSF1.mT, out=plus_GSFF)
        torch.mul(sum_GSF1, sum_GSF1.mH, out=minus_GSFF)
    else:
        plus_GSFF[:] = pieces_GSLF.mT @ pieces_GSLF
        minus_GSFF[:] = pieces_GSLF.mT @ pieces_GSLF.conj()


def _between(sums_GSXY: Tensor, start_Q: Tensor, end_Q: Tensor) -> Tensor:
    """Differences of running sums. Rows that all begin at the first cut and end one after the other need none."""
    plain = torch.arange(1, sums_GSXY.shape[1] + 1, device=end_Q.device)
    if not bool(start_Q.any()) and torch.equal(end_Q, plain):
        return sums_GSXY
    sums_GSXY = pad(sums_GSXY, (0, 0, 0, 0, 1, 0))
    return sums_GSXY[:, end_Q] - sums_GSXY[:, start_Q]
