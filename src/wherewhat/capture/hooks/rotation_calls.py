"""Listen to the rotation functions of a modelling file: what they were given last, and how they turn anything else.

The same ear serves edits: in an attention that is being edited, what leaves the function is changed on its way.
"""

import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial, wraps
from types import ModuleType
from typing import Any

import torch
from torch import Tensor, nn

from wherewhat.capture.decompose.rotation import Pairs, Rotation, find_pairs, rotation_of, spread_slots, turns
from wherewhat.capture.editing.active import Frame, innermost

_WRAPPED: dict[tuple[ModuleType, str], tuple[Callable[..., Any], int]] = {}  # the function itself, and its users
_WRAPPING = threading.Lock()


class _Hearing(threading.local):
    """What a thread has heard: the functions are one for all threads, and each may read a model of its own."""

    def __init__(self) -> None:
        self.models: list[nn.Module] = []  # that are being captured
        # The calls since the last attention took them. A model that nobody watches may leave some here, so they are
        # few and every forward pass that is watched begins by forgetting them.
        self.calls: deque[Call] = deque(maxlen=4)


_HEARING = _Hearing()


@dataclass(frozen=True)
class Call:
    """One call of a rotation function: its first argument is turned, and the second if two come back."""

    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    out: Tensor  # the turned first argument, as the attention asks with it

    @property
    def inputs(self) -> int:
        """How many of the first arguments are turned."""
        second = self.args[1] if len(self.args) > 1 else None
        return 2 if isinstance(second, Tensor) and second.dim() == self.args[0].dim() == 4 else 1

    def layouts(self, heads: int, slots: int) -> list[bool]:
        """Whether heads stand before tokens, as in most families; with as many of both, only the numbers can tell."""
        axes = tuple(self.out.shape[1:3])
        return [across for across, fits in ((True, (heads, slots)), (False, (slots, heads))) if axes == fits]

    def rotate(self, x_BHTC: Tensor, *, across: bool) -> Tensor:
        """Turn anything as this call did."""
        x = x_BHTC if across else x_BHTC.transpose(1, 2)
        given = (x,) * self.inputs + self.args[self.inputs :]
        out = self.function(*given, **self.kwargs)
        turned: Tensor = out[0] if isinstance(out, tuple) else out
        return turned if across else turned.transpose(1, 2)

    def only(self, slots_S: Tensor, slots: int) -> "Call":
        """The same rotation in some of its slots: angles come with one row a slot, next to last among their axes."""

        def narrowed(value: Any) -> Any:
            by_slot = isinstance(value, Tensor) and value.dim() > 1 and value.shape[-2] == slots
            return value.index_select(-2, slots_S.to(value.device)) if by_slot else value

        rest = tuple(map(narrowed, self.args[self.inputs :]))
        kwargs = {name: narrowed(value) for name, value in self.kwargs.items()}
        return replace(self, args=self.args[: self.inputs] + rest, kwargs=kwargs)

    @property
    def angles(self) -> tuple[object, ...]:
        """What tells calls with other angles apart: the very tensors they were given."""
        rest = (*self.args[self.inputs :], *self.kwargs.values())
        return (self.function, *(id(value) if isinstance(value, Tensor) else value for value in rest))


@dataclass
class Turning:
    """Reads rotations off calls. Pairs are found once, angles once for every forward pass that uses them."""

    _pairs: dict[nn.Module, Pairs | None] = field(default_factory=dict)
    _turns: dict[object, tuple[Call, Tensor]] = field(default_factory=dict)  # the call keeps its tensors alive

    def begin(self) -> None:
        """A forward pass starts: forget calls and angles of the last one."""
        _HEARING.calls.clear()
        self._turns.clear()

    def taken(self) -> list[Call]:
        """The calls since the last attention, the latest last; they are forgotten."""
        calls = list(_HEARING.calls)
        _HEARING.calls.clear()
        return calls

    def rotation(self, call: Call, query_BHTC: Tensor, owner: nn.Module) -> Rotation | None:
        """How this call turns; None if it does not turn pairs, or if its result is not what the attention was given."""
        heads, slots, channels = query_BHTC.shape[1:]
        found = ((across, _start(call, query_BHTC, across=across)) for across in call.layouts(heads, slots))
        across, start = next(((across, start) for across, start in found if start is not None), (True, None))
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
        if key not in self._turns:
            rotate = partial(call.rotate, across=across)
            self._turns[key] = (call, turns(rotate, pairs, channels=rotated, slots=slots, like=call.out))
        rotation = rotation_of(pairs, self._turns[key][1], start=start, channels=channels)
        return replace(rotation, across=across)


