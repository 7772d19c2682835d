"""Rotary position with any set of frequencies: keep some, drop some, or rotate all pairs at one frequency."""

import torch

from wherewhat.encodings.bands import chosen
from wherewhat.encodings.base import EncodingRecord
from wherewhat.encodings.rotary import SomePairs, frequencies
from wherewhat.errors import UserError


class BandRope(SomePairs):
    """Rotate only the pairs that `keep` names, or all but those that `drop` names, in the language of `bands.py`.

    Rotated pairs keep the frequencies they have in rope, unless `angle` gives them all the same one, in radians per
    token: 2π / N repeats itself every N tokens. Without any option this is rope.

    >>> BandRope(head_dim=8, drop="index:0,3").rotates
    [False, True, True, False]
    >>> BandRope(head_dim=8, keep="high:0.5", angle=0.5).rotates  # these two, each by half a radian per token
    [True, True, False, False]
    """

    name = "band_rope"

    def __init__(
        self,
        head_dim: int,
        *,
        keep: str | None = None,
        drop: str | None = None,
        angle: float | None = None,
        base: float = 10_000.0,
        layout: str = "half",
    ) -> None:
        super().__init__(head_dim, base=base, layout=layout)
        if keep is not None and drop is not None:
            raise UserError(f"frequencies are either kept or dropped; got keep '{keep}' and drop '{drop}', give one")
        if angle is not None and not 0 < angle < float("inf"):
            raise UserError(
                f"angle must be a positive number of radians per token, got {angle}; leave it out for rope's"
            )
        ladder_F = frequencies(width=head_dim, base=base, dtype=torch.float64)
        kept_F = ~chosen(drop, ladder_F) if drop is not None else chosen("high:1" if keep is None else keep, ladder_F)
        self.angle, self.rotates = angle, kept_F.tolist()


RECORD = EncodingRecord(
    cls=BandRope,
    about="rope in which any chosen frequencies rotate, or all pairs at one single frequency",
    acts="on queries and keys, in every block",
    parameters="none",
    direction="either",
    kernel="fused",
    options={
        "keep": 'which frequencies rotate, such as "high:0.25" or "index:0,3"',
        "drop": "which frequencies do not rotate",
        "angle": "one frequency for all pairs, in radians per token; by default each has its own",
        "base": "frequencies range from 1 radian per token down to about 1 / base",
        "layout": '"half" pairs channel m with m + width / 2 (Llama, NeoX), "interleaved" pairs neighbours (GPT-J)',
    },
    growth="n × head width in time and memory, per head and block",
    paper="after Barbero et al. 2024, arXiv 2410.06205",
)
