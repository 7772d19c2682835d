"""A model that can be explained, and what one explanation tells."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from wherewhat.attribution.ledger import Ledger
from wherewhat.attribution.record import HeadProduct
from wherewhat.attribution.score_split import ScoreSplit
from wherewhat.attribution.sources import PositionSource, SourceRecorder
from wherewhat.nets.trunk import evaluating

Choose = Callable[[Tensor], int]  # which of logits_C is explained


@dataclass(frozen=True)
class Watched:
    """A model that can be explained: how it is run, and where tokens and positions enter."""

    module: nn.Module
    tokens: nn.Module  # the embedding of tokens
    logits: Callable[[], Tensor]  # run the model: logits_C of what may be explained
    positions: Callable[[SourceRecorder], AbstractContextManager[None]]  # watch positions inside a block
    others: tuple[nn.Module, ...] = ()  # further embeddings that are added, such as those of segments
    length: int = 0  # of the text, in tokens
    attention: Callable[[], Sequence[Tensor]] = tuple  # attention_QK of every layer, over heads

    def read(self) -> Tensor:
        """Run the model as it is."""
        with evaluating(self.module), torch.no_grad():
            return self.logits()


@dataclass(frozen=True)
class Relevance:
    """What one explanation tells: relevance by token and by source of position."""

    method: str
    logits_C: Tensor
    index: int
    token_TD: Tensor  # float64
    sources: tuple[PositionSource, ...] = ()
    ledger: Ledger | None = None  # None: the method passes nothing back that could be added up
    dtype: torch.dtype = torch.float32
    products: tuple[HeadProduct, ...] = field(default=(), repr=False)  # of queries and keys, first layer first
    splits: tuple[ScoreSplit, ...] = field(default=(), repr=False)  # of logits; none if unknown

    @property
    def logit(self) -> float:
        """What is explained."""
        return float(self.logits_C[self.index])

    @property
    def token_T(self) -> Tensor:
        """Relevance by token."""
        return self.token_TD.sum(-1)

    @property
    def position_T(self) -> Tensor:
        """Relevance by slot, over all sources of position."""
        return sum((source.by_slot() for source in self.sources), torch.zeros(len(self.token_TD), dtype=torch.float64))
