"""The ladder of frequencies that sinusoids and rotations share: from one radian a token down to almost none."""

import torch
from torch import Tensor

from wherewhat.errors import UserError


def angles(positions_BT: Tensor, *, width: int, base: float, dtype: torch.dtype) -> Tensor:
    """How far pair m of `width` channels has turned at each position: position · base^(-2m / width), in radians.

    Made afresh from plain numbers each time, so there is no buffer for a `.to(bfloat16)` to spoil. The product is
    elementwise: a matrix product could run in lower precision.

    >>> angles(torch.tensor([[0, 3]]), width=4, base=10_000, dtype=torch.float32)
    tensor([[[0.0000, 0.0000],
             [3.0000, 0.0300]]])
    """
    theta_F = frequencies(width=width, base=base, dtype=dtype, device=positions_BT.device)
    return positions_BT[..., None].to(dtype) * theta_F


def frequencies(*, width: int, base: float, dtype: torch.dtype, device: torch.device | None = None) -> Tensor:
    """theta_F, the radians a token by which each pair of channels turns, fastest first."""
    exponents_F = torch.arange(0, width, 2, dtype=dtype, device=device) / -width
    return torch.pow(base, exponents_F)


def check_ladder(*, width: int, base: float, what: str) -> None:
    """Refuse a ladder that cannot be built: channels come in pairs, and frequencies are positive."""
    if width < 2 or width % 2:
        raise UserError(f"{what} must be even and at least 2, because channels come in pairs; got {width}")
    if not 0 < base < float("inf"):
        raise UserError(f"base must be a positive number, got {base}; 10000 is the usual one")