@contextmanager
def listen_to_rotations(model: nn.Module) -> Iterator[None]:
    """Record the calls of every rotation function in the files that this model is written in."""
    with wrapped_rotations(model):
        _HEARING.models.append(model)
        try:
            yield
        finally:
            _HEARING.models.remove(model)
            _HEARING.calls.clear()


@contextmanager
def wrapped_rotations(model: nn.Module) -> Iterator[None]:
    """Stand between a model and its rotation functions; on leaving, also by an exception, they are as they were."""
    with ExitStack() as put_back:
        for module, name in _rotation_functions(model):
            _wrap(module, name)
            put_back.callback(_unwrap, module, name)
        yield


def _rotation_functions(model: nn.Module) -> list[tuple[ModuleType, str]]:
    files = {type(part).__module__ for part in model.modules()}
    modules = [sys.modules[name] for name in sorted(files) if name in sys.modules]
    return [
        (module, name)
        for module in modules
        for name, value in vars(module).items()
        if name.startswith("apply_rot") and "vision" not in name and callable(value)
    ]


def _wrap(module: ModuleType, name: str) -> None:
    with _WRAPPING:
        function, users = _WRAPPED.get((module, name), (getattr(module, name), 0))
        _WRAPPED[(module, name)] = (function, users + 1)
        if not users:
            setattr(module, name, _heard(function))


def _unwrap(module: ModuleType, name: str) -> None:
    """The last to leave puts the function itself back."""
    with _WRAPPING:
        function, users = _WRAPPED.pop((module, name))
        if users > 1:
            _WRAPPED[(module, name)] = (function, users - 1)
        else:
            setattr(module, name, function)


def _heard(function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def heard(*args: Any, **kwargs: Any) -> Any:
        out = function(*args, **kwargs)
        turned = out[0] if isinstance(out, tuple) else out
        if not (args and isinstance(args[0], Tensor) and isinstance(turned, Tensor) and turned.dim() == 4):
            return out
        call = Call(function, args, kwargs, turned)
        if (frame := innermost()) is not None:
            out, call = changed_on_its_way(frame, call, out)
        if _HEARING.models:
            _HEARING.calls.append(call)
        return out

    return heard


def changed_on_its_way(frame: Frame, call: Call, out: Any) -> tuple[Any, Call]:
    """What the attention is given in the place of what a rotation gave, and the call as it is to be remembered."""
    frame.met = True
    retuned = frame.wanted.retuned
    if retuned is None:
        return out, call
    across = retuned.rotations[0].across
    if isinstance(out, tuple):
        query, key = (retuned.stilled(call.args[side], out[side], side) for side in (0, 1))
        asked = retuned.gained(query, across=across)
        return (query if frame.by_attention else asked, key, *out[2:]), replace(call, out=asked)
    turned = retuned.stilled(call.args[0], out, 0)
    if frame.by_attention:
        return turned, replace(call, out=retuned.gained(turned, across=across))
    assert turned.shape[1 if across else 2] == len(retuned.gain_HF), "no family turns shared keys by themselves"
    turned = retuned.gained(turned, across=across, power=0.5)  # queries or keys, nobody says which: half for each
    return turned, replace(call, out=turned)


def _start(call: Call, query_BHTC: Tensor, *, across: bool) -> int | None:
    """Where the turned channels stand in the query that attention was given: at its beginning or at its end.

    Norms and factors that came after the rotation change lengths, not directions; one head of one text tells.
    """
    turned_BHTC = call.out if across else call.out.transpose(1, 2)
    rotated, channels = turned_BHTC.shape[-1], query_BHTC.shape[-1]
    close = 1e-5 if query_BHTC.dtype in (torch.float32, torch.float64) else 1e-2
    turned_TC = torch.nn.functional.normalize(turned_BHTC[0, 0].float(), dim=-1)
    for start in dict.fromkeys((0, channels - rotated)):
        there_TC = torch.nn.functional.normalize(query_BHTC[0, 0, :, start : start + rotated].float(), dim=-1)
        if start >= 0 and torch.allclose(turned_TC, there_TC, atol=close):
            return start
    return None
