"""What a score is: a question asked of every attention row of one text in one layer."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from wherewhat.errors import UserError
from wherewhat.scores.pairs import Pairs, read_pairs
from wherewhat.scores.stretches import stretches

NOTHING = 1e-12  # a row that spends less than this on all its keys together looks at nothing


@dataclass(frozen=True)
class Rows:
    """Some attention rows of one text in one layer, padding already cut away.

    `queries_Q` holds the slot each row's query stands in, so rows need not be neighbours nor complete.
    What several scores need is worked out once, when the first of them asks.
    """

    attention_HQK: Tensor  # not negative, 0 on keys not allowed; rows sum to 1, or less if the model has its own sink
    queries_Q: Tensor  # int64 slots
    allowed_QK: Tensor  # bool: which keys the row may look at
    tokens_K: Tensor  # int64 token ids of the keys

    def __post_init__(self) -> None:
        shapes = [tuple(x.shape) for x in (self.attention_HQK, self.queries_Q, self.allowed_QK, self.tokens_K)]
        queries, keys = shapes[0][-2:] if len(shapes[0]) == 3 else (0, 0)
        if not queries or not keys or shapes[1:] != [(queries,), (queries, keys), (keys,)]:
            raise UserError(
                f"attention rows do not fit together: attention, queries, allowed and tokens have shapes {shapes}; "
                "give (heads, queries, keys), (queries,), (queries, keys) and (keys,), none of them empty"
            )

    @cached_property
    def slots_K(self) -> Tensor:
        """Where each key stands, counted from 0."""
        return torch.arange(self.attention_HQK.shape[-1], device=self.attention_HQK.device)

    @cached_property
    def offsets_QK(self) -> Tensor:
        """Where each key stands relative to the query: -1 is the token before it."""
        return self.slots_K - self.queries_Q[:, None]

    @cached_property
    def visible_Q(self) -> Tensor:
        """How many keys each row may look at."""
        return self.allowed_QK.sum(-1)

    @cached_property
    def mass_HQ(self) -> Tensor:
        """What each row spends on all its keys together."""
        return self.attention_HQK.sum(-1)

    @cached_property
    def same_QK(self) -> Tensor:
        """Which keys hold the same token as the query."""
        return self.tokens_K[self.queries_Q][:, None] == self.tokens_K

    @cached_property
    def earlier_QK(self) -> Tensor:
        """Which keys the row may look at that stand before its query."""
        return self.allowed_QK & (self.offsets_QK < 0)

    @cached_property
    def pairs(self) -> Pairs:
        """What the keys at equal distance left and right of each query amount to."""
        return read_pairs(self.attention_HQK, self.queries_Q)

    def near(self, reach: int) -> tuple[Tensor, Tensor]:
        """Only the keys around each query: attention_HQK and offsets_QK (as floats), holding all up to `reach` away.

        Every row gives the same number of keys, so near the ends of a text some that stand further away come along.
        """
        heads, queries, keys = self.attention_HQK.shape
        width = min(2 * reach + 1, keys)
        first_Q = (self.queries_Q - reach).clamp(0, keys - width)
        rows_HQ = torch.arange(heads * queries, device=first_Q.device).view(heads, queries)
        near_HQK = stretches(self.attention_HQK.flatten(), rows_HQ * keys + first_Q, width)
        offsets_QK = self.slots_K[:width].to(near_HQK) + (first_Q - self.queries_Q).to(near_HQK)[:, None]
        return near_HQK, offsets_QK

    def weigh(self, eligible_Q: Tensor) -> Tensor:
        """Weight 1 for eligible rows, as weight_HQ, and 0 for the others and for rows that look at nothing."""
        return (eligible_Q & (self.mass_HQ >= NOTHING)).to(self.attention_HQK.dtype)


PerRow = tuple[Tensor, Tensor]  # value_HQ and weight_HQ; a weight of 0 leaves the row out


def weighted_mean(value_HQ: Tensor, weight_HQ: Tensor) -> Tensor:
    """Average rows by weight; a head none of whose rows takes part gets NaN.

    >>> weighted_mean(torch.tensor([[0.2, 0.8]]), torch.tensor([[3.0, 1.0]]))
    tensor([0.3500])
    """
    total_H = weight_HQ.sum(-1)
    return torch.where(weight_HQ > 0, value_HQ * weight_HQ, 0).sum(-1) / total_H


@dataclass(frozen=True)
class Score:
    """One question about a head, with all that is needed to read its answer."""

    name: str
    asks: str  # one line, for someone new
    low: str  # what a value at the lower end means
    high: str  # what a value at the upper end means
    paper: str  # where it comes from
    rows: Callable[[Rows], PerRow]
    chance: Callable[[Rows, torch.Generator], Rows]  # attention of heads that know nothing, on the same rows
    range: tuple[float, float] = (0.0, 1.0)
    pool: Callable[[Tensor, Tensor], Tensor] = weighted_mean  # (value_HQ, weight_HQ) -> value_H
    sides: bool = False  # compares left with right, so it says nothing where a causal mask hides the right
    relative: bool = True  # asks how query and key lie to each other, so it says nothing of cross-attention
