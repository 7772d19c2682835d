"""Attention with linear biases: attention decays with distance, at another rate in every head (arXiv 2108.12409)."""

import math

import torch
from torch import Tensor

from wherewhat.encodings.base import Context, Encoding, EncodingRecord, wide
from wherewhat.encodings.relative import by_lag, lags_of
from wherewhat.errors import UserError


class Alibi(Encoding):
    """Subtract slope_h · |i - j| from the logit of query i and key j. Nothing is learned.

    The slopes fall geometrically from head to head, so the first heads are local and the last ones nearly global,
    unless `slope` gives all heads the same one.
    In an encoder the bias is the same on both sides.

    >>> Alibi(heads=2).bias(torch.zeros(1, 2, 3, 4), torch.zeros(1, 2, 3, 4), Context.of(3, causal=False))[0, 0]
    tensor([[-0.0000, -0.0625, -0.1250],
            [-0.0625, -0.0000, -0.0625],
            [-0.1250, -0.0625, -0.0000]])
    """

    name = "alibi"
    bias_by_slot = True
    mirror_invariant = True

    def __init__(self, heads: int, *, slope: float | None = None) -> None:
        super().__init__()
        self.heads = heads
        if heads < 1:
            raise UserError(f"alibi needs at least one head, got {heads}")
        if slope is not None and not 0 <= slope < math.inf:
            raise UserError(f"alibi's slope must be a number of at least 0, got {slope}; leave it out for a usual one")
        self.slopes = slopes(heads) if slope is None else [slope] * heads

    def bias(self, q_BHQC: Tensor, k_BHKC: Tensor, context: Context) -> Tensor:
        slopes_H = torch.tensor(self.slopes, dtype=wide(q_BHQC.dtype), device=q_BHQC.device)
        return by_lag((-slopes_H[:, None] * lags_of(context).abs()).to(q_BHQC.dtype), context)


def slopes(heads: int) -> list[float]:
    """The slope of each head: 2^(-8(h+1) / heads) where `heads` is a power of two.

    Otherwise the slopes of the next lower power of two, then every other slope of the next higher one.

    >>> slopes(4), slopes(6)[4:]
    ([0.25, 0.0625, 0.015625, 0.00390625], [0.5, 0.125])
    """
    lower = 2 ** math.floor(math.log2(heads))
    if lower == heads:
        return [2 ** (-8 * (head + 1) / heads) for head in range(heads)]
    return slopes(lower) + slopes(2 * lower)[::2][: heads - lower]


RECORD = EncodingRecord(
    cls=Alibi,
    about="a penalty on the logits, linear in the distance, with a fixed slope per head",
    acts="on the logits, as a bias, in every block",
    parameters="none",
    direction="either; in an encoder both sides are treated alike",
    kernel="fused with a float bias",
    options={"slope": "the same slope for all heads, in place of the published ones"},
    growth="n² in time and memory, per head",
    paper="Press et al. 2021, arXiv 2108.12409",
)
