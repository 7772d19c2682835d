"""Read rows of attention while a model runs: text by text without the padding, or all texts of a batch together."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from wherewhat.capture.decompose.rotation import Rotation
from wherewhat.capture.tokens.batch import Batch
from wherewhat.encodings.base import wide
from wherewhat.errors import UserError
from wherewhat.logits.base import Logits

# Attention entries computed at once: small beside the activations of most models, large enough to be fast.
CHUNK_ENTRIES = 1 << 21
PARTS = ("encoder", "decoder", "cross")
# The largest difference between attention weights that rounding explains, by the type the model computes in. Some
# families compute their softmax in float32 whatever that type is.
CLOSE = {torch.float64: 1e-4, torch.float32: 1e-3, torch.float16: 2e-2, torch.bfloat16: 1e-1}


@dataclass(frozen=True)
class AttentionSite:
    """One attention of a model: its part of the model, its number within that part (from 0), and its module's name."""

    part: str  # one of PARTS; a model with one stack is an encoder if its queries see later keys, else a decoder
    ordinal: int
    module: str


@dataclass(frozen=True)
class AttentionRows:
    """Some rows of one text at one attention site, with their logits where those could be decomposed."""

    site: AttentionSite
    text: int
    attention_HQK: Tensor
    queries_Q: Tensor
    allowed_QK: Tensor
    tokens_K: Tensor
    wanted_Q: Tensor  # every row requested of this text, whether or not it is among these
    logits: Logits | None = None  # None where they could not be decomposed


# The decomposed logits of text b of a batch, for some rows (numbered in the padded batch) and the slice of the text's
# own keys. Called only for rows that are passed on.
Decomposition = Callable[[int, Tensor, slice], Logits]


@dataclass(frozen=True)
class Chunk:
    """Rows of the padded batch to compute together; texts with fewer rows repeat their last one."""

    rows_BQ: Tensor
    counts: tuple[int, ...] | None = None  # how many rows of each text count; None: those that the text wants


