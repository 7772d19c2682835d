"""Watch or replace the hidden states that modules of a running model read: what queries and keys are computed from."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

from torch import Tensor, nn

OnInput = Callable[[str, Tensor], None]  # the module's name and what it is about to read, x_BTD
Replacement = Callable[[str, Tensor], Tensor]  # the module's name and its own input; what it reads instead


@contextmanager
def watch_inputs(model: nn.Module, names: Iterable[str], on_input: OnInput) -> Iterator[None]:
    """Pass on what every named module reads, each time it runs; all hooks are removed on leaving the block."""
    with ExitStack() as cleanup:
        for name in names:
            hook = partial(_show, name, on_input)
            cleanup.callback(model.get_submodule(name).register_forward_pre_hook(hook, with_kwargs=True).remove)
        yield


@contextmanager
def replace_inputs(model: nn.Module, names: Iterable[str], replacement: Replacement) -> Iterator[None]:
    """Give every named module another hidden state to read; all hooks are removed on leaving the block.

    These hooks run before all others, so whoever watches the inputs sees the replacement.
    """
    with ExitStack() as cleanup:
        for name in names:
            hook, module = partial(_exchange, name, replacement), model.get_submodule(name)
            cleanup.callback(module.register_forward_pre_hook(hook, prepend=True, with_kwargs=True).remove)
        yield


# Attention modules take the hidden state as their first argument, whatever a family calls it.


def _show(name: str, on_input: OnInput, module: nn.Module, args: tuple[Any, ...], named: dict[str, Any]) -> None:
    read = named.get("hidden_states", args[0] if args else None)
    if isinstance(read, Tensor) and read.dim() == 3:
        on_input(name, read)


def _exchange(
    name: str, replacement: Replacement, module: nn.Module, args: tuple[Any, ...], named: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    if isinstance(named.get("hidden_states"), Tensor):
        return args, {**named, "hidden_states": replacement(name, named["hidden_states"])}
    if args and isinstance(args[0], Tensor):
        return (replacement(name, args[0]), *args[1:]), named
    return args, named
