"""Watch families outside the interface by listening to their softmax: XLNet, DeBERTa, BLOOM, MPT, Falcon, GPT-J."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode
from transformers import PreTrainedModel

from wherewhat.capture.interface import configs_of
from wherewhat.capture.reader import Reader

# Closed keys lie at least this far below a row's largest logit: masks are -65504 or lower, logits span far less.
FAR_BELOW = 1e4


class SoftmaxTap(TorchFunctionMode):
    """While active, shows the reader every four-dimensional softmax that runs inside an attention module."""

    def __init__(self, reader: Reader, two_stacks: bool) -> None:
        super().__init__()
        self.inside: list[str] = []  # names of the attention modules that are running now, innermost last
        self._reader = reader
        self._two_stacks = two_stacks

    def __enter__(self) -> "SoftmaxTap":
        self.inside.clear()  # a forward pass that broke off may have left names behind
        super().__enter__()  # type: ignore[no-untyped-call]
        return self

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if getattr(func, "__name__", "") == "softmax" and self.inside and result.dim() == 4:
            self._show(result, args[0] if args else (kwargs or {})["input"])
        return result

    def _show(self, attention_BHTK: Tensor, logits_BHTK: Tensor) -> None:
        # Masks are the same for every head, so the first head's logits tell which keys are open.
        first_BTK = logits_BHTK[:, 0]
        allowed_BTK = first_BTK > first_BTK.amax(-1, keepdim=True) - FAR_BELOW
        first = self._reader.first_token
        ahead = bool(allowed_BTK[0, first, first + 1 : first + 2].any())
        shape = (attention_BHTK.shape[2], attention_BHTK.shape[3])
        place = self._reader.enter(self.inside[-1], shape, ahead=ahead, two_stacks=self._two_stacks)
        every_T = torch.arange(attention_BHTK.shape[2], device=attention_BHTK.device)
        self._reader.hand_on_block(place, every_T, attention_BHTK, allowed_BTK)


@contextmanager
def watch_softmax(model: PreTrainedModel, reader: Reader) -> Iterator[SoftmaxTap]:
    """Give the tap to hold open while `model` runs; on leaving, also by an exception, all is as it was."""
    tap = SoftmaxTap(reader, bool(getattr(model.config, "is_encoder_decoder", False)))
    with ExitStack() as put_back:
        for config in configs_of(model):
            put_back.callback(setattr, config, "_attn_implementation_internal", config._attn_implementation)
            config._attn_implementation_internal = "eager"
        for name, module in model.named_modules():
            if "attention" in type(module).__name__.lower():
                put_back.callback(module.register_forward_pre_hook(partial(_enter, tap, name)).remove)
                put_back.callback(module.register_forward_hook(partial(_leave, tap), always_call=True).remove)
        yield tap


def _enter(tap: SoftmaxTap, name: str, module: nn.Module, args: object) -> None:
    tap.inside.append(name)


def _leave(tap: SoftmaxTap, module: nn.Module, args: object, output: object) -> None:
    tap.inside.pop()
