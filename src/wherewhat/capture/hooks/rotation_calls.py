"""Record the calls of a modelling file's rotation functions: their arguments, and how they rotate anything else.

Edits use the same wrapper: in an attention that is being edited, the edit is applied to the function's result.
"""

import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial, wraps
from typing import Any

import torch
from torch import Tensor, nn

from wherewhat.capture.decompose.rotation import ChannelPairs, Rotation, find_pairs, phases, rotation_of, spread_slots
from wherewhat.capture.editing.layer_edit import EditFrame, innermost

ABSENT = object()  # the module itself has no such attribute; its class may have one


@contextmanager
def patched(module: nn.Module, name: str, value: Any) -> Iterator[None]:
    """Give a module another attribute for the duration of the block."""
    before = vars(module).get(name, ABSENT)
    setattr(module, name, value)
    try:
        yield
    finally:
        delattr(module, name) if before is ABSENT else setattr(module, name, before)


class SharedPatches:
    """Attributes that several threads or models replace at the same time: the last to leave restores the original."""

    def __init__(self) -> None:
        self.originals: dict[tuple[int, str], tuple[Any, int]] = {}  # by owner and name, with the number of users
        self._lock = threading.Lock()

    @contextmanager
    def replace(self, owner: Any, name: str, make: Callable[[Any], Any]) -> Iterator[None]:
        """For the duration of the block the attribute is what `make` makes of the original."""
        key = id(owner), name
        with self._lock:
            original, users = self.originals.get(key) or (getattr(owner, name), 0)
            self.originals[key] = original, users + 1
            setattr(owner, name, make(original))
        try:
            yield
        finally:
            with self._lock:
                original, users = self.originals.pop(key)
                if users > 1:
                    self.originals[key] = original, users - 1
                else:
                    setattr(owner, name, original)


_WRAPPED = SharedPatches()  # rotation functions, which all models of a file share


class _CallLog(threading.local):
    """What was recorded in a thread: rotation functions are shared by all threads, and each may run its own model."""

    def __init__(self) -> None:
        self.models: list[nn.Module] = []  # being captured
        # The calls since the last attention. A model that is not watched may leave some here, so only a few are kept
        # and every watched forward pass begins by clearing them.
        self.calls: deque[RotationCall] = deque(maxlen=4)


_LOG = _CallLog()


@dataclass(frozen=True)
class RotationCall:
    """One call of a rotation function, which rotates its first argument, or its first two."""

    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    out: Tensor  # the rotated first argument, as the attention uses it

    @property
    def inputs(self) -> int:
        """How many of the first arguments are rotated."""
        second = self.args[1] if len(self.args) > 1 else None
        return 2 if isinstance(second, Tensor) and second.dim() == self.args[0].dim() == 4 else 1

    def layouts(self, heads: int, slots: int) -> list[bool]:
        """Whether the head axis comes before the token axis, as in most families; both if they have the same size."""
        axes = tuple(self.out.shape[1:3])
        return [across for across, fits in ((True, (heads, slots)), (False, (slots, heads))) if axes == fits]

    def rotate(self, x_BHTC: Tensor, *, across: bool) -> Tensor:
        """Rotate anything as this call did."""
        x = x_BHTC if across else x_BHTC.transpose(1, 2)
        given = (x,) * self.inputs + self.args[self.inputs :]
        out = self.function(*given, **self.kwargs)
        rotated: Tensor = out[0] if isinstance(out, tuple) else out
        return rotated if across else rotated.transpose(1, 2)

    def only(self, slots_S: Tensor, slots: int) -> "RotationCall":
        """The same rotation for some slots only: angles have one row per slot, on their second-to-last axis."""

        def narrowed(value: Any) -> Any:
            by_slot = isinstance(value, Tensor) and value.dim() > 1 and value.shape[-2] == slots
            return value.index_select(-2, slots_S.to(value.device)) if by_slot else value

        rest = tuple(map(narrowed, self.args[self.inputs :]))
        kwargs = {name: narrowed(value) for name, value in self.kwargs.items()}
        return replace(self, args=self.args[: self.inputs] + rest, kwargs=kwargs)

    @property
    def angles(self) -> tuple[object, ...]:
        """A key that differs between calls with different angles: the identity of the tensors they were given."""
        rest = (*self.args[self.inputs :], *self.kwargs.values())
        return (self.function, *(id(value) if isinstance(value, Tensor) else value for value in rest))


@dataclass
class RotationRecorder(AbstractContextManager[None]):
    """Derives rotations from calls: pairs once per module, phases once per forward pass, around which it is entered."""

    _pairs: dict[nn.Module, ChannelPairs | None] = field(default_factory=dict)
    _phases: dict[object, tuple[RotationCall, Tensor]] = field(default_factory=dict)  # the call keeps its tensors alive

    def begin(self) -> None:
        """A forward pass starts: forget the calls and phases of the last one."""
        _LOG.calls.clear()
        self._phases.clear()

    def __enter__(self) -> None:
        self.begin()

    def __exit__(self, *raised: object) -> None:
        self.begin()

    def take_calls(self) -> list[RotationCall]:
        """The calls since the last attention, the latest last; the log is cleared."""
        calls = list(_LOG.calls)
        _LOG.calls.clear()
        return calls

    def rotation(self, call: RotationCall, query_BHTC: Tensor, owner: nn.Module) -> Rotation | None:
        """How this call rotates; None if it does not rotate pairs, or if the attention was given something else."""
        heads, slots, channels = query_BHTC.shape[1:]
        starts = ((across, _start(call, query_BHTC, across=across)) for across in call.layouts(heads, slots))
        across, start = next(((across, start) for across, start in starts if start is not None), (True, None))
        if start is None:
            return None
        rotated = int(call.args[0].shape[-1])
        if owner not in self._pairs:
            few_S = spread_slots(slots)
            rotate = partial(call.only(few_S, slots).rotate, across=across)
            self._pairs[owner] = find_pairs(rotate, channels=rotated, slots=len(few_S), like=call.out)
        pairs = self._pairs[owner]
        if pairs is None:
            return None
        key = (*call.angles, len(pairs.first_F))
        if key not in self._phases:
            rotate = partial(call.rotate, across=across)
            self._phases[key] = (call, phases(rotate, pairs, channels=rotated, slots=slots, like=call.out))
        rotation = rotation_of(pairs, self._phases[key][1], start=start, channels=channels)
        return replace(rotation, across=across)


