"""Initial weights, drawn from a given generator and never from PyTorch's global one."""

from collections.abc import Iterable

import torch
from torch import Tensor, nn


def linear(inputs: int, outputs: int, *, bias: bool = True) -> nn.Linear:
    """A linear map whose weights are not initialised yet."""
    undrawn: nn.Linear = nn.utils.skip_init(nn.Linear, inputs, outputs, bias=bias)
    return undrawn


def draw_uniform(weight: Tensor, bias: Tensor | None, generator: torch.Generator) -> None:
    """As PyTorch starts linear maps and convolutions: uniform in ± fan_in^(-1/2), both weight and bias."""
    bound = weight[0].numel() ** -0.5
    for parameter in (weight,) if bias is None else (weight, bias):
        nn.init.uniform_(parameter, -bound, bound, generator=generator)


def draw_normal(weights: Iterable[Tensor], sigma: float, generator: torch.Generator) -> None:
    """Entries from N(0, sigma²)."""
    for weight in weights:
        nn.init.normal_(weight, std=sigma, generator=generator)
