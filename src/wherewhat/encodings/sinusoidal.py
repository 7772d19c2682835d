"""Sinusoids added to the token embeddings: the encoding of the first Transformer (arXiv 1706.03762)."""

import torch
from torch import Tensor

from wherewhat.encodings.base import Encoding, wide
from wherewhat.encodings.frequencies import angles, check_ladder
from wherewhat.encodings.record import EncodingRecord
from wherewhat.names import look_up


def interleaved(sin_BTF: Tensor, cos_BTF: Tensor) -> Tensor:
    """sin, cos, sin, cos, ...: as published."""
    return torch.stack((sin_BTF, cos_BTF), dim=-1).flatten(-2)


def concat(sin_BTF: Tensor, cos_BTF: Tensor) -> Tensor:
    """All sines, then all cosines: the same channels in another order, so another checkpoint."""
    return torch.cat((sin_BTF, cos_BTF), dim=-1)


LAYOUTS = {"interleaved": interleaved, "concat": concat}


class Sinusoidal(Encoding):
    """Add sines and cosines of the position, from fast to slow, to the tokens: x ← token_scale · x + PE(position).

    The dot product of two places depends only on how far apart they are, but the net sees the sum with the token,
    so attention as a whole does depend on where a text starts. Grids of rows and columns are left out.

    >>> Sinusoidal(width=4).table(torch.tensor([[0, 3]]), torch.float32)
    tensor([[[ 0.0000,  1.0000,  0.0000,  1.0000],
             [ 0.1411, -0.9900,  0.0300,  0.9996]]])
    """

    token_sigma = 1.0
    shift_invariant = False

    def __init__(
        self, width: int, *, base: float = 10_000.0, layout: str = "interleaved", token_scale: float = 1.0
    ) -> None:
        super().__init__()
        check_ladder(width=width, base=base, what="the width of a sinusoidal encoding")
        self.width, self.base, self.token_scale = width, base, token_scale
        self.arrange = look_up("layout", layout, LAYOUTS)

    def on_tokens(self, x_BTD: Tensor, positions_BT: Tensor, block: int) -> Tensor:
        if block > 0:
            return x_BTD
        return self.token_scale * x_BTD + self.table(positions_BT, x_BTD.dtype)

    def table(self, positions_BT: Tensor, dtype: torch.dtype) -> Tensor:
        """PE_BTD, what is added at each position."""
        angle_BTF = angles(positions_BT, width=self.width, base=self.base, dtype=wide(dtype))
        return self.arrange(angle_BTF.sin(), angle_BTF.cos()).to(dtype)


RECORD = EncodingRecord(
    name="sinusoidal",
    cls=Sinusoidal,
    about="sines and cosines of the position, fast to slow, added to the tokens",
    acts="on the tokens, once, where they enter",
    parameters="none",
    direction="either",
    kernel="fused",
    growth="n × width in time and memory, once",
    paper="Vaswani et al. 2017, arXiv 1706.03762",
)
