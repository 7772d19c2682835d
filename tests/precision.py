"""How near two computations of the same numbers come to each other on any processor.

A sum rounds once per term, in an order that depends on the processor, on the number of threads, on the shape of the
batch and on where its memory begins. What stays the same everywhere is the size of these roundings: the precision of
the type, times the size of the numbers that are summed. The worst among all model families is about 4 of them; 100
leave room for longer sums and deeper nets, and are far below what a wrong formula does (float32: 1.2e-5, float64:
2.2e-14).

Equality to the bit belongs to tests of the same computation run twice on the machine at hand, of what only copies
numbers, and of numbers that are exact in binary.
"""

import torch
from torch import Tensor

ROUNDINGS = 100


def rounding(dtype: torch.dtype, size: float = 1.0) -> float:
    """How far apart two ways to compute numbers of this size may be in this type."""
    return ROUNDINGS * torch.finfo(dtype).eps * float(size)


def assert_same(ours: Tensor, theirs: Tensor, *, computed_in: torch.dtype | None = None) -> None:
    """Both are the same but for rounding in their type, or in the coarser one that they were computed in."""
    size = float(theirs.detach().abs().max()) if theirs.numel() else 0.0
    torch.testing.assert_close(ours, theirs, rtol=0, atol=rounding(computed_in or theirs.dtype, size))
