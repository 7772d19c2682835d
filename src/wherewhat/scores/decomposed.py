"""Rows whose logits are decomposed: a group of similar reach, and how what was measured of groups is joined again."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

import torch
from torch import Tensor

from wherewhat.logits.base import uniform_weights
from wherewhat.logits.factors import Factors

Measured = TypeVar("Measured")


@dataclass(frozen=True)
class DecomposedRows:
    """Some rows, of any texts, that reach about equally far; keys beyond their reach are cut off."""

    index_Q: Tensor  # their numbers among all rows
    text_Q: Tensor  # which text each belongs to
    factors: Factors
    attention_HQK: Tensor
    allowed_QK: Tensor
    swappable_QK: Tensor  # two keys or more of every row
    by_plane: bool = False  # the factors are those of rotary frequencies that add up

    @cached_property
    def actual_HQK(self) -> Tensor:
        """The logits as they are."""
        return self.factors.actual_HQK

    @cached_property
    def even_1QK(self) -> Tensor:
        """Equal weights for the swappable keys of each row."""
        return uniform_weights(self.swappable_QK, self.attention_HQK.dtype)


def join_rows(parts: Sequence[Measured], index_Q: Tensor, rows: int) -> Measured:
    """What was measured of some rows after others as one, with every row in its place and zeros elsewhere.

    The axis of rows is the one that a field's name calls Q.
    """
    joined: dict[str, Any] = {}
    for field in fields(parts[0]):  # type: ignore[arg-type]
        values = [getattr(part, field.name) for part in parts]
        if isinstance(values[0], Tensor):
            axis = field.name.rpartition("_")[2].index("Q")
            whole = torch.cat(values, axis)
            shape = [*whole.shape[:axis], rows, *whole.shape[axis + 1 :]]
            joined[field.name] = whole.new_zeros(shape).index_copy_(axis, index_Q, whole)
        elif is_dataclass(values[0]):
            joined[field.name] = join_rows(values, index_Q, rows)
    return replace(parts[0], **joined)  # type: ignore[type-var]