@contextmanager
def record_rotations(model: nn.Module) -> Iterator[None]:
    """Record the calls of every rotation function in the modelling files of this model."""
    with wrap_rotations(model):
        _LOG.models.append(model)
        try:
            yield
        finally:
            _LOG.models.remove(model)
            _LOG.calls.clear()


@contextmanager
def wrap_rotations(model: nn.Module) -> Iterator[None]:
    """Wrap the model's rotation functions so that calls can be recorded and edited; restored on leaving the block."""
    files = {type(part).__module__ for part in model.modules()}
    modules = [sys.modules[name] for name in sorted(files) if name in sys.modules]
    with ExitStack() as cleanup:
        for module in modules:
            for name, value in list(vars(module).items()):
                if name.startswith("apply_rot") and "vision" not in name and callable(value):
                    cleanup.enter_context(_WRAPPED.replace(module, name, _recorded))
        yield


def _recorded(function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        out = function(*args, **kwargs)
        rotated = out[0] if isinstance(out, tuple) else out
        if not (args and isinstance(args[0], Tensor) and isinstance(rotated, Tensor) and rotated.dim() == 4):
            return out
        call = RotationCall(function, args, kwargs, rotated)
        if (frame := innermost()) is not None:
            out, call = _edit_rotation_call(frame, call, out)
        if _LOG.models:
            _LOG.calls.append(call)
        return out

    return wrapper


@contextmanager
def watch_roformer_rotation(attention: nn.Module, calls: list[RotationCall]) -> Iterator[None]:
    """Record RoFormer's rotation like those of other families: it is a method, and takes its angles first.

    In an attention that is being edited, the edit is applied to the rotation's result.
    """
    own: Any = type(attention)
    rotate = own.apply_rotary_position_embeddings

    def recorded(angles: Tensor, query: Tensor, key: Tensor, value: Tensor | None = None) -> tuple[Tensor, ...]:
        rotated: tuple[Tensor, ...] = rotate(angles, query, key, value)
        call = RotationCall(_rotate_roformer, (query, key, angles, rotate), {}, rotated[0])
        if (frame := innermost()) is not None:
            rotated, call = _edit_rotation_call(frame, call, rotated)
        calls[:] = [call]
        return rotated

    with patched(attention, "apply_rotary_position_embeddings", recorded):
        yield


def _rotate_roformer(query: Tensor, key: Tensor, angles: Tensor, rotate: Callable[..., Any]) -> Any:
    return rotate(angles, query, key)


def _edit_rotation_call(frame: EditFrame, call: RotationCall, out: Any) -> tuple[Any, RotationCall]:
    """What the attention gets in place of the rotation's result, and the call to record."""
    frame.rotated = True
    edit = frame.edit.rotary_edit
    if edit is None:
        return out, call
    across = edit.rotations[0].across
    if isinstance(out, tuple):
        query, key = (edit.unrotate_pairs(call.args[side], out[side], side) for side in (0, 1))
        scaled = edit.scale_pairs(query, across=across)
        return (query if frame.through_interface else scaled, key, *out[2:]), replace(call, out=scaled)
    rotated = edit.unrotate_pairs(call.args[0], out, 0)
    if frame.through_interface:
        return rotated, replace(call, out=edit.scale_pairs(rotated, across=across))
    assert rotated.shape[1 if across else 2] == len(edit.gain_HF), (
        "no family rotates shared keys in a call of their own"
    )
    rotated = edit.scale_pairs(rotated, across=across, power=0.5)  # queries or keys, which is unknown: half for each
    return rotated, replace(call, out=rotated)


def _start(call: RotationCall, query_BHTC: Tensor, *, across: bool) -> int | None:
    """Where the rotated channels are in the query that attention was given: at its beginning or at its end.

    Norms and factors applied after the rotation change lengths, not directions; one head of one text is enough.
    """
    rotated_BHTC = call.out if across else call.out.transpose(1, 2)
    rotated, channels = rotated_BHTC.shape[-1], query_BHTC.shape[-1]
    close = 1e-5 if query_BHTC.dtype in (torch.float32, torch.float64) else 1e-2
    rotated_TC = torch.nn.functional.normalize(rotated_BHTC[0, 0].float(), dim=-1)
    for start in dict.fromkeys((0, channels - rotated)):
        there_TC = torch.nn.functional.normalize(query_BHTC[0, 0, :, start : start + rotated].float(), dim=-1)
        if start >= 0 and torch.allclose(rotated_TC, there_TC, atol=close):
            return start
    return None
