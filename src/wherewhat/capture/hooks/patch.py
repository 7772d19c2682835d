"""Put something of ours in the place of what a module has, for the time of a block."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from torch import nn

ABSENT = object()  # the module itself has nothing under this name; its class may


@contextmanager
def instead(module: nn.Module, name: str, value: Any) -> Iterator[None]:
    """For the time of the block a module has something of ours under this name."""
    before = vars(module).get(name, ABSENT)
    setattr(module, name, value)
    try:
        yield
    finally:
        delattr(module, name) if before is ABSENT else setattr(module, name, before)