class AttentionReader:
    """Knows the running batch and which of its rows are wanted; every way of capturing reports to it."""

    decomposes = True  # whether logits are to be decomposed

    def __init__(self, on_rows: Callable[[AttentionRows], None], dtype: torch.dtype = torch.float32) -> None:
        self._on_rows = on_rows
        self._dtype = dtype  # what the model computes in
        self._batch: Batch | None = None
        self._spans: list[tuple[int, int]] = []
        self._calls: Counter[str] = Counter()
        self.sites: dict[AttentionSite, None] = {}  # every site that has run, in order
        self.undecomposed: dict[AttentionSite, str] = {}  # sites whose logits could not be decomposed, and why
        self.rotations: dict[AttentionSite, Rotation] | None = None  # kept only on request
        self._checked: dict[AttentionSite, int] = {}  # the largest number of keys at which logits were checked
        self.callback_error: Exception | None = None  # what the callback raised, if it did

    def begin(self, batch: Batch) -> None:
        """A forward pass over this batch starts."""
        self._batch = batch
        self._spans = [batch.span(b) for b in range(len(batch.texts))]
        self._calls = Counter()

    def note_rotation(self, site: AttentionSite, rotation: Rotation) -> None:
        """Keep how queries and keys are rotated at this site, if that was requested: it may be large."""
        if self.rotations is not None:
            self.rotations[site] = rotation

    @property
    def calls(self) -> int:
        """How many attentions have run in this forward pass so far."""
        return sum(self._calls.values())

    @property
    def first_token(self) -> int:
        """Where the first text begins in the padded batch: what its first query sees shows if attention is causal."""
        return self._spans[0][0]

    def enter(self, module: str, shape: tuple[int, int], *, ahead: bool, two_stacks: bool) -> AttentionSite:
        """The site of the attention that is now being computed; `shape` is its number of queries and keys.

        A module that serves several layers counts each time. Pooled, windowed or prompted attention is refused: its
        rows are not the tokens of the text, so every score would be about other tokens.
        """
        assert self._batch is not None
        part = part_of(module, ahead=ahead, two_stacks=two_stacks)
        tokens = self._batch.ids_BT.shape[1]
        if shape != (tokens, tokens):
            raise UserError(
                f"{module} attends with {shape[0]} queries over {shape[1]} keys where the text has {tokens} tokens, "
                "so its rows do not correspond to the tokens; this family cannot be captured"
            )
        site = AttentionSite(part, self._calls[part], module)
        self._calls[part] += 1
        self.sites[site] = None
        return site

    def wanted(self, entries_per_row: int) -> Iterator[Chunk]:
        """The wanted rows of every text, in chunks that keep the attention small."""
        rows = [self._padded_rows(b) for b in range(len(self._spans))]
        most = max(len(text) for text in rows)
        step = rows_at_once(entries_per_row)
        for start in range(0, most, step):
            numbers = torch.arange(start, min(start + step, most))
            rows_BQ = torch.stack([text[numbers.clamp(max=len(text) - 1)] for text in rows])
            yield Chunk(rows_BQ, tuple(int((numbers < len(text)).sum()) for text in rows))

    def wanted_of_any(self, entries_per_row: int) -> Iterator[Tensor]:
        """The rows that any text wants, for attention that computes the same rows of every text."""
        rows_Q = torch.cat([self._padded_rows(b) for b in range(len(self._spans))]).unique()
        return iter(rows_Q.split(rows_at_once(entries_per_row)))

    def emit(
        self,
        site: AttentionSite,
        chunk: Chunk,
        attention_BHQK: Tensor,
        allowed_BQK: Tensor,
        decomposition: Decomposition | None = None,
    ) -> None:
        """Pass on what was computed for the rows of a chunk, as far as they are wanted."""
        texts = []
        for b, rows_Q in enumerate(chunk.rows_BQ):
            if chunk.counts is None:
                here = torch.isin(rows_Q, self._padded_rows(b).to(rows_Q.device)).nonzero().squeeze(1)
            else:
                here = torch.arange(chunk.counts[b])
            if len(here):
                whole = len(here) == len(rows_Q)  # then nothing need be copied
                attention_HQK, allowed_QK = attention_BHQK[b], allowed_BQK[b]
                attention_HQK, allowed_QK = (
                    (attention_HQK, allowed_QK) if whole else (attention_HQK[:, here], allowed_QK[here])
                )
                texts.append(self._rows(site, b, rows_Q[here], attention_HQK, allowed_QK, decomposition))
        if texts:
            with self.noting_errors():
                self._pass_on(texts)

    def _pass_on(self, texts: Sequence[AttentionRows]) -> None:
        for rows in texts:
            self._on_rows(rows)

    def _padded_rows(self, b: int) -> Tensor:
        assert self._batch is not None
        return self._batch.rows[b] + self._spans[b][0]

    def _rows(
        self,
        site: AttentionSite,
        b: int,
        rows_Q: Tensor,
        attention_HQK: Tensor,
        allowed_QK: Tensor,
        decomposition: Decomposition | None,
    ) -> AttentionRows:
        """What was computed for some rows of one text, without its padding."""
        assert self._batch is not None
        first, stop = self._spans[b]
        ids_BT = self._batch.decoder_ids_BT if site.part == "decoder" else None
        tokens_T = (self._batch.ids_BT if ids_BT is None else ids_BT)[b]
        rows = AttentionRows(
            site=site,
            text=self._batch.texts[b],
            attention_HQK=attention_HQK[..., first:stop].to(wide(attention_HQK.dtype)),
            queries_Q=(rows_Q - first).to(attention_HQK.device),
            allowed_QK=allowed_QK[:, first:stop],
            tokens_K=tokens_T[first:stop].to(attention_HQK.device),
            wanted_Q=self._batch.rows[b].to(attention_HQK.device),
        )
        if decomposition is not None and site not in self.undecomposed:
            logits, visible = decomposition(b, rows_Q, slice(first, stop)), int(rows.allowed_QK.sum(-1).max())
            # Their softmax must be the attention that the model computed; checked again when rows see more keys.
            if visible > self._checked.get(site, 0):
                self._checked[site] = visible
                if not matches_attention(logits.actual_HQK, rows.attention_HQK, rows.allowed_QK, self._dtype):
                    self.undecomposed[site] = "its logits contain more than queries, keys and a known position term"
            rows = rows if site in self.undecomposed else replace(rows, logits=logits)
        return rows

    @contextmanager
    def noting_errors(self) -> Iterator[None]:
        """Note what the callback raises: it is the callback's fault, not the model's."""
        try:
            yield
        except Exception as error:
            self.callback_error = error
            raise


