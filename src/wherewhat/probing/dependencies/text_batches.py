"""Texts that a model reads together: of similar length, so that little is padding."""

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from wherewhat.capture.tokens.batch import Batch

# Another forward pass costs about as much as so many tokens. No more than these, or than such a share, is padding.
TOKENS_PER_PASS, PADDING = 128, 1 / 16


def runs_of(sizes: Sequence[tuple[int, int]], tokens: int) -> Iterator[slice]:
    """Which of several sets of texts, one after the other, are read together: up to so many padded tokens.

    A size is how many texts a set has, and how many tokens each of them. A single set may have more.

    >>> list(runs_of([(10, 20), (10, 21), (10, 40), (100, 41)], tokens=1000))
    [slice(0, 2, None), slice(2, 3, None), slice(3, 4, None)]
    """
    first = texts = real = longest = 0
    for item, (count, length) in enumerate(sizes):
        texts, real, longest = texts + count, real + count * length, max(longest, length)
        padded = texts * longest
        if item > first and (padded > tokens or padded - real > max(TOKENS_PER_PASS, PADDING * padded)):
            yield slice(first, item)
            first, texts, real, longest = item, count, count * length, length
    yield slice(first, len(sizes))


def padded_batch(texts: Sequence[Tensor]) -> Batch:
    """Texts padded on the right. The rows of padding are read too: rows that differ from text to text are slow."""
    ids_BT = pad_sequence(list(texts), batch_first=True)
    real_BT = torch.arange(ids_BT.shape[1]) < torch.tensor([[len(ids_T)] for ids_T in texts])
    return Batch(tuple(range(len(texts))), ids_BT, real_BT, (torch.arange(ids_BT.shape[1]),) * len(texts))
