"""Rotary position with content-dependent angles: every token determines how far later ones are rotated."""

import math

import torch
from torch import Tensor, nn

from wherewhat.encodings.base import Context, EncodingRecord, Notes, outside_autocast, wide
from wherewhat.encodings.drawing import linear
from wherewhat.encodings.rotary import Rotary, Spin
from wherewhat.errors import UserError


class CaRope(Rotary):
    """Rotate pair m of token t by the sum of pace^(m + first) over the tokens up to t (arXiv 2507.23083).

    The pace 1 / (softplus(x·W + b) + 1) of a token lies between 0 and 1, one for each head. Here W starts at 0 and b
    so that the pace is that of rope's second pair; then, with `first` 0, this is rope. The paper has no b, and so
    starts elsewhere. With `first` 0 the fastest pair turns by exactly 1 per token and ignores the text. The phases are
    noted down token by token, in float32 or wider.

    >>> carope = CaRope(width=6, heads=1, head_dim=4)
    >>> carope.observe(torch.zeros(1, 3, 6))["phase"][0, 0].detach()
    tensor([[1.0000, 0.0100],
            [2.0000, 0.0200],
            [3.0000, 0.0300]])
    """

    name = "carope"
    causal_only = True
    shared = False

    def __init__(
        self, width: int, heads: int, head_dim: int, *, first: int = 0, base: float = 10_000.0, layout: str = "half"
    ) -> None:
        super().__init__(head_dim, base=base, layout=layout)
        self.heads = heads
        if min(width, heads) < 1 or first < 0:
            raise UserError(
                "carope needs a width and heads of at least 1 and a first of at least 0; "
                f"got width {width}, heads {heads}, first {first}"
            )
        if base <= 1:
            raise UserError(f"carope needs a base above 1, got {base}; 10000 is the usual one")
        self.first = first
        self.pace = linear(width, heads)
        self.reset_parameters(torch.Generator().manual_seed(0))

    def reset_parameters(self, generator: torch.Generator) -> None:
        nn.init.zeros_(self.pace.weight)
        nn.init.constant_(self.pace.bias, first_bias(self.head_dim, self.base))

    @outside_autocast
    def observe(self, x_BTD: Tensor, real_BT: Tensor | None = None, past: Notes | None = None) -> Notes:
        dtype = wide(x_BTD.dtype)
        weight_HD, bias_H = self.pace.weight.to(dtype), self.pace.bias.to(dtype)
        slow_BHT = nn.functional.softplus(nn.functional.linear(x_BTD.to(dtype), weight_HD, bias_H)).mT
        powers_F = torch.arange(self.head_dim // 2, dtype=dtype, device=x_BTD.device) + self.first
        steps_BHTF = (slow_BHT.log1p()[..., None] * -powers_F).exp()  # several times faster to learn through than **
        if real_BT is not None:
            steps_BHTF = steps_BHTF * real_BT[:, None, :, None]
        phase_BHTF = steps_BHTF.cumsum(2)
        return {"phase": phase_BHTF + past["phase"][:, :, -1:] if past else phase_BHTF}

    def spins(self, context: Context, dtype: torch.dtype) -> tuple[Spin, Spin]:
        if "phase" not in context.notes:
            raise UserError("carope turns by what its observe noted down; put that into the context's notes")
        key_spin = self.spin(context.notes["phase"])
        if context.rows_Q is None:
            return key_spin, key_spin
        return tuple(part[:, :, context.rows_Q] for part in key_spin), key_spin


def first_bias(head_dim: int, base: float) -> float:
    """What b starts as: the bias with which every token's pace is theta_1 = base^(-2 / head_dim).

    >>> round(first_bias(64, 10_000), 6)
    -0.926657
    """
    beyond = math.pow(base, 2 / head_dim) - 1
    return beyond + math.log(-math.expm1(-beyond))  # the inverse of softplus, without a large exponential


RECORD = EncodingRecord(
    cls=CaRope,
    about="rope whose angles depend on the text: every token sets how far the tokens after it are rotated",
    acts="on queries and keys, from the block's input, in every block",
    parameters="heads × (width + 1), per block",
    direction="causal only",
    kernel="fused",
    options={
        "first": "the exponent of the pace for the first pair",
        "base": "initial frequencies range from 1 radian per token down to about 1 / base",
        "layout": '"half" pairs channel m with m + width / 2 (Llama, NeoX), "interleaved" pairs neighbours (GPT-J)',
    },
    growth="n × head width in time and memory, per head and block",
    paper="Veisi et al. 2025, arXiv 2507.23083",
)
