"""Attention of uninformed heads on the same rows: the baseline that a score must exceed before it means anything."""

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor

from wherewhat.scores.base import PerRow, Rows

# How many random heads are drawn; only their mean is used. On 64 rows of 64 to 512 keys a single one deviates from the
# mean of many by at most .02 (one standard deviation; all three scores that draw), so the mean of four by .01, and a
# profile averages over texts as well. More would cost time without changing any reported digit.
PSEUDO_HEADS = 4


def uniform(rows: Rows, generators: Sequence[torch.Generator]) -> Rows:
    """One head with uniform attention over the allowed keys. `generators` are part of the signature and not used."""
    share_Q1 = 1 / rows.visible_Q.clamp_min(1)[:, None].to(rows.attention_HQK.dtype)
    return replace(rows, attention_HQK=(rows.allowed_QK * share_Q1)[None])


def random_logits(rows: Rows, generators: Sequence[torch.Generator]) -> Rows:
    """A few heads whose logits are standard normal noise, drawn for each text by its own generator.

    For scores that need another baseline than uniform attention, which is perfectly symmetric and has no peak.
    """
    odds_HQK = rows.attention_HQK.new_zeros(PSEUDO_HEADS, *rows.allowed_QK.shape)
    for text, generator in enumerate(generators):
        here_Q = (rows.text_Q == text).nonzero()[:, 0]
        shape = (PSEUDO_HEADS, len(here_Q), int(rows.lengths_B[text]))
        # Always drawn as float32, so that the same seed means the same heads in every dtype.
        noise_HQK = torch.randn(shape, generator=generator, device=generator.device).to(odds_HQK)
        odds_HQK[:, here_Q, : shape[-1]] = noise_HQK.exp_()
    odds_HQK.mul_(rows.allowed_QK)
    return replace(rows, attention_HQK=odds_HQK.div_(odds_HQK.sum(-1, keepdim=True).clamp_min_(1e-30)))


def one_part(rows: Rows) -> PerRow:
    """The share of variance that slots, or contents, seem to explain in a table of m x m random numbers: 1/(m + 1)."""
    return 1 / (_count(rows) + 1), _measured(rows)


def left_over(rows: Rows) -> PerRow:
    """The share that neither explains in a table of m x m random numbers: (m - 1)/(m + 1)."""
    return 1 - 2 / (_count(rows) + 1), _measured(rows)


def half(rows: Rows) -> PerRow:
    """In random tables logits of slots and of contents move equally far."""
    return torch.full_like(_count(rows), 0.5), _measured(rows)


def _count(rows: Rows) -> Tensor:
    """m_1Q: how many keys of each row can be swapped, for one head; at least one."""
    return rows.swappable_QK.sum(-1).clamp_min(1)[None].to(rows.attention_HQK.dtype)


def _measured(rows: Rows) -> Tensor:
    return rows.measured_Q[None].to(rows.attention_HQK.dtype)
