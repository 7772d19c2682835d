"""Keys at equal distance left and right of each query, read once for all scores about symmetry."""

from dataclasses import dataclass

import torch
from torch import Tensor

BEYOND = 2.0  # more than any difference of two attention weights
EVEN = 32  # the smallest of each row is found three times quicker when a row fills whole vector registers


@dataclass(frozen=True)
class MirroredPairs:
    """Sums over the pairs of each row. A pair is the key k to the left of the query and the key k to its right.

    Where a row has no pair (at either end of the text), sums are 0 and the smallest is above the largest.
    """

    count_Q: Tensor  # pairs in the row; further keys of the longer side are in no pair
    difference_HQ: Tensor  # |left - right|, summed over the row's pairs
    smallest_HQ: Tensor  # the smallest |left - right| of the row
    largest_HQ: Tensor  # the largest
    mass_HQ: Tensor  # left + right, summed over the row's pairs


def read_pairs(attention_HQK: Tensor, queries_Q: Tensor, length_Q: Tensor) -> MirroredPairs:
    """Sum over every pair of every row, farthest first; a row's own text has `length_Q` keys."""
    keys = attention_HQK.shape[-1]
    count_Q = torch.minimum(queries_Q, length_Q - 1 - queries_Q)
    width = min((int(count_Q.max()) // EVEN + 1) * EVEN, keys)  # decides a shape, so it has to leave the device
    left_HQP, right_HQP = _sides(attention_HQK, queries_Q, width)
    # Rows of `width` places: 0 in the first of them, 1 in the last `count`, which hold the pairs.
    paired_QP = stretches(attention_HQK.new_tensor([0, 1]).repeat_interleave(width), count_Q, width)
    # Left and right are the larger and the smaller by turns, so (left + right) = |left - right| + 2 min(left, right).
    shared_HQP = torch.minimum(left_HQP, right_HQP).mul_(paired_QP)
    difference_HQP = left_HQP.sub_(right_HQP).abs_().mul_(paired_QP)  # in place: both sides are copies
    difference_HQ, largest_HQ = difference_HQP.sum(-1), difference_HQP.amax(-1)
    mass_HQ = difference_HQ + 2 * shared_HQP.sum(-1)
    difference_HQP.sub_(paired_QP.sub_(1), alpha=BEYOND)  # pushes what is no pair above every difference
    return MirroredPairs(count_Q, difference_HQ, difference_HQP.amin(-1), largest_HQ, mass_HQ)


def _sides(attention_HQK: Tensor, queries_Q: Tensor, width: int) -> tuple[Tensor, Tensor]:
    """The `width` keys left and right of each query, farthest first.

    Rows lie one after another in memory, so each side is one stretch of it, which runs on into the row beside it where
    its own row ends early. Before the very first row and after the very last there is none: those two stretches are
    taken further in and moved back afterwards.
    """
    heads, queries, keys = attention_HQK.shape
    line = attention_HQK.flatten()
    here_HQ = torch.arange(heads * queries, device=line.device).view(heads, queries) * keys + queries_Q
    left_HQP = stretches(line, (here_HQ - width).clamp_(min=0), width)
    right_HQP = stretches(line, (here_HQ + 1).clamp_(max=len(line) - width), width).flip(-1)
    left_HQP[0, 0] = left_HQP[0, 0].roll(max(width - int(queries_Q[0]), 0))
    right_HQP[-1, -1] = right_HQP[-1, -1].roll(max(width - (keys - 1 - int(queries_Q[-1])), 0))
    return left_HQP, right_HQP


def stretches(line: Tensor, starts: Tensor, width: int) -> Tensor:
    """Take `width` numbers from each start, as (*starts.shape, width).

    Whole stretches are copied, several times quicker than picking the same numbers one by one with `gather`.

    >>> stretches(torch.tensor([0, 10, 20, 30, 40]), torch.tensor([2, 0]), 3)
    tensor([[20, 30, 40],
            [ 0, 10, 20]])
    """
    return line.unfold(0, width, 1).index_select(0, starts.flatten()).view(*starts.shape, width)
