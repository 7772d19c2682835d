"""How far permuting keys moves logits, and how their variance divides: read once for all scores about logits."""

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from wherewhat.errors import InternalError
from wherewhat.logits.factors import Moments, Planes, mean_and_variance, moments_of, uniform_weights
from wherewhat.scores.decomposed import DecomposedRows

ROUNDING = 16  # logits that differ by less than this many machine epsilons of the largest are the same
LEAST = 1e-30


@dataclass(frozen=True)
class Parts:
    """How the variance of each row's table divides. Rows that were not measured hold zeros."""

    position_HQ: Tensor  # variance of the slots' means
    symbol_HQ: Tensor  # variance of the contents' means
    interaction_HQ: Tensor  # variance of what neither explains
    flat_HQ: Tensor  # bool: no variance beyond rounding, so shares of it would be noise
    measured_HQ: Tensor  # bool
    planes: Planes | None = None  # the same by rotary frequency, of rows measured and not flat; zeros elsewhere
    noise_HQ: Tensor | None = None  # the share that position, or symbol, has in a table of the row's logits at random

    @property
    def total_HQ(self) -> Tensor:
        return self.position_HQ + self.symbol_HQ + self.interaction_HQ

    @property
    def weight_HQ(self) -> Tensor:
        """Rows count by their variance, so that pooled shares are shares of the pooled variance."""
        return torch.where(self.measured_HQ & ~self.flat_HQ, self.total_HQ, 0)


@dataclass(frozen=True)
class Exact:
    """What all permutations of each row's keys would do to its logits. Rows that were not measured hold zeros."""

    positional_HQ: Tensor  # P: the mean square by which a slot's logit moves; 0 if only the slot counts
    symbolic_HQ: Tensor  # S: the mean square by which a content's logit moves; 0 if only the content counts
    variance_HQ: Tensor  # of the logits as they are; never above P + S
    parts: Parts

    @property
    def flat_HQ(self) -> Tensor:
        return self.parts.flat_HQ


def read_exact(actual_HQK: Tensor, moments: Moments, swappable_QK: Tensor) -> Exact:
    """What permutations of their keys do to rows with these logits and these moments of their tables."""
    weights_1QK = uniform_weights(swappable_QK, actual_HQK.dtype)
    size_HQ = _size(actual_HQK, moments, swappable_QK)
    # Permuting keys moves a slot's logit to every content's in turn: by how far the actual one lies from the slot's
    # mean, and by how the contents spread around that. Nothing is subtracted, so nothing is lost to a common offset.
    off_slot_HQ = ((actual_HQK - moments.slot_HQK).square_() * weights_1QK).sum(-1)
    off_content_HQ = ((actual_HQK - moments.content_HQK).square_() * weights_1QK).sum(-1)
    positional_HQ = off_slot_HQ + moments.symbol_HQ + moments.interaction_HQ
    symbolic_HQ = off_content_HQ + moments.position_HQ + moments.interaction_HQ
    _, variance_HQ = mean_and_variance(actual_HQK, weights_1QK)
    _check(variance_HQ, positional_HQ + symbolic_HQ, size_HQ)
    return Exact(positional_HQ, symbolic_HQ, variance_HQ, _parts(moments, size_HQ))


def read_attended(rows: DecomposedRows) -> Parts:
    """Divide the variance of rows' tables with every key counting half by its attention and half like the others.

    So the keys that a row attends to are contrasted with all the others: weighted by attention alone the others would
    not count, and weighted equally the attended ones would not.
    """
    attention_HQK = rows.attention_HQK * rows.swappable_QK
    weights_HQK = attention_HQK.div_(attention_HQK.sum(-1, keepdim=True).clamp_min(LEAST)).add_(rows.even_1QK)
    weights_HQK.div_(weights_HQK.sum(-1, keepdim=True))
    moments = moments_of(rows.factors, weights_HQK)
    noise_HQ = _noise_share(rows.actual_HQK, weights_HQK, rows.even_1QK)
    return replace(_parts(moments, _size(rows.actual_HQK, moments, rows.swappable_QK)), noise_HQ=noise_HQ)


def _noise_share(actual_HQK: Tensor, weights_HQK: Tensor, even_1QK: Tensor) -> Tensor:
    """The share of slots, or of contents, in a table that is noise but for its diagonal, which is what the row shows.

    Every other cell is any of the row's logits, so this is a random head as peaked as the row: expected variance of
    the slots' means over expected variance of the table, both weighted. What the head looks at stands out by having
    been chosen, so a peaked row gets more than the 1/(m + 1) of even weights: up to a third.
    """
    mean_HQ, spread_HQ = mean_and_variance(actual_HQK, even_1QK)
    away_HQK = torch.where(weights_HQK > 0, actual_HQK - mean_HQ[..., None], 0)
    two_HQ, three_HQ, four_HQ = (weights_HQK.pow(power).sum(-1) for power in (2, 3, 4))
    grand_HQ = (weights_HQK.square() * away_HQK).sum(-1).square() + spread_HQ * (two_HQ.square() - four_HQ)
    slots_HQ = (weights_HQK.pow(3) * away_HQK.square()).sum(-1) + spread_HQ * (two_HQ - three_HQ) - grand_HQ
    total_HQ = (weights_HQK.square() * away_HQK.square()).sum(-1) + spread_HQ * (1 - two_HQ) - grand_HQ
    return torch.where(total_HQ > 0, slots_HQ / total_HQ, 0)


def _parts(moments: Moments, size_HQ: Tensor) -> Parts:
    variances = (moments.position_HQ, moments.symbol_HQ, moments.interaction_HQ)
    position_HQ, symbol_HQ, interaction_HQ = (variance_HQ.clamp_min(0) for variance_HQ in variances)
    flat_HQ = position_HQ + symbol_HQ + interaction_HQ <= _noise(size_HQ).square()
    planes = moments.planes
    if planes is not None:
        by_part = (planes.position_HQF, planes.symbol_HQF, planes.interaction_HQF)
        planes = Planes(*(part_HQF * ~flat_HQ[..., None] for part_HQF in by_part))
    return Parts(position_HQ, symbol_HQ, interaction_HQ, flat_HQ, torch.ones_like(flat_HQ), planes)


def _size(actual_HQK: Tensor, moments: Moments, counts_QK: Tensor) -> Tensor:
    """size_HQ: how large the logits of each table are."""
    tables = (actual_HQK, moments.content_HQK, moments.slot_HQK)
    return torch.stack([(table_HQK.abs() * counts_QK).amax(-1) for table_HQK in tables]).amax(0)


def _noise(size_HQ: Tensor) -> Tensor:
    """By how much logits of this size may differ through rounding alone."""
    return ROUNDING * torch.finfo(size_HQ.dtype).eps * size_HQ


def _check(variance_HQ: Tensor, moved_HQ: Tensor, size_HQ: Tensor) -> None:
    """Logits that differ cannot be both positional and symbolic: Var <= P + S, whatever the head."""
    noise_HQ = _noise(size_HQ)
    rounding_HQ = (2 * (variance_HQ + moved_HQ).sqrt() + noise_HQ) * noise_HQ
    if (variance_HQ > moved_HQ + rounding_HQ).any():
        worst = (variance_HQ - moved_HQ - rounding_HQ).amax()
        raise InternalError(
            f"the variance of some logits lies {float(worst):.3g} above what permuting keys moves them by, "
            "which cannot be: what was read of this model's logits is wrong"
        )
