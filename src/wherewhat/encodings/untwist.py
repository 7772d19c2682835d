"""Rotary position with a factor per frequency: the fast and slow pairs of keys are scaled differently."""

from collections.abc import Sequence

import torch
from torch import Tensor

from wherewhat.encodings.base import Context, EncodingRecord, wide
from wherewhat.encodings.rotary import ByPosition, Gain
from wherewhat.errors import UserError


class Untwist(ByPosition):
    """Multiply pair m of rotated keys by high + (low - high) · (m / last)^beta (arXiv 2602.05013).

    `high` is the gain of the fastest pair and `low` that of the slowest; with 1 and 1 this is rope. `which` names the
    positions of the keys that are changed (all by default); queries and values are not. Meant for trained models.

    >>> Untwist(head_dim=8, high=0.25, low=1.4).gain(torch.float32)
    tensor([0.2500, 0.3778, 0.7611, 1.4000])
    """

    name = "untwist"

    def __init__(
        self,
        head_dim: int,
        *,
        high: float = 1.0,
        low: float = 1.0,
        beta: float = 2.0,
        which: Sequence[int] | None = None,
        base: float = 10_000.0,
        layout: str = "half",
    ) -> None:
        super().__init__(head_dim, base=base, layout=layout)
        if not (0 <= high < float("inf") and 0 <= low < float("inf") and 0 < beta < float("inf")):
            raise UserError(f"untwist needs gains from 0 and a beta above 0; got high {high}, low {low}, beta {beta}")
        if which is not None and not (which and all(type(key) is int and key >= 0 for key in which)):
            raise UserError(f"which must name positions of keys, such as [0, 5], or be left out for all; got {which!r}")
        self.high, self.low, self.beta = high, low, beta
        self.which = None if which is None else tuple(which)
        self.shift_invariant = which is None

    def theta(self, ladder_F: Tensor, context: Context) -> Tensor:
        return ladder_F

    def gain(self, dtype: torch.dtype, device: torch.device | None = None) -> Tensor:
        """gain_F of each pair, the fastest first."""
        last = max(self.head_dim // 2 - 1, 1)
        slowness_F = torch.arange(self.head_dim // 2, dtype=dtype, device=device) / last
        return self.high + (self.low - self.high) * slowness_F**self.beta

    def gains(self, context: Context, dtype: torch.dtype) -> tuple[Gain, Gain]:
        positions_BK = context.key_positions_BK
        gain_BKF = self.gain(wide(dtype), positions_BK.device).expand(*positions_BK.shape, -1)
        if self.which is None:
            return 1.0, gain_BKF
        changed_BK = torch.isin(positions_BK, torch.tensor(self.which, device=positions_BK.device))
        return 1.0, gain_BKF.where(changed_BK[..., None], 1.0)


RECORD = EncodingRecord(
    cls=Untwist,
    about="rope whose keys weight fast and slow pairs differently; for trained models, nothing is learned",
    acts="on queries and keys, in every block",
    parameters="none",
    direction="either",
    kernel="fused",
    options={
        "high": "gain of the fastest pair",
        "low": "gain of the slowest pair",
        "beta": "curvature of the gain between them",
        "which": "positions of the keys that are changed; all by default",
        "base": "frequencies range from 1 radian per token down to about 1 / base",
        "layout": '"half" pairs channel m with m + width / 2 (Llama, NeoX), "interleaved" pairs neighbours (GPT-J)',
    },
    growth="n × head width in time and memory, per head and block",
    paper="arXiv 2602.05013",
)
