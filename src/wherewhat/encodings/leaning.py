"""Attention decays symmetrically with distance, and every head learns which side it prefers. Our own."""

import torch
from torch import Tensor, nn

from wherewhat.encodings.base import Context, Encoding, EncodingRecord, wide
from wherewhat.encodings.bells import quadratic
from wherewhat.encodings.relative import by_lag, lags_of
from wherewhat.errors import UserError
from wherewhat.names import look_up

LEARNT = {"side": True, "none": False}  # what is learned, and whether that is anything at all


class Leaning(Encoding):
    """Add a bell curve of the distance d = |i - j| and a side weight: -w · d², + a before the query and - a after it.

    The curve sets how local a head is and is symmetric, as in `attenuated` with s = 1, which cannot tell who did what
    to whom: to it, a sentence and its reverse are the same. The side weight a is learned by every
    head of every block. It multiplies all attention to one side by e^a and to the other by e^-a, whatever the
    distance, so locality does not change with the side. Heads start alternately with a = start and a = -start: some
    attend backwards and some forwards, as heads do in trained models. At a = 0 it is `attenuated`; with
    `learn="none"` the side weights stay as they started.

    >>> zeros_BHTC = torch.zeros(1, 2, 3, 4)
    >>> Leaning(heads=2, w=0.5, start=1.0).bias(zeros_BHTC, zeros_BHTC, Context.of(3, causal=False))[0, :, 1]
    tensor([[ 0.5000,  0.0000, -1.5000],
            [-1.5000, -0.0000,  0.5000]], grad_fn=<SelectBackward0>)
    """

    name = "leaning"
    bias_by_slot = True
    shared = False

    def __init__(self, heads: int, *, w: float = 0.1, start: float = 1.0, learn: str = "side") -> None:
        super().__init__()
        self.heads, self.w, self.start = heads, w, start
        if heads < 1 or not (0 <= w < float("inf") and abs(start) < float("inf")):
            raise UserError(
                "leaning needs at least one head, a w of at least 0 and a finite start; "
                f"got {heads} heads, w {w}, start {start}"
            )
        side_H = torch.empty(heads)
        self.side_H: Tensor
        if look_up("way to learn", learn, LEARNT):
            self.side_H = nn.Parameter(side_H)
        else:
            self.register_buffer("side_H", side_H)
        self.reset_parameters(torch.Generator())

    @torch.no_grad()
    def reset_parameters(self, generator: torch.Generator) -> None:
        self.side_H.fill_(self.start)
        self.side_H[1::2] = -self.start  # nothing is drawn

    def bias(self, q_BHQC: Tensor, k_BHKC: Tensor, context: Context) -> Tensor:
        dtype, lags_R = wide(q_BHQC.dtype), lags_of(context)
        w_H, s_H = (torch.full_like(self.side_H[:1], value, dtype=dtype) for value in (self.w, 1.0))
        fall_HR = quadratic(lags_R, w_H, s_H) + self.side_H.to(dtype)[:, None] * lags_R.sign()
        return by_lag(fall_HR.to(q_BHQC.dtype), context)


RECORD = EncodingRecord(
    cls=Leaning,
    about="attention decays along the same bell curve on both sides, and every head learns which side it prefers",
    acts="on the logits, as a bias, in every block",
    parameters="heads, per block; none if the side weights are fixed",
    direction="either; in a decoder, it contrasts the token itself with what came before",
    kernel="fused with a float bias",
    options={
        "w": "how local: larger is more local",
        "start": "the initial side weight of heads, alternately towards what comes before and after",
        "learn": '"side" (a side weight per head) or "none" (they stay at their initial values)',
    },
    growth="n² in time and memory, per head and block",
    paper="ours, after Chen et al. 2023, arXiv 2310.12864",
)
