"""Relative keys: every distance up to a limit has a learned key of its own (arXiv 1803.02155)."""

import torch
from torch import Tensor, nn

from wherewhat.encodings.base import Context, Encoding, EncodingRecord, outside_autocast, wide
from wherewhat.encodings.drawing import draw_normal
from wherewhat.encodings.relative import lags_of, query_with_lag
from wherewhat.errors import UserError


class Shaw(Encoding):
    """Add q_i · a[j - i] / √head_dim to the logit of query i and key j; offsets are cut off at ± clip.

    The table `a` has 2·clip + 1 rows, from clip tokens before the query to clip tokens after it, drawn from
    N(0, sigma²). Heads share it, blocks do not. The paper's second table, which is added to the values, is left out:
    it is no part of the logits.

    >>> shaw = Shaw(head_dim=1, clip=1)
    >>> shaw.table_RC.data = torch.tensor([[1.0], [2.0], [3.0]])  # a token before the query, the query's own, after it
    >>> ones_BHTC = torch.ones(1, 1, 3, 1)
    >>> shaw.bias(ones_BHTC, ones_BHTC, Context.of(3, causal=False))[0, 0].detach()
    tensor([[2., 3., 3.],
            [1., 2., 3.],
            [1., 1., 2.]])
    """

    name = "shaw"
    shared = False

    def __init__(self, head_dim: int, *, clip: int = 16, sigma: float = 0.02) -> None:
        super().__init__()
        if min(head_dim, clip) < 1 or sigma < 0:
            raise UserError(
                "shaw needs a head_dim and a clip of at least 1 and a sigma of at least 0; "
                f"got head_dim {head_dim}, clip {clip}, sigma {sigma}"
            )
        self.clip, self.sigma = clip, sigma
        self.table_RC = nn.Parameter(torch.empty(2 * clip + 1, head_dim))
        self.reset_parameters(torch.Generator().manual_seed(0))

    def reset_parameters(self, generator: torch.Generator) -> None:
        draw_normal([self.table_RC], self.sigma, generator)

    @outside_autocast
    def bias(self, q_BHQC: Tensor, k_BHKC: Tensor, context: Context) -> Tensor:
        dtype = wide(q_BHQC.dtype)
        rows_R = (-lags_of(context)).clamp(
            -self.clip, self.clip
        ) + self.clip  # the table counts offsets, key minus query
        keys_RC = self.table_RC.to(dtype)[rows_R] * q_BHQC.shape[-1] ** -0.5
        product_BHQK = query_with_lag(q_BHQC.to(dtype), keys_RC[None], context)
        return self.product("distance keys", product_BHQK).to(q_BHQC.dtype)


RECORD = EncodingRecord(
    cls=Shaw,
    about="a learned key for every signed distance up to a limit, in a dot product with the query",
    acts="on the logits, as a bias, in every block",
    parameters="(2 × clip + 1) × head width, per block",
    direction="either",
    kernel="fused with a float bias",
    options={"clip": "the distance beyond which all share a key", "sigma": "initial standard deviation of the keys"},
    growth="n² × head width in time and n² in memory, per head and block",
    paper="Shaw et al. 2018, arXiv 1803.02155",
)
