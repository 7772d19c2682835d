"""Bell curves of distance, wide or narrow, fixed or learned: the decay of attenuated attention."""

from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn
from torch.nn.functional import softplus


class Bell(nn.Module, ABC):
    """One number for each head and lag. H is 1 where all heads have the same."""

    mirror_invariant: bool  # both sides are equal and stay so
    max_length: int | None = None

    @abstractmethod
    def forward(self, lags_R: Tensor, dtype: torch.dtype) -> Tensor:
        """fall_HR at these lags."""

    def reset_parameters(self) -> None:
        """Restore the initial values; nothing is drawn at random."""


class FixedBell(Bell):
    """-w · lag² for keys before the query, -s · w · lag² from it on."""

    def __init__(self, w: float, s: float) -> None:
        super().__init__()
        self.w, self.s, self.mirror_invariant = w, s, s == 1

    def forward(self, lags_R: Tensor, dtype: torch.dtype) -> Tensor:
        w_H, s_H = (torch.tensor([value], dtype=dtype, device=lags_R.device) for value in (self.w, self.s))
        return quadratic(lags_R, w_H, s_H)


class LearnedBell(Bell):
    """The same with a w and an s for each head that are learned and stay positive."""

    mirror_invariant = False

    def __init__(self, heads: int, w: float, s: float) -> None:
        super().__init__()
        self.w, self.s = w, s
        self.free_w_H, self.free_s_H = (nn.Parameter(torch.empty(heads)) for _ in "ws")
        self.reset_parameters()

    @torch.no_grad()
    def reset_parameters(self) -> None:
        for free_H, value in ((self.free_w_H, self.w), (self.free_s_H, self.s)):
            free_H.copy_(inverse_softplus(torch.tensor(value, dtype=torch.float64)))

    def forward(self, lags_R: Tensor, dtype: torch.dtype) -> Tensor:
        w_H, s_H = (softplus(free_H.to(dtype)) for free_H in (self.free_w_H, self.free_s_H))
        return quadratic(lags_R, w_H, s_H)


class TableBell(Bell):
    """A free number for each head and distance, the same on both sides."""

    mirror_invariant = True

    def __init__(self, heads: int, start: list[float]) -> None:
        super().__init__()
        self.max_length, self.start = len(start), start
        self.table_HS = nn.Parameter(torch.empty(heads, len(start)))
        self.reset_parameters()

    @torch.no_grad()
    def reset_parameters(self) -> None:
        self.table_HS.copy_(torch.tensor(self.start, dtype=torch.float64))

    def forward(self, lags_R: Tensor, dtype: torch.dtype) -> Tensor:
        return self.table_HS[:, lags_R.abs()].to(dtype)


def inverse_softplus(positive: Tensor) -> Tensor:
    """The inverse of softplus, also where e^positive would overflow: parameters that stay positive are stored so.

    >>> softplus(inverse_softplus(torch.tensor([0.01, 1.0, 1000.0])))
    tensor([1.0000e-02, 1.0000e+00, 1.0000e+03])
    """
    return positive + (-(-positive).expm1()).log()


def quadratic(lags_R: Tensor, w_H: Tensor, s_H: Tensor) -> Tensor:
    """fall_HR: the logarithm of a bell curve whose side from the query on is s times as steep.

    >>> quadratic(torch.tensor([-2, -1, 0, 1, 2]), torch.tensor([0.5]), torch.tensor([0.25]))
    tensor([[-0.5000, -0.1250, -0.0000, -0.5000, -2.0000]])
    """
    steepness_HR = w_H[:, None] * torch.where(lags_R > 0, 1.0, s_H[:, None])
    return -steepness_HR * lags_R.to(w_H.dtype).square()
