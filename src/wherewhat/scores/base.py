"""What a score is: a question asked of every attention row of some texts in one layer."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from wherewhat.errors import UserError
from wherewhat.logits.base import Logits
from wherewhat.logits.factors import WIDTH, Measured, join_rows, split_by_reach
from wherewhat.scores.decomposed import DecomposedRows
from wherewhat.scores.exact import Exact, Parts, read_attended, read_exact
from wherewhat.scores.pairs import MirroredPairs, read_pairs, stretches
from wherewhat.scores.planes import PlaneSums, read_planes
from wherewhat.scores.swaps import PUBLISHED, Swaps, read_block_swaps, read_swaps

# The kinds of scores, in the order a reader meets them.
WHERE_OR_WHAT, ATTENTION, PUBLISHED_SCORES = "Where or what", "Attention", "Published scores"
HIDDEN_STATE, POSITIONAL_PART, REPEATED_TOKENS = "Hidden state", "Positional part", "Repeated random tokens"
KINDS = (WHERE_OR_WHAT, ATTENTION, PUBLISHED_SCORES, HIDDEN_STATE, POSITIONAL_PART, REPEATED_TOKENS)
ROW_KINDS = KINDS[:3]  # of the scores that are computed from rows of the texts as they are

KEPT = 1 << 24  # numbers of factors that are kept from one measure to the next
NOTHING = 1e-12  # a row whose attention sums to less than this attends to nothing


@dataclass(frozen=True)
class Rows:
    """Attention rows of one or several texts in one layer, without rows of padding.

    `queries_Q` holds the slot of each row's query, so rows need be neither adjacent nor complete. Where texts are of
    different length, `K` is that of the longest, and keys beyond the end of a shorter one are not allowed. What several
    scores need is computed once, on first use.
    """

    attention_HQK: Tensor  # not negative, 0 on keys not allowed; rows sum to 1, or less if the model has its own sink
    queries_Q: Tensor  # int64 slots
    allowed_QK: Tensor  # bool: which keys the row may attend to
    tokens_BK: Tensor  # int64 token ids of the keys of each text; of a single one, also without that axis
    text_Q: Tensor = None  # type: ignore[assignment]  # int64, rising: the text of each row; all of one if not given
    lengths_B: Tensor = None  # type: ignore[assignment]  # int64: how many keys each text has; all unless given
    logits: Logits | None = None  # what the attention is the softmax of, if they could be read
    first: int = 1  # keys in slots before this one are never swapped, as models rest on the first token
    decomposed_Q: Tensor | None = None  # bool: in which rows logits are decomposed and swapped; None means all
    max_swaps: int | None = None  # per row that are computed one by one; of more, a sample. None: no limit
    blocks: Sequence[Tensor] | None = None  # by text, int64 (blocks, 2): from the first slot to before the second
    taus: tuple[float, ...] = (PUBLISHED,)  # temperatures at which swaps are weighted, all in one go

    def __post_init__(self) -> None:
        if self.text_Q is None:
            object.__setattr__(self, "text_Q", torch.zeros_like(self.queries_Q))
        if self.tokens_BK.dim() == 1:
            object.__setattr__(self, "tokens_BK", self.tokens_BK[None])
        if self.lengths_B is None:
            every = self.text_Q.new_full((len(self.tokens_BK),), self.tokens_BK.shape[-1])
            object.__setattr__(self, "lengths_B", every)
        given = (self.attention_HQK, self.queries_Q, self.text_Q, self.allowed_QK, self.tokens_BK)
        shapes = [tuple(tensor.shape) for tensor in given]
        queries, keys = shapes[0][-2:] if len(shapes[0]) == 3 else (0, 0)
        if not queries or not keys or shapes[1:4] != [(queries,), (queries,), (queries, keys)] or shapes[4][1] != keys:
            raise UserError(
                "attention rows do not fit together: attention, queries, texts, allowed and tokens have shapes "
                f"{shapes}; give (heads, queries, keys), (queries,), (queries,), (queries, keys) and (texts, keys), "
                "none of them empty"
            )

    @cached_property
    def slots_K(self) -> Tensor:
        """The slot of each key, counted from 0."""
        return torch.arange(self.attention_HQK.shape[-1], device=self.attention_HQK.device)

    @cached_property
    def offsets_QK(self) -> Tensor:
        """The slot of each key relative to the query: -1 is the token before it."""
        return self.slots_K - self.queries_Q[:, None]

    @cached_property
    def visible_Q(self) -> Tensor:
        """How many keys each row may attend to."""
        return self.allowed_QK.sum(-1)

    @cached_property
    def mass_HQ(self) -> Tensor:
        """The attention of each row, summed over all its keys."""
        return self.attention_HQK.sum(-1)

    @cached_property
    def same_QK(self) -> Tensor:
        """Which keys hold the same token as the query."""
        tokens_QK = self.tokens_BK[self.text_Q]
        return tokens_QK == tokens_QK.gather(1, self.queries_Q[:, None])

    @cached_property
    def earlier_QK(self) -> Tensor:
        """Which visible keys come before the query."""
        return self.allowed_QK & (self.offsets_QK < 0)

    @cached_property
    def pairs(self) -> MirroredPairs:
        """Sums over the keys at equal distance left and right of each query."""
        return read_pairs(self.attention_HQK, self.queries_Q, self.lengths_B[self.text_Q])

    @cached_property
    def swappable_QK(self) -> Tensor:
        """Which keys of each row can be swapped: the visible ones except the query itself and the first slots."""
        return self.allowed_QK & (self.offsets_QK != 0) & (self.slots_K >= self.first)

    @cached_property
    def several_Q(self) -> Tensor:
        """Rows in which two or more keys can be swapped."""
        return self.swappable_QK.sum(-1) >= 2

    @cached_property
    def measured_Q(self) -> Tensor:
        """Rows in which logits are decomposed and swapped: those chosen for it that have two keys to swap."""
        return self.several_Q if self.decomposed_Q is None else self.several_Q & self.decomposed_Q

    @cached_property
    def exact(self) -> Exact | None:
        """What all permutations of each row's keys would do to its logits; None if no row can be measured."""
        index_Q = self.measured_Q.nonzero()[:, 0]
        if self.logits is None or not len(index_Q):
            return None
        swappable_QK = self.swappable_QK[index_Q]
        parts, places = [], []
        for rows in self.logits.rows(index_Q).measured(swappable_QK):
            swappable = swappable_QK[rows.index_Q, : rows.actual_HQK.shape[-1]]
            parts.append(read_exact(rows.actual_HQK, rows.moments, swappable))
            places.append(index_Q[rows.index_Q])
        return join_rows(parts, torch.cat(places), len(self.queries_Q))

    @cached_property
    def attended(self) -> Parts | None:
        """How the variance of each row's logits divides if attended keys count as much as all others together."""
        return self._measure(read_attended)

    @cached_property
    def swaps(self) -> Swaps | None:
        """What swapping keys two by two does to the attention on them."""
        return self._measure(lambda rows: read_swaps(rows, self.taus, self.max_swaps))

    @cached_property
    def block_swaps(self) -> Swaps | None:
        """What swapping blocks of keys two by two does to the attention on them."""
        blocks = self.blocks
        if blocks is None:
            return None
        return self._measure(lambda rows: read_block_swaps(rows, blocks, self.taus))

    @cached_property
    def planes(self) -> PlaneSums | None:
        """What each rotary frequency does to the logits of each row; None if they are not rotary."""
        if self.logits is None or self.logits.planes is None:
            return None
        return self._measure(lambda rows: read_planes(rows, self.taus[0]))

    @cached_property
    def reach_groups(self) -> list[tuple[Tensor, int]]:
        """The rows to be measured, those of similar reach together: their numbers, and up to which key they see."""
        index_Q = self.measured_Q.nonzero()[:, 0]
        if self.logits is None or not len(index_Q):
            return []
        groups = split_by_reach(self.allowed_QK[index_Q], len(self.attention_HQK) * WIDTH)
        return [(index_Q[some_Q], keys) for some_Q, keys in groups]

    @cached_property
    def kept_groups(self) -> dict[int, DecomposedRows]:
        """Groups that are kept for the next measure, as far as they fit."""
        return {}

    def group(self, number: int) -> DecomposedRows:
        """One of the groups, with the factors of its tables."""
        if number in self.kept_groups:
            return self.kept_groups[number]
        assert self.logits is not None
        index_Q, keys = self.reach_groups[number]
        factors = self.logits.factors(index_Q, keys)
        group = DecomposedRows(
            index_Q=index_Q,
            text_Q=self.text_Q[index_Q],
            factors=factors,
            attention_HQK=self.attention_HQK[:, index_Q, :keys].to(factors.content_HQKX.dtype),
            allowed_QK=self.allowed_QK[index_Q, :keys],
            swappable_QK=self.swappable_QK[index_Q, :keys],
        )
        if (number + 1) * factors.content_HQKX.numel() <= KEPT:  # groups are about equally large
            self.kept_groups[number] = group
        return group

    def _measure(self, measure: Callable[[DecomposedRows], Measured]) -> Measured | None:
        """What a function measures of the rows to be measured, each in its place; None if there are none."""
        if not self.reach_groups:
            return None
        index_Q = torch.cat([index_Q for index_Q, _ in self.reach_groups])
        parts = [measure(self.group(number)) for number in range(len(self.reach_groups))]
        return join_rows(parts, index_Q, len(self.queries_Q))

    def text_sums(self, value_HQX: Tensor) -> Tensor:
        """The sum of finite numbers over the rows of every text, sum_HBX."""
        texts_B1 = torch.arange(len(self.tokens_BK), device=self.text_Q.device)[:, None]
        return (texts_B1 == self.text_Q).to(value_HQX.dtype) @ value_HQX

    @property
    def nothing(self) -> "PerRow":
        """The value of a score that is not defined on these rows."""
        zeros_HQ = self.attention_HQK.new_zeros(self.attention_HQK.shape[:2])
        return zeros_HQ, zeros_HQ

    def near(self, reach: int) -> tuple[Tensor, Tensor]:
        """Only the keys around each query: attention_HQK and offsets_QK (as floats), with all keys up to `reach` away.

        Every row has the same number of keys, so near the ends of a text some keys further away are included.
        """
        heads, queries, keys = self.attention_HQK.shape
        width = min(2 * reach + 1, keys)
        first_Q = (self.queries_Q - reach).clamp(0, keys - width)
        rows_HQ = torch.arange(heads * queries, device=first_Q.device).view(heads, queries)
        near_HQK = stretches(self.attention_HQK.flatten(), rows_HQ * keys + first_Q, width)
        offsets_QK = self.slots_K[:width].to(near_HQK) + (first_Q - self.queries_Q).to(near_HQK)[:, None]
        return near_HQK, offsets_QK

    def weigh(self, eligible_Q: Tensor) -> Tensor:
        """Weight 1 for eligible rows, as weight_HQ, and 0 for the others and for rows without attention."""
        return (eligible_Q & (self.mass_HQ >= NOTHING)).to(self.attention_HQK.dtype)


