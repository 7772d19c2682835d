"""Position by rolling: the channels of queries and keys are rotated cyclically by one with every token."""

import math

import torch
from torch import Tensor

from wherewhat.encodings.base import Context, Encoding, EncodingRecord, wide
from wherewhat.errors import UserError

MOST = 1024  # channels a token; heads have fewer, and further round is no further


class RollPE(Encoding):
    """Move channel c of a head to channel c + position · step, cyclically (arXiv 2511.11668).

    Rolling is turning in the basis of discrete waves: wave f over the d channels of a head turns by 2πf/d · step
    radians per token. So tokens d / step apart are indistinguishable, and no frequency is lower. A step that is no
    whole number is applied in that basis, where the fastest wave of an even d is not rotated: it has no partner.

    >>> x_BHTC, context = torch.tensor([1.0, 2.0, 3.0]).expand(1, 1, 4, 3), Context.of(4, causal=True)
    >>> RollPE().on_query_key(x_BHTC, x_BHTC, context)[0][0, 0]
    tensor([[1., 2., 3.],
            [3., 1., 2.],
            [2., 3., 1.],
            [1., 2., 3.]])
    """

    name = "rollpe"

    def __init__(self, *, step: float = 1) -> None:
        super().__init__()
        if not 0 < abs(step) <= MOST:
            raise UserError(
                f"step must be a number of channels a token, up to {MOST} and not 0; got {step}, 1 is usual"
            )
        self.step = step

    def on_query_key(self, q_BHQC: Tensor, k_BHKC: Tensor, context: Context) -> tuple[Tensor, Tensor]:
        query_move, key_move = context.once(
            (self, "moves", q_BHQC.dtype, q_BHQC.shape[-1]), lambda: self._moves(q_BHQC, context)
        )
        return self._roll(q_BHQC, query_move), self._roll(k_BHKC, key_move)

    def _moves(self, q_BHQC: Tensor, context: Context) -> tuple[Tensor, Tensor]:
        key_move = self._move(context.key_positions_BK, q_BHQC)
        return key_move if context.rows_Q is None else self._move(context.query_positions_BQ, q_BHQC), key_move

    def _move(self, positions_BT: Tensor, like_BHQC: Tensor) -> Tensor:
        """source_BHTC, the channel from which each channel comes; turn_BHTF, a factor per wave, for other steps."""
        dtype, channels = wide(like_BHQC.dtype), like_BHQC.shape[-1]
        if float(self.step).is_integer():
            moved_BHT = positions_BT[:, None] * int(self.step)
            return (torch.arange(channels, device=positions_BT.device) - moved_BHT[..., None]) % channels
        moved_BHT = (positions_BT[:, None].to(dtype) * self.step) % channels
        waves_F = torch.arange(channels // 2 + 1, dtype=dtype, device=positions_BT.device)
        angle_BHTF = moved_BHT[..., None] * waves_F * (-2 * math.pi / channels)
        if channels % 2 == 0:
            angle_BHTF[..., -1] = 0
        return torch.polar(torch.ones_like(angle_BHTF), angle_BHTF)

    def _roll(self, x_BHTC: Tensor, move: Tensor) -> Tensor:
        if not move.is_complex():
            return x_BHTC.gather(-1, move.expand(x_BHTC.shape))
        waves_BHTF = torch.fft.rfft(x_BHTC.to(wide(x_BHTC.dtype)))
        rolled_BHTC: Tensor = torch.fft.irfft(waves_BHTF * move, n=x_BHTC.shape[-1])
        return rolled_BHTC.to(x_BHTC.dtype)


RECORD = EncodingRecord(
    cls=RollPE,
    about="the channels of queries and keys are shifted cyclically, by one per token",
    acts="on queries and keys, in every block",
    parameters="none",
    direction="either; distances repeat after as many tokens as a head has channels",
    kernel="fused",
    options={"step": "channels to shift by per token; a fraction is applied in the Fourier basis"},
    growth="n × head width in time and memory, per head and block",
    paper="arXiv 2511.11668",
)
