"""Reads attention rows while a model runs, and hands them on text by text with the padding cut away."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from wherewhat.capture.decompose.check import tells_attention
from wherewhat.capture.decompose.rotation import Rotation
from wherewhat.capture.tokens.batch import Batch
from wherewhat.encodings.base import wide
from wherewhat.errors import UserError
from wherewhat.logits.base import Logits

# Attention entries computed at once: small beside the activations of most models, large enough to be fast.
CHUNK_ENTRIES = 1 << 21
PARTS = ("encoder", "decoder", "cross")


@dataclass(frozen=True)
class AttentionSite:
    """Which attention it was: the part of the model, counted from 0 inside that part, and the module's name."""

    part: str  # one of PARTS; a model of one stack is an encoder if its queries see later keys, else a decoder
    ordinal: int
    module: str


@dataclass(frozen=True)
class Seen:
    """Some rows of one text at one place."""

    site: AttentionSite
    text: int
    attention_HQK: Tensor
    queries_Q: Tensor
    allowed_QK: Tensor
    tokens_K: Tensor
    wanted_Q: Tensor  # every row that was asked for of this text, whether or not it is among these
    logits: Logits | None = None  # what the rows are made of, where that could be read


# What the logits of some rows are made of: of text b of the batch, for rows (numbered in the padded batch) and the
# stretch of the text's own keys. Asked only for rows that are handed on.
Terms = Callable[[int, Tensor, slice], Logits]


@dataclass(frozen=True)
class Chunk:
    """Rows of the padded batch to compute together; texts with fewer rows fill up by repeating their last."""

    rows_BQ: Tensor
    counts: tuple[int, ...]  # how many of each text's rows are meant


