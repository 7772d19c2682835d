"""How a processor computes while a net learns: on how many threads, and what it does with the smallest numbers."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def threads(count: int) -> Iterator[None]:
    """Let PyTorch use exactly `count` threads inside the block, whatever machine this is, and put things back after.

    How many threads share a sum decides how it is rounded. Numbers below the smallest normal one count as 0 inside:
    attention far away from a query is made of them under some biases, and arithmetic with them is many times slower.
    """
    before, flushed = torch.get_num_threads(), flushes()
    torch.set_num_threads(count)
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_num_threads(before)
        torch.set_flush_denormal(flushed)


def flushes() -> bool:
    """Whether numbers below the smallest normal one count as 0 now: PyTorch can be told so, but not asked."""
    smallest = torch.tensor([torch.finfo(torch.float32).tiny])
    return not bool((smallest / 2).any())
