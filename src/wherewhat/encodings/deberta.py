"""Disentangled attention: products of contents and relative positions, both ways (arXiv 2006.03654)."""

import math

import torch
from torch import Tensor, nn
from torch.nn.functional import linear as project

from wherewhat.encodings.base import Context, Encoding, EncodingRecord, outside_autocast, wide
from wherewhat.encodings.drawing import draw_normal, linear
from wherewhat.encodings.relative import Disentangled, lags_of, query_with_lag
from wherewhat.errors import UserError
from wherewhat.names import look_up

SIGNS = {"paper": -1, "checkpoint": 1}  # sign of the lag in the product of key and position


class Deberta(Disentangled):
    """Logits [q_i·k_j + q_i·K[i - j] + Q[j - i]·k_j] / √(3·head_dim), with K and Q projected from one table.

    The table has a row for every lag from -span to span - 1; what is further off shares the last row. All blocks share
    it and each projects it by its own two maps; all weights start in N(0, sigma²). With `buckets` there are only
    that many rows each way: near lags keep their own, far ones share rows in steps that grow as a logarithm.

    The paper's text reverses the lag in the product of key and position. The released code does not, and weights
    learned with it do not fit the text: `sign` "paper" follows the one, "checkpoint" the other. The later releases'
    habit of projecting the table by the maps of the contents is left out, since an encoding does not see them.

    >>> Deberta(width=4, heads=2, head_dim=2, span=2).row_of(torch.tensor([-3, -2, -1, 0, 1, 2]))
    tensor([0, 0, 1, 2, 3, 3])
    """

    name = "deberta"
    shared = False

    def __init__(
        self,
        width: int,
        heads: int,
        head_dim: int,
        *,
        span: int = 512,
        sign: str = "paper",
        buckets: int | None = None,
        sigma: float = 0.02,
    ) -> None:
        super().__init__()
        if min(width, heads, head_dim, span) < 1 or sigma < 0:
            raise UserError(
                "deberta needs a width, heads, a head_dim and a span of at least 1 and a sigma of at least 0; "
                f"got width {width}, heads {heads}, head_dim {head_dim}, span {span}, sigma {sigma}"
            )
        # Buckets need a middle, and their near half must not reach as far as the span.
        if buckets is not None and (buckets < 2 or buckets % 2 or buckets // 2 >= span - 1):
            raise UserError(
                f"deberta's buckets must be even, at least 2, and half of them less than span - 1 = {span - 1}; "
                f"got {buckets}"
            )
        self.sign = look_up("sign", sign, SIGNS)
        self.span, self.buckets, self.heads, self.sigma = span, buckets, heads, sigma
        self.scale: float = (3 * head_dim) ** -0.5
        self.table_RD = nn.Parameter(torch.empty(2 * (buckets or span), width))
        self.key = linear(width, heads * head_dim, bias=False)
        self.query = linear(width, heads * head_dim)
        self.reset_parameters(torch.Generator().manual_seed(0))

    def reset_parameters(self, generator: torch.Generator) -> None:
        """A table that blocks share is drawn by each of them in turn, and the last drawing stays."""
        draw_normal([self.table_RD, self.key.weight, self.query.weight], self.sigma, generator)
        nn.init.zeros_(self.query.bias)

    def join(self, first: Encoding) -> None:
        assert isinstance(first, Deberta)
        self.table_RD = first.table_RD

    @outside_autocast
    def slot_part(self, q_BHQC: Tensor, context: Context) -> Tensor:
        dtype = wide(q_BHQC.dtype)
        keys_HRC = self._slots(self.key, self.row_of(lags_of(context)), dtype)
        product_BHQK = query_with_lag(q_BHQC.to(dtype), keys_HRC, context)
        return self.product("distance keys", product_BHQK).to(q_BHQC.dtype)

    def position_queries(self, context: Context, dtype: torch.dtype) -> Tensor:
        return self._slots(self.query, self.row_of(self.sign * lags_of(context)), dtype)

    @outside_autocast
    def _slots(self, through: nn.Linear, rows_R: Tensor, dtype: torch.dtype) -> Tensor:
        """slots_HRC of these rows of the table, projected and scaled; a row that comes often is projected once."""
        first, last = (int(end) for end in rows_R.aminmax())
        bias = None if through.bias is None else through.bias.to(dtype)
        slots_RD = project(self.table_RD[first : last + 1].to(dtype), through.weight.to(dtype), bias) * self.scale
        slots_HRC: Tensor = slots_RD[rows_R - first].unflatten(-1, (self.heads, -1)).transpose(0, 1)
        return slots_HRC

    def row_of(self, lags_R: Tensor) -> Tensor:
        """The row of the table for each lag."""
        if self.buckets is None:
            return (lags_R + self.span).clamp(0, 2 * self.span - 1)
        bucket_R = log_buckets(lags_R, buckets=self.buckets, span=self.span)
        return (bucket_R + self.buckets).clamp(0, 2 * self.buckets - 1)


def log_buckets(lags_R: Tensor, *, buckets: int, span: int) -> Tensor:
    """Lags up to half of `buckets` as they are; further ones in steps that grow, up to buckets - 1 at lag span - 1.

    >>> log_buckets(torch.tensor([-1, 4, 5, 9, 10, 16, 31, -31]), buckets=8, span=32)
    tensor([-1,  4,  5,  6,  6,  7,  7, -7])
    """
    mid = buckets // 2
    far_R = lags_R.abs().clamp(min=mid).double() / mid
    # A hair less, so that rounding lifts no whole number to the next.
    steps_R = (far_R.log() / math.log((span - 1) / mid) * (mid - 1) - 1e-9).ceil().long()
    return torch.where(lags_R.abs() <= mid, lags_R, lags_R.sign() * (mid + steps_R))


RECORD = EncodingRecord(
    cls=Deberta,
    about="content-to-position and position-to-content terms, by learned projections of one table of distances",
    acts="on the logits, as a bias, in every block; their scale becomes (3 × head width)^(-1/2)",
    parameters="2 × span × width shared by all blocks, and 2 × width² + width per block",
    direction="either; made for encoders",
    kernel="fused with a float bias",
    options={
        "span": "the distance beyond which all share one row",
        "sign": '"paper" (the lag reversed in position-to-content terms) or "checkpoint" (as the released weights)',
        "buckets": "rows per direction, shared by far distances in growing steps; by default none",
        "sigma": "initial standard deviation of all weights",
    },
    growth="n² × head width in time and n² in memory, twice, per head and block",
    paper="He et al. 2020, arXiv 2006.03654",
)