class Reader:
    """Knows the batch now running and which rows of it are wanted; the ways of capturing report to it."""

    takes_apart = True  # whether what logits are made of is asked for

    def __init__(self, on_rows: Callable[[Seen], None], dtype: torch.dtype = torch.float32) -> None:
        self._on_rows = on_rows
        self._dtype = dtype  # what the model computes in
        self._batch: Batch | None = None
        self._spans: list[tuple[int, int]] = []
        self._calls: Counter[str] = Counter()
        self.sites: dict[AttentionSite, None] = {}  # every place ever seen, in order
        self.opaque: dict[AttentionSite, str] = {}  # where the logits could not be taken apart, and why
        self.rotations: dict[AttentionSite, Rotation] | None = None  # how queries and keys are turned, if anybody asks
        self._checked: dict[AttentionSite, int] = {}  # how many keys a row has seen where logits were found sound
        self.stumbled: Exception | None = None  # what the listener raised, if it did

    def begin(self, batch: Batch) -> None:
        """A forward pass over this batch starts."""
        self._batch = batch
        self._spans = [batch.span(b) for b in range(len(batch.texts))]
        self._calls = Counter()

    def turns(self, site: AttentionSite, rotation: Rotation) -> None:
        """Queries and keys are turned so at this place. Not kept unless it is asked for: it may be large."""
        if self.rotations is not None:
            self.rotations[site] = rotation

    @property
    def calls(self) -> int:
        """How many attentions the running forward pass has shown so far."""
        return sum(self._calls.values())

    @property
    def first_token(self) -> int:
        """Where the first text begins in the padded batch: what its first query may see tells causal from not."""
        return self._spans[0][0]

    def enter(self, module: str, shape: tuple[int, int], *, ahead: bool, two_stacks: bool) -> AttentionSite:
        """Name the attention that is being computed now, of so many queries over so many keys.

        A module that serves several layers is counted each time. Pooled, windowed or prompted attention, whose rows
        are not the tokens of the text, is refused: its numbers would be about other tokens than they say.
        """
        assert self._batch is not None
        part = part_of(module, ahead=ahead, two_stacks=two_stacks)
        tokens = self._batch.ids_BT.shape[1]
        if shape != (tokens, tokens):
            raise UserError(
                f"{module} attends with {shape[0]} queries over {shape[1]} keys where the text has {tokens} tokens, "
                "so its rows are not the text's; this family cannot be captured"
            )
        site = AttentionSite(part, self._calls[part], module)
        self._calls[part] += 1
        self.sites[site] = None
        return site

    def wanted(self, entries_per_row: int) -> Iterator[Chunk]:
        """The chosen rows of every text, as many at once as keep the attention small."""
        rows = [self._padded_rows(b) for b in range(len(self._spans))]
        most = max(len(text) for text in rows)
        step = rows_at_once(entries_per_row)
        for start in range(0, most, step):
            numbers = torch.arange(start, min(start + step, most))
            rows_BQ = torch.stack([text[numbers.clamp(max=len(text) - 1)] for text in rows])
            yield Chunk(rows_BQ, tuple(int((numbers < len(text)).sum()) for text in rows))

    def wanted_of_any(self, entries_per_row: int) -> Iterator[Tensor]:
        """The rows that some text wants, for attention that computes the same rows of every text."""
        rows_Q = torch.cat([self._padded_rows(b) for b in range(len(self._spans))]).unique()
        return iter(rows_Q.split(rows_at_once(entries_per_row)))

    def hand_on(
        self, site: AttentionSite, chunk: Chunk, attention_BHQK: Tensor, allowed_BQK: Tensor, terms: Terms | None = None
    ) -> None:
        """Pass on what was computed for the rows of a chunk."""
        for b, count in enumerate(chunk.counts):
            rows_Q = chunk.rows_BQ[b, :count]
            self._pass_on(site, b, rows_Q, attention_BHQK[b, :, :count], allowed_BQK[b, :count], terms)

    def hand_on_block(
        self,
        site: AttentionSite,
        rows_Q: Tensor,
        attention_BHQK: Tensor,
        allowed_BQK: Tensor,
        terms: Terms | None = None,
    ) -> None:
        """Pass on the chosen ones of a block that holds the same rows, `rows_Q` of the padded batch, of every text."""
        for b in range(len(self._spans)):
            here_Q = torch.isin(rows_Q, self._padded_rows(b).to(rows_Q.device)).nonzero().squeeze(1)
            self._pass_on(site, b, rows_Q[here_Q], attention_BHQK[b][:, here_Q], allowed_BQK[b, here_Q], terms)

    def _padded_rows(self, b: int) -> Tensor:
        assert self._batch is not None
        return self._batch.rows[b] + self._spans[b][0]

    def _pass_on(
        self,
        site: AttentionSite,
        b: int,
        rows_Q: Tensor,
        attention_HQK: Tensor,
        allowed_QK: Tensor,
        terms: Terms | None,
    ) -> None:
        if len(rows_Q) == 0:
            return
        assert self._batch is not None
        first, stop = self._spans[b]
        ids_BT = self._batch.decoder_ids_BT if site.part == "decoder" else None
        tokens_T = (self._batch.ids_BT if ids_BT is None else ids_BT)[b]
        seen = Seen(
            site=site,
            text=self._batch.texts[b],
            attention_HQK=attention_HQK[..., first:stop].to(wide(attention_HQK.dtype)),
            queries_Q=(rows_Q - first).to(attention_HQK.device),
            allowed_QK=allowed_QK[:, first:stop],
            tokens_K=tokens_T[first:stop].to(attention_HQK.device),
            wanted_Q=self._batch.rows[b].to(attention_HQK.device),
        )
        if terms is not None and site not in self.opaque:
            seen = replace(seen, logits=self._sound(seen, terms(b, rows_Q, slice(first, stop))))
        try:
            self._on_rows(seen)
        except Exception as error:
            self.stumbled = error  # the listener's fault, not the model's
            raise

    def _sound(self, seen: Seen, logits: Logits) -> Logits | None:
        """The logits, if they give the attention that the family computed. Asked again when rows see more keys."""
        visible = int(seen.allowed_QK.sum(-1).max())
        if visible > self._checked.get(seen.site, 0):
            self._checked[seen.site] = visible
            if not tells_attention(logits.actual_HQK, seen.attention_HQK, seen.allowed_QK, self._dtype):
                self.opaque[seen.site] = "its logits are made of more than queries, keys and a known position term"
                return None
        return logits


def rows_at_once(entries_per_row: int) -> int:
    """How many rows may be computed together."""
    return max(1, CHUNK_ENTRIES // max(1, entries_per_row))


def part_of(module: str, *, ahead: bool, two_stacks: bool) -> str:
    """Tell encoder, decoder and cross-attention apart by the module's name and by what its queries may see.

    >>> part_of("decoder.block.0.layer.1.EncDecAttention", ahead=True, two_stacks=True)
    'cross'
    """
    if re.search(r"cross|encdec|encoder_attn", module, re.IGNORECASE):
        return "cross"
    if two_stacks:  # the outermost name decides: a decoder may be built of what another family calls an encoder
        stack = re.search(r"(^|\.)(encoder|decoder)\.", module)
        return stack[2] if stack else "decoder"
    return "encoder" if ahead else "decoder"


def numbered(sites: Sequence[AttentionSite]) -> dict[AttentionSite, int]:
    """Give every place its layer number: encoder first, then decoder, then cross-attention, counted through."""
    order = sorted(sites, key=lambda site: (PARTS.index(site.part), site.ordinal))
    return {site: number for number, site in enumerate(order)}
