"""Rotary position that also fades: every pair forgets with distance, fast ones sooner than slow ones."""

import torch
from torch import Tensor

from wherewhat.encodings.base import Context, EncodingRecord, wide
from wherewhat.encodings.rotary import ByPosition, Gain
from wherewhat.errors import UserError

ROOM = 2**10  # between the largest gain and the largest number, for the queries and keys that it multiplies


class XPos(ByPosition):
    """Multiply what pair m says at lag r by zeta_m^(r / span), zeta_m = (2m / head_dim + gamma) / (1 + gamma).

    Queries shrink and keys grow from token to token (arXiv 2212.10554), counted from the middle of the text, so that
    neither leaves the range of its numbers too soon: in float32 near 66,000 tokens. For keys after the query it would
    grow without bound, so it only looks back. The paper's blockwise attention is left out.

    >>> xpos, ones_BHTC = XPos(head_dim=2, span=1.0), torch.ones(1, 1, 3, 2)
    >>> q_BHTC, k_BHTC = xpos.on_query_key(ones_BHTC, ones_BHTC, Context.of(3, causal=True))
    >>> q_BHTC.norm(dim=-1)[0, 0] * k_BHTC.norm(dim=-1)[0, 0]  # a token and itself: no distance, no fading
    tensor([2.0000, 2.0000, 2.0000])
    """

    name = "xpos"
    causal_only = True

    def __init__(
        self, head_dim: int, *, gamma: float = 0.4, span: float = 512.0, base: float = 10_000.0, layout: str = "half"
    ) -> None:
        super().__init__(head_dim, base=base, layout=layout)
        for name, value, usual in (("gamma", gamma, 0.4), ("span", span, 512)):
            if not 0 < value < float("inf"):
                raise UserError(f"{name} must be a positive number, got {value}; {usual} is the usual one")
        self.gamma, self.span = gamma, span

    def theta(self, ladder_F: Tensor, context: Context) -> Tensor:
        return ladder_F

    def gains(self, context: Context, dtype: torch.dtype) -> tuple[Gain, Gain]:
        first_BK, last_BK = (end[:, None] for end in context.key_positions_BK.aminmax(dim=-1))
        centre_BK = (first_BK + last_BK + 1) // 2
        zeta_F = self.zeta(wide(dtype), centre_BK.device)
        query_gain_BQF, key_gain_BKF = (
            zeta_F ** (ago_BT[..., None].to(zeta_F.dtype) / self.span)
            for ago_BT in (context.query_positions_BQ - centre_BK, centre_BK - context.key_positions_BK)
        )
        if max(query_gain_BQF.max(), key_gain_BKF.max()) > torch.finfo(dtype).max / ROOM:
            raise UserError(
                f"xpos over {context.longest} tokens leaves the range of {str(dtype).removeprefix('torch.')}; "
                f"use a span above {self.span:g}, or shorter texts"
            )
        return query_gain_BQF, key_gain_BKF

    def zeta(self, dtype: torch.dtype, device: torch.device | None = None) -> Tensor:
        """zeta_F, by which each pair fades in `span` tokens."""
        exponents_F = torch.arange(0, self.head_dim, 2, dtype=dtype, device=device) / self.head_dim
        return (exponents_F + self.gamma) / (1 + self.gamma)


RECORD = EncodingRecord(
    cls=XPos,
    about="rope that also decays with distance, in fast pairs sooner than in slow ones",
    acts="on queries and keys, in every block",
    parameters="none",
    direction="causal only",
    kernel="fused",
    options={
        "gamma": "larger decays less",
        "span": "tokens after which the decay rate has been applied once",
        "base": "frequencies range from 1 radian per token down to about 1 / base",
        "layout": '"half" pairs channel m with m + width / 2 (Llama, NeoX), "interleaved" pairs neighbours (GPT-J)',
    },
    growth="n × head width in time and memory, per head and block; up to about 66,000 tokens in float32",
    paper="Sun et al. 2022, arXiv 2212.10554",
)
