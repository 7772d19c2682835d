"""Rotary position: queries and keys turn with their position, so their dot product feels only the distance."""

from collections.abc import Callable

import torch
from torch import Tensor

from wherewhat.encodings.base import Context, Encoding, wide
from wherewhat.encodings.frequencies import angles, check_ladder
from wherewhat.encodings.record import EncodingRecord
from wherewhat.errors import UserError
from wherewhat.names import look_up


class Rope(Encoding):
    """Turn each pair of channels by position · theta, the fastest pair first (arXiv 2104.09864).

    Pair m turns by theta_m = base^(-2m / rotary_dim) radians a token: (a, b) → (a cos - b sin, b cos + a sin). A query
    turned by i·theta and a key turned by j·theta meet at the angle (i - j)·theta, which is all that attention sees.

    `layout` says which channels make a pair: "half" pairs m with m + rotary_dim / 2 (Llama, NeoX), "interleaved" pairs
    neighbours (GPT-J). The two are not interchangeable: a checkpoint knows one of them. Only the first `rotary_dim`
    channels turn (all, unless said). Scaled frequencies for longer contexts are left out.

    >>> rope = Rope(head_dim=2)
    >>> east_BHTC = torch.tensor([1.0, 0.0]).expand(1, 1, 3, 2)
    >>> q_BHTC, k_BHTC = rope.on_query_key(east_BHTC, east_BHTC, Context.of(3, causal=True))
    >>> q_BHTC[0, 0]  # the same vector at positions 0, 1 and 2 points in three directions, one radian apart
    tensor([[ 1.0000,  0.0000],
            [ 0.5403,  0.8415],
            [-0.4161,  0.9093]])
    """

    def __init__(
        self, head_dim: int, *, base: float = 10_000.0, layout: str = "half", rotary_dim: int | None = None
    ) -> None:
        super().__init__()
        self.rotary_dim = head_dim if rotary_dim is None else rotary_dim
        check_ladder(width=self.rotary_dim, base=base, what="the rotary width")
        if self.rotary_dim > head_dim:
            raise UserError(
                f"rotary_dim {rotary_dim} is more than the {head_dim} channels of a head; use at most those"
            )
        self.head_dim, self.base = head_dim, base
        self.turn = look_up("layout", layout, LAYOUTS)

    def on_query_key(self, q_BHQC: Tensor, k_BHKC: Tensor, context: Context) -> tuple[Tensor, Tensor]:
        return self.rotate(q_BHQC, context.query_positions_BQ), self.rotate(k_BHKC, context.key_positions_BK)

    def rotate(self, x_BHTC: Tensor, positions_BT: Tensor) -> Tensor:
        """Turn the rotary channels of queries or keys that stand at these positions; the others pass by."""
        if self.rotary_dim < x_BHTC.shape[-1]:
            rotary_BHTC, still_BHTC = x_BHTC[..., : self.rotary_dim], x_BHTC[..., self.rotary_dim :]
            return torch.cat((self.rotate(rotary_BHTC, positions_BT), still_BHTC), dim=-1)
        dtype = wide(x_BHTC.dtype)
        angle_BTF = angles(positions_BT, width=self.rotary_dim, base=self.base, dtype=dtype)
        # Contiguous, because several passes over heads that lie scattered in memory take longer than one tidying copy.
        return self.turn(x_BHTC.to(dtype).contiguous(), angle_BTF[:, None]).to(x_BHTC.dtype)


def turn_half(x_BHTC: Tensor, angle_BHTF: Tensor) -> Tensor:
    """Turn pairs (m, m + C/2): the first half of the channels with the second."""
    a_BHTF, b_BHTF = x_BHTC.chunk(2, dim=-1)
    cos_BHTF, sin_BHTF = angle_BHTF.cos(), angle_BHTF.sin()
    return torch.cat((a_BHTF * cos_BHTF - b_BHTF * sin_BHTF, b_BHTF * cos_BHTF + a_BHTF * sin_BHTF), dim=-1)


def turn_interleaved(x_BHTC: Tensor, angle_BHTF: Tensor) -> Tensor:
    """Turn pairs (2m, 2m + 1): neighbours, so that memory already reads as complex numbers a + ib."""
    pair_BHTF = torch.view_as_complex(x_BHTC.unflatten(-1, (-1, 2)))
    turn_BHTF = torch.polar(torch.ones_like(angle_BHTF), angle_BHTF)
    return torch.view_as_real(pair_BHTF * turn_BHTF).flatten(-2)


LAYOUTS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {"half": turn_half, "interleaved": turn_interleaved}


RECORD = EncodingRecord(
    name="rope",
    cls=Rope,
    about="queries and keys turn with their position, so attention feels only their distance and its sign",
    acts="on queries and keys, in every block",
    parameters="none",
    direction="either",
    kernel="fused",
    growth="n × head width in time and memory, for each head and block",
    paper="Su et al. 2021, arXiv 2104.09864",
)
