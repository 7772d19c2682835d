"""Edit the attention of any model for the duration of a block, and restore it afterwards."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn
from torch.overrides import TorchFunctionMode
from transformers import PreTrainedModel

from wherewhat.capture.editing.layer_edit import RUNNING, ActiveEdit, EditFrame, LayerEdit, RotaryEdit
from wherewhat.capture.editing.survey import Layer
from wherewhat.capture.hooks.interface import configs_of, uses_attention_interface, using_attention
from wherewhat.capture.hooks.own_nets import edit_net
from wherewhat.capture.hooks.rotation_calls import watch_roformer_rotation, wrap_rotations
from wherewhat.errors import UserError
from wherewhat.nets.trunk import Trunk

_EDITED: set[nn.Module] = set()  # every module of the models that are being edited


def refuse_twice(model: nn.Module) -> None:
    """Refuse a second edit of the same model while the first is active."""
    if not _EDITED.isdisjoint(model.modules()):
        raise UserError(
            "this model is being edited already; leave the first `with` block before entering another, "
            "or combine both edits in one"
        )


@contextmanager
def apply_edits(model: nn.Module, layers: Sequence[Layer], changes: Mapping[int, LayerEdit]) -> Iterator[None]:
    """Edit layers, by number; the model is restored on leaving the block."""
    refuse_twice(model)
    by_module: dict[str, list[ActiveEdit]] = defaultdict(list)  # a module may serve several layers, one after the other
    for layer in layers:
        change, rotary_edit = changes.get(layer.number, LayerEdit()), None
        if layer.rotations is not None and change.gain_HF is not None and change.rotated_HF is not None:
            rotary_edit = RotaryEdit(change.gain_HF, change.rotated_HF, layer.rotations)
        by_module[layer.module].append(ActiveEdit(rotary_edit, change.ablated_H))
    if missing := by_module.keys() - {name for name, _ in model.named_modules()}:
        raise UserError(f"{type(model).__name__} has no '{min(missing)}'; survey the model that is edited")
    touched = {name: edits for name, edits in by_module.items() if any(map(bool, edits))}
    parts = list(model.modules())
    _EDITED.update(parts)
    try:
        with edit_net(model, touched) if isinstance(model, Trunk) else _edit_family(model, touched):
            yield
    finally:
        _EDITED.difference_update(parts)


@contextmanager
def _edit_family(model: nn.Module, touched: Mapping[str, Sequence[ActiveEdit]]) -> Iterator[None]:
    """Edit a transformers model: queries and keys after their rotation, heads after their attention."""
    assert isinstance(model, PreTrainedModel)
    through_interface = uses_attention_interface(model)
    hooks = [EditHook(model.get_submodule(name), edits, through_interface) for name, edits in touched.items()]
    ablates = any(edit.ablated_H is not None for edits in touched.values() for edit in edits)
    with ExitStack() as cleanup:
        for config in configs_of(model):
            if through_interface:
                cleanup.enter_context(using_attention(config))
            elif ablates:
                cleanup.enter_context(using_attention(config, "eager"))  # a fused kernel would hide the softmax
        cleanup.enter_context(wrap_rotations(model))
        for hook in hooks:
            cleanup.enter_context(hook.installed())
        for part in model.modules():
            if isinstance(part, PreTrainedModel):
                inside = set(part.modules())
                for hook in hooks:
                    if hook.module in inside:
                        cleanup.callback(part.register_forward_pre_hook(hook.begin).remove)
        yield


@dataclass(eq=False)
class EditHook:
    """Tells rotation and attention functions, while one module runs, how it is to be edited."""

    module: nn.Module
    edits: Sequence[ActiveEdit]  # of each layer that the module serves, in the order of the forward pass
    through_interface: bool
    calls: int = 0  # in the running forward pass

    @contextmanager
    def installed(self) -> Iterator[None]:
        """The module's hooks for the duration of the block, after which nothing is left of them."""
        with ExitStack() as cleanup:
            if hasattr(self.module, "apply_rotary_position_embeddings"):
                cleanup.enter_context(watch_roformer_rotation(self.module, []))
            cleanup.callback(self.forget)
            cleanup.callback(self.module.register_forward_pre_hook(self._enter).remove)
            cleanup.callback(self.module.register_forward_hook(self._leave, always_call=True).remove)
            yield

    def _enter(self, module: nn.Module, args: object) -> None:
        edit = self.edits[self.calls % len(self.edits)]
        self.calls += 1
        frame = EditFrame(module, edit, self.through_interface)
        if edit.ablated_H is not None and not self.through_interface:
            frame.mode = _SoftmaxAblation(edit.ablated_H)
            frame.mode.__enter__()
        RUNNING.frames.append(frame)

    def _leave(self, module: nn.Module, args: object, output: object) -> None:
        while RUNNING.frames:
            frame = RUNNING.frames.pop()
            if frame.mode is not None:
                frame.mode.__exit__(None, None, None)
            if frame.module is module:
                break

    def begin(self, *_: object) -> None:
        """A forward pass starts: forget what an earlier one that failed has left behind."""
        self.calls = 0
        self.forget()

    def forget(self) -> None:
        """Leave the module, if it was entered and never left."""
        while any(frame.module is self.module for frame in RUNNING.frames):
            self._leave(self.module, None, None)


class _SoftmaxAblation(TorchFunctionMode):
    """Sets the attention of ablated heads to 0 at the softmax, in families outside the AttentionInterface."""

    def __init__(self, ablated_H: Tensor) -> None:
        super().__init__()
        self._ablated_H = ablated_H

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if getattr(func, "__name__", "") == "softmax" and result.dim() == 4:
            return result.masked_fill(self._ablated_H.to(result.device)[:, None, None], 0)
        return result
