"""Does a head attend to left and right equally, and which side does it prefer? Read off keys at equal distance."""

import torch

from wherewhat.scores.base import PerRow, Rows

LEAST = 1e-30


def symmetry(rows: Rows) -> PerRow:
    """One minus the mean difference between left and right, stretched row by row to run from 0 to 1.

    A row's differences |left - right| are shifted and scaled so that its smallest is 0 and its largest 1
    (all 0 if they lie within ten machine epsilons of the attention's dtype); a row counts by its pairs,
    and rows at either end, which have none, are left out. This is exactly Chen et al. 2023, flaws
    included: a single pair always counts as perfect, a gap that is the same at every distance goes unnoticed,
    and the least noise on perfect symmetry is scaled up to full size. `balance` asks the same without these flaws.
    """
    pairs = rows.pairs
    count_Q = pairs.count_Q.to(rows.attention_HQK.dtype)
    span_HQ = pairs.largest_HQ - pairs.smallest_HQ
    flat_HQ = span_HQ < 10 * torch.finfo(span_HQ.dtype).eps
    # The mean of (d - smallest) / span over the row's pairs, without going through the pairs again.
    mean_HQ = (pairs.difference_HQ - count_Q * pairs.smallest_HQ) / (count_Q * span_HQ)
    value_HQ = (1 - mean_HQ).masked_fill_(flat_HQ, 1).clamp_(0, 1)
    return value_HQ, count_Q.expand_as(value_HQ)


def balance(rows: Rows) -> PerRow:
    """One minus the share of the paired attention by which left and right differ: 0 looks to one side only.

    Pairs are keys at equal distance left and right of the query, as for `symmetry`; a row counts by the attention
    its pairs hold, so pooling gives 1 - sum |left - right| / sum (left + right). It is smooth: a little noise
    costs a little. A head that attends to no pair at all prefers neither side and gets 1; under a causal mask a
    head that looks left at all gets 0, which is meaningless.
    """
    pairs = rows.pairs
    # A weight too small to matter beside any other gives rows a value even where all their pairs are empty.
    weight_HQ = pairs.mass_HQ.clamp_min(LEAST) * (pairs.count_Q > 0)
    return (1 - pairs.difference_HQ / pairs.mass_HQ.clamp_min(LEAST)).clamp_(0, 1), weight_HQ


def left_right_bias(rows: Rows) -> PerRow:
    """The paired attention to the left minus that to the right, as a share of both: 1 looks only left, -1 only right.

    Pairs and weights are those of `balance`, so pooling gives sum (left - right) / sum (left + right), and its size is
    never more than 1 - balance. A head that attends to no pair prefers neither side and gets 0.

    >>> attention_HQK = torch.tensor([[[0.6, 0.2, 0.2]]])  # one head, the query in the middle
    >>> rows = Rows(attention_HQK, torch.tensor([1]), torch.ones(1, 3, dtype=torch.bool), torch.tensor([7, 8, 9]))
    >>> left_right_bias(rows)
    (tensor([[0.5000]]), tensor([[0.8000]]))
    """
    pairs = rows.pairs
    paired_QK = rows.offsets_QK.abs() <= pairs.count_Q[:, None]
    side_QK = torch.sign(-rows.offsets_QK) * paired_QK  # 1 for keys to the left, -1 for those to the right
    signed_HQ = (rows.attention_HQK * side_QK).sum(-1)
    weight_HQ = pairs.mass_HQ.clamp_min(LEAST) * (pairs.count_Q > 0)
    return (signed_HQ / pairs.mass_HQ.clamp_min(LEAST)).clamp_(-1, 1), weight_HQ
