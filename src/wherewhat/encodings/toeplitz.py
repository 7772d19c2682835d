"""A free learned bias for every distance, on either side: nothing is assumed about its shape."""

import torch
from torch import Tensor, nn

from wherewhat.encodings.base import Context, Encoding, EncodingRecord
from wherewhat.encodings.relative import by_lag, furthest, lags_of
from wherewhat.errors import UserError


class Toeplitz(Encoding):
    """Add b[j - i] to the logit of query i and key j: one number per head for each of the 2 · length - 1 offsets.

    Along each diagonal all logits get the same, which is what makes a Toeplitz matrix. Entries start from
    N(0, sigma²); one table serves the whole net. There is no answer for texts longer than `length`.

    >>> encoding = Toeplitz(heads=1, length=3)
    >>> encoding.table_OH.data = torch.tensor([[-2.0], [-1.0], [0.0], [1.0], [2.0]])  # b[j - i] = j - i
    >>> encoding.bias(torch.zeros(1, 1, 3, 4), torch.zeros(1, 1, 3, 4), Context.of(3, causal=False))[0, 0]
    tensor([[ 0.,  1.,  2.],
            [-1.,  0.,  1.],
            [-2., -1.,  0.]], grad_fn=<SelectBackward0>)
    """

    name = "toeplitz"
    bias_by_slot = True

    def __init__(self, heads: int, *, length: int = 512, sigma: float = 0.02) -> None:
        super().__init__()
        self.heads = heads
        if min(heads, length) < 1 or not sigma >= 0:
            raise UserError(
                "toeplitz needs at least one head, a length of at least 1 and a sigma of at least 0; "
                f"got {heads} heads, length {length}, sigma {sigma}"
            )
        self.max_length, self.sigma = length, sigma
        self.table_OH = nn.Parameter(torch.empty(2 * length - 1, heads))
        self.reset_parameters(torch.Generator().manual_seed(0))

    def reset_parameters(self, generator: torch.Generator) -> None:
        nn.init.normal_(self.table_OH, std=self.sigma, generator=generator)

    def bias(self, q_BHQC: Tensor, k_BHKC: Tensor, context: Context) -> Tensor:
        self.check(length=furthest(context) + 1)
        middle = len(self.table_OH) // 2
        return by_lag(self.table_OH[middle - lags_of(context)].T.to(q_BHQC.dtype), context)


RECORD = EncodingRecord(
    cls=Toeplitz,
    about="a free learned bias for every distance and side; none beyond its length",
    acts="on the logits, as a bias, in every block",
    parameters="(2 × length - 1) × heads, shared by all blocks",
    direction="either; a decoder leaves the other side unused",
    kernel="fused with a float bias",
    options={"length": "the longest text, in tokens", "sigma": "initial standard deviation of the table"},
    growth="n² in time and memory, per head, once for all blocks; stops at its last distance",
    paper="the free bias beneath URPE: Luo et al. 2022, arXiv 2205.13401",
)
