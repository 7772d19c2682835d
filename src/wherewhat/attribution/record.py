"""What is written down while a model runs under the rules of relevance, and while relevance is passed back."""

from dataclasses import dataclass, field

import torch
from torch import Tensor

from wherewhat.attribution.score_split import LogitNode, RotatedPair


@dataclass
class SoftmaxLeak:
    """What one softmax keeps: the relevance of its output minus that of its input."""

    layer: int | None  # None: outside the part that reads the text
    of_attention: float = 0.0
    of_logits: float = 0.0

    @property
    def value(self) -> float:
        """The difference."""
        return self.of_attention - self.of_logits

    def on_sums(self, of_attention: Tensor, of_logits: Tensor) -> None:
        """Note the relevance on both sides."""
        self.of_attention, self.of_logits = of_attention.item(), of_logits.item()


@dataclass
class HeadProduct:
    """The relevance of queries and keys where they meet, by head and channel; keys are repeated for grouped heads."""

    layer: int | None
    queries_HC: Tensor | None = None
    keys_HC: Tensor | None = None

    def on_queries(self, relevance_BHQC: Tensor) -> None:
        """Note the relevance of queries."""
        self.queries_HC = by_head_and_channel(relevance_BHQC)

    def on_keys(self, relevance_BHKC: Tensor) -> None:
        """Note the relevance of keys."""
        self.keys_HC = by_head_and_channel(relevance_BHKC)

    @property
    def relevance_HC(self) -> Tensor | None:
        """Of both together; None where nothing came back."""
        return None if self.queries_HC is None or self.keys_HC is None else self.queries_HC + self.keys_HC


def by_head_and_channel(relevance_BHTC: Tensor) -> Tensor:
    """relevance_HC, summed over texts and slots, in float64."""
    return relevance_BHTC.sum(-2).flatten(0, -3).sum(0).cpu().double()


@dataclass
class RelevanceRecord:
    """The state of a model that runs under the rules, and what its nodes kept of the relevance passed back."""

    layer: int | None = None  # that runs now; None: outside the part that reads the text
    rotated: bool = False  # its queries and keys have been rotated, by what heads share, and have not met yet
    attentions: int = 0  # that have run
    dtype: torch.dtype = torch.float64  # the coarsest type that norms, softmaxes and attention were computed in
    softmaxes: list[SoftmaxLeak] = field(default_factory=list)
    products: list[HeadProduct] = field(default_factory=list)
    splits_logits: bool = False  # whether logits are split into content and position
    pair: RotatedPair | None = None  # queries and keys that have been rotated, and have not met yet
    logits: list[LogitNode] = field(default_factory=list)
    open_logits: LogitNode | None = None  # whose products have been computed, and whose softmax has not
    constants: float = 0.0  # relevance of constants that are added, such as the shift of a batch norm

    def enter(self, layer: int | None) -> None:
        """A layer runs from now on; None: one outside the part that reads the text."""
        self.layer, self.rotated, self.pair, self.open_logits = layer, False, None, None

    def new_logits(self, queries: int, keys: int) -> LogitNode | None:
        """The logits of a softmax that runs, with the rotation they were made of; None if they are not split."""
        node, self.open_logits = self.open_logits, None
        if not self.splits_logits or self.layer is None or queries != keys:
            return None
        if node is None:
            node = LogitNode(self.layer, self.pair)
            self.logits.append(node)
        self.pair = None
        return node

    def new_rotated_logits(self) -> LogitNode | None:
        """Rotated queries and keys meet some operations before their softmax."""
        if self.pair is None or self.layer is None or not self.splits_logits:
            return None
        self.open_logits, self.pair = LogitNode(self.layer, self.pair), None
        self.logits.append(self.open_logits)
        return self.open_logits

    def new_softmax(self) -> SoftmaxLeak:
        """A softmax runs, in the layer that runs now."""
        self.softmaxes.append(SoftmaxLeak(self.layer))
        return self.softmaxes[-1]

    def new_product(self) -> HeadProduct:
        """Queries and keys meet."""
        self.rotated = False
        self.products.append(HeadProduct(self.layer))
        return self.products[-1]

    def on_constant(self, relevance: Tensor) -> None:
        """Note the relevance of a constant."""
        self.constants += relevance.item()

    def computed_in(self, dtype: torch.dtype) -> None:
        """Note the type of a computation."""
        self.dtype = coarser(self.dtype, dtype)


def coarser(first: torch.dtype, other: torch.dtype) -> torch.dtype:
    """The type of the two that rounds more.

    >>> coarser(torch.float64, torch.float32)
    torch.float32
    """
    return max(first, other, key=lambda dtype: torch.finfo(dtype).eps)
