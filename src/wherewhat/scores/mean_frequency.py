"""Which rotary frequencies does a head rely on: the fast ones, which tell places apart, or the slow ones?"""

import torch

from wherewhat.scores.base import PerRow, Rows


def mean_frequency(rows: Rows) -> PerRow:
    """The mean number of a row's frequencies, from 0 for the fastest, each counting by its largest logit.

    A frequency that raises no logit above 0 counts nothing. A row counts by what all its frequencies count, so that
    pooling gives the mean over all rows' frequencies together.
    """
    turned = None if rows.logits is None else rows.logits.rotary
    if turned is None or not rows.measured_Q.any():
        return rows.nothing
    value_HQ, weight_HQ = rows.nothing
    value_HQ, weight_HQ = value_HQ.clone(), weight_HQ.clone()
    number_F = torch.arange(len(turned.theta_F), device=value_HQ.device)
    for query in rows.measured_Q.nonzero()[:, 0].tolist():
        peak_HF = (turned.plane_rows(query) * rows.swappable_QK[query]).amax(-1).clamp_min_(0)
        total_H = peak_HF.sum(-1)
        value_HQ[:, query] = torch.where(total_H > 0, (peak_HF * number_F).sum(-1) / total_H, 0)
        weight_HQ[:, query] = total_H
    return value_HQ, weight_HQ
