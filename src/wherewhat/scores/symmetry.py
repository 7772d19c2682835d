"""Does a head look left and right in equal measure? As published; `balance` asks the same without its faults."""

import torch

from wherewhat.scores.base import PerRow, Rows


def symmetry(rows: Rows) -> PerRow:
    """One minus the mean difference between left and right, stretched row by row to run from 0 to 1.

    A row's differences |left - right| are shifted and scaled so that its smallest is 0 and its largest 1
    (all 0 if they lie within ten machine epsilons of the attention's dtype); a row counts by its pairs,
    and rows at either end, which have none, are left out. This is Chen et al. 2023 to the letter, faults
    included: a single pair always counts as perfect, a gap that is the same at every distance goes unseen,
    and the least noise on perfect symmetry is stretched to full size.
    """
    pairs = rows.pairs
    count_Q = pairs.count_Q.to(rows.attention_HQK.dtype)
    span_HQ = pairs.largest_HQ - pairs.smallest_HQ
    flat_HQ = span_HQ < 10 * torch.finfo(span_HQ.dtype).eps
    # The mean of (d - smallest) / span over the row's pairs, without going through the pairs again.
    mean_HQ = (pairs.difference_HQ - count_Q * pairs.smallest_HQ) / (count_Q * span_HQ)
    value_HQ = (1 - mean_HQ).masked_fill_(flat_HQ, 1).clamp_(0, 1)
    return value_HQ, count_Q.expand_as(value_HQ)