PerRow = tuple[Tensor, Tensor]  # value_HQ and weight_HQ; a weight of 0 leaves the row out


def weighted_mean(value_HQ: Tensor, weight_HQ: Tensor, text_Q: Tensor) -> Tensor:
    """Average the rows of every text by weight, value_HB; a head without a row that counts gets NaN.

    >>> weighted_mean(torch.tensor([[0.2, 0.8, 0.5]]), torch.tensor([[3.0, 1.0, 1.0]]), torch.tensor([0, 0, 1]))
    tensor([[0.3500, 0.5000]])
    """
    weighed_HQ = torch.where(weight_HQ > 0, value_HQ * weight_HQ, 0)
    return sum_by_text(weighed_HQ, text_Q) / sum_by_text(weight_HQ, text_Q)


def sum_by_text(value_HQ: Tensor, text_Q: Tensor) -> Tensor:
    """The sum over the rows of every text, sum_HB.

    >>> sum_by_text(torch.tensor([[1.0, 2.0, 4.0]]), torch.tensor([0, 0, 1]))
    tensor([[3., 4.]])
    """
    texts = int(text_Q.max()) + 1
    return value_HQ.new_zeros(len(value_HQ), texts).scatter_add_(1, text_Q.expand_as(value_HQ), value_HQ)


