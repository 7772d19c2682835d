"""Means and variances read off whole tables, one row at a time: for logits that no shorter way leads to."""

import torch
from torch import Tensor

from wherewhat.logits.base import Logits, Moments, moments_of_rows


def tabled_moments(logits: Logits, weights_HQK: Tensor) -> Moments:
    """What the tables of all rows amount to, every key counting by its weight as content and as slot.

    Keys without any weight are left out of the tables; what stands for them is 0.
    """
    heads, queries, _ = logits.actual_HQK.shape
    weights_HQK = weights_HQK.expand(heads, -1, -1)
    return moments_of_rows([_weighed(logits, query, weights_HQK[:, query]) for query in range(queries)], weights_HQK)


def _weighed(logits: Logits, query: int, weights_HK: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The same of one row: content_HK, slot_HK and interaction_H."""
    content_HK, slot_HK = torch.zeros_like(weights_HK), torch.zeros_like(weights_HK)
    kept_S = weights_HK.ne(0).any(0).nonzero()[:, 0]
    if not len(kept_S):
        return content_HK, slot_HK, content_HK.sum(-1)
    content_HS, slot_HS, interaction_H = _row(logits.table(query, kept_S, kept_S), weights_HK[:, kept_S])
    content_HK[:, kept_S], slot_HK[:, kept_S] = content_HS, slot_HS
    return content_HK, slot_HK, interaction_H


def _row(table_HKS: Tensor, weights_HK: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """content_HK, slot_HK and interaction_H of one row's table."""
    content_HK = (table_HKS * weights_HK[:, None]).sum(-1)
    slot_HS = (table_HKS * weights_HK[:, :, None]).sum(-2)
    grand_H11 = (content_HK * weights_HK).sum(-1)[:, None, None]
    left_HKS = table_HKS - content_HK[:, :, None] - slot_HS[:, None] + grand_H11
    left_HK = (left_HKS.square() * weights_HK[:, None]).sum(-1)
    return content_HK, slot_HS, (left_HK * weights_HK).sum(-1)
