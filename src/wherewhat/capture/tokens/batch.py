"""Batches of padded texts, with the query rows to be read from each."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

ALL = 0  # `queries=ALL` reads every row
LAST = -1  # `queries=LAST` reads only the last row of each text


@dataclass(frozen=True)
class Batch:
    """Some texts, padded to one length, and the rows wanted of each (slots counted inside the text)."""

    texts: tuple[int, ...]  # the numbers of these texts within the whole run
    ids_BT: Tensor
    real_BT: Tensor  # bool; the real tokens of a text are contiguous, with padding on either side
    rows: tuple[Tensor, ...]  # one sorted int64 tensor per text
    decoder_ids_BT: Tensor | None = None  # what the decoder of an encoder-decoder reads beside them
    frames_BTG: Tensor | None = None  # what a net hears in place of ids, which then only number its tokens

    def span(self, b: int) -> tuple[int, int]:
        """First and one past the last real token of a text."""
        length = int(self.real_BT[b].sum())
        first = int(self.real_BT[b].int().argmax())
        return first, first + length

    def to(self, device: torch.device) -> "Batch":
        """The same batch on another device; the rows stay where they are, they only index."""
        frames_BTG = None if self.frames_BTG is None else self.frames_BTG.to(device)
        return replace(self, ids_BT=self.ids_BT.to(device), real_BT=self.real_BT.to(device), frames_BTG=frames_BTG)


def sample_rows(length: int, queries: int, generator: torch.Generator) -> Tensor:
    """Choose `queries` rows of a text, one from each of as many equal segments, so that early and late rows count.

    The last row is always among them: the next token is predicted from there.

    >>> sample_rows(4, 64, torch.Generator().manual_seed(0))
    tensor([0, 1, 2, 3])
    """
    if queries == LAST:
        return torch.tensor([length - 1])
    if queries == ALL or length <= queries:
        return torch.arange(length)
    edges = torch.arange(queries + 1) * length // queries
    inside = torch.rand(queries, generator=generator, dtype=torch.float64)
    rows = edges[:-1] + (inside * (edges[1:] - edges[:-1])).long()
    rows[-1] = length - 1
    return rows


def generator_of(ids_T: Tensor, seed: int, *more: int) -> torch.Generator:
    """The random generator of a text: it depends on the seed and the tokens, not on the order of texts."""
    ids_T = ids_T.cpu() if ids_T.is_floating_point() else ids_T.cpu().to(torch.int64)  # frames, or token ids
    content = f"{seed} {more} ".encode() + ids_T.numpy().tobytes()
    return torch.Generator().manual_seed(int.from_bytes(hashlib.sha256(content).digest()[:7], "big"))


def batches(texts: Sequence[Tensor], *, queries: int, seed: int, tokens: int = 2048) -> Iterator[Batch]:
    """Group texts of similar length into batches of at most `tokens` padded tokens (one text may exceed it alone).

    The rows of a text depend on the seed and its own tokens only, not on its neighbours or its place among them.
    """
    order = sorted(range(len(texts)), key=lambda number: (len(texts[number]), number))
    group: list[int] = []
    for number in order:
        if group and len(texts[number]) * (len(group) + 1) > tokens:
            yield _pad(group, texts, queries=queries, seed=seed)
            group = []
        group.append(number)
    if group:
        yield _pad(group, texts, queries=queries, seed=seed)


def _pad(group: list[int], texts: Sequence[Tensor], *, queries: int, seed: int) -> Batch:
    """Pad on the right, where every kind of position encoding ignores it.

    Texts are token ids, or the frames of a recording; these are all different, so that their tokens are numbered.
    """
    longest = max(len(texts[number]) for number in group)
    ids_BT = torch.zeros(len(group), longest, dtype=torch.long)
    real_BT = torch.zeros(len(group), longest, dtype=torch.bool)
    for b, number in enumerate(group):
        text = texts[number]
        ids_BT[b, : len(text)] = torch.arange(len(text)) if text.is_floating_point() else text
        real_BT[b, : len(texts[number])] = True
    rows = tuple(sample_rows(len(texts[number]), queries, generator_of(texts[number], seed)) for number in group)
    frames_BTG = _frames([texts[number] for number in group])
    return Batch(tuple(group), ids_BT, real_BT, rows, frames_BTG=frames_BTG)


def _frames(texts: Sequence[Tensor]) -> Tensor | None:
    """frames_BTG of recordings; None for token ids."""
    return pad_sequence(list(texts), batch_first=True) if texts[0].is_floating_point() else None
