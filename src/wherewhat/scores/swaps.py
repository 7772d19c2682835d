"""Swap every two keys of a row, or every two blocks, and see what happens to the attention on them: as published.

Of two weights only the ratio counts, before the swap and after, so all about a swap follows from four logits, and no
weight is too small to tell. Keys are taken in order of their weight. Then the gap between the weights of two keys,
which decides how much their swap counts, is a product of what each of them brings, and swaps that count for nothing
(at the published temperature nearly all, unless attention is flat) need not be looked at.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from wherewhat.logits.base import Logits, widest_dtype

PUBLISHED = 1e-4  # the temperature of the published code
FAINT = 1e-17  # what all swaps that are not looked at may count for together
DRAWN = 1024  # swaps that represent all where there are too many to compute
GOLDEN = (5**0.5 - 1) / 2
MATCHED = 256  # random swaps from which the level of a random head is computed
STEPS = tuple(1.2207440846057596**-power for power in (1, 2, 3))  # fills a cube evenly; 1.22... solves x**4 = x + 1
ROOM = 1 << 16  # swaps in work at once: what is known of them stays near the processor
BLOCK_ROOM = 1 << 22  # numbers in work at once when blocks are swapped


def at(tau: float) -> str:
    """What a score at this temperature is called beside its name; the published one needs no mention.

    >>> at(0.01), at(PUBLISHED)
    ('@0.01', '')
    """
    return "" if tau == PUBLISHED else f"@{tau:g}"


@dataclass(frozen=True)
class Swaps:
    """Both published scores of each row at each temperature. Rows that were not measured hold zeros."""

    taus: tuple[float, ...]
    positional_THQ: Tensor
    symbolic_THQ: Tensor
    measured_HQ: Tensor  # bool
    chance_THQ: Tensor | None = None  # either score of a random head that is as peaked; None: not computed


def read_swaps(
    logits: Logits,
    attention_HQK: Tensor,
    swappable_QK: Tensor,
    measured_Q: Tensor,
    taus: tuple[float, ...],
    most: int | None = None,
) -> Swaps:
    """Swap every two swappable keys of every measured row; where more than `most` swaps count, DRAWN represent them."""
    score_3THQ = attention_HQK.new_zeros(3, len(taus), *attention_HQK.shape[:2])
    for query in measured_Q.nonzero()[:, 0].tolist():
        slots_S = swappable_QK[query].nonzero()[:, 0]
        weight_HS, actual_HS = attention_HQK[:, query, slots_S], logits.actual_HQK[:, query, slots_S]
        content_HSX, slot_HSX = logits.factors(query, slots_S)
        row = _SwappableRow(logits, actual_HS, content_HSX, slot_HSX)
        score_3THQ[..., query] = _mean_cosines(row, weight_HS, taus, most).to(score_3THQ.dtype)
    positional_THQ, symbolic_THQ, chance_THQ = score_3THQ
    return Swaps(taus, positional_THQ, symbolic_THQ, measured_Q.expand(attention_HQK.shape[:2]), chance_THQ)


def cosines(before: Tensor, after: Tensor) -> tuple[Tensor, Tensor]:
    """How a swap leaves the attention on two keys, as positional and symbolic cosine. Writes over what it is given.

    Both are logarithms of how much the second of two slots gets for what the first gets, before and after the swap;
    before it, not more. A positional head leaves the attention on the slots alone, a symbolic one exchanges it.

    >>> cosines(torch.tensor(-2.0), torch.tensor(-2.0))  # nothing changed
    (tensor(1.), tensor(0.2658))
    """
    steep = 40 if before.dtype == torch.float32 else 300  # ratios beyond that are 0 or infinite to all digits
    before, after = before.clamp_(min=-steep).exp_(), after.clamp_(-steep, steep).exp_()
    # Of (1, x) and (1, y) the inner product is 1 + xy, that of (1, x) and (y, 1) is x + y, and the square of the
    # product of their lengths is (1 - xy)² + (x + y)². In place, as every pass over all swaps costs.
    positional = before * after
    symbolic = before.add_(after)
    length = torch.sub(1, positional, out=after).square_().addcmul_(symbolic, symbolic).rsqrt_()
    return positional.add_(1).mul_(length), symbolic.mul_(length)


def in_order(before: Tensor, after: Tensor) -> tuple[Tensor, Tensor]:
    """Exchange first and second where the second got more before the swap, as `cosines` needs it."""
    return -before.abs(), torch.where(before > 0, -after, after)


@dataclass(frozen=True)
class _SwappableRow:
    """The row of some heads over its swappable slots: the logits as they are, and the factors of the tables."""

    logits: Logits
    actual_HS: Tensor
    content_HSX: Tensor
    slot_HSX: Tensor

    def ordered(self, heads_H: Tensor, order_HS: Tensor) -> "_SwappableRow":
        """Some heads, and of each some slots in an order of its own."""
        here = heads_H[:, None], order_HS
        return _SwappableRow(self.logits, self.actual_HS[here], self.content_HSX[here], self.slot_HSX[here])

    def cosines(self, ones: slice, others: slice) -> tuple[Tensor, Tensor]:
        """positional_HST and symbolic_HST of swapping each one slot with each other."""
        before_HST = self.actual_HS[:, None, others] - self.actual_HS[:, ones, None]
        there_HST = self.content_HSX[:, ones] @ self.slot_HSX[:, others].mT
        here = self.slot_HSX[:, ones], self.content_HSX[:, others].mT
        if self.logits.by_table:
            after_HST = self.logits.nonlinearity(there_HST).sub_(self.logits.nonlinearity(here[0] @ here[1]))
        else:
            after_HST = there_HST.baddbmm_(*here, alpha=-1)
        return cosines(before_HST, after_HST)

    def pair_cosines(self, heads_H: Tensor, one_HD: Tensor, other_HD: Tensor) -> tuple[Tensor, Tensor]:
        """positional_HD and symbolic_HD of some heads, swapping one slot with another, pair by pair."""
        first, second = (heads_H[:, None], one_HD), (heads_H[:, None], other_HD)
        there_HD = self.logits.nonlinearity((self.content_HSX[first] * self.slot_HSX[second]).sum(-1))
        here_HD = self.logits.nonlinearity((self.slot_HSX[first] * self.content_HSX[second]).sum(-1))
        return cosines(self.actual_HS[second] - self.actual_HS[first], there_HD - here_HD)


def _mean_cosines(row: _SwappableRow, weight_HS: Tensor, taus: tuple[float, ...], most: int | None) -> Tensor:
    """score_3TH: both cosines over all swaps, weighted by exp(gap / tau); gap is how far the two weights differ.

    Then what either would be for a random head as peaked as this one.
    """
    if most is not None and len(taus) > 1:  # each has too many swaps, or not, for itself
        return torch.cat([_mean_cosines(row, weight_HS, (tau,), most) for tau in taus], 1)
    order_HS = row.actual_HS.argsort(descending=True)  # which is also that of the weights
    weight_HS = weight_HS.gather(1, order_HS)
    score_3TH = weight_HS.new_zeros(3, len(taus), len(weight_HS), dtype=widest_dtype(weight_HS.device))
    contributions = _KeyContributions.of(weight_HS, taus)
    score_3TH[2] = _matched(row.actual_HS.gather(1, order_HS), contributions)
    many_H = contributions.swaps_H > (most or torch.inf)
    if bool(many_H.any()):
        heads = many_H.nonzero()[:, 0]
        score_3TH[:2, :, heads] = _drawn(row, heads, order_HS[heads], _KeyContributions.of(weight_HS[heads], taus))
    # Heads are taken together as long as all their swaps fit; beyond that, each may leave out swaps of its own.
    for heads in (~many_H).nonzero()[:, 0].split(max(1, ROOM // weight_HS.shape[1] ** 2)):
        score_3TH[:2, :, heads] = _sum_up(
            row.ordered(heads, order_HS[heads]), _KeyContributions.of(weight_HS[heads], taus)
        )
    return score_3TH


@dataclass(frozen=True)
class _KeyContributions:
    """What each key, in order of weight, contributes to its swaps: as the one with more, and as the one with less."""

    high_HTS: Tensor
    low_HTS: Tensor
    highs: int  # how many from the first count at all as the one with more
    lows: int  # and how many up to the last as the one with less
    least: float

    @classmethod
    def of(cls, weight_HS: Tensor, taus: tuple[float, ...]) -> "_KeyContributions":
        fine = widest_dtype(weight_HS.device)
        weight_H1S = weight_HS.to(fine)[:, None]
        tau_T1 = torch.tensor(taus, dtype=fine, device=weight_HS.device)[:, None]
        high_HTS = ((weight_H1S - weight_H1S.amax(-1, keepdim=True)) / tau_T1).exp_()
        low_HTS = ((weight_H1S.amin(-1, keepdim=True) - weight_H1S) / tau_T1).exp_()
        least = FAINT / weight_HS.shape[-1] ** 2
        highs, lows = (int((bring_HTS >= least).flatten(0, 1).any(0).sum()) for bring_HTS in (high_HTS, low_HTS))
        return cls(high_HTS, low_HTS, highs, lows, least)

    @property
    def swaps_H(self) -> Tensor:
        """How many swaps of each head count at all, at the most."""
        highs_H, lows_H = (bring_HTS.ge(self.least).any(1).sum(-1) for bring_HTS in (self.high_HTS, self.low_HTS))
        size = self.high_HTS.shape[-1]
        return (highs_H * lows_H).clamp(max=size * (size - 1) // 2)

    def swaps_at(self, across_D: Tensor, within_D: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
        """By temperature one_HD and other_HD, the two keys of the swaps at these points of the unit square.

        Swaps are laid out over it by how much they count, first by the key with less weight, then by the one with
        more, so that points spread evenly meet most what counts most.
        """
        for high_HS, low_HS in zip(self.high_HTS.unbind(1), self.low_HTS.unbind(1), strict=True):
            up_to_HS = high_HS.cumsum(-1)
            reached_HS = (low_HS * (up_to_HS - high_HS)).cumsum(-1)
            other_HD = torch.searchsorted(reached_HS, reached_HS[:, -1:] * across_D).clamp_(1, high_HS.shape[1] - 1)
            below_HD = up_to_HS.gather(1, other_HD - 1)
            yield torch.minimum(torch.searchsorted(up_to_HS, below_HD * within_D), other_HD - 1), other_HD

    @property
    def total_HT(self) -> Tensor:
        """What all swaps count together."""
        return (self.high_HTS * (self.low_HTS.flip(-1).cumsum(-1).flip(-1) - self.low_HTS)).sum(-1)


def _sum_up(row: _SwappableRow, contributions: _KeyContributions) -> Tensor:
    """score_2TH of keys in order of weight, a block of them with all that weigh less at a time."""
    heads, _, size = contributions.high_HTS.shape
    # No numbers so small that they slow all down.
    low_HST = (contributions.low_HTS * contributions.low_HTS.ge(contributions.least)).to(row.actual_HS.dtype).mT
    sum_2HT = contributions.high_HTS.new_zeros(2, *contributions.high_HTS.shape[:2])
    start = 0
    while start < min(contributions.highs, size - 1):
        first = max(start, size - contributions.lows)
        stop = min(start + max(ROOM // ((size - first) * heads), 16), contributions.highs)
        for sum_HT, cosine_HSS in zip(sum_2HT, row.cosines(slice(start, stop), slice(first, size)), strict=True):
            if stop > first:  # each two once, the one with more weight first
                cosine_HSS[..., : stop - first].triu_(1 + start - first)
            sum_HT += ((cosine_HSS @ low_HST[:, first:]).mT * contributions.high_HTS[..., start:stop]).sum(-1)
        start = stop
    return (sum_2HT / contributions.total_HT).clamp_(0, 1).mT


def _drawn(row: _SwappableRow, heads_H: Tensor, order_HS: Tensor, contributions: _KeyContributions) -> Tensor:
    """score_2TH of some heads from DRAWN swaps, each standing for an equal part of what all count together.

    They are taken at even steps of one axis and golden ones of the other: nothing is random.
    """
    step_D = torch.arange(DRAWN, dtype=contributions.high_HTS.dtype, device=row.actual_HS.device) + 0.5
    scores = []
    for one_HD, other_HD in contributions.swaps_at(step_D / DRAWN, (step_D * GOLDEN) % 1):
        cosines_HD = row.pair_cosines(heads_H, order_HS.gather(1, one_HD), order_HS.gather(1, other_HD))
        scores.append(torch.stack([cosine_HD.to(step_D.dtype).mean(-1) for cosine_HD in cosines_HD]))
    return torch.stack(scores, 1)


def _matched(actual_HS: Tensor, contributions: _KeyContributions) -> Tensor:
    """chance_TH: what either score is for a random head as peaked as this one; logits in falling order.

    After a swap, such a head gives the two slots any two of the logits that the row has: independent of the slots and
    of what was swapped. As likely as a difference is its opposite, which exchanges the two scores, so both get the
    same. Taken from MATCHED swaps and as many differences, spread evenly over all there are.
    """
    step_D = torch.arange(MATCHED, dtype=contributions.high_HTS.dtype, device=actual_HS.device) + 0.5
    golden_D, first_D, second_D = ((step_D * step) % 1 for step in STEPS)
    slots = actual_HS.shape[1]
    after_HD = actual_HS[:, (first_D * slots).long()] - actual_HS[:, (second_D * slots).long()]
    chances = []
    for one_HD, other_HD in contributions.swaps_at(step_D / MATCHED, golden_D):
        before_HD = actual_HS.gather(1, other_HD) - actual_HS.gather(1, one_HD)
        positional_HD, symbolic_HD = cosines(before_HD, after_HD.clone())
        chances.append((positional_HD + symbolic_HD).to(step_D.dtype).mean(-1) / 2)
    return torch.stack(chances)


def read_block_swaps(
    logits: Logits,
    attention_HQK: Tensor,
    swappable_QK: Tensor,
    measured_Q: Tensor,
    blocks: Tensor,
    taus: tuple[float, ...],
) -> Swaps:
    """Swap every two blocks of every measured row, as far as all their keys can be swapped."""
    score_2THQ = attention_HQK.new_zeros(2, len(taus), *attention_HQK.shape[:2])
    measured_Q = measured_Q.clone()
    for query in measured_Q.nonzero()[:, 0].tolist():
        swaps = _swaps(blocks, swappable_QK[query])
        measured_Q[query] = len(swaps) > 0
        if len(swaps):
            row = _BlockRow(logits, query, attention_HQK[:, query])
            score_2THQ[:, :, :, query] = row.mean_cosines(swaps, taus)
    return Swaps(taus, score_2THQ[0], score_2THQ[1], measured_Q.expand(attention_HQK.shape[:2]))


@dataclass(frozen=True)
class _BlockRow:
    logits: Logits
    query: int
    attention_HK: Tensor

    def mean_cosines(self, swaps_P22: Tensor, taus: tuple[float, ...]) -> Tensor:
        """score_2TH over swaps of two blocks, weighted by exp(gap / tau) of the blocks' mean weights."""
        slots_S = torch.arange(self.attention_HK.shape[-1], device=swaps_P22.device)
        factors = self.logits.factors(self.query, slots_S)
        longest = int((swaps_P22[..., 1] - swaps_P22[..., 0]).max())
        at_once = max(1, BLOCK_ROOM // (factors[0][:, 0].numel() * longest))
        pieces = [self._cosines(some_P22, factors) for some_P22 in swaps_P22.split(at_once)]
        gap_HP, positional_HP, symbolic_HP = (torch.cat(parts, -1) for parts in zip(*pieces, strict=True))
        alpha_THP = torch.stack([((gap_HP - gap_HP.amax(-1, keepdim=True)) / tau).softmax(-1) for tau in taus])
        return (alpha_THP * torch.stack((positional_HP, symbolic_HP))[:, None]).sum(-1)

    def _cosines(self, swaps_P22: Tensor, factors: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor, Tensor]:
        """gap_HP, positional_HP and symbolic_HP of some swaps.

        The later block moves up to where the earlier began; that one moves down to where the later ended.
        """
        (early_P, early_end_P), (late_P, late_end_P) = swaps_P22.permute(1, 2, 0)
        earlier, later = _Stretch(early_P, early_end_P - early_P), _Stretch(late_P, late_end_P - late_P)
        actual_HK = self.logits.actual_HQK[:, self.query]
        before_HP = later.worth(actual_HK[:, later.slots_PL]) - earlier.worth(actual_HK[:, earlier.slots_PL])
        up = _Stretch(early_P, later.length_P)
        down = _Stretch(late_end_P - earlier.length_P, earlier.length_P)
        after_HP = down.worth(self._moved(factors, earlier, down)) - up.worth(self._moved(factors, later, up))
        gap_HP = (earlier.mean(self.attention_HK) - later.mean(self.attention_HK)).abs()
        return gap_HP, *cosines(*in_order(before_HP, after_HP))

    def _moved(self, factors: tuple[Tensor, Tensor], contents: "_Stretch", slots: "_Stretch") -> Tensor:
        """logits_HPL of the contents of one stretch in the slots of another."""
        content_HSX, slot_HSX = factors
        return self.logits.nonlinearity((content_HSX[:, contents.slots_PL] * slot_HSX[:, slots.slots_PL]).sum(-1))


@dataclass(frozen=True)
class _Stretch:
    """Neighbouring slots, one stretch for each swap; those shorter than the longest repeat their last."""

    start_P: Tensor
    length_P: Tensor

    @cached_property
    def inside_PL(self) -> Tensor:
        places_L = torch.arange(int(self.length_P.max()), device=self.length_P.device)
        return places_L < self.length_P[:, None]

    @cached_property
    def slots_PL(self) -> Tensor:
        return self.start_P[:, None] + torch.minimum(self.inside_PL.cumsum(-1), self.length_P[:, None]) - 1

    def worth(self, logits_HPL: Tensor) -> Tensor:
        """The logarithm of the mean of their exponentials: what the logits of a stretch amount to as one."""
        total_HP = logits_HPL.masked_fill(~self.inside_PL, -torch.inf).logsumexp(-1)
        return total_HP - self.length_P.to(total_HP.dtype).log()

    def mean(self, value_HK: Tensor) -> Tensor:
        return (value_HK[:, self.slots_PL] * self.inside_PL).sum(-1) / self.length_P


def _swaps(blocks: Tensor, swappable_K: Tensor) -> Tensor:
    """swaps_P22: every two blocks all of whose keys can be swapped.

    Blocks of different length shift what is between them, so all of that must be free to move as well.
    """
    stuck_K = torch.nn.functional.pad((~swappable_K).long().cumsum(0), (1, 0))
    inside = blocks[stuck_K[blocks[:, 1]] == stuck_K[blocks[:, 0]]]
    inside = inside[inside[:, 0].argsort()]
    first, second = torch.triu_indices(len(inside), len(inside), 1, device=blocks.device)
    swaps_P22 = torch.stack((inside[first], inside[second]), 1)
    alike_P = swaps_P22[:, 0].diff() == swaps_P22[:, 1].diff()
    free_P = stuck_K[swaps_P22[:, 1, 1]] == stuck_K[swaps_P22[:, 0, 0]]
    return swaps_P22[alike_P[:, 0] | free_P]
