"""Rotary position with any set of frequencies: keep some, drop some, or turn all pairs at one single speed."""

import torch

from wherewhat.encodings.bands import chosen
from wherewhat.encodings.frequencies import frequencies
from wherewhat.encodings.record import EncodingRecord
from wherewhat.encodings.rotary import SomePairs
from wherewhat.errors import UserError


class BandRope(SomePairs):
    """Turn only the pairs that `keep` names, or all but those that `drop` names, in the language of `bands.py`.

    Pairs that turn keep the frequencies they have in rope, unless `angle` gives them all the same one, in radians a
    token: 2π / N repeats itself every N tokens. Without any option this is rope.

    >>> BandRope(head_dim=8, drop="index:0,3").turning
    [False, True, True, False]
    >>> BandRope(head_dim=8, keep="high:0.5", angle=0.5).turning  # these two, each by half a radian a token
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
            raise UserError(f"angle must be a positive number of radians a token, got {angle}; leave it out for rope's")
        ladder_F = frequencies(width=head_dim, base=base, dtype=torch.float64)
        kept_F = ~chosen(drop, ladder_F) if drop is not None else chosen("high:1" if keep is None else keep, ladder_F)
        self.angle, self.turning = angle, kept_F.tolist()


RECORD = EncodingRecord(
    cls=BandRope,
    about="rope of which any chosen frequencies turn, or all pairs at one single frequency",
    acts="on queries and keys, in every block",
    parameters="none",
    direction="either",
    kernel="fused",
    options={
        "keep": 'which frequencies turn, such as "high:0.25" or "index:0,3"',
        "drop": "which do not",
        "angle": "radians a token at which all of them turn; each at its own unless said",
        "base": "the ladder of frequencies goes from 1 radian a token down to about 1 / base",
        "layout": '"half" pairs channel m with m + width / 2 (Llama, NeoX), "interleaved" pairs neighbours (GPT-J)',
    },
    growth="n × head width in time and memory, for each head and block",
    paper="after Barbero et al. 2024, arXiv 2410.06205",
)
