"""Rows whose logits are decomposed: a group of similar reach."""

from dataclasses import dataclass
from functools import cached_property

from torch import Tensor

from wherewhat.logits.factors import Factors, uniform_weights


@dataclass(frozen=True)
class DecomposedRows:
    """Some rows, of any texts, that reach about equally far; keys beyond their reach are cut off."""

    index_Q: Tensor  # their numbers among all rows
    text_Q: Tensor  # which text each belongs to
    factors: Factors
    attention_HQK: Tensor
    allowed_QK: Tensor
    swappable_QK: Tensor  # two keys or more of every row

    @cached_property
    def actual_HQK(self) -> Tensor:
        """The logits as they are."""
        return self.factors.actual_HQK

    @cached_property
    def even_1QK(self) -> Tensor:
        """Equal weights for the swappable keys of each row."""
        return uniform_weights(self.swappable_QK, self.attention_HQK.dtype)
