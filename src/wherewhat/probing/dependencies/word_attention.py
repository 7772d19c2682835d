"""From attention between tokens to attention between words: to a word it is the sum, from a word the mean."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from wherewhat.capture.hooks.reader import BatchRows
from wherewhat.probing.dependencies.treebanks import NONE

ROUNDING = 1e-5  # of the largest weight: weights closer to it than this differ by rounding


@dataclass(frozen=True)
class WordPooling:
    """Which tokens make up which kept word, as two matrices per text. Tokens of no kept word drop out."""

    sum_BTU: Tensor
    mean_BUT: Tensor

    @classmethod
    def of(cls, word_of: Sequence[Tensor]) -> "WordPooling":
        """From the kept word of every token of every text."""
        word_BT = pad_sequence(list(word_of), batch_first=True, padding_value=NONE)
        sum_BTU = (word_BT[..., None] == torch.arange(int(word_BT.max()) + 1)).float()
        tokens_B1U = sum_BTU.sum(1, keepdim=True)
        return cls(sum_BTU, (sum_BTU / tokens_B1U.clamp_min(1)).transpose(1, 2))

    @property
    def words(self) -> int:
        """How many kept words the longest of the texts has."""
        return self.sum_BTU.shape[-1]

    def pool(self, attention_BHTT: Tensor) -> Tensor:
        """Attention between words, attention_BHUU."""
        return self.mean_BUT.to(attention_BHTT)[:, None] @ self._to_words(attention_BHTT)

    def pool_rows(self, block: BatchRows) -> Tensor:
        """The part of attention between words that comes from some rows."""
        rows_BUQ = block.rows_BQ[:, None].expand(-1, self.words, -1)
        mean_BUQ = self.mean_BUT.to(block.attention_BHQK).gather(2, rows_BUQ) * block.real_BQ[:, None]
        return mean_BUQ[:, None] @ self._to_words(block.attention_BHQK)

    def _to_words(self, attention_BHQK: Tensor) -> Tensor:
        """Attention from tokens to words, attention_BHQU."""
        # All heads in one product: between tensors of four axes every head would get its own copy of the matrix.
        flat_BXU = attention_BHQK.flatten(1, 2) @ self.sum_BTU.to(attention_BHQK)
        words_BHQU: Tensor = flat_BXU.unflatten(1, attention_BHQK.shape[1:3])
        return words_BHQU


def strongest_word(attention_BHUU: Tensor) -> Tensor:
    """The word that each word attends to most, word_BHU; the first of equals. Attention to itself has to be 0.

    A head may attend to left and right equally, and then rounding would choose a side, not the same on every machine.

    >>> strongest_word(torch.tensor([[[[0.0, 0.3, 0.3000001], [0.1, 0.0, 0.2], [0.0, 0.0, 0.0]]]])).tolist()
    [[[1, 2, 0]]]
    """
    largest_BHU1 = attention_BHUU.amax(-1, keepdim=True)
    return (attention_BHUU >= largest_BHU1 * (1 - ROUNDING)).byte().argmax(-1)


def without_self(attention_BHUU: Tensor) -> Tensor:
    """Attention with 0 on the diagonal."""
    diagonal_UU = torch.eye(attention_BHUU.shape[-1], dtype=torch.bool, device=attention_BHUU.device)
    return attention_BHUU.masked_fill(diagonal_UU, 0)


def correlation(a_BHUU: Tensor, b_BHUU: Tensor, pairs_BUU: Tensor) -> Tensor:
    """Pearson's r between two kinds of attention over the pairs of words that count, r_BH."""
    pairs_B1UU = pairs_BUU[:, None].double()
    count_B1 = pairs_B1UU.sum((-1, -2))
    a_BHUU, b_BHUU = (x_BHUU.double() * pairs_B1UU for x_BHUU in (a_BHUU, b_BHUU))
    a_BHUU, b_BHUU = (
        (x_BHUU - (x_BHUU.sum((-1, -2)) / count_B1)[..., None, None]) * pairs_B1UU for x_BHUU in (a_BHUU, b_BHUU)
    )
    sizes_BH = (a_BHUU.square().sum((-1, -2)) * b_BHUU.square().sum((-1, -2))).sqrt()
    return (a_BHUU * b_BHUU).sum((-1, -2)) / sizes_BH
