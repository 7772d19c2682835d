"""Swap every two keys of a row, or every two blocks, and see what happens to the attention on them: as published.

Of two weights only the ratio counts, before the swap and after, so all about a swap follows from four logits, and no
weight is too small to tell. Keys are taken in order of their weight. Then the gap between the weights of two keys,
which decides how much their swap counts, is a product of what each of them brings, and swaps that count for nothing
(at the published temperature nearly all, unless attention is flat) need not be looked at.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor
from torch.nn.functional import embedding, pad

from wherewhat.logits.factors import Factors, widest_dtype
from wherewhat.logits.pair_products import PairProducts
from wherewhat.scores.decomposed import DecomposedRows

PUBLISHED = 1e-4  # the temperature of the published code
FAINT = 1e-17  # what all swaps that are not looked at may count for together
DRAWN = 1024  # swaps that represent all where there are too many to compute
GOLDEN = (5**0.5 - 1) / 2
MATCHED = 256  # random swaps from which the level of a random head is computed
LOG2E = 1 / math.log(2)  # logits become powers of two, which are several times quicker than those of e
STEPS = tuple(1.2207440846057596**-power for power in (1, 2, 3))  # fills a cube evenly; 1.22... solves x**4 = x + 1
ROOM = 1 << 18  # swaps in work at once: what is known of them stays near the processor
VECTOR_ROOM = 1 << 19  # numbers of the keys that are swapped, likewise
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


def read_swaps(rows: DecomposedRows, taus: tuple[float, ...], most: int | None = None) -> Swaps:
    """Swap every two swappable keys of every row; where more than `most` swaps count, DRAWN represent them."""
    tables = _SortedTables.of(rows)
    # Weights fall as logits do, but for the rounding of a model in half precision.
    weight_NK = rows.attention_HQK.flatten(0, 1).gather(1, tables.order_NK).cummin(-1).values
    heads, queries, _ = rows.attention_HQK.shape
    score_3THQ = rows.attention_HQK.new_empty(3, len(taus), heads, queries)
    for number, tau in enumerate(taus):
        score_3N = _mean_cosines(tables, _KeyContributions.of(weight_NK, tables.count_N, tau), most)
        score_3THQ[:, number] = score_3N.view(3, heads, queries).to(score_3THQ.dtype)
    measured_HQ = torch.ones(heads, queries, dtype=torch.bool, device=weight_NK.device)
    return Swaps(taus, score_3THQ[0], score_3THQ[1], measured_HQ, score_3THQ[2])


def cosines(before: Tensor, after: Tensor) -> tuple[Tensor, Tensor]:
    """How a swap leaves the attention on two keys, as positional and symbolic cosine.

    Both are logarithms of how much the second of two slots gets for what the first gets, before and after the swap;
    before it, not more. A positional head leaves the attention on the slots alone, a symbolic one exchanges it.

    >>> cosines(torch.tensor(-2.0), torch.tensor(-2.0))  # nothing changed
    (tensor(1.), tensor(0.2658))
    """
    return _cosines(before * LOG2E, after * LOG2E)


def _cosines(before: Tensor, after: Tensor) -> tuple[Tensor, Tensor]:
    """The same of logarithms to base 2, over which it writes."""
    product, total, length = _ratios(before, after)
    return product.add_(1).mul_(length), total.mul_(length)


def _ratios(before: Tensor, after: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """xy, x + y and 1 / |(1, x)| |(1, y)| of two ratios, from logarithms to base 2, over which it writes.

    Of (1, x) and (1, y) the inner product is 1 + xy, that of (1, x) and (y, 1) is x + y, and the square of the product
    of their lengths is (1 - xy)² + (x + y)². In place, as every pass over all swaps costs.
    """
    steep = 60 if before.dtype == torch.float32 else 430  # ratios beyond that are 0 or infinite to all digits
    before, after = before.clamp_(-steep, 0).exp2_(), after.clamp_(-steep, steep).exp2_()
    product = before * after
    total = before.add_(after)
    return product, total, torch.sub(1, product, out=after).square_().addcmul_(total, total).rsqrt_()


def in_order(before: Tensor, after: Tensor) -> tuple[Tensor, Tensor]:
    """Exchange first and second where the second got more before the swap, as `cosines` needs it."""
    return -before.abs(), torch.where(before > 0, -after, after)


@dataclass(frozen=True)
class _SortedTables:
    """N rows of heads, the swappable keys of each first and by falling logit, with the factors of their tables."""

    factors: Factors
    queries: int  # how many rows each head has
    order_NK: Tensor  # the slots in that order
    count_N: Tensor  # how many of them can be swapped
    actual_NK: Tensor  # the logits in that order, to base 2; 0 where a key cannot be swapped

    @classmethod
    def of(cls, rows: DecomposedRows) -> "_SortedTables":
        actual_HQK = rows.actual_HQK.masked_fill(~rows.swappable_QK, -torch.inf)
        actual_NK, order_NK = actual_HQK.flatten(0, 1).sort(descending=True)
        count_N = rows.swappable_QK.sum(-1).expand(actual_HQK.shape[:2]).flatten()
        actual_NK = actual_NK.masked_fill_(actual_NK.isinf(), 0).mul_(LOG2E)
        return cls(rows.factors, actual_HQK.shape[1], order_NK, count_N, actual_NK)

    def vectors(self, units_N: Tensor, keys: int) -> tuple[Tensor, Tensor]:
        """content_NKX and slot_NKX of some rows of heads, up to so many places of their order."""
        slots_NK = self.order_NK[units_N, :keys]
        content_NKX, slot_NKX = (
            self._take(side_HQKX, units_N, slots_NK)
            for side_HQKX in (self.factors.content_HQKX, self.factors.slot_HQKX)
        )
        return content_NKX, slot_NKX

    def _take(self, vectors_HQKX: Tensor, units_N: Tensor, slots_NS: Tensor) -> Tensor:
        """vectors_NSX of some slots of some rows of heads; heads or rows may share their vectors."""
        heads, queries, keys, channels = vectors_HQKX.shape
        head_N, query_N = units_N // self.queries, units_N % self.queries
        row_N = (head_N if heads > 1 else 0) * queries + (query_N if queries > 1 else 0) + torch.zeros_like(units_N)
        return embedding(row_N[:, None] * keys + slots_NS, vectors_HQKX.reshape(-1, channels))


def _mean_cosines(tables: _SortedTables, contributions: "_KeyContributions", most: int | None) -> Tensor:
    """score_3N: both cosines over all swaps, weighted by exp(gap / tau); gap is how far the two weights differ.

    Then what either would be for a random head as peaked as this one.
    """
    score_3N = contributions.high_NK.new_zeros(3, len(contributions.high_NK))
    score_3N[2] = _matched(tables, contributions)
    many_N = contributions.swaps_N > (most or torch.inf)
    channels = tables.factors.content_HQKX.shape[-1]
    for units_N in _groups(many_N.nonzero()[:, 0], VECTOR_ROOM // (tables.order_NK.shape[1] * channels)):
        score_3N[:2, units_N] = _drawn(tables, units_N, contributions.of_units(units_N))
    rest_N = (~many_N).nonzero()[:, 0]
    rest_N = rest_N[contributions.highs_N[rest_N].argsort()]  # those with equally many swaps together
    for units_N in _groups(rest_N, VECTOR_ROOM // (tables.order_NK.shape[1] * channels)):
        score_3N[:2, units_N] = _sum_up(tables, units_N, contributions.of_units(units_N))
    return score_3N


def _groups(units_N: Tensor, most: int) -> Sequence[Tensor]:
    """At most so many at a time."""
    return units_N.split(max(1, most)) if len(units_N) else ()


@dataclass(frozen=True)
class _KeyContributions:
    """What each key, in order of weight, contributes to its swaps: as the one with more, and as the one with less."""

    high_NK: Tensor
    low_NK: Tensor
    least_N: Tensor  # less than this is nothing

    @classmethod
    def of(cls, weight_NK: Tensor, count_N: Tensor, tau: float) -> "_KeyContributions":
        weight_NK = weight_NK.to(widest_dtype(weight_NK.device))
        inside_NK = torch.arange(weight_NK.shape[1], device=weight_NK.device) < count_N[:, None]
        largest_N1 = weight_NK.masked_fill(~inside_NK, -torch.inf).amax(-1, keepdim=True)
        smallest_N1 = weight_NK.masked_fill(~inside_NK, torch.inf).amin(-1, keepdim=True)
        high_NK = weight_NK.sub(largest_N1).div_(tau).exp_().masked_fill_(~inside_NK, 0)
        low_NK = smallest_N1.sub(weight_NK).div_(tau).exp_().masked_fill_(~inside_NK, 0)
        return cls(high_NK, low_NK, FAINT / count_N.to(weight_NK.dtype).square())

    def of_units(self, units_N: Tensor) -> "_KeyContributions":
        """Only some rows of heads."""
        return _KeyContributions(self.high_NK[units_N], self.low_NK[units_N], self.least_N[units_N])

    @cached_property
    def highs_N(self) -> Tensor:
        """How many keys, from the first, count at all as the one with more weight."""
        return self.high_NK.ge(self.least_N[:, None]).sum(-1)

    @cached_property
    def swaps_N(self) -> Tensor:
        """How many swaps count at all, at the most."""
        lows_N = self.low_NK.ge(self.least_N[:, None]).sum(-1)
        count_N = (FAINT / self.least_N).sqrt().round().long()
        return torch.minimum(self.highs_N * lows_N, count_N * (count_N - 1) // 2)

    def swaps_at(self, across_D: Tensor, within_D: Tensor) -> tuple[Tensor, Tensor]:
        """one_ND and other_ND, the two keys of the swaps at these points of the unit square.

        Swaps are laid out over it by how much they count, first by the key with less weight, then by the one with
        more, so that points spread evenly meet most what counts most.
        """
        up_to_NK = self.high_NK.cumsum(-1)
        reached_NK = (self.low_NK * (up_to_NK - self.high_NK)).cumsum(-1)
        other_ND = torch.searchsorted(reached_NK, reached_NK[:, -1:] * across_D).clamp_(1, up_to_NK.shape[1] - 1)
        below_ND = up_to_NK.gather(1, other_ND - 1)
        return torch.minimum(torch.searchsorted(up_to_NK, below_ND * within_D), other_ND - 1), other_ND

    @property
    def total_N(self) -> Tensor:
        """What all swaps count together."""
        below_NK = pad(self.low_NK[:, 1:].flip(-1).cumsum(-1).flip(-1), (0, 1))
        return (self.high_NK * below_NK).sum(-1)


def _sum_up(tables: _SortedTables, units_N: Tensor, contributions: _KeyContributions) -> Tensor:
    """score_2N of some rows of heads: a block of keys with all that weigh less at a time."""
    keys = int(tables.count_N[units_N].max())
    swapped = _SwappedLogits(tables, units_N, keys)
    actual_NK = tables.actual_NK[units_N, :keys]
    # No numbers so small that they slow all down.
    low_NK1 = (contributions.low_NK * contributions.low_NK.ge(contributions.least_N[:, None])).to(actual_NK.dtype)[
        ..., None
    ]
    sum_2N = contributions.high_NK.new_zeros(2, len(units_N))
    start, highs = 0, min(int(contributions.highs_N.max()), keys - 1)
    while start < highs:
        stop = min(start + max(ROOM // ((keys - start) * len(units_N)), 8), highs)
        ones, others = slice(start, stop), slice(start, keys)
        before_NST = actual_NK[:, None, others] - actual_NK[:, ones, None]
        product_NST, total_NST, length_NST = _ratios(before_NST, swapped.block(ones, others))
        length_NST[..., : stop - start].triu_(1)  # each two once, the one with more weight first
        low = low_NK1[:, others]
        positional_NS1 = length_NST @ low + product_NST.mul_(length_NST) @ low
        symbolic_NS1 = total_NST.mul_(length_NST) @ low
        for sum_N, sum_NS1 in zip(sum_2N, (positional_NS1, symbolic_NS1), strict=True):
            sum_N += (sum_NS1[..., 0] * contributions.high_NK[:, ones]).sum(-1)
        start = stop
    return (sum_2N / contributions.total_N).clamp_(0, 1)


def _drawn(tables: _SortedTables, units_N: Tensor, contributions: _KeyContributions) -> Tensor:
    """score_2N of some rows of heads from DRAWN swaps, each standing for an equal part of what all count together.

    They are taken at even steps of one axis and golden ones of the other: nothing is random.
    """
    step_D = torch.arange(DRAWN, dtype=contributions.high_NK.dtype, device=units_N.device) + 0.5
    one_ND, other_ND = contributions.swaps_at(step_D / DRAWN, (step_D * GOLDEN) % 1)
    after_ND = _SwappedLogits(tables, units_N, int(tables.count_N[units_N].max())).of_pairs(one_ND, other_ND)
    actual_NK = tables.actual_NK[units_N]
    cosines_ND = _cosines(actual_NK.gather(1, other_ND) - actual_NK.gather(1, one_ND), after_ND)
    return torch.stack([cosine_ND.to(step_D.dtype).mean(-1) for cosine_ND in cosines_ND])


class _SwappedLogits:
    """By how much, once two keys have been swapped, the second slot's logit is above the first's; to base 2."""

    def __init__(self, tables: _SortedTables, units_N: Tensor, keys: int) -> None:
        self._nonlinearity = tables.factors.nonlinearity
        self._content_NKX, self._slot_NKX = tables.vectors(units_N, keys)
        if self._nonlinearity is None:
            self._content_NKX.mul_(LOG2E)

    def block(self, ones: slice, others: slice) -> Tensor:
        """Every one with every other, as swapped_NST."""
        there_NST = self._content_NKX[:, ones] @ self._slot_NKX[:, others].mT
        here = self._slot_NKX[:, ones], self._content_NKX[:, others].mT
        if self._nonlinearity is None:
            return there_NST.baddbmm_(*here, alpha=-1)
        return (self._nonlinearity(there_NST) - self._nonlinearity(here[0] @ here[1])).mul_(LOG2E)

    def of_pairs(self, one_ND: Tensor, other_ND: Tensor) -> Tensor:
        """One difference per pair, as swapped_ND; `other_ND` must be sorted in ascending order."""
        product = PairProducts(other_ND, one_ND, keys=self._slot_NKX.shape[1])
        there_ND, here_ND = product(self._slot_NKX, self._content_NKX), product(self._content_NKX, self._slot_NKX)
        if self._nonlinearity is None:
            return there_ND.sub_(here_ND)
        return (self._nonlinearity(there_ND) - self._nonlinearity(here_ND)).mul_(LOG2E)


def _matched(tables: _SortedTables, contributions: _KeyContributions) -> Tensor:
    """chance_N: what either score is for a random head as peaked as this one.

    After a swap, such a head gives the two slots any two of the logits that the row has: independent of the slots and
    of what was swapped. As likely as a difference is its opposite, which exchanges the two scores, so both get the
    same. Taken from MATCHED swaps and as many differences, spread evenly over all there are.
    """
    step_D = torch.arange(MATCHED, dtype=contributions.high_NK.dtype, device=tables.order_NK.device) + 0.5
    golden_D, first_D, second_D = ((step_D * step) % 1 for step in STEPS)
    one_ND, other_ND = contributions.swaps_at(step_D / MATCHED, golden_D)
    drawn = [(point_D * tables.count_N[:, None]).long() for point_D in (first_D, second_D)]
    first_ND, second_ND, ones_ND, others_ND = (
        tables.actual_NK.gather(1, place_ND) for place_ND in (*drawn, one_ND, other_ND)
    )
    positional_ND, symbolic_ND = _cosines(others_ND - ones_ND, first_ND - second_ND)
    return (positional_ND + symbolic_ND).to(step_D.dtype).mean(-1) / 2


def read_block_swaps(rows: DecomposedRows, blocks: Sequence[Tensor], taus: tuple[float, ...]) -> Swaps:
    """Swap every two blocks of every row, as far as all their keys can be swapped."""
    heads, queries, _ = rows.attention_HQK.shape
    score_2THQ = rows.attention_HQK.new_zeros(2, len(taus), heads, queries)
    measured_HQ = torch.zeros(heads, queries, dtype=torch.bool, device=score_2THQ.device)
    for query, text in enumerate(rows.text_Q.tolist()):
        swaps = _swaps(blocks[text], rows.swappable_QK[query])
        measured_HQ[:, query] = len(swaps) > 0
        if len(swaps):
            score_2THQ[:, :, :, query] = _BlockRow(rows, query).mean_cosines(swaps, taus)
    return Swaps(taus, score_2THQ[0], score_2THQ[1], measured_HQ)


@dataclass(frozen=True)
class _BlockRow:
    rows: DecomposedRows
    query: int

    def mean_cosines(self, swaps_P22: Tensor, taus: tuple[float, ...]) -> Tensor:
        """score_2TH over swaps of two blocks, weighted by exp(gap / tau) of the blocks' mean weights."""
        heads, _, _, channels = self.rows.factors.content_HQKX.shape
        longest = int((swaps_P22[..., 1] - swaps_P22[..., 0]).max())
        at_once = max(1, BLOCK_ROOM // (heads * channels * longest))
        pieces = [self._cosines(some_P22) for some_P22 in swaps_P22.split(at_once)]
        gap_HP, positional_HP, symbolic_HP = (torch.cat(parts, -1) for parts in zip(*pieces, strict=True))
        alpha_THP = torch.stack([((gap_HP - gap_HP.amax(-1, keepdim=True)) / tau).softmax(-1) for tau in taus])
        return (alpha_THP * torch.stack((positional_HP, symbolic_HP))[:, None]).sum(-1)

    def _cosines(self, swaps_P22: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """gap_HP, positional_HP and symbolic_HP of some swaps.

        The later block moves up to where the earlier began; that one moves down to where the later ended.
        """
        (early_P, early_end_P), (late_P, late_end_P) = swaps_P22.permute(1, 2, 0)
        earlier, later = _Stretch(early_P, early_end_P - early_P), _Stretch(late_P, late_end_P - late_P)
        actual_HK, attention_HK = self.rows.actual_HQK[:, self.query], self.rows.attention_HQK[:, self.query]
        before_HP = later.worth(actual_HK[:, later.slots_PL]) - earlier.worth(actual_HK[:, earlier.slots_PL])
        up = _Stretch(early_P, later.length_P)
        down = _Stretch(late_end_P - earlier.length_P, earlier.length_P)
        after_HP = down.worth(self._moved(earlier, down)) - up.worth(self._moved(later, up))
        gap_HP = (earlier.mean(attention_HK) - later.mean(attention_HK)).abs()
        return gap_HP, *cosines(*in_order(before_HP, after_HP))

    def _moved(self, contents: "_Stretch", slots: "_Stretch") -> Tensor:
        """logits_HPL of the contents of one stretch in the slots of another."""
        factors = self.rows.factors
        content_HKX, slot_HKX = (
            side_HQKX[:, min(self.query, side_HQKX.shape[1] - 1)]
            for side_HQKX in (factors.content_HQKX, factors.slot_HQKX)
        )
        product_HPL = (content_HKX[:, contents.slots_PL] * slot_HKX[:, slots.slots_PL]).sum(-1)
        return factors.logits(product_HPL)


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
    blocks = blocks[blocks[:, 1] <= len(swappable_K)]
    stuck_K = pad((~swappable_K).long().cumsum(0), (1, 0))
    inside = blocks[stuck_K[blocks[:, 1]] == stuck_K[blocks[:, 0]]]
    inside = inside[inside[:, 0].argsort()]
    first, second = torch.triu_indices(len(inside), len(inside), 1, device=blocks.device)
    swaps_P22 = torch.stack((inside[first], inside[second]), 1)
    alike_P = swaps_P22[:, 0].diff() == swaps_P22[:, 1].diff()
    free_P = stuck_K[swaps_P22[:, 1, 1]] == stuck_K[swaps_P22[:, 0, 0]]
    return swaps_P22[alike_P[:, 0] | free_P]
