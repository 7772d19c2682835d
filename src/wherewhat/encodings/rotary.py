"""What all rotary encodings share: the ladder of frequencies, channel pairs, and how a pair is rotated by an angle."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from wherewhat.encodings.base import Context, Encoding, wide
from wherewhat.errors import UserError
from wherewhat.names import look_up

Spin = tuple[Tensor, ...]  # cosines and sines, laid out as the channels are
Gain = Tensor | float  # factor of each rotated pair


def angles(positions_BT: Tensor, *, width: int, base: float, dtype: torch.dtype) -> Tensor:
    """The angle of pair m of `width` channels at each position: position · base^(-2m / width), in radians.

    Made afresh from plain numbers each time, so there is no buffer for a `.to(bfloat16)` to spoil. The product is
    elementwise: a matrix product could run in lower precision.

    >>> angles(torch.tensor([[0, 3]]), width=4, base=10_000, dtype=torch.float32)
    tensor([[[0.0000, 0.0000],
             [3.0000, 0.0300]]])
    """
    theta_F = frequencies(width=width, base=base, dtype=dtype, device=positions_BT.device)
    return positions_BT[..., None].to(dtype) * theta_F


def frequencies(*, width: int, base: float, dtype: torch.dtype, device: torch.device | None = None) -> Tensor:
    """theta_F, the radians per token of each channel pair, fastest first."""
    exponents_F = torch.arange(0, width, 2, dtype=dtype, device=device) / -width
    return torch.pow(base, exponents_F)


def check_ladder(*, width: int, base: float, what: str) -> None:
    """Refuse a ladder that cannot be built: channels come in pairs, and frequencies are positive."""
    if width < 2 or width % 2:
        raise UserError(f"{what} must be even and at least 2, because channels come in pairs; got {width}")
    if not 0 < base < float("inf"):
        raise UserError(f"base must be a positive number, got {base}; 10000 is the usual one")


@dataclass(frozen=True)
class Layout:
    """Which channels make a pair."""

    spin: Callable[[Tensor, Tensor], Spin]  # lays out cos_BHTF and sin_BHTF
    rotate: Callable[[Tensor, Spin], Tensor]  # rotates x_BHTC, which is contiguous
    real: Callable[[Spin], tuple[Tensor, Tensor]]  # cosines and signed sines of every channel
    partner: Callable[[Tensor], Tensor]  # of every channel, the other one of its pair


def spin_half(cos_BHTF: Tensor, sin_BHTF: Tensor) -> Spin:
    """Cosines and signed sines for every channel, where m and m + C/2 make a pair."""
    return torch.cat((cos_BHTF, cos_BHTF), dim=-1), torch.cat((-sin_BHTF, sin_BHTF), dim=-1)


def rotate_half(x_BHTC: Tensor, spin: Spin) -> Tensor:
    """Rotate the first half of the channels with the second: rolled by C/2, every channel is under its partner."""
    cos_BHTC, sin_BHTC = spin
    return torch.addcmul(x_BHTC * cos_BHTC, x_BHTC.roll(x_BHTC.shape[-1] // 2, dims=-1), sin_BHTC)


def spin_interleaved(cos_BHTF: Tensor, sin_BHTF: Tensor) -> Spin:
    """Complex numbers of the wanted angle, where 2m and 2m + 1 make a pair."""
    return (torch.complex(cos_BHTF, sin_BHTF),)


def rotate_interleaved(x_BHTC: Tensor, spin: Spin) -> Tensor:
    """Rotate neighbours: memory already reads as complex numbers a + ib."""
    return torch.view_as_real(torch.view_as_complex(x_BHTC.unflatten(-1, (-1, 2))) * spin[0]).flatten(-2)


def real_half(spin: Spin) -> tuple[Tensor, Tensor]:
    """Cosines and signed sines, which is how they are stored."""
    return spin[0], spin[1]


def partner_half(x_BHTC: Tensor) -> Tensor:
    """The channels half of them further on."""
    return x_BHTC.roll(x_BHTC.shape[-1] // 2, dims=-1)


def real_interleaved(spin: Spin) -> tuple[Tensor, Tensor]:
    """Cosines and signed sines of neighbours."""
    cos_BHTF, sin_BHTF = spin[0].real, spin[0].imag
    return cos_BHTF.repeat_interleave(2, -1), torch.stack((-sin_BHTF, sin_BHTF), -1).flatten(-2)


def partner_interleaved(x_BHTC: Tensor) -> Tensor:
    """Neighbours swapped."""
    pairs_BHTF2: Tensor = x_BHTC.unflatten(-1, (-1, 2))
    return pairs_BHTF2.flip(-1).flatten(-2)


LAYOUTS = {
    "half": Layout(spin_half, rotate_half, real_half, partner_half),
    "interleaved": Layout(spin_interleaved, rotate_interleaved, real_interleaved, partner_interleaved),
}


class Rotary(Encoding, ABC):
    """Rotate channel pairs of queries and keys: (a, b) → (a cos - b sin, b cos + a sin). Subclasses give the angles.

    `layout` is which channels form a pair: "half" pairs m with m + rotary_dim / 2 (Llama, NeoX), "interleaved" pairs
    neighbours (GPT-J). The two are not interchangeable: a checkpoint uses one of them. Only the first `rotary_dim`
    channels are rotated (all by default).
    """

    def __init__(self, head_dim: int, *, base: float, layout: str, rotary_dim: int | None = None) -> None:
        super().__init__()
        self.rotary_dim = head_dim if rotary_dim is None else rotary_dim
        check_ladder(width=self.rotary_dim, base=base, what="the number of rotary channels of a head")
        if self.rotary_dim > head_dim:
            raise UserError(
                f"rotary_dim {rotary_dim} is more than the {head_dim} channels of a head; use at most those"
            )
        self.head_dim, self.base = head_dim, base
        self.layout = look_up("layout", layout, LAYOUTS)

    @abstractmethod
    def spins(self, context: Context, dtype: torch.dtype) -> tuple[Spin, Spin]:
        """The angles of queries and of keys, for a net of this dtype; in float32 or wider."""

    def on_query_key(self, q_BHQC: Tensor, k_BHKC: Tensor, context: Context) -> tuple[Tensor, Tensor]:
        query_spin, key_spin = self.spins(context, q_BHQC.dtype)
        return self.rotate(q_BHQC, query_spin), self.rotate(k_BHKC, key_spin)

    def spin(self, angle_BHTF: Tensor, gain_BHTF: Gain = 1.0) -> Spin:
        """What `rotate` needs to rotate each pair by its angle and to scale it by its gain."""
        return self.layout.spin(angle_BHTF.cos() * gain_BHTF, angle_BHTF.sin() * gain_BHTF)

    def rotate(self, x_BHTC: Tensor, spin: Spin) -> Tensor:
        """Rotate the rotary channels of queries or keys; the others stay as they are."""
        rotary_BHTC = x_BHTC[..., : self.rotary_dim].to(wide(x_BHTC.dtype))
        # Contiguous: several passes over scattered memory take longer than one copy.
        if self.watch is None:
            rotated_BHTC = self.layout.rotate(rotary_BHTC.contiguous(), spin).to(x_BHTC.dtype)
        else:
            rotated_BHTC = self._rotate_watched(rotary_BHTC, spin).to(x_BHTC.dtype)
        if self.rotary_dim == x_BHTC.shape[-1]:
            return rotated_BHTC
        return torch.cat((rotated_BHTC, x_BHTC[..., self.rotary_dim :]), dim=-1)

    def _rotate_watched(self, x_BHTC: Tensor, spin: Spin) -> Tensor:
        """The same rotation, with cosines and sines shown to who watches."""
        cos_BHTC, sin_BHTC = self.layout.real(spin)
        cos_BHTC = self.source("cos", cos_BHTC.expand_as(x_BHTC))  # one per head, so that heads can be told apart
        sin_BHTC = self.source("sin", sin_BHTC.expand_as(x_BHTC))
        return x_BHTC * cos_BHTC + self.layout.partner(x_BHTC) * sin_BHTC


class ByPosition(Rotary):
    """Rotate pair m by position · theta_m, so that a query and a key meet at an angle of their distance · theta_m.

    Cosines and sines are made once for all blocks of a reading, from plain numbers: there is no buffer for a
    `.to(bfloat16)` to spoil.
    """

    @abstractmethod
    def theta(self, ladder_F: Tensor, context: Context) -> Tensor:
        """theta_F, radians per token, made of the plain ladder; 0 for an unrotated pair.

        Or theta_BTF, with axes of size 1, where texts of different lengths have different frequencies.
        """

    def gains(self, context: Context, dtype: torch.dtype) -> tuple[Gain, Gain]:
        """The factors of rotated pairs of queries and of keys [B, tokens, F]; 1 by default."""
        return 1.0, 1.0

    def spins(self, context: Context, dtype: torch.dtype) -> tuple[Spin, Spin]:
        return context.once((self, "spins", dtype), lambda: self._spins(context, dtype))

    def _spins(self, context: Context, dtype: torch.dtype) -> tuple[Spin, Spin]:
        device = context.key_positions_BK.device
        ladder_F = frequencies(width=self.rotary_dim, base=self.base, dtype=wide(dtype), device=device)
        theta_F, (query_gain, key_gain) = self.theta(ladder_F, context), self.gains(context, dtype)
        key_spin = self._spin(context.key_positions_BK, theta_F, key_gain)
        if context.rows_Q is None and query_gain is key_gain:
            return key_spin, key_spin
        return self._spin(context.query_positions_BQ, theta_F, query_gain), key_spin

    def _spin(self, positions_BT: Tensor, theta_F: Tensor, gain: Gain) -> Spin:
        # Elementwise: a matrix product could run in lower precision.
        angle_BHTF = (positions_BT[..., None].to(theta_F.dtype) * theta_F)[:, None]
        return self.spin(angle_BHTF, gain[:, None] if isinstance(gain, Tensor) else gain)


class SomePairs(ByPosition):
    """Rotate some pairs at the speed they have in the plain ladder, or all of these at one speed; the others stay."""

    rotates: Sequence[bool]  # of each pair
    angle: float | None = None  # radians per token, for every rotated pair

    def theta(self, ladder_F: Tensor, context: Context) -> Tensor:
        theta_F = ladder_F if self.angle is None else torch.full_like(ladder_F, self.angle)
        return theta_F * torch.tensor(self.rotates, device=ladder_F.device)
