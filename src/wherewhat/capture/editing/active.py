"""Which edited attention is running now: rotations and attention functions are one for a whole file of models."""

import threading
from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn

from wherewhat.capture.editing.change import Retuned


@dataclass(frozen=True, eq=False)
class Wanted:
    """What is to be done in one layer of a model."""

    retuned: Retuned | None = None
    silent_H: Tensor | None = None

    def __bool__(self) -> bool:
        return self.retuned is not None or self.silent_H is not None


@dataclass(eq=False)
class Frame:
    """An attention module that is running, and what is wanted of it."""

    module: nn.Module
    wanted: Wanted
    by_attention: bool  # its attention function makes pairs louder and heads silent; otherwise rotation and softmax do
    met: bool = False  # its rotation has been seen
    mode: Any = None  # what stands at its softmax, if anything does


class _Running(threading.local):
    def __init__(self) -> None:
        self.frames: list[Frame] = []


_RUNNING = _Running()


def frames() -> list[Frame]:
    """The edited attentions that this thread is inside of, the innermost last."""
    return _RUNNING.frames


def innermost() -> Frame | None:
    """The edited attention that is running now, if any."""
    return _RUNNING.frames[-1] if _RUNNING.frames else None


def running(module: nn.Module) -> Frame | None:
    """What is wanted of a module that is attending now; None if it is not being edited."""
    frame = innermost()
    return frame if frame is not None and frame.module is module else None


def retuned(module: nn.Module) -> Retuned | None:
    """What becomes of the pairs of a module that is attending now; None if they stay as they are."""
    frame = running(module)
    return None if frame is None else frame.wanted.retuned
