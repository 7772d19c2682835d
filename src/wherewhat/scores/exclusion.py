"""How far do logits move if keys change places? No head whose logits differ can keep both slots' and contents'."""

import torch
from torch import Tensor

from wherewhat.scores.base import PerRow, Rows


def exclusion_positional(rows: Rows) -> PerRow:
    """P: the mean square by which the logit of a slot moves over all permutations. 0: only slots count."""
    return _measured(rows, "positional_HQ")


def exclusion_symbolic(rows: Rows) -> PerRow:
    """S: the mean square by which the logit of a content moves over all permutations. 0: only contents count."""
    return _measured(rows, "symbolic_HQ")


def logit_variance(rows: Rows) -> PerRow:
    """The variance of a row's logits over the keys that can change places; P + S is never below it."""
    return _measured(rows, "variance_HQ")


def exclusion_ratio(rows: Rows) -> PerRow:
    """S / (P + S): 1 for a head that reads slots alone, 0 for one that reads contents alone.

    A row counts by P + S, so that pooling gives the ratio of the sums; rows in which no logit moves have none.
    """
    exact = rows.exact
    if exact is None:
        return rows.nothing
    moved_HQ = exact.positional_HQ + exact.symbolic_HQ
    counts_HQ = exact.measured_HQ & ~exact.flat_HQ & (moved_HQ > 0)
    value_HQ = torch.where(counts_HQ, exact.symbolic_HQ / moved_HQ, 0)
    return value_HQ, torch.where(counts_HQ, moved_HQ, 0)


def _measured(rows: Rows, field: str) -> PerRow:
    exact = rows.exact
    if exact is None:
        return rows.nothing
    value_HQ: Tensor = getattr(exact, field)
    return value_HQ, exact.measured_HQ.to(value_HQ.dtype)
