"""Watch families outside the interface by listening to their softmax: XLNet, DeBERTa, BLOOM, MPT, Falcon, GPT-J."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode
from transformers import PreTrainedModel

from wherewhat.capture.decompose.rotation import Rotation
from wherewhat.capture.decompose.terms import OpaqueError, terms_of
from wherewhat.capture.editing.active import retuned
from wherewhat.capture.hooks.follow import Follower
from wherewhat.capture.hooks.interface import borrowed, configs_of
from wherewhat.capture.hooks.reader import AttentionSite, Reader, Terms
from wherewhat.capture.hooks.rotation_calls import Call, Turning, listen_to_rotations
from wherewhat.capture.hooks.special_families import watch_shift, watch_sinusoid

# Closed keys lie at least this far below a row's largest logit: masks are -65504 or lower, logits span far less.
FAR_BELOW = 1e4
HIDDEN = ("hidden_states", "query_states", "key_value_states", "encoder_hidden_states")  # what holds contents


class SoftmaxTap(TorchFunctionMode):
    """While active, shows the reader every four-dimensional softmax that runs inside an attention module."""

    def __init__(self, reader: Reader, two_stacks: bool) -> None:
        super().__init__()
        self.inside: list[tuple[str, nn.Module]] = []  # the attention modules that are running now, innermost last
        self.follower = Follower()
        self.rotations: list[Call] = []  # of a family whose rotation is no function of its file
        self._turning = Turning()
        self._reader = reader
        self._two_stacks = two_stacks

    def __enter__(self) -> "SoftmaxTap":
        self._turning.begin()
        super().__enter__()  # type: ignore[no-untyped-call]
        return self

    def __exit__(self, *raised: object) -> None:
        super().__exit__(*raised)  # type: ignore[no-untyped-call]
        self.inside.clear()  # a forward pass that broke off may have left things behind
        self._forget_tensors()

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        name = getattr(func, "__name__", "")
        if name == "softmax" and self.inside and result.dim() == 4:
            self._show(result, args[0] if args else kwargs["input"])
            self._forget_tensors()
        else:
            self.follower.saw(name, args, kwargs, result)
        return result

    def _show(self, attention_BHTK: Tensor, logits_BHTK: Tensor) -> None:
        # Masks are the same for every head, so the first head's logits tell which keys are open.
        first_BTK = logits_BHTK[:, 0]
        allowed_BTK = first_BTK > first_BTK.amax(-1, keepdim=True) - FAR_BELOW
        first = self._reader.first_token
        ahead = bool(allowed_BTK[0, first, first + 1 : first + 2].any())
        shape = (attention_BHTK.shape[2], attention_BHTK.shape[3])
        site = self._reader.enter(self.inside[-1][0], shape, ahead=ahead, two_stacks=self._two_stacks)
        terms = self._terms(site, logits_BHTK, allowed_BTK)
        every_T = torch.arange(attention_BHTK.shape[2], device=attention_BHTK.device)
        self._reader.hand_on_block(site, every_T, attention_BHTK, allowed_BTK, terms)

    def _terms(self, site: AttentionSite, logits_BHTK: Tensor, allowed_BTK: Tensor) -> Terms | None:
        """What the logits are made of, or None and the reason why it is not known."""
        calls = [*self._turning.taken(), *self.rotations]
        rotated = partial(self._rotation, site, calls) if calls else None
        try:
            return terms_of(self.follower.addends(logits_BHTK), allowed_BTK, rotated)
        except OpaqueError as error:
            self._reader.opaque[site] = str(error)
            return None

    def _rotation(self, site: AttentionSite, calls: list[Call], query_BHTC: Tensor) -> Rotation | None:
        """That of the call which turned these queries; some families call once more for their keys."""
        module = self.inside[-1][1]
        found = (self._turning.rotation(call, query_BHTC, module) for call in reversed(calls))
        rotation = next((rotation for rotation in found if rotation is not None), None)
        if rotation is None:
            return None
        self._reader.turns(site, rotation)
        change = retuned(module)
        return rotation if change is None else change.seen(rotation)

    def _forget_tensors(self) -> None:
        """Nothing of a layer is kept for the next; of its rotation only which channels are pairs."""
        self.rotations.clear()
        self.follower.forget()
        self._turning.begin()


@contextmanager
def watch_softmax(model: PreTrainedModel, reader: Reader) -> Iterator[SoftmaxTap]:
    """Give the tap to hold open while `model` runs; on leaving, also by an exception, all is as it was."""
    tap = SoftmaxTap(reader, bool(getattr(model.config, "is_encoder_decoder", False)))
    with ExitStack() as put_back:
        for config in configs_of(model):
            put_back.enter_context(borrowed(config, "eager"))
        put_back.enter_context(listen_to_rotations(model))
        for name, module in model.named_modules():
            if "attention" in type(module).__name__.lower():
                _watch(tap, name, module, put_back)
        yield tap


def _watch(tap: SoftmaxTap, name: str, module: nn.Module, put_back: ExitStack) -> None:
    enter, leave = partial(_enter, tap, name), partial(_leave, tap)
    put_back.callback(module.register_forward_pre_hook(enter, with_kwargs=True).remove)
    put_back.callback(module.register_forward_hook(leave, always_call=True).remove)
    if hasattr(module, "rel_shift_bnij"):
        put_back.enter_context(watch_shift(module, tap.follower))
    if hasattr(module, "apply_rotary_position_embeddings"):
        put_back.enter_context(watch_sinusoid(module, tap.rotations))


def _enter(tap: SoftmaxTap, name: str, module: nn.Module, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
    tap.inside.append((name, module))
    given = (*args[:1], *(kwargs.get(hidden) for hidden in HIDDEN))
    tap.follower.begin([value for value in given if isinstance(value, Tensor)])


def _leave(tap: SoftmaxTap, module: nn.Module, args: object, output: object) -> None:
    tap.inside.pop()
    tap.follower.forget()
