"""Sinusoids added to the token embeddings: the encoding of the first Transformer (arXiv 1706.03762)."""

from collections.abc import Sequence

import torch
from torch import Tensor

from wherewhat.encodings.base import Encoding, EncodingRecord, wide
from wherewhat.encodings.rotary import angles, check_ladder
from wherewhat.errors import UserError
from wherewhat.names import look_up


def interleaved(sin_BTF: Tensor, cos_BTF: Tensor) -> Tensor:
    """sin, cos, sin, cos, ...: as published."""
    return torch.stack((sin_BTF, cos_BTF), dim=-1).flatten(-2)


def concat(sin_BTF: Tensor, cos_BTF: Tensor) -> Tensor:
    """All sines, then all cosines: the same channels in another order, so another checkpoint."""
    return torch.cat((sin_BTF, cos_BTF), dim=-1)


LAYOUTS = {"interleaved": interleaved, "concat": concat}
PLACES = {"input": "once, where the tokens enter", "block": "at every block again"}


class Sinusoidal(Encoding):
    """Add sines and cosines of the position, from fast to slow, to the tokens: x ← token_scale · x + PE(position).

    The dot product of two places depends only on how far apart they are, but the net sees the sum with the token,
    so attention as a whole does depend on where a text starts.

    With `grid=(rows, columns)` tokens stand in a grid, row after row: the first half of the channels says the column,
    the second half the row, each like a sinusoidal encoding of half the width. A token beyond the grid is refused.
    With `place="block"` the same sinusoids are added to the input of every block.

    >>> Sinusoidal(width=4).table(torch.tensor([[0, 3]]), torch.float32)
    tensor([[[ 0.0000,  1.0000,  0.0000,  1.0000],
             [ 0.1411, -0.9900,  0.0300,  0.9996]]])
    >>> Sinusoidal(width=4, grid=(2, 3)).table(torch.tensor([[5]]), torch.float32)  # row 1, column 2
    tensor([[[ 0.9093, -0.4161,  0.8415,  0.5403]]])
    """

    name = "sinusoidal"
    token_sigma = 1.0
    shift_invariant = False

    def __init__(
        self,
        width: int,
        *,
        base: float = 10_000.0,
        layout: str = "interleaved",
        token_scale: float = 1.0,
        grid: Sequence[int] | None = None,
        place: str = "input",
    ) -> None:
        super().__init__()
        check_ladder(width=width, base=base, what="the width of a sinusoidal encoding")
        look_up("place", place, PLACES)
        self.again = place == "block"
        self.width, self.base, self.token_scale = width, base, token_scale
        self.arrange = look_up("layout", layout, LAYOUTS)
        self.columns: int | None = None
        if grid is not None:
            if len(grid) != 2 or not all(type(side) is int and side >= 1 for side in grid):
                raise UserError(
                    f"a grid has whole numbers of rows and columns, at least 1 each; got {grid}; write grid=[4,4]"
                )
            if width % 4:
                raise UserError(
                    f"a grid needs a width that is a multiple of 4, half of it for rows and columns; got {width}"
                )
            self.columns, self.max_length = grid[1], grid[0] * grid[1]

    def on_tokens(self, x_BTD: Tensor, positions_BT: Tensor, block: int) -> Tensor:
        if block > 0:
            return x_BTD + self._source(positions_BT, x_BTD.dtype, block) if self.again else x_BTD
        return self.token_scale * x_BTD + self._source(positions_BT, x_BTD.dtype, block)

    def _source(self, positions_BT: Tensor, dtype: torch.dtype, block: int) -> Tensor:
        return self.source("table", self.table(positions_BT, dtype), block)

    def table(self, positions_BT: Tensor, dtype: torch.dtype) -> Tensor:
        """PE_BTD, what is added at each position."""
        if self.columns is None:
            return self._waves(positions_BT, self.width, dtype)
        self.check(length=int(positions_BT.max()) + 1)
        places = (positions_BT % self.columns, positions_BT // self.columns)
        return torch.cat([self._waves(place_BT, self.width // 2, dtype) for place_BT in places], dim=-1)

    def _waves(self, positions_BT: Tensor, width: int, dtype: torch.dtype) -> Tensor:
        angle_BTF = angles(positions_BT, width=width, base=self.base, dtype=wide(dtype))
        return self.arrange(angle_BTF.sin(), angle_BTF.cos()).to(dtype)


RECORD = EncodingRecord(
    cls=Sinusoidal,
    about="sines and cosines of the position, from fast to slow, added to the token embeddings",
    acts="on the tokens, once at the input, or in every block",
    parameters="none",
    direction="either",
    kernel="fused",
    options={
        "base": "frequencies range from 1 radian per token down to about 1 / base",
        "layout": '"interleaved" (sin, cos, sin, cos, …) or "concat" (all sines, then all cosines)',
        "token_scale": "factor applied to token embeddings first",
        "grid": "[rows, columns] for tokens that lie on a grid, row by row",
        "place": '"input" (added once) or "block" (added again at every block)',
    },
    growth="n × width in time and memory, once",
    paper="Vaswani et al. 2017, arXiv 1706.03762",
)
