"""Where a model computes element-wise functions: modules, and functions of a family's own."""

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

from torch import Tensor, nn

from wherewhat.capture.hooks.rotation_calls import SharedPatches, patched

ROOMS = ("torch.nn.modules.activation", "transformers.activations")  # modules of element-wise functions
NAMES = ("BloomGelu",)  # others, by class
OTHERS = ("MultiheadAttention", "Softmax", "LogSoftmax", "Softmin", "Softmax2d", "GLU")  # in these rooms, but not such
FUNCTIONS = ("gelu",)  # in modelling files
Activation = Callable[[Tensor], Tensor]
Replacement = Callable[[Activation, Tensor], Tensor]  # the function, and what it is applied to
_FUNCTIONS = SharedPatches()  # which all models of a file share


@contextmanager
def replace_activations(model: nn.Module, replacement: Replacement) -> Iterator[None]:
    """Let a replacement compute every element-wise function inside the block."""
    with ExitStack() as stack:
        for module in model.modules():
            if is_activation(module):
                stack.enter_context(patched(module, "forward", partial(replacement, _forward_of(module))))
        for file in {type(module).__module__ for module in model.modules()}:
            for name in FUNCTIONS:
                if getattr(vars(sys.modules[file]).get(name), "__module__", None) == file:
                    stack.enter_context(
                        _FUNCTIONS.replace(sys.modules[file], name, lambda own: partial(replacement, own))
                    )
        yield


def is_activation(module: nn.Module) -> bool:
    """Whether a module is an element-wise function, which may be made of several operations."""
    kind = type(module)
    return (kind.__module__.startswith(ROOMS) or kind.__name__ in NAMES) and kind.__name__ not in OTHERS


def _forward_of(module: nn.Module) -> Activation:
    forward: Any = type(module).forward
    inplace = bool(getattr(module, "inplace", False))
    return lambda x: forward(module, x.clone() if inplace else x)