@dataclass(frozen=True, kw_only=True)
class Score:
    """One question about a head, with all that is needed to read its value."""

    name: str
    kind: str  # what it is measured on or asks about, one of the kinds above: reports group scores by it
    asks: str  # one line, for someone new
    low: str  # what a value at the lower end means
    high: str  # what a value at the upper end means
    paper: str  # where it comes from
    chance: str = ""  # the baseline that its chance level belongs to, in words; empty if there is none
    range: tuple[float, float] = (0.0, 1.0)
    sides: bool = False  # compares left with right, so it is meaningless where a causal mask hides the right
    tau: str | None = None  # the temperature of swaps at the input; names leave out the published one


@dataclass(frozen=True, kw_only=True)
class RowScore(Score):
    """A score that is computed row by row from the attention, or the logits, of the texts as they are.

    At most one of `baseline`, `expected` and `matched` is given. The chance level is named after the
    function, or "as peaked" for `matched`.
    """

    rows: Callable[[Rows], PerRow]
    baseline: Callable[[Rows, Sequence[torch.Generator]], Rows] | None = None  # the same rows of uninformed heads
    expected: Callable[[Rows], PerRow] | None = None  # what uninformed heads get, in closed form
    matched: Callable[[Rows], PerRow] | None = None  # what a random head as peaked as each head gets
    pool: Callable[[Tensor, Tensor, Tensor], Tensor] = weighted_mean  # (value_HQ, weight_HQ, text_Q) -> value_HB
    relative: bool = True  # asks how query and key are placed relative to each other: undefined for cross-attention
    logits: bool = False  # needs logits that could be decomposed and that depend on slots
    rotary: bool = False  # needs rotary frequencies
    pooled: bool = False  # texts count by the summed weight of their rows instead of equally
    blocks: bool = False  # swaps whole blocks, so the settings must say what a block is

    def __post_init__(self) -> None:
        known = self.expected or self.baseline
        chance = "" if known is None else known.__name__.replace("_", " ")
        object.__setattr__(self, "chance", chance if self.matched is None else "as peaked")
