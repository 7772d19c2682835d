"""Contextual position: a query counts only the tokens that it selects (arXiv 2405.18719)."""

import torch
from torch import Tensor, nn

from wherewhat.encodings.base import Context, Encoding, EncodingRecord, outside_autocast, wide
from wherewhat.encodings.drawing import draw_normal
from wherewhat.errors import UserError


class Cope(Encoding):
    """Add q_i · e[p_ij] to the logits, where p_ij counts the keys from j up to the query, each as far as it matters.

    A key counts by its gate, sigmoid(logit), so counts are fractions and the table `e` is read between its rows:
    (1 - f)·e[⌊p⌋] + f·e[⌈p⌉] with f = p - ⌊p⌋. It has `positions` rows, and counts beyond the last stay there. Heads
    share it, blocks do not. It starts in N(0, sigma²), by default at 0. What is added is not scaled.

    >>> counted(torch.zeros(1, 1, 3, 3), Context.of(3, causal=True))[0, 0]  # gates half open: every key is half a token
    tensor([[0.5000, 0.0000, 0.0000],
            [1.0000, 0.5000, 0.0000],
            [1.5000, 1.0000, 0.5000]])
    """

    name = "cope"
    causal_only = True
    shared = False

    def __init__(self, head_dim: int, *, positions: int = 64, sigma: float = 0.0) -> None:
        super().__init__()
        if min(head_dim, positions) < 1 or sigma < 0:
            raise UserError(
                "cope needs a head_dim and positions of at least 1 and a sigma of at least 0; "
                f"got head_dim {head_dim}, positions {positions}, sigma {sigma}"
            )
        self.sigma = sigma
        self.table_RC = nn.Parameter(torch.empty(positions, head_dim))
        self.reset_parameters(torch.Generator().manual_seed(0))

    def reset_parameters(self, generator: torch.Generator) -> None:
        draw_normal([self.table_RC], self.sigma, generator)

    @outside_autocast
    def on_logits(self, logits_BHQK: Tensor, q_BHQC: Tensor, k_BHKC: Tensor, context: Context) -> Tensor:
        dtype = wide(logits_BHQK.dtype)
        place_BHQK = counted(logits_BHQK.to(dtype), context).clamp(max=len(self.table_RC) - 1)
        if self.watch is not None:  # the count is content, and nothing is traced through it
            place_BHQK = place_BHQK.detach()
        below_BHQK = place_BHQK.detach().floor()
        worth_BHQR = q_BHQC.to(dtype) @ self.table_RC.to(dtype).T
        low_BHQK = worth_BHQR.gather(-1, below_BHQK.long())
        high_BHQK = worth_BHQR.gather(-1, place_BHQK.detach().ceil().long())
        added_BHQK = torch.lerp(low_BHQK, high_BHQK, place_BHQK - below_BHQK)
        return (logits_BHQK + self.product("count keys", added_BHQK)).to(logits_BHQK.dtype)


def counted(logits_BHQK: Tensor, context: Context) -> Tensor:
    """How many keys a query counts from each key up to itself; a key that it may not see counts for nothing."""
    gate_BHQK = logits_BHQK.sigmoid().masked_fill(~context.allowed_BHQK, 0)
    return gate_BHQK.flip(-1).cumsum(-1).flip(-1)


RECORD = EncodingRecord(
    cls=Cope,
    about="a query counts the tokens that it selects, and every count has a learned key",
    acts="on the logits, in every block",
    parameters="positions × head width, per block",
    direction="causal only",
    kernel="explicit",
    options={
        "positions": "the largest count that has a key",
        "sigma": "initial standard deviation of the keys; 0 starts without position",
    },
    growth="n² in time and several n² in memory, per head and block",
    paper="Golovneva et al. 2024, arXiv 2405.18719",
)
