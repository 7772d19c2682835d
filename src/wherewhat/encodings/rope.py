"""Rotary position: queries and keys are rotated by their position, so their product depends only on the distance."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from wherewhat.encodings.base import Context, EncodingRecord
from wherewhat.encodings.rotary import ByPosition, Gain
from wherewhat.encodings.scalings import scaling_of


class Rope(ByPosition):
    """Rotate each channel pair by position · theta, the fastest pair first (arXiv 2104.09864).

    Pair m is rotated by theta_m = base^(-2m / rotary_dim) radians per token: (a, b) → (a cos - b sin, b cos + a sin). A
    query rotated by i·theta and a key rotated by j·theta differ by the angle (i - j)·theta, on which attention depends.
    `rotary.py` explains what `layout` and `rotary_dim` mean.

    `scaling` slows the ladder down for texts longer than a model was trained on, in one of the ways of `scalings.py`:
    `{"kind": "yarn", "factor": 16, "original_length": 4096}`.

    >>> rope = Rope(head_dim=2)
    >>> east_BHTC = torch.tensor([1.0, 0.0]).expand(1, 1, 3, 2)
    >>> q_BHTC, k_BHTC = rope.on_query_key(east_BHTC, east_BHTC, Context.of(3, causal=True))
    >>> q_BHTC[0, 0]  # the same vector at positions 0, 1 and 2 points in three directions, one radian apart
    tensor([[ 1.0000,  0.0000],
            [ 0.5403,  0.8415],
            [-0.4161,  0.9093]])
    """

    name = "rope"

    def __init__(
        self,
        head_dim: int,
        *,
        base: float = 10_000.0,
        layout: str = "half",
        rotary_dim: int | None = None,
        scaling: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(head_dim, base=base, layout=layout, rotary_dim=rotary_dim)
        self.scaling = None if scaling is None else scaling_of(scaling, width=self.rotary_dim, base=base)

    def theta(self, ladder_F: Tensor, context: Context) -> Tensor:
        if self.scaling is None:
            return ladder_F
        if context.real_BK is None or not self.scaling.by_length:
            return self.scaling.theta(ladder_F, base=self.base, length=context.length)
        lengths = context.real_BK.sum(-1).tolist()
        theta_BF = torch.stack([self.scaling.theta(ladder_F, base=self.base, length=length) for length in lengths])
        return theta_BF[:, None]

    def gains(self, context: Context, dtype: torch.dtype) -> tuple[Gain, Gain]:
        gain = 1.0 if self.scaling is None else self.scaling.gain
        return gain, gain


RECORD = EncodingRecord(
    cls=Rope,
    about="queries and keys are rotated by their position, so logits depend only on their signed distance",
    acts="on queries and keys, in every block",
    parameters="none",
    direction="either",
    kernel="fused",
    options={
        "base": "frequencies range from 1 radian per token down to about 1 / base",
        "layout": '"half" pairs channel m with m + width / 2 (Llama, NeoX), "interleaved" pairs neighbours (GPT-J)',
        "rotary_dim": "how many channels rotate, from the first on; all by default",
        "scaling": 'for longer texts, such as {"kind": "yarn", "factor": 16, "original_length": 4096}',
    },
    growth="n × head width in time and memory, per head and block",
    paper="Su et al. 2021, arXiv 2104.09864",
)
