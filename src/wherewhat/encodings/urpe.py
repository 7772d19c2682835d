"""Attention that need not sum to one: after the softmax, each distance has a factor of its own (arXiv 2205.13401)."""

import torch
from torch import Tensor, nn

from wherewhat.encodings.base import Context, Encoding, EncodingRecord
from wherewhat.encodings.relative import by_lag, lags_of
from wherewhat.encodings.t5_bias import bucket, check_buckets
from wherewhat.encodings.wrapper import Wrapper
from wherewhat.errors import UserError
from wherewhat.names import look_up

KINDS = {"offset": "a factor for every offset, up to a last one", "bucket": "a factor for every bucket of distances"}


class Urpe(Wrapper):
    """Multiply the attention of another encoding, `over`, by c[j - i]. Rows are not brought back to a sum of 1.

    Whatever is added to logits, a row of attention sums to 1, so a text of equal tokens gives equal outputs everywhere.
    The factors undo this: a net can tell where a token stands even then. They start at 1, where nothing changes, may
    become negative, and are the same in all blocks.

    `kind` says what has a factor: "offset" each of the 2 · length - 1 offsets, in the order of j - i, with no answer
    for longer texts; "bucket" each of `buckets` ranges of distances, for any length. These are the buckets that t5_bias
    has in an encoder, half of them for each side, with all distances from 2 · buckets on in the last one.

    Measured attention is what meets the values, with the factors; for what the softmax gave, measure `over`.

    >>> from wherewhat.encodings.alibi import Alibi
    >>> urpe = Urpe(Alibi(heads=1), heads=1, length=3)
    >>> urpe.table_RH.data = torch.tensor([[-2.0], [-1.0], [0.0], [1.0], [2.0]])  # c[j - i] = j - i
    >>> urpe.on_attention(torch.ones(1, 1, 3, 3), Context.of(3, causal=False))[0, 0]
    tensor([[ 0.,  1.,  2.],
            [-1.,  0.,  1.],
            [-2., -1.,  0.]], grad_fn=<SelectBackward0>)
    """

    name = "urpe"

    def __init__(
        self, over: Encoding, heads: int, *, length: int = 512, kind: str = "offset", buckets: int = 64
    ) -> None:
        super().__init__(over, heads)
        if min(heads, length) < 1:
            raise UserError(f"urpe needs at least one head and a length of at least 1, got {heads} heads and {length}")
        look_up("kind of urpe", kind, KINDS)
        check_buckets(buckets, 2 * buckets)
        self.shared, self.mirror_invariant = over.shared, False
        self.kind, self.buckets = kind, buckets
        if kind == "offset":
            self.max_length = length if over.max_length is None else min(length, over.max_length)
        self.table_RH = nn.Parameter(torch.empty(2 * length - 1 if kind == "offset" else buckets, heads))
        self.draw(torch.Generator().manual_seed(0))

    def draw(self, generator: torch.Generator) -> None:
        nn.init.ones_(self.table_RH)

    def join(self, first: Encoding) -> None:
        assert isinstance(first, Urpe)
        super().join(first)
        self.table_RH = first.table_RH

    def on_attention(self, attention_BHQK: Tensor, context: Context) -> Tensor:
        dtype = attention_BHQK.dtype
        factors_BHQK = context.once_a_reading((self.table_RH, dtype), lambda: self._factors(context).to(dtype))
        return attention_BHQK * self.source("factors", factors_BHQK)

    def _factors(self, context: Context) -> Tensor:
        lags_R = lags_of(context)
        if self.kind == "offset":
            rows_R = len(self.table_RH) // 2 - lags_R
        else:  # two-sided in a decoder too, so that a row means the same in every net
            rows_R = bucket(lags_R, causal=False, buckets=self.buckets, max_distance=2 * self.buckets)
        return by_lag(self.table_RH[rows_R].T, context)


RECORD = EncodingRecord(
    cls=Urpe,
    about="another encoding, with attention multiplied by a learned factor per distance, so rows need not sum to 1",
    acts="on the attention, in every block, and wherever the wrapped encoding acts",
    parameters="(2 × length - 1) × heads or buckets × heads, shared by all blocks",
    direction="as the wrapped encoding",
    kernel="explicit",
    options={
        "over": "the encoding it wraps",
        "over_options": "options of the wrapped encoding",
        "length": "the longest text, in tokens",
        "kind": '"offset" (a factor for every offset) or "bucket" (for every bucket of distances)',
        "buckets": "how many, if in buckets",
    },
    growth="n² in time and memory, per head; stops at its last distance unless in buckets",
    paper="Luo et al. 2022, arXiv 2205.13401",
    wraps="toeplitz",
)
