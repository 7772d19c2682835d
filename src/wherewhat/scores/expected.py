"""What a head that knows nothing gets, where that has a closed form: its logits are noise, or all the same."""

import torch
from torch import Tensor

from wherewhat.scores.base import PerRow, Rows


def one_part(rows: Rows) -> PerRow:
    """The share of variance that slots, or contents, seem to explain in a table of m x m random numbers: 1/(m + 1)."""
    return 1 / (_count(rows) + 1), _measured(rows)


def left_over(rows: Rows) -> PerRow:
    """The share that neither explains in a table of m x m random numbers: (m - 1)/(m + 1)."""
    return 1 - 2 / (_count(rows) + 1), _measured(rows)


def half(rows: Rows) -> PerRow:
    """Random numbers move as far by slot as by content."""
    return torch.full_like(_count(rows), 0.5), _measured(rows)


def _count(rows: Rows) -> Tensor:
    """m_1Q: how many keys of each row can change places, as one head's; at least one, as no smaller table is asked."""
    return rows.swappable_QK.sum(-1).clamp_min(1)[None].to(rows.attention_HQK.dtype)


def _measured(rows: Rows) -> Tensor:
    return rows.measured_Q[None].to(rows.attention_HQK.dtype)