class JointReader(AttentionReader):
    """Passes on the rows of all texts that were computed together, text by text in one list."""

    def __init__(self, on_texts: Callable[[Sequence[AttentionRows]], None], dtype: torch.dtype = torch.float32) -> None:
        super().__init__(lambda rows: None, dtype)
        self._on_texts = on_texts

    def _pass_on(self, texts: Sequence[AttentionRows]) -> None:
        self._on_texts(texts)


@dataclass(frozen=True)
class BatchRows:
    """Some rows of every text of a batch at one attention site."""

    site: AttentionSite
    attention_BHQK: Tensor  # over the padded texts
    rows_BQ: Tensor  # which rows of the padded texts these are
    real_BQ: Tensor  # False for rows of padding, and where a row is repeated


class BatchReader(AttentionReader):
    """Passes on what a layer computes as it is, padding included, without decomposing its logits.

    This is fast where every row is wanted.
    """

    decomposes = False

    def __init__(self, on_batch: Callable[[BatchRows], None], dtype: torch.dtype = torch.float32) -> None:
        super().__init__(lambda rows: None, dtype)
        self._on_batch = on_batch

    def emit(
        self,
        site: AttentionSite,
        chunk: Chunk,
        attention_BHQK: Tensor,
        allowed_BQK: Tensor,
        decomposition: Decomposition | None = None,
    ) -> None:
        """Pass on what was computed for the rows of a chunk."""
        rows_BQ, device = chunk.rows_BQ.cpu(), attention_BHQK.device
        if chunk.counts is None:
            first_B, stop_B = torch.tensor(self._spans).T
            real_BQ = (rows_BQ >= first_B[:, None]) & (rows_BQ < stop_B[:, None])
        else:
            real_BQ = torch.arange(rows_BQ.shape[1]) < torch.tensor(chunk.counts)[:, None]
        rows = BatchRows(site, attention_BHQK.to(wide(attention_BHQK.dtype)), rows_BQ.to(device), real_BQ.to(device))
        with self.noting_errors():
            self._on_batch(rows)


def matches_attention(actual_HQK: Tensor, attention_HQK: Tensor, allowed_QK: Tensor, dtype: torch.dtype) -> bool:
    """Whether the softmax of these logits over the allowed keys is this attention, apart from an attention sink.

    >>> half = torch.tensor([[[0.5, 0.5]]])
    >>> matches_attention(torch.zeros(1, 1, 2), half, torch.ones(1, 2, dtype=torch.bool), half.dtype)
    True
    """
    softmax_HQK = actual_HQK.masked_fill(~allowed_QK, -torch.inf).softmax(-1)
    mass_HQ1 = attention_HQK.sum(-1, keepdim=True).clamp_min(1e-30)
    sees_Q1 = allowed_QK.any(-1, keepdim=True)
    difference = ((softmax_HQK - attention_HQK / mass_HQ1).nan_to_num(0.0).abs() * sees_Q1).amax()
    return bool(difference <= CLOSE[dtype])


def rows_at_once(entries_per_row: int) -> int:
    """How many rows may be computed together."""
    return max(1, CHUNK_ENTRIES // max(1, entries_per_row))


def part_of(module: str, *, ahead: bool, two_stacks: bool) -> str:
    """Encoder, decoder or cross-attention, by the module's name and by what its queries may see.

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
    """The layer number of every site: encoder first, then decoder, then cross-attention, numbered consecutively."""
    order = sorted(sites, key=lambda site: (PARTS.index(site.part), site.ordinal))
    return {site: number for number, site in enumerate(order)}
