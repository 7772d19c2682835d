"""Attention of heads that know nothing, on the same rows: what a score must beat before it means anything."""

from dataclasses import replace

import torch

from wherewhat.scores.base import Rows

# How many ignorant heads are drawn; only their mean is used. On 64 rows of 64 to 512 keys a single one strays from the
# mean of many by at most .02 (one standard deviation; all three scores that draw), so the mean of four by .01, and a
# profile averages texts on top. More would cost time and show in no figure anyone reads.
PSEUDO_HEADS = 4


def uniform(rows: Rows, generator: torch.Generator) -> Rows:
    """One head that looks at every allowed key alike. Nothing is drawn: `generator` is only part of the signature."""
    share_Q1 = 1 / rows.visible_Q.clamp_min(1)[:, None].to(rows.attention_HQK.dtype)
    return replace(rows, attention_HQK=(rows.allowed_QK * share_Q1)[None])


def random_logits(rows: Rows, generator: torch.Generator) -> Rows:
    """A few heads whose logits are standard normal noise.

    For questions that evenly spread attention cannot stand in for: it is perfectly symmetric, and it has no peak.
    """
    shape = (PSEUDO_HEADS, *rows.allowed_QK.shape)
    # Always drawn as float32, so that the same seed means the same heads in every dtype.
    noise_HQK = torch.randn(shape, generator=generator, device=generator.device).to(rows.attention_HQK)
    odds_HQK = noise_HQK.exp_().mul_(rows.allowed_QK)
    return replace(rows, attention_HQK=odds_HQK.div_(odds_HQK.sum(-1, keepdim=True).clamp_min_(1e-30)))
