"""Watch families outside the AttentionInterface at their softmax: XLNet, DeBERTa, BLOOM, MPT, Falcon, GPT-J."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode
from transformers import PreTrainedModel

from wherewhat.capture.decompose.rotation import Rotation
from wherewhat.capture.decompose.terms import TermTracker, UndecomposedError, decompose_terms
from wherewhat.capture.editing.layer_edit import edited_rotation
from wherewhat.capture.hooks.interface import configs_of, using_attention
from wherewhat.capture.hooks.reader import AttentionReader, AttentionSite, Chunk
from wherewhat.capture.hooks.rotation_calls import (
    RotationCall,
    RotationRecorder,
    patched,
    record_rotations,
    watch_roformer_rotation,
)

# Masked keys are at least this far below a row's largest logit: masks are -65504 or lower, logits span far less.
FAR_BELOW = 1e4
HIDDEN = ("hidden_states", "query_states", "key_value_states", "encoder_hidden_states")  # depend on the tokens


class SoftmaxTap(TorchFunctionMode):
    """While active, passes every four-dimensional softmax inside an attention module to the reader."""

    def __init__(self, reader: AttentionReader, two_stacks: bool) -> None:
        super().__init__()
        self.inside: list[tuple[str, nn.Module]] = []  # the attention modules that are running now, innermost last
        self.tracker = TermTracker()
        self.rotations: list[RotationCall] = []  # of RoFormer, whose rotation is a method
        self._recorder = RotationRecorder()
        self._reader = reader
        self._two_stacks = two_stacks

    def __enter__(self) -> "SoftmaxTap":
        self._recorder.begin()
        super().__enter__()  # type: ignore[no-untyped-call]
        return self

    def __exit__(self, *raised: object) -> None:
        super().__exit__(*raised)  # type: ignore[no-untyped-call]
        self.inside.clear()  # a forward pass that failed may have left some behind
        self._forget_tensors()

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        name = getattr(func, "__name__", "")
        if name == "softmax" and self.inside and result.dim() == 4:
            self._show(result, args[0] if args else kwargs["input"])
            self._forget_tensors()
        else:
            self.tracker.record_call(name, args, kwargs, result)
        return result

    def enter(self, name: str, module: nn.Module, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        """An attention module starts."""
        self.inside.append((name, module))
        given = (*args[:1], *(kwargs.get(hidden) for hidden in HIDDEN))
        self.tracker.begin([value for value in given if isinstance(value, Tensor)])

    def leave(self, module: nn.Module, args: object, output: object) -> None:
        """An attention module has finished."""
        self.inside.pop()
        self.tracker.forget()

    def _show(self, attention_BHTK: Tensor, logits_BHTK: Tensor) -> None:
        # Masks are the same for every head, so the first head's logits show which keys are allowed.
        first_BTK = logits_BHTK[:, 0]
        allowed_BTK = first_BTK > first_BTK.amax(-1, keepdim=True) - FAR_BELOW
        first = self._reader.first_token
        ahead = bool(allowed_BTK[0, first, first + 1 : first + 2].any())
        shape = (attention_BHTK.shape[2], attention_BHTK.shape[3])
        site = self._reader.enter(self.inside[-1][0], shape, ahead=ahead, two_stacks=self._two_stacks)
        calls, decomposition = [*self._recorder.take_calls(), *self.rotations], None
        try:
            rotated = partial(self._rotation, site, calls) if calls else None
            decomposition = decompose_terms(self.tracker.terms(logits_BHTK), allowed_BTK, rotated)
        except UndecomposedError as error:
            self._reader.undecomposed[site] = str(error)
        every_BT = torch.arange(shape[0], device=attention_BHTK.device).expand(len(attention_BHTK), -1)
        self._reader.emit(site, Chunk(every_BT), attention_BHTK, allowed_BTK, decomposition)

    def _rotation(self, site: AttentionSite, calls: list[RotationCall], query_BHTC: Tensor) -> Rotation | None:
        """The rotation of these queries; some families call their function once more for the keys."""
        module = self.inside[-1][1]
        rotations = (self._recorder.rotation(call, query_BHTC, module) for call in reversed(calls))
        rotation = next((rotation for rotation in rotations if rotation is not None), None)
        if rotation is None:
            return None
        self._reader.note_rotation(site, rotation)
        return edited_rotation(module, rotation)

    def _forget_tensors(self) -> None:
        """Keep nothing of a layer for the next, except which channels form pairs."""
        self.rotations.clear()
        self.tracker.forget()
        self._recorder.begin()


@contextmanager
def watch_softmax(model: PreTrainedModel, reader: AttentionReader) -> Iterator[SoftmaxTap]:
    """Yield the tap, to be entered while `model` runs; the model is restored on leaving the block."""
    tap = SoftmaxTap(reader, bool(getattr(model.config, "is_encoder_decoder", False)))
    with ExitStack() as cleanup:
        for config in configs_of(model):
            cleanup.enter_context(using_attention(config, "eager"))
        cleanup.enter_context(record_rotations(model))
        for name, module in model.named_modules():
            if "attention" not in type(module).__name__.lower():
                continue
            cleanup.callback(module.register_forward_pre_hook(partial(tap.enter, name), with_kwargs=True).remove)
            cleanup.callback(module.register_forward_hook(tap.leave, always_call=True).remove)
            if hasattr(module, "rel_shift_bnij"):
                shift = partial(_shift_of_xlnet, module.rel_shift_bnij, tap.tracker)
                cleanup.enter_context(patched(module, "rel_shift_bnij", shift))
            if hasattr(module, "apply_rotary_position_embeddings"):
                cleanup.enter_context(watch_roformer_rotation(module, tap.rotations))
        yield tap


def _shift_of_xlnet(shift: Any, tracker: TermTracker, *args: Any, **kwargs: Any) -> Tensor:
    """XLNet shifts its products with relative positions to the slots they belong to: the result is a slot term."""
    shifted: Tensor = shift(*args, **kwargs)
    tracker.is_slot_term(shifted)
    return shifted
