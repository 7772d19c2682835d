"""How many processor threads share one sum, which decides how it is rounded."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def threads(count: int) -> Iterator[None]:
    """Let PyTorch use exactly `count` threads inside the block, whatever machine this is, and put things back after."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)
