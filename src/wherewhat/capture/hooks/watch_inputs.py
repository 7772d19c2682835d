"""Show what modules of a running model read: the vectors that queries and keys are made of."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

from torch import Tensor, nn

OnInput = Callable[[str, Tensor], None]  # the module's name and what it is about to read, x_BTD


@contextmanager
def watch_inputs(model: nn.Module, names: Iterable[str], on_input: OnInput) -> Iterator[None]:
    """Hand on what every named module reads, each time it runs; on leaving, also by an exception, all is as it was."""
    with ExitStack() as put_back:
        for name in names:
            hook = partial(_show, name, on_input)
            put_back.callback(model.get_submodule(name).register_forward_pre_hook(hook, with_kwargs=True).remove)
        yield


def _show(name: str, on_input: OnInput, module: nn.Module, args: tuple[Any, ...], named: dict[str, Any]) -> None:
    """Attention modules read the hidden state first, whatever a family calls it."""
    read = named.get("hidden_states", args[0] if args else None)
    if isinstance(read, Tensor) and read.dim() == 3:
        on_input(name, read)
