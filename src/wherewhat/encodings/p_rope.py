"""Rotary position of which some pairs do not turn: fast ones tell places apart, slow ones are left to content."""

import torch
from torch import Tensor

from wherewhat.encodings.bands import chosen
from wherewhat.encodings.base import Context
from wherewhat.encodings.frequencies import frequencies
from wherewhat.encodings.record import EncodingRecord
from wherewhat.encodings.rotary import ByPosition
from wherewhat.names import look_up

ENDS = {"high": "the fastest pairs turn", "low": "the slowest pairs turn"}


class PRope(ByPosition):
    """Turn the share `p` of the pairs, from the fast end of the ladder or the slow one (arXiv 2410.06205).

    Pairs that turn keep the frequencies they have in rope. That is another thing than rope's `rotary_dim`, which
    squeezes the whole ladder into fewer channels.

    >>> PRope(head_dim=8, p=0.5).theta(torch.tensor([1.0, 0.1, 0.01, 0.001]), Context.of(3, causal=True))
    tensor([1.0000, 0.1000, 0.0000, 0.0000])
    """

    def __init__(
        self, head_dim: int, *, p: float = 0.75, end: str = "high", base: float = 10_000.0, layout: str = "half"
    ) -> None:
        super().__init__(head_dim, base=base, layout=layout)
        look_up("end", end, ENDS)
        ladder_F = frequencies(width=head_dim, base=base, dtype=torch.float64)
        self.turning: list[bool] = chosen(f"{end}:{p}", ladder_F).tolist()

    def theta(self, ladder_F: Tensor, context: Context) -> Tensor:
        return ladder_F * torch.tensor(self.turning, device=ladder_F.device)


RECORD = EncodingRecord(
    name="p_rope",
    cls=PRope,
    about="rope of which only the fastest pairs turn; the slow ones carry content undisturbed",
    acts="on queries and keys, in every block",
    parameters="none",
    direction="either",
    kernel="fused",
    growth="n × head width in time and memory, for each head and block",
    paper="Barbero et al. 2024, arXiv 2410.06205",
)
