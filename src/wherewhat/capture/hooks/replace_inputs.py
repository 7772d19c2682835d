"""Let modules of a running model read something else than they would: a vector of ours in place of their own."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

from torch import Tensor, nn

Instead = Callable[[str, Tensor], Tensor]  # the module's name and what it is about to read; what it reads instead


@contextmanager
def feed(model: nn.Module, names: Iterable[str], instead: Instead) -> Iterator[None]:
    """Give every named module another hidden state to read; on leaving, also by an exception, all is as it was.

    Whoever else watches what these modules read sees the new one: the hooks stand before all others.
    """
    with ExitStack() as put_back:
        for name in names:
            hook, module = partial(_exchange, name, instead), model.get_submodule(name)
            put_back.callback(module.register_forward_pre_hook(hook, prepend=True, with_kwargs=True).remove)
        yield


def _exchange(
    name: str, instead: Instead, module: nn.Module, args: tuple[Any, ...], named: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Attention modules read the hidden state first, whatever a family calls it."""
    if isinstance(named.get("hidden_states"), Tensor):
        return args, {**named, "hidden_states": instead(name, named["hidden_states"])}
    if args and isinstance(args[0], Tensor):
        return (instead(name, args[0]), *args[1:]), named
    return args, named
