"""A learned bias for every bucket of distances: one per distance near the query, logarithmically larger ones beyond."""

import math

import torch
from torch import Tensor, nn

from wherewhat.encodings.base import Context, Encoding, EncodingRecord
from wherewhat.encodings.relative import by_lag, lags_of
from wherewhat.errors import UserError


class T5Bias(Encoding):
    """Add a learned number for each head and bucket of distances (T5, arXiv 1910.10683).

    A decoder spends all buckets on the keys behind a query, an encoder half of them on each side. Everything from
    `max_distance` on shares the last bucket, so any length can be read. One table serves the whole net; its entries
    start from N(0, 1 / width). T5 itself does not scale q·k: to use its weights, give `scale=1.0`. Cross-attention
    is left out, as T5 has no bias there.

    >>> encoding = T5Bias(width=64, heads=2, buckets=4, max_distance=8)
    >>> encoding.table_RH.data = torch.tensor([[0.0, 0.0], [1.0, 0.0], [2.0, 0.0], [3.0, 0.0]])
    >>> zeros_BHTC = torch.zeros(1, 2, 5, 8)
    >>> encoding.bias(zeros_BHTC, zeros_BHTC, Context.of(5, causal=True))[0, 0].tril()
    tensor([[0., 0., 0., 0., 0.],
            [1., 0., 0., 0., 0.],
            [2., 1., 0., 0., 0.],
            [2., 2., 1., 0., 0.],
            [3., 2., 2., 1., 0.]], grad_fn=<TrilBackward0>)
    """

    name = "t5_bias"
    bias_by_slot = True

    def __init__(
        self, width: int, heads: int, *, buckets: int = 32, max_distance: int = 128, scale: float | None = None
    ) -> None:
        super().__init__()
        self.heads = heads
        if min(width, heads) < 1:
            raise UserError(f"t5_bias needs a width and at least one head, got width {width} and {heads} heads")
        check_buckets(buckets, max_distance)
        self.width, self.buckets, self.max_distance, self.scale = width, buckets, max_distance, scale
        self.table_RH = nn.Parameter(torch.empty(buckets, heads))
        self.reset_parameters(torch.Generator().manual_seed(0))

    def reset_parameters(self, generator: torch.Generator) -> None:
        nn.init.normal_(self.table_RH, std=self.width**-0.5, generator=generator)

    def bias(self, q_BHQC: Tensor, k_BHKC: Tensor, context: Context) -> Tensor:
        buckets_R = bucket(
            lags_of(context), causal=context.causal, buckets=self.buckets, max_distance=self.max_distance
        )
        return by_lag(self.table_RH[buckets_R].T.to(q_BHQC.dtype), context)


def bucket(lags: Tensor, *, causal: bool, buckets: int, max_distance: int) -> Tensor:
    """The bucket of each lag. In a decoder all keys after the query are in bucket 0, with the query itself.

    Half of the buckets of a side hold one distance each, the nearest; beyond, buckets grow like the distance itself.

    >>> bucket(torch.tensor([0, 1, 2, 3, 4, 7, 8, 99]), causal=True, buckets=4, max_distance=8)
    tensor([0, 1, 2, 2, 3, 3, 3, 3])
    >>> bucket(torch.tensor([-9, -1, 0, 1, 9]), causal=False, buckets=4, max_distance=8)
    tensor([3, 3, 0, 1, 1])
    """
    side = buckets if causal else buckets // 2
    distance = lags.clamp(min=0) if causal else lags.abs()
    alone = side // 2
    share = (distance.clamp(min=alone).float() / alone).log() / math.log(max_distance / alone)
    far = (alone + (share * (side - alone)).long()).clamp(max=side - 1)
    behind = torch.where(distance < alone, distance, far)
    return behind if causal else behind + side * (lags < 0)


def check_buckets(buckets: int, max_distance: int) -> None:
    """Refuse buckets that cannot be shared by two sides, or that reach no further than those of one distance each."""
    if buckets < 4 or buckets % 2:
        raise UserError(f"buckets must be even and at least 4, half of them for each side; got {buckets}")
    if max_distance <= buckets // 2:
        raise UserError(
            f"max_distance {max_distance} leaves nothing for half of the {buckets} buckets; "
            f"make it larger than {buckets // 2}"
        )


RECORD = EncodingRecord(
    cls=T5Bias,
    about="a learned bias per bucket of distances: near distances have one each, far ones share theirs",
    acts="on the logits, as a bias, in every block",
    parameters="buckets × heads, shared by all blocks",
    direction="either; an encoder has half of the buckets for each side",
    kernel="fused with a float bias",
    options={
        "buckets": "how many buckets, half of them for each side in an encoder",
        "max_distance": "the distance from which on all share the last bucket",
        "scale": "of q·k; 1.0 for T5 checkpoints, else 1 / √head width",
    },
    growth="n² in time and memory, per head, once for all blocks",
    paper="Raffel et al. 2019, arXiv 1910.10683",
)
