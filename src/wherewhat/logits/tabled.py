"""Means and variances read off whole tables, one row at a time: for logits that no shorter way leads to."""

import torch
from torch import Tensor

from wherewhat.logits.base import Logits, Moments, moments_of_rows


def tabled_moments(logits: Logits, weights_HQK: Tensor) -> Moments:
    """What the tables of all rows amount to, every key counting by its weight as content and as slot."""
    heads, queries, keys = logits.actual_HQK.shape
    weights_HQK = weights_HQK.expand(heads, -1, -1)
    every_K = torch.arange(keys, device=weights_HQK.device)
    rows = [_row(logits.table(query, every_K, every_K), weights_HQK[:, query]) for query in range(queries)]
    return moments_of_rows(rows, weights_HQK)


def _row(table_HKS: Tensor, weights_HK: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """content_HK, slot_HK and interaction_H of one row's table."""
    content_HK = (table_HKS * weights_HK[:, None]).sum(-1)
    slot_HS = (table_HKS * weights_HK[:, :, None]).sum(-2)
    grand_H11 = (content_HK * weights_HK).sum(-1)[:, None, None]
    left_HKS = table_HKS - content_HK[:, :, None] - slot_HS[:, None] + grand_H11
    left_HK = (left_HKS.square() * weights_HK[:, None]).sum(-1)
    return content_HK, slot_HS, (left_HK * weights_HK).sum(-1)
