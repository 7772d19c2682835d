"""The two families that do a step on the way to their logits in a method of their own: XLNet and RoFormer."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from torch import Tensor, nn

from wherewhat.capture.editing.active import innermost
from wherewhat.capture.hooks.follow import Follower
from wherewhat.capture.hooks.patch import instead
from wherewhat.capture.hooks.rotation_calls import Call, changed_on_its_way


@contextmanager
def watch_shift(attention: nn.Module, follower: Follower) -> Iterator[None]:
    """XLNet moves each query's answers of relative positions to the slots they are about: these are slot terms."""
    shift: Any = attention.rel_shift_bnij

    def marked(*args: Any, **kwargs: Any) -> Tensor:
        shifted: Tensor = shift(*args, **kwargs)
        follower.is_slot_term(shifted)
        return shifted

    with instead(attention, "rel_shift_bnij", marked):
        yield


@contextmanager
def watch_sinusoid(attention: nn.Module, calls: list[Call]) -> Iterator[None]:
    """RoFormer's rotation takes its angles first, and belongs to a class: note its calls as those of others are.

    In an attention that is being edited, what leaves the rotation is changed on its way.
    """
    own: Any = type(attention)
    rotate = own.apply_rotary_position_embeddings

    def noted(angles: Tensor, query: Tensor, key: Tensor, value: Tensor | None = None) -> tuple[Tensor, ...]:
        turned: tuple[Tensor, ...] = rotate(angles, query, key, value)
        call = Call(_angles_last, (query, key, angles, rotate), {}, turned[0])
        if (frame := innermost()) is not None:
            turned, call = changed_on_its_way(frame, call, turned)
        calls[:] = [call]
        return turned

    with instead(attention, "apply_rotary_position_embeddings", noted):
        yield


def _angles_last(query: Tensor, key: Tensor, angles: Tensor, rotate: Callable[..., Any]) -> Any:
    return rotate(angles, query, key)
