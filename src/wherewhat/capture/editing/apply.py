"""Change what attention does inside any model for the time of a block, and put everything back."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from torch import Tensor, nn
from torch.overrides import TorchFunctionMode
from transformers import PreTrainedModel

from wherewhat.capture.editing.active import Frame, Wanted, frames
from wherewhat.capture.editing.change import Change, Retuned
from wherewhat.capture.editing.own_nets import change_net
from wherewhat.capture.editing.survey import Layer
from wherewhat.capture.hooks.interface import borrowed, configs_of, speaks_interface
from wherewhat.capture.hooks.rotation_calls import wrapped_rotations
from wherewhat.capture.hooks.special_families import watch_sinusoid
from wherewhat.errors import UserError
from wherewhat.nets.trunk import Trunk

_EDITED: set[nn.Module] = set()  # every part of the models that are being edited now


def refuse_twice(model: nn.Module) -> None:
    """Two edits of one model at a time could not be told apart."""
    if not _EDITED.isdisjoint(model.modules()):
        raise UserError(
            "this model is being edited already; leave the first `with` block before entering another, "
            "or say both edits in one"
        )


@contextmanager
def changing(model: nn.Module, layers: Sequence[Layer], changes: Mapping[int, Change]) -> Iterator[None]:
    """Let layers do what is wanted of them, by number; on leaving, also by an exception, all is as it was."""
    refuse_twice(model)
    by_module: dict[str, list[Wanted]] = defaultdict(list)  # a module may serve several layers, one after the other
    for layer in layers:
        by_module[layer.module].append(_wanted(layer, changes.get(layer.number, Change())))
    touched = {name: wanted for name, wanted in by_module.items() if any(map(bool, wanted))}
    _check_names(model, by_module)
    parts = list(model.modules())
    _EDITED.update(parts)
    try:
        with change_net(model, touched) if isinstance(model, Trunk) else _change_family(model, touched):
            yield
    finally:
        _EDITED.difference_update(parts)


def _check_names(model: nn.Module, names: Iterable[str]) -> None:
    """The layers have to be those of this very model."""
    if missing := set(names) - {name for name, _ in model.named_modules()}:
        raise UserError(f"{type(model).__name__} has no '{min(missing)}'; survey the model that is edited")


def _wanted(layer: Layer, change: Change) -> Wanted:
    if layer.rotations is None or change.gain_HF is None or change.turned_HF is None:
        return Wanted(None, change.silent_H)
    return Wanted(Retuned(change.gain_HF, change.turned_HF, layer.rotations), change.silent_H)


@contextmanager
def _change_family(model: nn.Module, touched: Mapping[str, Sequence[Wanted]]) -> Iterator[None]:
    """Stand where queries and keys leave their rotation, and where heads leave their attention."""
    assert isinstance(model, PreTrainedModel)
    by_attention = speaks_interface(model)
    standing = [Standing(model.get_submodule(name), wanted, by_attention) for name, wanted in touched.items()]
    silenced = any(one.silent_H is not None for wanted in touched.values() for one in wanted)
    with ExitStack() as put_back:
        for config in configs_of(model):
            if by_attention:
                put_back.enter_context(borrowed(config))
            elif silenced:
                put_back.enter_context(borrowed(config, "eager"))  # a fused kernel would hide the softmax
        put_back.enter_context(wrapped_rotations(model))
        for each in standing:
            put_back.enter_context(each.standing_by())
        for part in model.modules():
            if isinstance(part, PreTrainedModel):
                inside = set(part.modules())
                its = [each for each in standing if each.module in inside]
                put_back.callback(part.register_forward_pre_hook(partial(_begin, its)).remove)
        yield


def _begin(standing: Sequence["Standing"], model: nn.Module, args: object) -> None:
    """A model starts to read: what an earlier reading that broke off has left is forgotten."""
    for each in standing:
        each.calls = 0
        each.forget()


@dataclass(eq=False)
class Standing:
    """Waits for one module to attend, and says what is wanted of it then."""

    module: nn.Module
    wanted: Sequence[Wanted]  # of each layer that the module serves, in the order of the forward pass
    by_attention: bool
    calls: int = 0  # in the forward pass that is running

    @contextmanager
    def standing_by(self) -> Iterator[None]:
        """Hooks in place; on leaving, nothing of them is left, even if a forward pass broke off."""
        with ExitStack() as put_back:
            if hasattr(self.module, "apply_rotary_position_embeddings"):
                put_back.enter_context(watch_sinusoid(self.module, []))
            put_back.callback(self.forget)
            put_back.callback(self.module.register_forward_pre_hook(self._enter).remove)
            put_back.callback(self.module.register_forward_hook(self._leave, always_call=True).remove)
            yield

    def _enter(self, module: nn.Module, args: object) -> None:
        wanted = self.wanted[self.calls % len(self.wanted)]
        self.calls += 1
        frame = Frame(module, wanted, self.by_attention)
        if wanted.silent_H is not None and not self.by_attention:
            frame.mode = _Silencing(wanted.silent_H)
            frame.mode.__enter__()
        frames().append(frame)

    def _leave(self, module: nn.Module, args: object, output: object) -> None:
        while frames():
            frame = frames().pop()
            if frame.mode is not None:
                frame.mode.__exit__(None, None, None)
            if frame.module is module:
                break

    def forget(self) -> None:
        """Leave the module, if it was entered and never left."""
        while any(frame.module is self.module for frame in frames()):
            self._leave(self.module, None, None)


class _Silencing(TorchFunctionMode):
    """While an attention outside the interface runs, the rows of silent heads become 0 as they leave the softmax."""

    def __init__(self, silent_H: Tensor) -> None:
        super().__init__()
        self._silent_H = silent_H

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if getattr(func, "__name__", "") == "softmax" and result.dim() == 4:
            return result.masked_fill(self._silent_H.to(result.device)[:, None, None], 0)
        return result
