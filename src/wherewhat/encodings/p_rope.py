"""Partial rotary position: fast pairs are rotated and encode position, slow ones are left to content."""

from wherewhat.encodings.base import EncodingRecord
from wherewhat.encodings.rotary import SomePairs
from wherewhat.errors import UserError
from wherewhat.names import look_up

ENDS = {"high": "the fastest pairs turn", "low": "the slowest pairs turn"}


class PRope(SomePairs):
    """Rotate the share `p` of the pairs, from the fast end of the ladder or the slow one (arXiv 2410.06205).

    A share is rounded down to whole pairs. Rotated pairs keep the frequencies they have in rope. That is another
    thing than rope's `rotary_dim`, which squeezes the whole ladder into fewer channels.

    >>> PRope(head_dim=8, p=0.5).rotates
    [True, True, False, False]
    """

    name = "p_rope"

    def __init__(
        self, head_dim: int, *, p: float = 0.75, end: str = "high", base: float = 10_000.0, layout: str = "half"
    ) -> None:
        super().__init__(head_dim, base=base, layout=layout)
        look_up("end", end, ENDS)
        if not 0 <= p <= 1:
            raise UserError(f"p is the share of pairs that turn, from 0 to 1; got {p}")
        pairs = head_dim // 2
        if 0 < p * pairs < 1:
            raise UserError(f"a share p of {p} of {pairs} pairs is less than one; use at least {1 / pairs:.4g}, or 0")
        fast_first = [pair < int(p * pairs) for pair in range(pairs)]
        self.rotates = fast_first if end == "high" else fast_first[::-1]


RECORD = EncodingRecord(
    cls=PRope,
    about="rope in which only the fastest pairs rotate; the slow ones carry content without position",
    acts="on queries and keys, in every block",
    parameters="none",
    direction="either",
    kernel="fused",
    options={
        "p": "the share of pairs that rotate, rounded down to whole pairs",
        "end": '"high" (the fastest pairs rotate) or "low" (the slowest)',
        "base": "frequencies range from 1 radian per token down to about 1 / base",
        "layout": '"half" pairs channel m with m + width / 2 (Llama, NeoX), "interleaved" pairs neighbours (GPT-J)',
    },
    growth="n × head width in time and memory, per head and block",
    paper="Barbero et al. 2024, arXiv 2410.06205",
)
