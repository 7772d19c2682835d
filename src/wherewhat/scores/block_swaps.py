"""Swap whole blocks of keys, such as the lines of a text, and see what becomes of the attention on them."""

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from wherewhat.logits.base import Logits
from wherewhat.scores.swaps import Swaps, cosines, in_order

ROOM = 1 << 22  # numbers in work at once


def read_block_swaps(
    logits: Logits,
    attention_HQK: Tensor,
    swappable_QK: Tensor,
    measured_Q: Tensor,
    blocks: Tensor,
    taus: tuple[float, ...],
) -> Swaps:
    """Swap every two blocks of every measured row, as far as all their keys can change places."""
    score_2THQ = attention_HQK.new_zeros(2, len(taus), *attention_HQK.shape[:2])
    measured_Q = measured_Q.clone()
    for query in measured_Q.nonzero()[:, 0].tolist():
        swaps = _swaps(blocks, swappable_QK[query])
        measured_Q[query] = len(swaps) > 0
        if len(swaps):
            row = _Row(logits, query, attention_HQK[:, query])
            score_2THQ[:, :, :, query] = row.mean_cosines(swaps, taus)
    return Swaps(taus, score_2THQ[0], score_2THQ[1], measured_Q.expand(attention_HQK.shape[:2]))


@dataclass(frozen=True)
class _Row:
    logits: Logits
    query: int
    attention_HK: Tensor

    def mean_cosines(self, swaps_P22: Tensor, taus: tuple[float, ...]) -> Tensor:
        """score_2TH over swaps of two blocks, weighted by exp(gap / tau) of the blocks' mean weights."""
        slots_S = torch.arange(self.attention_HK.shape[-1], device=swaps_P22.device)
        factors = self.logits.factors(self.query, slots_S)
        longest = int((swaps_P22[..., 1] - swaps_P22[..., 0]).max())
        at_once = max(1, ROOM // (factors[0][:, 0].numel() * longest))
        pieces = [self._cosines(some_P22, factors) for some_P22 in swaps_P22.split(at_once)]
        gap_HP, positional_HP, symbolic_HP = (torch.cat(parts, -1) for parts in zip(*pieces, strict=True))
        alpha_THP = torch.stack([((gap_HP - gap_HP.amax(-1, keepdim=True)) / tau).softmax(-1) for tau in taus])
        return (alpha_THP * torch.stack((positional_HP, symbolic_HP))[:, None]).sum(-1)

    def _cosines(self, swaps_P22: Tensor, factors: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor, Tensor]:
        """gap_HP, positional_HP and symbolic_HP of some swaps.

        The block that stands later moves up to where the earlier began; that one moves down to where the later ended.
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
        return self.logits.bend((content_HSX[:, contents.slots_PL] * slot_HSX[:, slots.slots_PL]).sum(-1))


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
    """swaps_P22: every two blocks all of whose keys can change places.

    Blocks of unlike length shift what lies between, so all of that must be free to move as well.
    """
    stuck_K = torch.nn.functional.pad((~swappable_K).long().cumsum(0), (1, 0))
    inside = blocks[stuck_K[blocks[:, 1]] == stuck_K[blocks[:, 0]]]
    inside = inside[inside[:, 0].argsort()]
    one, other = torch.triu_indices(len(inside), len(inside), 1, device=blocks.device)
    swaps_P22 = torch.stack((inside[one], inside[other]), 1)
    alike_P = swaps_P22[:, 0].diff() == swaps_P22[:, 1].diff()
    free_P = stuck_K[swaps_P22[:, 1, 1]] == stuck_K[swaps_P22[:, 0, 0]]
    return swaps_P22[alike_P[:, 0] | free_P]
