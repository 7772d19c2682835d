"""Logits in which contents and slots also ask each other: what Transformer-XL and DeBERTa have in common."""

from abc import ABC, abstractmethod
from typing import final

import torch
from torch import Tensor

from wherewhat.encodings.base import Context, Encoding, outside_autocast, wide
from wherewhat.encodings.relative import key_with_lag


class Crossing(Encoding, ABC):
    """Add two terms to q·k: what a slot is worth to the query, and what the slot asks of the content that stands there.

    The first knows nothing of the key, the second nothing of the query. They can be asked for one at a time, which
    is how logits are taken apart into what comes of slots and what comes of contents.
    """

    @abstractmethod
    def slot_part(self, q_BHQC: Tensor, context: Context) -> Tensor:
        """added_BHQK (B may be 1 or the batch): what each slot is worth to the query, whatever stands in it."""

    @abstractmethod
    def asking(self, context: Context, dtype: torch.dtype) -> Tensor:
        """toward_HRC of this dtype, scale included: what the slot at each lag of `lags_of` asks of the key there.

        R is 1 where every slot asks the same.
        """

    @final
    @outside_autocast
    def bias(self, q_BHQC: Tensor, k_BHKC: Tensor, context: Context) -> Tensor:
        dtype = wide(q_BHQC.dtype)
        toward_HRC = self.asking(context, dtype)
        k_BHKC, one_for_all = k_BHKC.to(dtype), toward_HRC.shape[1] == 1
        asked_BHQK = (k_BHKC @ toward_HRC.mT).mT if one_for_all else key_with_lag(k_BHKC, toward_HRC, context)
        return (self.slot_part(q_BHQC.to(dtype), context) + asked_BHQK).to(q_BHQC.dtype)
