"""Reads attention of all texts of a batch together, padding and all: quick where every row is wanted anyway."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from wherewhat.capture.hooks.reader import AttentionSite, Chunk, Reader, Terms
from wherewhat.encodings.base import wide


@dataclass(frozen=True)
class Block:
    """Some rows of every text of a batch at one place."""

    site: AttentionSite
    attention_BHQK: Tensor  # over the padded texts
    rows_BQ: Tensor  # which rows of the padded texts these are
    real_BQ: Tensor  # False for rows of padding, and where a row comes a second time


class Together(Reader):
    """Hands on what a layer computes as it is. What logits are made of is not asked."""

    takes_apart = False

    def __init__(self, on_block: Callable[[Block], None], dtype: torch.dtype = torch.float32) -> None:
        super().__init__(lambda seen: None, dtype)
        self._on_block = on_block

    def hand_on(
        self, site: AttentionSite, chunk: Chunk, attention_BHQK: Tensor, allowed_BQK: Tensor, terms: Terms | None = None
    ) -> None:
        """Pass on what was computed for the rows of a chunk."""
        counts_B1 = torch.tensor(chunk.counts)[:, None]
        self._show(site, attention_BHQK, chunk.rows_BQ, torch.arange(chunk.rows_BQ.shape[1]) < counts_B1)

    def hand_on_block(
        self,
        site: AttentionSite,
        rows_Q: Tensor,
        attention_BHQK: Tensor,
        allowed_BQK: Tensor,
        terms: Terms | None = None,
    ) -> None:
        """Pass on a block that holds the same rows of every text."""
        rows_BQ = rows_Q.cpu().expand(len(attention_BHQK), -1)
        first_B, stop_B = torch.tensor(self._spans).T
        self._show(site, attention_BHQK, rows_BQ, (rows_BQ >= first_B[:, None]) & (rows_BQ < stop_B[:, None]))

    def _show(self, site: AttentionSite, attention_BHQK: Tensor, rows_BQ: Tensor, real_BQ: Tensor) -> None:
        device = attention_BHQK.device
        attention_BHQK = attention_BHQK.to(wide(attention_BHQK.dtype))
        try:
            self._on_block(Block(site, attention_BHQK, rows_BQ.to(device), real_BQ.to(device)))
        except Exception as error:
            self.stumbled = error  # the listener's fault, not the model's
            raise
